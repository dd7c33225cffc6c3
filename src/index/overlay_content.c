// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "index/overlay_internal.h"

static void release_buf(void *owner) {
    struct sds_buf *buf = owner;
    sds_buf_fini(buf);
    free(buf);
}

static enum sds_kind read_lines(struct sds_index *index, uint64_t off, size_t len,
                                struct sds_pieces *out, struct sds_err *err) {
    struct sds_buf *buf = calloc(1, sizeof *buf);
    if (buf == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a read");
    }
    *buf = SDS_BUF_INIT(len);
    enum sds_kind kind = sds_index_lines(index, off, len, buf, err);
    if (kind != SDS_OK) {
        release_buf(buf);
        return kind;
    }
    *out = (struct sds_pieces){.count = 1, .release = release_buf, .owner = buf};
    out->iov[0].iov_base = buf->at;
    out->iov[0].iov_len = buf->len;
    return SDS_OK;
}

static enum sds_kind read_fd(int fd, uint64_t size, uint64_t off, size_t len,
                             struct sds_pieces *out, struct sds_err *err) {
    uint64_t left = off < size ? size - off : 0;
    size_t want = left < len ? (size_t)left : len, done = 0;
    struct sds_blob *blob = sds_blob_new(want);
    if (blob == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a read");
    }
    while (done < want) {
        ssize_t n = pread(fd, blob->at + done, want - done, (off_t)(off + done));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            sds_blob_unref(blob);
            return sds_fail(err, SDS_ERR_STORAGE, "index", "cannot read it: %s",
                            n == 0 ? "it has become shorter" : strerror(errno));
        }
        done += n > 0 ? (size_t)n : 0;
    }
    *out = (struct sds_pieces){.count = 1, .release = sds_blob_release, .owner = blob};
    out->iov[0].iov_base = blob->at;
    out->iov[0].iov_len = want;
    return SDS_OK;
}

static enum sds_kind read_own(struct overlay *o, struct sds_node node, uint64_t off, size_t len,
                              struct sds_pieces *out, struct sds_err *err) {
    struct sds_index *index;
    struct sds_index_lines_file file;
    if (node.kind == SET_LINES) {
        enum sds_kind kind = overlay_set_file(o, node.key, &file, err);
        sds_autofd int fd = kind == SDS_OK ? file.fd : -1;
        return kind == SDS_OK ? read_fd(fd, file.size, off, len, out, err) : kind;
    }
    if (node.kind != RECORDS_LINES && node.kind != RECORDS_DATABASE) {
        return overlay_absent(err);
    }
    enum sds_kind kind = sds_index_parts_index(o->parts, &index, err);
    if (kind != SDS_OK) {
        return kind;
    }
    return node.kind == RECORDS_LINES
               ? overlay_answered(o, index, read_lines(index, off, len, out, err))
               : read_fd(sds_index_file(index), sds_index_facts(index)->file_bytes, off, len, out,
                         err);
}

enum sds_kind overlay_read(struct sds_dataset *ds, struct sds_node file, uint64_t off, size_t len,
                           struct sds_pieces *out, struct sds_err *err) {
    struct overlay *o = overlay_of(ds);
    return overlay_is_ours(file) ? read_own(o, file, off, len, out, err)
                                 : o->inner->ops->read(o->inner, file, off, len, out, err);
}

enum sds_kind overlay_readlink(struct sds_dataset *ds, struct sds_node link, struct sds_buf *out,
                               struct sds_err *err) {
    struct overlay *o = overlay_of(ds);
    if (!overlay_is_ours(link)) {
        return o->inner->ops->readlink(o->inner, link, out, err);
    }
    if (link.kind != ID && link.kind != SCENE_RECORD) {
        return sds_fail(err, SDS_ERR_INVALID, "link", "it is no link");
    }
    enum sds_kind kind = sds_buf_printf(out, "%s%0*llu", overlay_link_prefix(link), (int)o->width,
                                        (unsigned long long)link.key);
    return kind == SDS_OK ? kind : sds_buf_failed(out, kind, err);
}
