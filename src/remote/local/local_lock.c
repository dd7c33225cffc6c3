// SPDX-License-Identifier: Apache-2.0
#include "remote/local/local_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "remote/local/local_internal.h"

#define RETRY_MS 2

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static enum sds_kind lock_failed(int error, struct sds_err *err) {
    switch (error) {
    case ENOSYS:
    case ENOLCK:
    case EOPNOTSUPP:
    case EINVAL:
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "conditional_writes",
                        "the file system has no locks (flock: %s), so replacing a catalog is not "
                        "safe here",
                        strerror(error));
    case EBADF: // NFS locks for writing what can be written to
        return sds_local_write_failed(EACCES, "cannot lock", err);
    default:
        return sds_local_write_failed(error, "cannot lock", err);
    }
}

static int open_retrying(int dir, const char *name, int flags, mode_t mode) {
    int fd;
    do {
        fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

// A lock that another user made may be no more than readable, which is enough for flock but over
// NFS.
static enum sds_kind open_lock(int dir, const char *name, mode_t readers, int *fd,
                               struct sds_err *err) {
    char lock[NAME_MAX + 1];
    if (snprintf(lock, sizeof lock, ".%s.lock", name) >= (int)sizeof lock) {
        return sds_local_write_failed(ENAMETOOLONG, "cannot name a lock", err);
    }
    *fd = open_retrying(dir, lock, O_RDWR | O_CREAT, 0640 | readers);
    int error = errno;
    if (*fd >= 0) {
        return sds_local_let_read(*fd, readers, err);
    }
    if (error == EACCES) {
        *fd = open_retrying(dir, lock, O_RDONLY, 0);
    }
    return *fd >= 0 ? SDS_OK : sds_local_write_failed(error, "cannot open the lock", err);
}

// There is no flock with a deadline: the lock is asked for again and again. It is held for a few
// milliseconds as a rule.
enum sds_kind sds_local_lock(int dir, const char *name, mode_t readers, int patience_ms, int *fd,
                             struct sds_err *err) {
    sds_autofd int lock = -1;
    int64_t deadline_ms = now_ms() + patience_ms;
    enum sds_kind kind = open_lock(dir, name, readers, &lock, err);
    if (kind != SDS_OK) {
        return kind;
    }
    while (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return lock_failed(errno, err);
        }
        if (now_ms() >= deadline_ms) {
            return sds_fail(err, SDS_ERR_TIMEOUT, "lock",
                            "another process has held the lock beside it for %d seconds",
                            patience_ms / 1000);
        }
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
    }
    *fd = lock;
    lock = -1;
    return SDS_OK;
}

enum sds_kind sds_local_can_lock(int dir, struct sds_err *err) {
    sds_autofd int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (own < 0) {
        return sds_local_open_failed(errno, err);
    }
    if (flock(own, LOCK_SH | LOCK_NB) == 0 || errno == EWOULDBLOCK) {
        return SDS_OK;
    }
    return lock_failed(errno, err);
}
