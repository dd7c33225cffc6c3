// SPDX-License-Identifier: Apache-2.0
//
// Names, attributes and content. Answering OPEN with ENOSYS and FLUSH not at all makes an open,
// read and close of a file in the kernel's cache cost no request; the price is that nothing is
// known about open files (docs/architecture.md).
#include <errno.h>

#include "fs/kernel_call.h"
#include "fs/session_internal.h"

enum {
    // Requests in flight for readahead: more than readers that may stall, since those that are
    // parked count, and past it everybody's readahead waits. For a user other than root the kernel
    // takes less where its own ceiling (/sys/module/fuse/parameters/max_user_bgreq) is lower.
    MAX_BACKGROUND = 4096,
    MAX_LINK_BYTES = 4095,
    MAX_XATTR_BYTES = 64 << 10, // XATTR_SIZE_MAX and XATTR_LIST_MAX
};

static void init(void *userdata, struct fuse_conn_info *conn) {
    struct sds_session *session = userdata;
    // A truncation that comes with an open would be lost: there is no OPEN.
    conn->want &= ~(unsigned)FUSE_CAP_ATOMIC_O_TRUNC;
    conn->want |= conn->capable &
                  (FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_PARALLEL_DIROPS);
    session->parallel = (conn->capable & FUSE_CAP_PARALLEL_DIROPS) != 0;
    conn->max_read = SDS_MAX_READ_BYTES;  // has to repeat the mount option
    conn->max_write = SDS_MAX_READ_BYTES; // libfuse derives max_pages from it
    conn->max_background = MAX_BACKGROUND;
    conn->congestion_threshold = MAX_BACKGROUND * 3 / 4;
    session->no_open = (conn->capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
    session->starting = true;
}

struct fuse_entry_param sds_entry_param(const struct sds_entry *entry) {
    return (struct fuse_entry_param){
        .ino = entry->ino,
        .attr = entry->st,
        .attr_timeout = sds_attr_timeout(entry),
        .entry_timeout = sds_entry_timeout(entry),
    };
}

static int run_lookup(struct sds_call *call) {
    struct sds_tree *tree = call->session->tree;
    struct sds_entry entry;
    int e = sds_tree_lookup(tree, call->ino, sds_span_str(call->name), &entry);
    if (e != 0 && (e != ENOENT || !entry.lasting)) {
        return e;
    }
    struct fuse_entry_param param = sds_entry_param(&entry);
    if (fuse_reply_entry(call->req, &param) != 0) {
        sds_tree_forget(tree, entry.ino, 1); // interrupted: the kernel did not count it
    }
    return 0;
}

static void lookup(fuse_req_t req, fuse_ino_t dir, const char *name) {
    struct sds_call call = {.req = req, .run = run_lookup, .ino = dir, .name = name};
    sds_call_serve(&call, SDS_OP_LOOKUP);
}

static void forget(fuse_req_t req, fuse_ino_t ino, uint64_t count) {
    struct sds_session *session = sds_begin(req, SDS_OP_FORGET);
    sds_tree_forget(session->tree, ino, count);
    fuse_reply_none(req);
}

static void forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets) {
    struct sds_session *session = sds_begin(req, SDS_OP_FORGET);
    for (size_t i = 0; i < count; i++) {
        sds_tree_forget(session->tree, forgets[i].ino, forgets[i].nlookup);
    }
    fuse_reply_none(req);
}

static int run_getattr(struct sds_call *call) {
    struct sds_entry entry;
    int e = sds_tree_getattr(call->session->tree, call->ino, &entry);
    if (e == 0) {
        fuse_reply_attr(call->req, &entry.st, sds_attr_timeout(&entry));
    }
    return e;
}

static void getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    (void)fi;
    struct sds_call call = {.req = req, .run = run_getattr, .ino = ino};
    sds_call_serve(&call, SDS_OP_GETATTR);
}

static int run_readlink(struct sds_call *call) {
    struct sds_buf target = SDS_BUF_INIT(MAX_LINK_BYTES);
    int e = sds_tree_readlink(call->session->tree, call->ino, &target);
    if (e == 0) {
        fuse_reply_buf(call->req, (const char *)target.at, target.len);
    }
    sds_buf_fini(&target);
    return e;
}

static void readlink_(fuse_req_t req, fuse_ino_t ino) {
    struct sds_call call = {.req = req, .run = run_readlink, .ino = ino};
    sds_call_serve(&call, SDS_OP_READLINK);
}

static void open_(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    (void)ino;
    struct sds_session *session = sds_begin(req, SDS_OP_OPEN);
    if (session->no_open) {
        fuse_reply_err(req, ENOSYS);
    } else {
        fi->keep_cache = 1; // dynamic files are read afresh when their time changed
        fuse_reply_open(req, fi);
    }
}

static int run_read(struct sds_call *call) {
    struct sds_session *session = call->session;
    struct sds_pieces pieces;
    int e = sds_tree_read(session->tree, call->ino, (uint64_t)call->off, call->size, &pieces);
    if (e != 0) {
        return e;
    }
    size_t bytes = 0;
    for (int i = 0; i < pieces.count; i++) {
        bytes += pieces.iov[i].iov_len;
    }
    sds_requests_add_bytes(session->requests, bytes);
    fuse_reply_iov(call->req, pieces.iov, pieces.count);
    if (pieces.release != NULL) {
        pieces.release(pieces.owner);
    }
    return 0;
}

static void read_(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                  struct fuse_file_info *fi) {
    (void)fi;
    struct sds_call call = {.req = req, .run = run_read, .ino = ino, .size = size, .off = off};
    sds_call_serve(&call, SDS_OP_READ);
}

static void statfs(fuse_req_t req, fuse_ino_t ino) {
    (void)ino;
    struct sds_session *session = sds_begin(req, SDS_OP_STATFS);
    struct statvfs whole;
    sds_tree_statfs(session->tree, &whole);
    fuse_reply_statfs(req, &whole);
}

// Answers a request for bytes whose length the caller may ask for first, with size 0.
static int reply_sized(const struct sds_call *call, int e, struct sds_buf *bytes) {
    if (e == 0 && call->size == 0) {
        fuse_reply_xattr(call->req, bytes->len);
    } else if (e == 0 && bytes->len > call->size) {
        e = ERANGE;
    } else if (e == 0) {
        fuse_reply_buf(call->req, (const char *)bytes->at, bytes->len);
    }
    sds_buf_fini(bytes);
    return e;
}

static int run_getxattr(struct sds_call *call) {
    struct sds_buf value = SDS_BUF_INIT(MAX_XATTR_BYTES);
    int e = sds_tree_getxattr(call->session->tree, call->ino, call->name, &value);
    return reply_sized(call, e, &value);
}

static void getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size) {
    struct sds_call call = {
        .req = req, .run = run_getxattr, .ino = ino, .name = name, .size = size};
    sds_call_serve(&call, SDS_OP_GETXATTR);
}

static int run_listxattr(struct sds_call *call) {
    struct sds_buf names = SDS_BUF_INIT(MAX_XATTR_BYTES);
    int e = sds_tree_listxattr(call->session->tree, call->ino, &names);
    return reply_sized(call, e, &names);
}

static void listxattr(fuse_req_t req, fuse_ino_t ino, size_t size) {
    struct sds_call call = {.req = req, .run = run_listxattr, .ino = ino, .size = size};
    sds_call_serve(&call, SDS_OP_LISTXATTR);
}

struct fuse_lowlevel_ops sds_operations(void) {
    struct fuse_lowlevel_ops ops = {
        .init = init,
        .lookup = lookup,
        .forget = forget,
        .forget_multi = forget_multi,
        .getattr = getattr,
        .readlink = readlink_,
        .open = open_,
        .read = read_,
        .statfs = statfs,
        .getxattr = getxattr,
        .listxattr = listxattr,
        .opendir = sds_op_opendir,
        .readdir = sds_op_readdir,
        .readdirplus = sds_op_readdirplus,
        .releasedir = sds_op_releasedir,
    };
    sds_set_changes(&ops);
    return ops;
}
