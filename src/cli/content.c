// SPDX-License-Identifier: Apache-2.0
#include "cli/content.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { STEP_BYTES = 1 << 20 };

enum sds_kind sds_write_all(int fd, struct sds_span bytes, struct sds_err *err) {
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.at, bytes.len);
        if (n < 0 && errno != EINTR) {
            return sds_fail(err, SDS_ERR_STORAGE, "write", "%s", strerror(errno));
        }
        size_t done = n > 0 ? (size_t)n : 0;
        bytes = sds_span(bytes.at + done, bytes.len - done);
    }
    return SDS_OK;
}

static enum sds_kind write_pieces(const struct sds_pieces *pieces, int fd, uint64_t *written,
                                  struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (int i = 0; i < pieces->count && kind == SDS_OK; i++) {
        struct sds_span piece = sds_span(pieces->iov[i].iov_base, pieces->iov[i].iov_len);
        kind = sds_write_all(fd, piece, err);
        *written += piece.len;
    }
    return kind;
}

enum sds_kind sds_write_content(struct sds_dataset *ds, struct sds_node file, uint64_t size, int fd,
                                struct sds_err *err) {
    for (uint64_t off = 0; off < size;) {
        struct sds_pieces pieces;
        enum sds_kind kind = ds->ops->read(ds, file, off, STEP_BYTES, &pieces, err);
        if (kind != SDS_OK) {
            return kind;
        }
        uint64_t before = off;
        kind = write_pieces(&pieces, fd, &off, err);
        if (pieces.release != NULL) {
            pieces.release(pieces.owner);
        }
        if (kind != SDS_OK) {
            return kind;
        }
        if (off == before) {
            return sds_fail(err, SDS_ERR_INTERNAL, "size", "the file ends at byte %llu of %llu",
                            (unsigned long long)off, (unsigned long long)size);
        }
    }
    return SDS_OK;
}
