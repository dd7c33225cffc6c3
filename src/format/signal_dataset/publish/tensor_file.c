// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/tensor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"

static int open_file(const struct tensor_directory *directory, const char *name) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK; // a FIFO is not waited for
    if (!directory->confined) {
        return openat(directory->fd, name, flags);
    }
    return sds_open_beneath(directory->fd, name, flags, 0);
}

// What the name is to blame for, and not the machine.
static bool is_callers_fault(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case EXDEV:
    case ENAMETOOLONG:
    case ENXIO:
        return true;
    default:
        return false;
    }
}

static enum sds_kind cannot(struct sds_err *err, const char *name, int error) {
    enum sds_kind kind = is_callers_fault(error) ? SDS_ERR_INVALID : SDS_ERR_STORAGE;
    const char *why = error == ELOOP   ? "there is a symbolic link in the way"
                      : error == EXDEV ? "the path leads out of the directory"
                                       : strerror(error);
    return sds_fail(err, kind, "npy", "%s: %s", SDS_QUOTE(name, strlen(name)), why);
}

// Reads exactly len bytes, as long as the file has them.
static enum sds_kind read_at(int fd, uint64_t off, void *out, size_t len, struct sds_err *err) {
    uint8_t *at = out;
    while (len > 0) {
        ssize_t n = pread(fd, at, len, (off_t)off);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return sds_fail(err, SDS_ERR_STORAGE, "npy", "%s", strerror(errno));
        }
        if (n == 0) {
            return sds_fail(err, SDS_ERR_INVALID, "changed", "the file became shorter");
        }
        at += n;
        off += (uint64_t)n;
        len -= (size_t)n;
    }
    return SDS_OK;
}

static size_t smaller(uint64_t a, size_t b) {
    return a < b ? (size_t)a : b;
}

// Headers of usual length come with the first read.
static enum sds_kind read_header(struct tensor_file *file, struct sds_err *err) {
    uint8_t first[256];
    struct sds_span head = sds_span(first, smaller(file->state.size, sizeof first));
    enum sds_kind kind = read_at(file->fd, 0, first, head.len, err);
    if (kind != SDS_OK) {
        return kind;
    }
    size_t len;
    kind = sds_npy_head_len(head, &len, err);
    uint8_t longer[SDS_NPY_MAX_HEAD];
    if (kind == SDS_OK && len > head.len && len <= file->state.size) {
        head = sds_span(longer, len);
        kind = read_at(file->fd, 0, longer, len, err);
    }
    return kind == SDS_OK ? sds_npy_read(head, file->state.size, &file->npy, err) : kind;
}

static enum sds_kind look_into(struct tensor_file *file, struct sds_err *err) {
    enum sds_kind kind = file_state_take(file->fd, &file->state, err);
    if (kind == SDS_OK && !S_ISREG(file->state.mode)) {
        kind = sds_fail(err, SDS_ERR_INVALID, "npy", "it is not a regular file");
    }
    return kind == SDS_OK ? read_header(file, err) : kind;
}

enum sds_kind tensor_file_open(const struct tensor_directory *directory, const char *name,
                               struct tensor_file *out, struct sds_err *err) {
    struct tensor_file file = {.fd = open_file(directory, name)};
    if (file.fd < 0) {
        return cannot(err, name, errno);
    }
    enum sds_kind kind = look_into(&file, err);
    if (kind != SDS_OK) {
        sds_err_context(err, "%s", SDS_QUOTE(name, strlen(name)));
        tensor_file_close(&file);
        return kind;
    }
    *out = file;
    return SDS_OK;
}

void tensor_file_close(struct tensor_file *file) {
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}

// Before, so that a file which shrank is not a matter of how many bytes are left; after, since
// somebody may write while it is read.
enum sds_kind tensor_file_read(const struct tensor_file *file, void *out, struct sds_err *err) {
    enum sds_kind kind = file_state_unchanged(file->fd, &file->state, err);
    if (kind == SDS_OK) {
        kind = read_at(file->fd, file->npy.data_off, out, (size_t)file->npy.data_len, err);
    }
    return kind == SDS_OK ? file_state_unchanged(file->fd, &file->state, err) : kind;
}
