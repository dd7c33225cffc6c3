// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/credentials/secret.h"

#define TICK_MS 50 // how soon it is noticed that the search was stopped

extern char **environ;

// The child: a process group of its own, so that it can be killed with its children, and the
// signals as a program expects to find them.
static int spawn(const char *command, int stdout_fd, pid_t *out) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, strdup(command), NULL};
    if (argv[2] == NULL) {
        return ENOMEM;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    error = error != 0 ? error : posix_spawn_file_actions_adddup2(&actions, stdout_fd, 1);
    error = error != 0 ? error
                       : posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    error = error != 0 ? error : posix_spawnattr_setpgroup(&attr, 0);
    error = error != 0 ? error : posix_spawnattr_setsigmask(&attr, &none);
    error = error != 0 ? error : posix_spawnattr_setsigdefault(&attr, &all);
    error = error != 0
                ? error
                : posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                      POSIX_SPAWN_SETSIGDEF);
    error = error != 0 ? error : posix_spawn(out, "/bin/sh", &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    free(argv[2]);
    return error;
}

static enum sds_kind over(const struct sds_finding *finding, struct sds_err *err) {
    if (atomic_load(finding->stop)) {
        return sds_fail(err, SDS_ERR_STORAGE, "credentials", "it was not waited for any more");
    }
    return sds_clock_ms() >= finding->deadline_ms
               ? sds_fail(err, SDS_ERR_TIMEOUT, "credentials", "it does not end in time")
               : SDS_OK;
}

// Until the program closes its output.
static enum sds_kind collect(const struct sds_finding *finding, int fd, struct sds_buf *out,
                             struct sds_err *err) {
    for (;;) {
        enum sds_kind kind = over(finding, err);
        if (kind != SDS_OK) {
            return kind;
        }
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, TICK_MS) <= 0) {
            continue;
        }
        if (out->len == out->max) {
            return sds_fail(err, SDS_ERR_LIMIT, "credentials", "it prints too much");
        }
        ssize_t n = read(fd, out->at + out->len, out->max - out->len);
        if (n == 0) {
            return SDS_OK;
        }
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return sds_fail(err, SDS_ERR_STORAGE, "credentials", "what it prints: %s",
                            strerror(errno));
        }
        out->len += n > 0 ? (size_t)n : 0;
    }
}

// Output that is closed does not mean that the program is over.
static enum sds_kind reap(const struct sds_finding *finding, pid_t pid, bool *reaped,
                          struct sds_err *err) {
    int status = 0;
    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid) {
            break;
        }
        enum sds_kind kind = ended < 0 && errno != EINTR ? SDS_ERR_STORAGE : over(finding, err);
        if (ended < 0 && errno != EINTR) {
            *reaped = true; // by somebody else: the number may be another program's by now
            return sds_fail(err, kind, "credentials", "how it ended is not to be known");
        }
        if (kind != SDS_OK) {
            return kind;
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    *reaped = true;
    if (WIFSIGNALED(status)) {
        return sds_fail(err, SDS_ERR_DENIED, "credentials", "it is ended by signal %d",
                        WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != 0) {
        return sds_fail(err, SDS_ERR_DENIED, "credentials", "it ends with status %d",
                        WEXITSTATUS(status));
    }
    return SDS_OK;
}

static enum sds_kind follow(const struct sds_finding *finding, pid_t pid, int fd,
                            struct sds_buf *out, struct sds_err *err) {
    bool reaped = false;
    enum sds_kind kind = collect(finding, fd, out, err);
    if (kind == SDS_OK) {
        kind = reap(finding, pid, &reaped, err);
    }
    if (!reaped) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    return kind;
}

enum sds_kind sds_process_run(const struct sds_finding *finding, const char *command, size_t max,
                              struct sds_buf *out, struct sds_err *err) {
    int ends[2];
    pid_t pid;
    enum sds_kind kind = sds_secret_init(out, max + 1, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "credentials", "no pipe: %s", strerror(errno));
    }
    int error = spawn(command, ends[1], &pid);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return sds_fail(err, SDS_ERR_STORAGE, "credentials", "it cannot be run: %s",
                        strerror(error));
    }
    kind = follow(finding, pid, ends[0], out, err);
    close(ends[0]);
    return kind;
}
