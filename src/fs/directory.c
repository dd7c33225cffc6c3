// SPDX-License-Identifier: Apache-2.0
//
// Directory streams. A position is the tree's own and stays valid whatever happens to the handle,
// so listing needs no memory beyond one reply. Only the directories of drafts have a handle, which
// follows what is removed while it is listed.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/name.h"
#include "fs/session_internal.h"

void sds_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    struct sds_session *session = sds_begin(req, SDS_OP_OPENDIR);
    bool keep;
    struct sds_draft_stream *stream;
    int e = sds_tree_opendir(session->tree, ino, &keep);
    e = e != 0 ? e : sds_tree_open_stream(session->tree, ino, &stream);
    if (e != 0) {
        fuse_reply_err(req, e);
        return;
    }
    fi->fh = (uintptr_t)stream;
    fi->cache_readdir = keep;
    fi->keep_cache = keep; // both are needed for the kernel to keep a listing
    if (fuse_reply_open(req, fi) != 0) {
        sds_tree_close_stream(stream);
    }
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
static struct sds_entry plus_entry(struct listing *listing, const struct sds_listed *listed) {
    struct sds_entry entry;
    if (listed->node.kind != 0 && sds_tree_listed_entry(listing->tree, listed, &entry) == 0) {
        if (sds_buf_add(&listing->taken, &entry.ino, sizeof entry.ino) == SDS_OK) {
            return entry;
        }
        sds_tree_forget(listing->tree, entry.ino, 1);
    }
    return (struct sds_entry){.st = {.st_ino = listed->ino, .st_mode = type_bits(listed->type)}};
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
        struct sds_entry entry = plus_entry(listing, listed);
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

static void list(struct sds_session *session, fuse_req_t req, fuse_ino_t ino, size_t size,
                 off_t off, struct sds_draft_stream *stream, bool plus) {
    size = size < SDS_MAX_READ_BYTES ? size : SDS_MAX_READ_BYTES;
    struct listing listing = {.req = req,
                              .tree = session->tree,
                              .buf = malloc(size),
                              .size = size,
                              .taken = SDS_BUF_INIT(SDS_MAX_READ_BYTES),
                              .plus = plus};
    if (listing.buf == NULL) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    int e = stream != NULL ? sds_tree_list_stream(session->tree, ino, stream, (uint64_t)off,
                                                  add_entry, &listing)
                           : sds_tree_list(session->tree, ino, (uint64_t)off, add_entry, &listing);
    e = e != 0 ? e : listing.e;
    // After an error the entries before it still count; the next call meets the error by itself.
    if (e != 0 && listing.used == 0) {
        fuse_reply_err(req, e);
    } else if (fuse_reply_buf(req, listing.buf, listing.used) != 0) {
        give_back(&listing);
    }
    sds_buf_fini(&listing.taken);
    free(listing.buf);
}

void sds_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi) {
    list(sds_begin(req, SDS_OP_READDIR), req, ino, size, off, stream_of(fi), false);
}

void sds_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                        struct fuse_file_info *fi) {
    list(sds_begin(req, SDS_OP_READDIRPLUS), req, ino, size, off, stream_of(fi), true);
}
