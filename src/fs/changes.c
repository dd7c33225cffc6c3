// SPDX-License-Identifier: Apache-2.0
//
// What would change something. The tree says where that may be; elsewhere it is EROFS, if the modes
// do not forbid it before we are asked. Each operation has to be there: a missing one would be
// ENOSYS, which the kernel turns into something else or remembers as success.
#include <errno.h>
#include <stdlib.h>

#include "fs/session_internal.h"

static struct sds_tree *begin(fuse_req_t req) {
    return sds_begin(req, SDS_OP_CHANGE)->tree;
}

static void refuse(fuse_req_t req, fuse_ino_t ino) {
    fuse_reply_err(req, sds_tree_refusal(begin(req), ino));
}

// --- names

static void reply_entry(fuse_req_t req, struct sds_tree *tree, int e,
                        const struct sds_entry *entry) {
    if (e != 0) {
        fuse_reply_err(req, e);
        return;
    }
    struct fuse_entry_param param = sds_entry_param(entry);
    if (fuse_reply_entry(req, &param) != 0) {
        sds_tree_forget(tree, entry->ino, 1); // interrupted: the kernel did not count it
    }
}

static void mknod_(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode, dev_t dev) {
    (void)dev;
    if (!S_ISREG(mode)) {
        refuse(req, dir);
        return;
    }
    struct sds_tree *tree = begin(req);
    struct sds_entry entry;
    int e = sds_tree_create(tree, dir, sds_span_str(name), true, &entry);
    reply_entry(req, tree, e, &entry);
}

static void mkdir_(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode) {
    (void)mode;
    struct sds_tree *tree = begin(req);
    struct sds_entry entry;
    int e = sds_tree_mkdir(tree, dir, sds_span_str(name), &entry);
    reply_entry(req, tree, e, &entry);
}

static void create(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode,
                   struct fuse_file_info *fi) {
    (void)mode;
    struct sds_tree *tree = begin(req);
    struct sds_entry entry;
    int e = sds_tree_create(tree, dir, sds_span_str(name), (fi->flags & O_EXCL) != 0, &entry);
    if (e != 0) {
        fuse_reply_err(req, e);
        return;
    }
    struct fuse_entry_param param = sds_entry_param(&entry);
    if (fuse_reply_create(req, &param, fi) != 0) {
        sds_tree_forget(tree, entry.ino, 1);
    }
}

static void unlink_(fuse_req_t req, fuse_ino_t dir, const char *name) {
    fuse_reply_err(req, sds_tree_remove(begin(req), dir, sds_span_str(name), false));
}

static void rmdir_(fuse_req_t req, fuse_ino_t dir, const char *name) {
    fuse_reply_err(req, sds_tree_remove(begin(req), dir, sds_span_str(name), true));
}

static void rename_(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to,
                    const char *new_name, unsigned flags) {
    fuse_reply_err(req, sds_tree_rename(begin(req), from, sds_span_str(name), to,
                                        sds_span_str(new_name), flags));
}

static void symlink_(fuse_req_t req, const char *target, fuse_ino_t dir, const char *name) {
    (void)target, (void)name;
    refuse(req, dir);
}

static void link_(fuse_req_t req, fuse_ino_t ino, fuse_ino_t dir, const char *name) {
    (void)ino, (void)name;
    refuse(req, dir);
}

// --- attributes

static struct timespec new_time(int set, int bit, int now_bit, struct timespec time) {
    return (set & now_bit) != 0 ? (struct timespec){.tv_nsec = UTIME_NOW}
           : (set & bit) != 0   ? time
                                : (struct timespec){.tv_nsec = UTIME_OMIT};
}

static void setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int set,
                    struct fuse_file_info *fi) {
    (void)fi;
    const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
                      FUSE_SET_ATTR_MTIME_NOW;
    struct sds_new_attr attr = {
        .set_uid = (set & FUSE_SET_ATTR_UID) != 0,
        .set_gid = (set & FUSE_SET_ATTR_GID) != 0,
        .set_size = (set & FUSE_SET_ATTR_SIZE) != 0,
        .set_times = (set & times) != 0,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .size = (uint64_t)st->st_size,
        .times = {new_time(set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, st->st_atim),
                  new_time(set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, st->st_mtim)},
    };
    struct sds_entry entry;
    int e = sds_tree_setattr(begin(req), ino, &attr, &entry);
    if (e != 0) {
        fuse_reply_err(req, e);
    } else {
        fuse_reply_attr(req, &entry.st, sds_attr_timeout(&entry));
    }
}

// What drafts do not have. Copying tools take it for "none here", the C library's posix_fallocate
// for "write zeros".
static void not_supported(fuse_req_t req, fuse_ino_t ino) {
    int e = sds_tree_refusal(begin(req), ino);
    fuse_reply_err(req, e == EPERM ? EOPNOTSUPP : e);
}

static void setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
                     size_t size, int flags) {
    (void)name, (void)value, (void)size, (void)flags;
    not_supported(req, ino);
}

static void removexattr(fuse_req_t req, fuse_ino_t ino, const char *name) {
    (void)name;
    not_supported(req, ino);
}

// --- content

// A command that is at work. The thread that took it has gone on to other requests.
struct pending {
    fuse_req_t req;
    size_t size;
};

static void answer_command(void *ctx, int e) {
    struct pending *pending = ctx;
    if (e != 0) {
        fuse_reply_err(pending->req, e);
    } else {
        fuse_reply_write(pending->req, pending->size);
    }
    free(pending);
}

static void take_command(fuse_req_t req, struct sds_tree *tree, fuse_ino_t ino,
                         struct sds_span line) {
    struct pending *pending = malloc(sizeof *pending);
    if (pending == NULL) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    *pending = (struct pending){.req = req, .size = line.len};
    struct sds_waiter waiter = {
        .done = answer_command, .ctx = pending, .pid = fuse_req_ctx(req)->pid};
    int e = sds_tree_command(tree, ino, line, &waiter);
    if (e != 0) {
        answer_command(pending, e);
    }
}

// The bytes that were refused are in the kernel's pages by now: those of a shared mapping would
// stay there, and be what everybody reads.
static void drop_pages(fuse_req_t req, fuse_ino_t ino) {
    const struct sds_session *session = fuse_req_userdata(req);
    sds_invalidate(session->invalidator, ino);
}

static void write_(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t off,
                   struct fuse_file_info *fi) {
    (void)fi;
    struct sds_tree *tree = begin(req);
    struct sds_span span = sds_span(bytes, size);
    if (sds_tree_takes_commands(tree, ino)) {
        take_command(req, tree, ino, span);
        return;
    }
    size_t written;
    int e = sds_tree_write(tree, ino, (uint64_t)off, span, &written);
    if (e != 0) {
        drop_pages(req, ino);
        fuse_reply_err(req, e);
    } else {
        fuse_reply_write(req, written);
    }
}

static void fallocate_(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
                       struct fuse_file_info *fi) {
    (void)mode, (void)off, (void)len, (void)fi;
    not_supported(req, ino);
}

static void fsync_(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi) {
    (void)fi;
    fuse_reply_err(req, sds_tree_sync(begin(req), ino, data_only != 0));
}

void sds_set_changes(struct fuse_lowlevel_ops *ops) {
    ops->setattr = setattr;
    ops->mknod = mknod_;
    ops->mkdir = mkdir_;
    ops->unlink = unlink_;
    ops->rmdir = rmdir_;
    ops->symlink = symlink_;
    ops->rename = rename_;
    ops->link = link_;
    ops->create = create;
    ops->write = write_;
    ops->fallocate = fallocate_;
    ops->fsync = fsync_;
    ops->fsyncdir = fsync_;
    ops->setxattr = setxattr;
    ops->removexattr = removexattr;
}
