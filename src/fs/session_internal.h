// SPDX-License-Identifier: Apache-2.0
//
// What the FUSE-facing modules share. Every handler begins with sds_begin, and answers exactly
// once.
#ifndef SDSFS_FS_SESSION_INTERNAL_H
#define SDSFS_FS_SESSION_INTERNAL_H

#define FUSE_USE_VERSION 312

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "fs/invalidate.h"
#include "fs/session.h"

// Immutable answers are valid for longer than any mount lives; infinity would overflow on the way.
#define SDS_FOR_EVER_SECONDS 1e9
#define SDS_MAX_READ_BYTES (1U << 20) // the most the kernel asks for (max_pages_limit of 256 pages)
#define SDS_MAX_PARKED 32768          // requests that wait; each takes some hundred bytes

// What the threads of the loop are doing, counted where they read requests (fs/parallel.c).
struct sds_work {
    atomic_uint busy;          // at work on a request
    atomic_uint_fast64_t done; // requests that they are through with, parked ones too
};

struct sds_session {
    struct fuse_session *fuse;
    struct sds_tree *tree;
    struct sds_requests *requests;
    struct sds_session_options options;
    struct sds_invalidator *invalidator; // while it is served
    struct sds_parking *parking;         // the same
    bool no_open;                        // the kernel understands ENOSYS to OPEN
    bool starting;                       // the next answer is the one to INIT (fs/parallel.c)
    bool parallel;                       // which gets a flag
    struct sds_work work;
};

// Counts the request and returns its session.
static inline struct sds_session *sds_begin(fuse_req_t req, enum sds_op op) {
    struct sds_session *session = fuse_req_userdata(req);
    sds_requests_add(session->requests, op);
    return session;
}

static inline double sds_entry_timeout(const struct sds_entry *entry) {
    return entry->lasting ? SDS_FOR_EVER_SECONDS : 0;
}

static inline double sds_attr_timeout(const struct sds_entry *entry) {
    return entry->changing ? 0 : sds_entry_timeout(entry);
}

// As the kernel wants an entry.
struct fuse_entry_param sds_entry_param(const struct sds_entry *entry);

// session_mount.c: makes session->fuse and mounts it. The kinds of sds_session_open.
SDS_MUST_CHECK enum sds_kind sds_session_mount(struct sds_session *session, struct sds_err *err);

// directory.c
void sds_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void sds_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi);
void sds_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                        struct fuse_file_info *fi);
void sds_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

// changes.c: sets every operation that would change something.
void sds_set_changes(struct fuse_lowlevel_ops *ops);

// operations.c
struct fuse_lowlevel_ops sds_operations(void);

#endif
