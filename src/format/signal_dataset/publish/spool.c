// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static enum sds_kind failed(struct sds_err *err, const char *what) {
    return sds_fail(err, SDS_ERR_STORAGE, "spool", "%s a temporary file: %s", what,
                    strerror(errno));
}

// Where a file system has no files without names, one is made and its name taken away at once.
static int open_unnamed(int directory) {
    int fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) {
        return fd;
    }
    for (unsigned i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof name, ".spool-%ld-%u", (long)getpid(), i);
        fd = openat(directory, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            unlinkat(directory, name, 0);
            return fd;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return -1;
}

enum sds_kind spool_open(int directory, struct spool *out, struct sds_err *err) {
    struct spool spool = {.fd = -1, .digest = sds_digest_new()};
    if (spool.digest == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a digest");
    }
    if (directory >= 0) {
        spool.fd = open_unnamed(directory);
        if (spool.fd < 0) {
            enum sds_kind kind = failed(err, "making");
            spool_close(&spool);
            return kind;
        }
    }
    *out = spool;
    return SDS_OK;
}

void spool_close(struct spool *spool) {
    if (spool->fd >= 0) {
        close(spool->fd);
    }
    sds_digest_free(spool->digest);
    *spool = (struct spool){.fd = -1};
}

enum sds_kind spool_write(void *ctx, const void *bytes, size_t len, struct sds_err *err) {
    struct spool *spool = ctx;
    const uint8_t *at = bytes;
    sds_digest_add(spool->digest, bytes, len);
    spool->size += len;
    while (spool->fd >= 0 && len > 0) {
        ssize_t n = write(spool->fd, at, len);
        if (n < 0 && errno != EINTR) {
            return failed(err, "writing");
        }
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return SDS_OK;
}

static enum sds_kind read_at(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    const struct spool *spool = ctx;
    uint8_t *at = buf;
    while (len > 0) {
        ssize_t n = pread(spool->fd, at, len, (off_t)off);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno; // nobody else can have made it shorter
            return failed(err, "reading");
        }
        at += n;
        off += (uint64_t)n;
        len -= (size_t)n;
    }
    return SDS_OK;
}

struct sds_content spool_content(struct spool *spool) {
    return (struct sds_content){.read_at = read_at, .ctx = spool, .size = spool->size};
}
