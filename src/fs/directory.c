// SPDX-License-Identifier: Apache-2.0
//
// Directory streams. A position is the tree's own and stays valid whatever happens to the handle,
// so listing needs no memory beyond one reply. Only the directories of drafts have a handle, which
// follows what is removed while it is listed.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/name.h"
#include "fs/kernel_call.h"
#include "fs/session_internal.h"

static int run_opendir(struct sds_call *call) {
    struct sds_tree *tree = call->session->tree;
    bool keep;
    struct sds_draft_stream *stream;
    int e = sds_tree_opendir(tree, call->ino, &keep);
    e = e != 0 ? e : sds_tree_open_stream(tree, call->ino, &stream);
    if (e != 0) {
        return e;
    }
    // Both are needed for the kernel to keep a listing.
    struct fuse_file_info fi = {.fh = (uintptr_t)stream, .cache_readdir = keep, .keep_cache = keep};
    if (fuse_reply_open(call->req, &fi) != 0) {
        sds_tree_close_stream(stream);
    }
    return 0;
}

void sds_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    (void)fi;
    struct sds_call call = {.req = req, .run = run_opendir, .ino = ino};
    sds_call_serve(&call, SDS_OP_OPENDIR);
}

static struct sds_draft_stream *stream_of(const struct fuse_file_info *fi) {
    return (struct sds_draft_stream *)(uintptr_t)fi->fh;
}

void sds_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    (void)ino;
    sds_begin(req, SDS_OP_RELEASEDIR);
    sds_tree_close_stream(stream_of(fi));
    fuse_reply_err(req, 0);
}

// One reply under construction.
struct listing {
    fuse_req_t req;
    struct sds_tree *tree;
    char *buf;
    size_t size, used;
    struct sds_buf taken; // inode numbers whose lookups this reply counts
    bool plus;
    int e;
};

static mode_t type_bits(enum sds_node_type type) {
    static const mode_t bits[] = {
        [SDS_FILE] = S_IFREG, [SDS_DIRECTORY] = S_IFDIR, [SDS_LINK] = S_IFLNK};
    return bits[type];
}

// The attributes of an entry, with one lookup taken. Where they cannot be had (and for "." and
// "..") ino is 0: the kernel then takes the name alone, and whoever asks for it gets the error.
// False when they have to be waited for.
static bool plus_entry(struct listing *listing, const struct sds_listed *listed,
                       struct sds_entry *out) {
    int e = listed->node.kind != 0 ? sds_tree_listed_entry(listing->tree, listed, out) : ENOENT;
    if (e == ERESTART) {
        return false;
    }
    if (e == 0) {
        if (sds_buf_add(&listing->taken, &out->ino, sizeof out->ino) == SDS_OK) {
            return true;
        }
        sds_tree_forget(listing->tree, out->ino, 1);
    }
    *out = (struct sds_entry){.st = {.st_ino = listed->ino, .st_mode = type_bits(listed->type)}};
    return true;
}

static bool add_entry(void *ctx, const struct sds_listed *listed) {
    struct listing *listing = ctx;
    if (listed->name.len > SDS_NAME_MAX) {
        listing->e = EIO;
        return false;
    }
    char name[SDS_NAME_MAX + 1];
    memcpy(name, listed->name.at, listed->name.len);
    name[listed->name.len] = '\0';
    char *at = listing->buf + listing->used;
    size_t room = listing->size - listing->used;
    off_t next = (off_t)listed->next;
    size_t need = listing->plus ? fuse_add_direntry_plus(listing->req, NULL, 0, name, NULL, 0)
                                : fuse_add_direntry(listing->req, NULL, 0, name, NULL, 0);
    if (need > room) {
        return false;
    }
    if (listing->plus) {
        struct sds_entry entry;
        if (!plus_entry(listing, listed, &entry)) {
            listing->e = ERESTART;
            return false;
        }
        struct fuse_entry_param param = sds_entry_param(&entry);
        fuse_add_direntry_plus(listing->req, at, room, name, &param, next);
    } else {
        struct stat st = {.st_ino = listed->ino, .st_mode = type_bits(listed->type)};
        fuse_add_direntry(listing->req, at, room, name, &st, next);
    }
    listing->used += need;
    return true;
}

// The reply did not reach the kernel, so it counted nothing.
static void give_back(struct listing *listing) {
    for (size_t at = 0; at < listing->taken.len; at += sizeof(uint64_t)) {
        uint64_t ino;
        memcpy(&ino, listing->taken.at + at, sizeof ino);
        sds_tree_forget(listing->tree, ino, 1);
    }
}

static int list(struct sds_call *call, bool plus) {
    struct sds_tree *tree = call->session->tree;
    uint64_t position = (uint64_t)call->off;
    size_t size = call->size < SDS_MAX_READ_BYTES ? call->size : SDS_MAX_READ_BYTES;
    struct listing listing = {.req = call->req,
                              .tree = tree,
                              .buf = malloc(size),
                              .size = size,
                              .taken = SDS_BUF_INIT(SDS_MAX_READ_BYTES),
                              .plus = plus};
    if (listing.buf == NULL) {
        return ENOMEM;
    }
    int e = call->stream != NULL
                ? sds_tree_list_stream(tree, call->ino, call->stream, position, add_entry, &listing)
                : sds_tree_list(tree, call->ino, position, add_entry, &listing);
    e = e != 0 ? e : listing.e;
    // After an error the entries before it still count; the next call meets the error by itself.
    // The same goes for what has to be waited for.
    e = listing.used == 0 ? e : 0;
    if (e == 0 && fuse_reply_buf(call->req, listing.buf, listing.used) != 0) {
        give_back(&listing);
    }
    sds_buf_fini(&listing.taken);
    free(listing.buf);
    return e;
}

static int run_readdir(struct sds_call *call) {
    return list(call, false);
}

void sds_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi) {
    struct sds_call call = {.req = req,
                            .run = run_readdir,
                            .ino = ino,
                            .size = size,
                            .off = off,
                            .stream = stream_of(fi)};
    sds_call_serve(&call, SDS_OP_READDIR);
}

static int run_readdirplus(struct sds_call *call) {
    return list(call, true);
}

void sds_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                        struct fuse_file_info *fi) {
    struct sds_call call = {.req = req,
                            .run = run_readdirplus,
                            .ino = ino,
                            .size = size,
                            .off = off,
                            .stream = stream_of(fi)};
    sds_call_serve(&call, SDS_OP_READDIRPLUS);
}
