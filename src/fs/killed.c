// SPDX-License-Identifier: Apache-2.0
#include "fs/killed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

// A set of signals in /proc/<pid>/status: a line "SigPnd:\t<16 hex digits>".
static uint64_t signals(const char *status, const char *name) {
    const char *line = strstr(status, name);
    return line != NULL ? strtoull(line + strlen(name), NULL, 16) : 0;
}

static uint64_t bit(int signal_number) {
    return UINT64_C(1) << (signal_number - 1);
}

bool sds_is_being_killed(pid_t thread) {
    char path[64], status[8192];
    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    sds_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, status, sizeof status - 1) : -1;
    if (n <= 0) {
        return false; // not to be seen from here
    }
    status[n] = '\0';
    uint64_t pending = signals(status, "\nSigPnd:") | signals(status, "\nShdPnd:");
    uint64_t handled =
        signals(status, "\nSigBlk:") | signals(status, "\nSigIgn:") | signals(status, "\nSigCgt:");
    // Those that do not end a process by default.
    uint64_t harmless = bit(SIGCHLD) | bit(SIGURG) | bit(SIGWINCH) | bit(SIGCONT) | bit(SIGSTOP) |
                        bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU);
    return (pending & bit(SIGKILL)) != 0 || (pending & ~handled & ~harmless) != 0;
}

bool sds_is_gone(pid_t thread) {
    return kill(thread, 0) != 0 && errno == ESRCH;
}

// --- many of them

void sds_askers_add(struct sds_askers *askers, pid_t thread) {
    if (askers->count == askers->cap) {
        size_t cap = askers->cap == 0 ? 64 : askers->cap * 2;
        pid_t *pids = realloc(askers->pids, cap * sizeof *pids);
        if (pids == NULL) {
            return;
        }
        askers->pids = pids;
        askers->cap = cap;
    }
    askers->pids[askers->count++] = thread;
}

static int compare_pids(const void *a, const void *b) {
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

void sds_askers_keep_dying(struct sds_askers *askers) {
    size_t kept = 0;
    pid_t last = 0;
    if (askers->count > 0) {
        qsort(askers->pids, askers->count, sizeof *askers->pids, compare_pids);
    }
    for (size_t i = 0; i < askers->count; i++) {
        pid_t pid = askers->pids[i];
        if (pid != last && (sds_is_being_killed(pid) || sds_is_gone(pid))) {
            askers->pids[kept++] = pid;
        }
        last = pid;
    }
    askers->count = kept;
}

bool sds_askers_has(const struct sds_askers *askers, pid_t thread) {
    return askers->count > 0 &&
           bsearch(&thread, askers->pids, askers->count, sizeof thread, compare_pids) != NULL;
}

void sds_askers_fini(struct sds_askers *askers) {
    free(askers->pids);
    *askers = (struct sds_askers){0};
}
