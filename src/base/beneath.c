// SPDX-License-Identifier: Apache-2.0
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int close_keeping_errno(int fd) {
    int e = errno;
    close(fd);
    errno = e;
    return -1;
}

static int without_waiting(int flags) {
    return flags | O_CLOEXEC | ((flags & O_PATH) == 0 ? O_NONBLOCK | O_NOCTTY : 0);
}

// --- name by name

// With O_PATH a link is opened itself.
static int refuse_link(int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return close_keeping_errno(fd);
    }
    if (S_ISLNK(st.st_mode)) {
        errno = ELOOP;
        return close_keeping_errno(fd);
    }
    return fd;
}

static int open_name(int dir, const char *name, size_t len, int flags, mode_t mode) {
    char text[NAME_MAX + 1];
    struct stat st;
    if (len > NAME_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(text, name, len);
    text[len] = '\0';
    if (strcmp(text, "..") == 0) {
        errno = EXDEV;
        return -1;
    }
    int fd = openat(dir, text, flags | O_NOFOLLOW, mode);
    if (fd < 0 && errno == ENOTDIR) { // O_DIRECTORY: said of links too
        if (fstatat(dir, text, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
            errno = ELOOP;
        } else {
            errno = ENOTDIR;
        }
    }
    return fd >= 0 && (flags & O_PATH) != 0 ? refuse_link(fd) : fd;
}

int sds_open_stepwise(int dir, const char *path, int flags, mode_t mode) {
    if (path[0] == '/') {
        errno = EXDEV;
        return -1;
    }
    if (path[0] == '\0') {
        path = ".";
    }
    for (int at = dir;;) {
        size_t len = strcspn(path, "/");
        const char *rest = path + len + strspn(path + len, "/");
        bool is_last = *rest == '\0';
        int how = is_last ? without_waiting(flags) : O_PATH | O_CLOEXEC;
        if (path[len] == '/') {
            how |= O_DIRECTORY;
        }
        int next = open_name(at, path, len, how, mode);
        if (at != dir) {
            close_keeping_errno(at);
        }
        if (is_last || next < 0) {
            return next;
        }
        at = next;
        path = rest;
    }
}

// --- in one call

int sds_open_beneath(int dir, const char *path, int flags, mode_t mode) {
    struct open_how how = {.flags = (uint64_t)without_waiting(flags),
                           .mode = (flags & O_CREAT) != 0 ? mode : 0,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    if (strlen(path) >= PATH_MAX) { // too long for one call
        return sds_open_stepwise(dir, path, flags, mode);
    }
    int fd;
    do { // EAGAIN: a rename raced with the walk
        fd = (int)syscall(SYS_openat2, dir, path[0] != '\0' ? path : ".", &how, sizeof how);
    } while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    return fd < 0 && errno == ENOSYS ? sds_open_stepwise(dir, path, flags, mode) : fd;
}
