// SPDX-License-Identifier: Apache-2.0
//
// The file system is read-only: whatever would change it is EROFS, where the modes do not forbid it
// before we are asked. Each operation has to be there; a missing one would be ENOSYS, which the
// kernel turns into something else or remembers as success.
#include <errno.h>

#include "fs/session_internal.h"

static void refuse(fuse_req_t req) {
    sds_begin(req, SDS_OP_CHANGE);
    fuse_reply_err(req, EROFS);
}

static void setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int set,
                    struct fuse_file_info *fi) {
    (void)ino, (void)st, (void)set, (void)fi;
    refuse(req);
}

static void mknod_(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode, dev_t dev) {
    (void)dir, (void)name, (void)mode, (void)dev;
    refuse(req);
}

static void mkdir_(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode) {
    (void)dir, (void)name, (void)mode;
    refuse(req);
}

static void remove_(fuse_req_t req, fuse_ino_t dir, const char *name) {
    (void)dir, (void)name;
    refuse(req);
}

static void symlink_(fuse_req_t req, const char *target, fuse_ino_t dir, const char *name) {
    (void)target, (void)dir, (void)name;
    refuse(req);
}

static void rename_(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to,
                    const char *new_name, unsigned flags) {
    (void)from, (void)name, (void)to, (void)new_name, (void)flags;
    refuse(req);
}

static void link_(fuse_req_t req, fuse_ino_t ino, fuse_ino_t dir, const char *name) {
    (void)ino, (void)dir, (void)name;
    refuse(req);
}

static void create(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode,
                   struct fuse_file_info *fi) {
    (void)dir, (void)name, (void)mode, (void)fi;
    refuse(req);
}

static void write_(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t off,
                   struct fuse_file_info *fi) {
    (void)ino, (void)bytes, (void)size, (void)off, (void)fi;
    refuse(req);
}

static void fallocate_(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
                       struct fuse_file_info *fi) {
    (void)ino, (void)mode, (void)off, (void)len, (void)fi;
    refuse(req);
}

static void setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
                     size_t size, int flags) {
    (void)ino, (void)name, (void)value, (void)size, (void)flags;
    refuse(req);
}

static void removexattr(fuse_req_t req, fuse_ino_t ino, const char *name) {
    (void)ino, (void)name;
    refuse(req);
}

void sds_refuse_changes(struct fuse_lowlevel_ops *ops) {
    ops->setattr = setattr;
    ops->mknod = mknod_;
    ops->mkdir = mkdir_;
    ops->unlink = remove_;
    ops->rmdir = remove_;
    ops->symlink = symlink_;
    ops->rename = rename_;
    ops->link = link_;
    ops->create = create;
    ops->write = write_;
    ops->fallocate = fallocate_;
    ops->setxattr = setxattr;
    ops->removexattr = removexattr;
}
