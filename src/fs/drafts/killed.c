// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fs/drafts/jobs.h"

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
