// SPDX-License-Identifier: Apache-2.0
#include "remote/local/local_temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "remote/local/local_internal.h"

#define RANDOM_BYTES 16
#define PIECE_BYTES (1u << 20)

// How long the clock that stamps files may take for a step: a few milliseconds as a rule, a second
// where no parts of it are kept.
#define STEP_PATIENCE_MS 1100

enum sds_kind sds_local_temp_make(int dir, const char *name, mode_t readers,
                                  struct sds_local_temp *out, struct sds_err *err) {
    uint8_t random[RANDOM_BYTES];
    char hex[2 * RANDOM_BYTES + 1];
    do {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
            return sds_fail(err, SDS_ERR_STORAGE, "random", "no random bytes for a name");
        }
        sds_hex(random, sizeof random, hex);
        int len = snprintf(out->name, sizeof out->name, ".%s.%s", name, hex);
        if (len >= (int)sizeof out->name) {
            return sds_local_write_failed(ENAMETOOLONG, "cannot name a file", err);
        }
        out->fd = openat(dir, out->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0640 | readers);
    } while (out->fd < 0 && errno == EINTR);
    out->dir = dir;
    if (out->fd < 0) {
        return sds_local_write_failed(errno, "cannot make a file", err);
    }
    enum sds_kind kind = sds_local_let_read(out->fd, readers, err);
    if (kind != SDS_OK) {
        sds_local_temp_drop(out);
    }
    return kind;
}

// The name may be gone already (a rename took it), and one that stays harms nobody: no reader asks
// for it.
void sds_local_temp_drop(struct sds_local_temp *temp) {
    unlinkat(temp->dir, temp->name, 0);
    close(temp->fd);
}

static enum sds_kind write_all(int fd, const uint8_t *bytes, size_t len, struct sds_err *err) {
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            return sds_local_write_failed(n == 0 ? EIO : errno, "cannot write", err);
        }
    }
    return SDS_OK;
}

enum sds_kind sds_local_temp_fill(struct sds_local_temp *temp, const struct sds_content *content,
                                  struct sds_err *err) {
    size_t room = content->size < PIECE_BYTES ? (size_t)content->size : PIECE_BYTES;
    sds_autofree uint8_t *piece = malloc(room + 1);
    enum sds_kind kind = SDS_OK;
    if (piece == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory to write from");
    }
    for (uint64_t off = 0; kind == SDS_OK && off < content->size;) {
        uint64_t left = content->size - off;
        size_t len = left < room ? (size_t)left : room;
        kind = content->read_at(content->ctx, off, piece, len, err);
        if (kind == SDS_OK) {
            kind = write_all(temp->fd, piece, len, err);
        }
        off += len;
    }
    return kind;
}

static bool later(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

// Sets the mtime (NULL: to the present) and reads what the file system made of it.
static enum sds_kind set_mtime(int fd, const struct timespec *to, struct timespec *is,
                               struct sds_err *err) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    struct stat st;
    if (to != NULL) {
        times[1] = *to;
    }
    if (futimens(fd, times) != 0 || fstat(fd, &st) != 0) {
        return sds_local_write_failed(errno, "cannot set the time of change", err);
    }
    *is = st.st_mtim;
    return SDS_OK;
}

// Sets the mtime to the present as soon as that is later than a time; not later when patience ends,
// or at once when that is too far away.
static enum sds_kind set_later(int fd, struct timespec than, struct timespec *is,
                               struct sds_err *err) {
    for (int waited_ms = 0;; waited_ms++) {
        enum sds_kind kind = set_mtime(fd, NULL, is, err);
        if (kind != SDS_OK || later(*is, than) || than.tv_sec - is->tv_sec > 1 ||
            waited_ms == STEP_PATIENCE_MS) {
            return kind;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

// The clock is behind what is replaced (another machine wrote it, or the clock was set back): the
// smallest step beyond it that the file system can tell.
static enum sds_kind step_beyond(int fd, struct timespec replaced, struct sds_err *err) {
    static const struct timespec steps[] = {
        {.tv_nsec = 1}, {.tv_nsec = 1000}, {.tv_sec = 1}, {.tv_sec = 2}};
    enum sds_kind kind = SDS_OK;
    struct timespec is = replaced;
    for (size_t i = 0; kind == SDS_OK && !later(is, replaced) && i < sizeof steps / sizeof *steps;
         i++) {
        struct timespec to = {.tv_sec = replaced.tv_sec + steps[i].tv_sec,
                              .tv_nsec = replaced.tv_nsec + steps[i].tv_nsec};
        to.tv_sec += to.tv_nsec / 1000000000;
        to.tv_nsec %= 1000000000;
        kind = set_mtime(fd, &to, &is, err);
    }
    return kind;
}

enum sds_kind sds_local_temp_stamp(struct sds_local_temp *temp, const struct timespec *replaced,
                                   struct sds_err *err) {
    struct timespec mtime, now;
    enum sds_kind kind = replaced != NULL ? set_later(temp->fd, *replaced, &mtime, err)
                                          : set_mtime(temp->fd, NULL, &mtime, err);
    if (kind == SDS_OK && replaced != NULL && !later(mtime, *replaced)) {
        return step_beyond(temp->fd, *replaced, err);
    }
    if (kind == SDS_OK) {
        kind = set_later(temp->fd, mtime, &now, err);
    }
    return kind == SDS_OK ? set_mtime(temp->fd, &mtime, &now, err) : kind;
}
