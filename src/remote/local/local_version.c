// SPDX-License-Identifier: Apache-2.0
//
// Versions of replaceable objects (docs/stores.md). Other writers tell versions apart by the mtime
// alone, so a token holds it, and a swap that compares tokens never passes where theirs would not.
// It holds more, since two of their versions can share an mtime: the clock that stamps files moves
// in steps of milliseconds.
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "remote/local/local_internal.h"

// As much of the content goes into a token; a catalog's pointer is some 130 bytes.
#define HEAD_BYTES 4096

static void make_token(const struct stat *st, const uint8_t *content, struct sds_version *out) {
    size_t head = st->st_size < HEAD_BYTES ? (size_t)st->st_size : HEAD_BYTES;
    out->there = true;
    out->mtime = st->st_mtim;
    snprintf(out->token, sizeof out->token, "%lld.%09ld-%llx-%llx-%016llx",
             (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, (unsigned long long)st->st_ino,
             (unsigned long long)st->st_size,
             (unsigned long long)sds_hash_stable(sds_span(content, head)));
}

enum sds_kind sds_local_version_at(int dir, const char *path, struct sds_version *version,
                                   struct timespec *mtime, struct sds_err *err) {
    sds_autofd int fd = -1;
    struct stat st;
    uint8_t head[HEAD_BYTES];
    *version = (struct sds_version){.there = false};
    enum sds_kind kind = sds_local_open_file(dir, path, &fd, &st, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        return SDS_OK;
    }
    if (kind == SDS_OK) {
        size_t len = st.st_size < HEAD_BYTES ? (size_t)st.st_size : HEAD_BYTES;
        kind = sds_local_pread(fd, 0, head, len, err);
    }
    if (kind == SDS_OK) {
        make_token(&st, head, version);
        *mtime = st.st_mtim;
    }
    return kind;
}

enum sds_kind sds_local_version(struct sds_store *store, const char *path,
                                struct sds_version *version, struct sds_err *err) {
    const struct sds_local_store *local = (struct sds_local_store *)store;
    struct timespec mtime;
    return sds_local_version_at(local->root_fd, path, version, &mtime, err);
}

enum sds_kind sds_local_read_version(struct sds_store *store, const char *path, uint64_t max,
                                     struct sds_blob **out, struct sds_version *version,
                                     struct sds_err *err) {
    const struct sds_local_store *local = (struct sds_local_store *)store;
    sds_autofd int fd = -1;
    sds_autoblob struct sds_blob *blob = NULL;
    struct stat st;
    enum sds_kind kind = sds_local_open_file(local->root_fd, path, &fd, &st, err);
    if (kind == SDS_OK) {
        kind = sds_object_blob((uint64_t)st.st_size, max, &blob, err);
    }
    if (kind == SDS_OK) {
        kind = sds_local_pread(fd, 0, blob->at, blob->len, err);
    }
    if (kind == SDS_OK) {
        make_token(&st, blob->at, version);
        *out = SDS_STEAL(blob);
    }
    return kind;
}
