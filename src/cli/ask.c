// SPDX-License-Identifier: Apache-2.0
#include "cli/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum { KILL_TIMEOUT_MS = 500 };

// What a child does: 0 or an errno. What it has to say goes to a descriptor.
typedef int question(const char *mountpoint, const char *file, int to);

// Copies the file.
static int copy(const char *mountpoint, const char *file, int to) {
    char path[4352], step[16384];
    if (snprintf(path, sizeof path, "%s/%s", mountpoint, file) >= (int)sizeof path) {
        return ENAMETOOLONG;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    if (fd < 0) {
        return errno;
    }
    while ((n = read(fd, step, sizeof step)) > 0) {
        if (write(to, step, (size_t)n) != n) {
            return EPIPE;
        }
    }
    return n < 0 ? errno : 0;
}

static int touch(const char *mountpoint, const char *file, int to) {
    struct statfs fs;
    (void)file, (void)to;
    return statfs(mountpoint, &fs) == 0 ? 0 : errno;
}

// Kills the child and waits for its end. False when it does not end.
static bool reap(pid_t child, int *status) {
    kill(child, SIGKILL);
    for (int waited = 0; waited < KILL_TIMEOUT_MS; waited++) {
        if (waitpid(child, status, WNOHANG) == child) {
            return true;
        }
        poll(NULL, 0, 1);
    }
    return false;
}

// Takes what the child says until it has nothing more to say. False: it took too long.
static bool listen_to(int fd, unsigned timeout_ms, struct sds_buf *out) {
    uint64_t end = sds_clock_ms() + timeout_ms;
    for (;;) {
        uint64_t now = sds_clock_ms();
        struct pollfd said = {.fd = fd, .events = POLLIN};
        char step[16384];
        if (now >= end || poll(&said, 1, (int)(end - now)) != 1) {
            return false;
        }
        ssize_t n = read(fd, step, sizeof step);
        if (n <= 0) {
            return n == 0;
        }
        if (sds_buf_add(out, step, (size_t)n) != SDS_OK) {
            return true;
        }
    }
}

static enum sds_answer answer_of(int e) {
    return e == 0                               ? SDS_ANSWER_GIVEN
           : e == ENOTCONN || e == ECONNABORTED ? SDS_ANSWER_DEAD
                                                : SDS_ANSWER_NONE;
}

static enum sds_answer ask(question *put, const char *mountpoint, const char *file,
                           unsigned timeout_ms, struct sds_buf *out) {
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return SDS_ANSWER_NONE;
    }
    pid_t child = fork();
    if (child == 0) {
        close(STDOUT_FILENO); // whoever reads what we say must not wait for a child that hangs
        close(STDERR_FILENO);
        _exit(put(mountpoint, file, ends[1]));
    }
    close(ends[1]);
    sds_autofd int listen = ends[0];
    if (child < 0) {
        return SDS_ANSWER_NONE;
    }
    if (!listen_to(listen, timeout_ms, out)) {
        return reap(child, &status) ? SDS_ANSWER_LATE : SDS_ANSWER_STUCK;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? answer_of(WEXITSTATUS(status)) : SDS_ANSWER_NONE;
}

enum sds_answer sds_ask_mount(const char *mountpoint, const char *file, unsigned timeout_ms,
                              struct sds_buf *out) {
    return ask(copy, mountpoint, file, timeout_ms, out);
}

enum sds_answer sds_ask_alive(const char *mountpoint, unsigned timeout_ms) {
    struct sds_buf nothing = SDS_BUF_INIT(0);
    return ask(touch, mountpoint, NULL, timeout_ms, &nothing);
}
