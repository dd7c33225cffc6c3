// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// What the daemon reported, or the reason why it did not.
static enum sds_exit await(int report, pid_t child, const char *what) {
    unsigned char code;
    ssize_t n;
    while ((n = read(report, &code, 1)) < 0 && errno == EINTR) {
    }
    if (n == 1 && code == SDS_EXIT_DONE) {
        return SDS_EXIT_DONE;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (n == 1) {
        return (enum sds_exit)code;
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "sdsfs: %s: the daemon was ended by signal %d (%s)\n", what,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        fprintf(stderr, "sdsfs: %s: the daemon ended unexpectedly\n", what);
    }
    return SDS_EXIT_MOUNT;
}

// What the caller had open is no business of a daemon that may outlive it for months.
static void close_between(int from, int to) {
    if (from < to) {
        close_range((unsigned)from, (unsigned)to - 1, 0);
    }
}

static void close_inherited(int keep, int keep_too) {
    int low = keep < keep_too ? keep : keep_too, high = keep < keep_too ? keep_too : keep;
    int next = STDERR_FILENO + 1;
    close_between(next, low);
    next = low >= next ? low + 1 : next;
    close_between(next, high);
    close_range((unsigned)high + 1, ~0U, 0);
}

bool sds_daemon_start(struct sds_daemon *daemon, const char *what, int keep, enum sds_exit *code) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fprintf(stderr, "sdsfs: %s: pipe: %s\n", what, strerror(errno));
        *code = SDS_EXIT_MOUNT;
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        close_inherited(ends[1], keep);
        daemon->report = ends[1];
        return true;
    }
    close(ends[1]);
    if (child < 0) {
        fprintf(stderr, "sdsfs: %s: fork: %s\n", what, strerror(errno));
        *code = SDS_EXIT_MOUNT;
    } else {
        *code = await(ends[0], child, what);
    }
    close(ends[0]);
    return false;
}

void sds_daemon_report(struct sds_daemon *daemon, enum sds_exit code) {
    if (daemon->report < 0) {
        return;
    }
    unsigned char byte = (unsigned char)code;
    while (write(daemon->report, &byte, 1) < 0 && errno == EINTR) {
    }
    close(daemon->report);
    daemon->report = -1;
}

void sds_daemon_detach(void) {
    setsid();
    if (chdir("/") != 0) {
        return; // the root directory is always there
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++) {
        dup2(null, fd);
    }
    if (null >= 0) {
        close(null);
    }
}
