// SPDX-License-Identifier: Apache-2.0
//
// control/annotations in the tree: what the drafts tell, as entries of the tree, and everything
// that changes something. Only drafts can be changed, and control/prefetch be written to; the rest
// of the tree is EROFS.
#include <errno.h>
#include <stdlib.h>

#include "format/name.h"
#include "fs/tree_internal.h"

enum { FILE_MODE = S_IFREG | 0600, DIRECTORY_MODE = S_IFDIR | 0700 };

static uint64_t shown_ino(uint64_t backing) {
    return sds_ino_pack(SDS_KIND_DRAFT, backing & ((UINT64_C(1) << SDS_NODE_KEY_BITS) - 1));
}

static struct sds_entry draft_entry(const struct sds_tree *tree, uint64_t id,
                                    const struct stat *found) {
    bool directory = S_ISDIR(found->st_mode);
    return (struct sds_entry){.ino = sds_node_ino(sds_draft_node(id)),
                              .st = {.st_ino = shown_ino(found->st_ino),
                                     .st_mode = directory ? DIRECTORY_MODE : FILE_MODE,
                                     .st_nlink = found->st_nlink > 1 ? 1 : found->st_nlink,
                                     .st_uid = tree->uid,
                                     .st_gid = tree->gid,
                                     .st_size = directory ? 0 : found->st_size,
                                     .st_blksize = found->st_blksize,
                                     .st_blocks = found->st_blocks,
                                     .st_atim = found->st_atim,
                                     .st_mtim = found->st_mtim,
                                     .st_ctim = found->st_ctim}};
}

int sds_tree_draft_entry(struct sds_tree *tree, uint64_t id, struct sds_entry *out) {
    struct stat st;
    int e = sds_drafts_getattr(tree->drafts, id, &st);
    if (e == ENOENT && id == SDS_DRAFTS_TOP) { // nobody has made a draft yet
        st = (struct stat){.st_ino = 1,
                           .st_mode = S_IFDIR,
                           .st_nlink = 1,
                           .st_atim = tree->totals.mtime,
                           .st_mtim = tree->totals.mtime,
                           .st_ctim = tree->totals.mtime};
        e = 0;
    }
    if (e == 0) {
        *out = draft_entry(tree, id, &st);
    }
    return e;
}

int sds_tree_draft_lookup(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                          struct sds_entry *out) {
    if (name.len > SDS_NAME_MAX) {
        return ENAMETOOLONG;
    }
    struct sds_found found;
    int e = sds_drafts_lookup(tree->drafts, dir, name, &found);
    if (e == 0) {
        *out = draft_entry(tree, found.id, &found.st);
    } else if (e == ENOENT) {
        *out = (struct sds_entry){0};
    }
    return e;
}

// --- listing

int sds_tree_open_stream(struct sds_tree *tree, uint64_t ino, struct sds_draft_stream **out) {
    struct sds_node node;
    *out = NULL;
    int e = sds_tree_node(tree, ino, &node);
    if (e != 0 || !sds_node_is_draft(node)) {
        return e;
    }
    return sds_drafts_open_dir(tree->drafts, node.key, out);
}

void sds_tree_close_stream(struct sds_draft_stream *stream) {
    sds_draft_stream_close(stream);
}

struct stream_listing {
    uint64_t dir;
    sds_listed_fn emit;
    void *ctx;
};

static bool emit_draft(void *ctx, const struct sds_draft_entry *entry) {
    const struct stream_listing *listing = ctx;
    bool dots =
        sds_span_eq(entry->name, sds_span_str(".")) || sds_span_eq(entry->name, sds_span_str(".."));
    struct sds_node node = {.kind = dots ? 0 : SDS_KIND_DRAFT_NAME, .key = listing->dir};
    return listing->emit(listing->ctx, &(struct sds_listed){.name = entry->name,
                                                            .node = node,
                                                            .ino = shown_ino(entry->ino),
                                                            .type = entry->type,
                                                            .next = entry->next});
}

int sds_tree_list_stream(struct sds_tree *tree, uint64_t ino, struct sds_draft_stream *stream,
                         uint64_t position, sds_listed_fn emit, void *ctx) {
    (void)tree;
    struct stream_listing listing = {.dir = sds_ino_key(ino), .emit = emit, .ctx = ctx};
    return sds_draft_stream_list(stream, position, emit_draft, &listing);
}

// --- changes

// The draft file behind a number; EROFS for anything else.
static int changeable(struct sds_tree *tree, uint64_t ino, uint64_t *id) {
    struct sds_node node;
    int e = sds_tree_node(tree, ino, &node);
    *id = node.key;
    return e != 0 ? e : sds_node_is_draft(node) ? 0 : EROFS;
}

int sds_tree_refusal(struct sds_tree *tree, uint64_t ino) {
    uint64_t id;
    int e = changeable(tree, ino, &id);
    return e != 0 ? e : EPERM;
}

static int take_found(struct sds_tree *tree, int e, const struct sds_found *found,
                      struct sds_entry *out) {
    if (e == 0) {
        *out = draft_entry(tree, found->id, &found->st);
    }
    return e;
}

int sds_tree_mkdir(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                   struct sds_entry *out) {
    uint64_t id;
    struct sds_found found;
    int e = changeable(tree, dir, &id);
    e = e != 0 ? e : sds_drafts_mkdir(tree->drafts, id, name, &found);
    return take_found(tree, e, &found, out);
}

int sds_tree_create(struct sds_tree *tree, uint64_t dir, struct sds_span name, bool exclusive,
                    struct sds_entry *out) {
    uint64_t id;
    struct sds_found found;
    int e = changeable(tree, dir, &id);
    e = e != 0 ? e : sds_drafts_create(tree->drafts, id, name, exclusive, &found);
    return take_found(tree, e, &found, out);
}

int sds_tree_remove(struct sds_tree *tree, uint64_t dir, struct sds_span name, bool directory) {
    uint64_t id;
    int e = changeable(tree, dir, &id);
    return e != 0 ? e : sds_drafts_remove(tree->drafts, id, name, directory);
}

int sds_tree_rename(struct sds_tree *tree, uint64_t dir, struct sds_span name, uint64_t new_dir,
                    struct sds_span new_name, unsigned flags) {
    uint64_t from, to;
    int e = changeable(tree, dir, &from);
    e = e != 0 ? e : changeable(tree, new_dir, &to);
    return e != 0 ? e : sds_drafts_rename(tree->drafts, from, name, to, new_name, flags);
}

static bool is_prefetch(const struct sds_tree *tree, uint64_t ino) {
    struct sds_node node;
    return sds_tree_node(tree, ino, &node) == 0 && sds_tree_is_prefetch(tree, node);
}

static int announce(struct sds_tree *tree, uint64_t off, struct sds_span text) {
    uint64_t *ordinals;
    size_t count;
    struct sds_err err;
    int e = sds_prefetch_write(&tree->prefetch, off, text, tree->totals.records, &ordinals, &count,
                               &err);
    if (e == 0 && count > 0) {
        tree->ds->ops->announce(tree->ds, ordinals, count);
    } else if (e != 0) { // an error number is all that the writer gets
        sds_errors_add(tree->errors, sds_span_str(SDS_CONTROL_NAME "/" SDS_PREFETCH_NAME), &err);
    }
    free(ordinals);
    return e;
}

static bool keeps_owner(const struct sds_tree *tree, const struct sds_new_attr *attr) {
    return (!attr->set_uid || attr->uid == tree->uid) && (!attr->set_gid || attr->gid == tree->gid);
}

static int set_attributes(struct sds_tree *tree, uint64_t id, const struct sds_new_attr *attr) {
    if (!keeps_owner(tree, attr)) {
        return EPERM;
    }
    if (sds_drafts_is_commit(tree->drafts, id)) {
        return 0; // opening it with O_TRUNC comes here; it is always empty
    }
    int e = attr->set_size ? sds_drafts_truncate(tree->drafts, id, attr->size) : 0;
    return e == 0 && attr->set_times ? sds_drafts_utimes(tree->drafts, id, attr->times) : e;
}

int sds_tree_setattr(struct sds_tree *tree, uint64_t ino, const struct sds_new_attr *attr,
                     struct sds_entry *out) {
    if (is_prefetch(tree, ino)) { // opening it with O_TRUNC comes here; it is always empty
        return keeps_owner(tree, attr) ? sds_tree_getattr(tree, ino, out) : EPERM;
    }
    uint64_t id;
    int e = changeable(tree, ino, &id);
    e = e != 0 ? e : set_attributes(tree, id, attr);
    return e != 0 ? e : sds_tree_draft_entry(tree, id, out);
}

int sds_tree_write(struct sds_tree *tree, uint64_t ino, uint64_t off, struct sds_span bytes,
                   size_t *written) {
    if (is_prefetch(tree, ino)) {
        *written = bytes.len;
        return announce(tree, off, bytes);
    }
    uint64_t id;
    int e = changeable(tree, ino, &id);
    return e != 0 ? e : sds_drafts_write(tree->drafts, id, off, bytes, written);
}

int sds_tree_sync(struct sds_tree *tree, uint64_t ino, bool data_only) {
    uint64_t id;
    int e = changeable(tree, ino, &id);
    if (e == EROFS) {
        return 0; // nothing of it is ours to lose
    }
    return e != 0 ? e : sds_drafts_sync(tree->drafts, id, data_only);
}

bool sds_tree_takes_commands(struct sds_tree *tree, uint64_t ino) {
    uint64_t id;
    return changeable(tree, ino, &id) == 0 && sds_drafts_is_commit(tree->drafts, id);
}

int sds_tree_command(struct sds_tree *tree, uint64_t ino, struct sds_span line,
                     const struct sds_waiter *waiter) {
    uint64_t id;
    int e = changeable(tree, ino, &id);
    return e != 0 ? e : sds_drafts_command(tree->drafts, id, line, waiter);
}

static int write_back_draft(void *ctx, uint64_t id) {
    const struct sds_tree *tree = ctx;
    return tree->write_back(tree->write_back_ctx, sds_node_ino(sds_draft_node(id)));
}

void sds_tree_set_write_back(struct sds_tree *tree, int (*write_back)(void *ctx, uint64_t ino),
                             void *ctx) {
    tree->write_back = write_back;
    tree->write_back_ctx = ctx;
    sds_drafts_set_write_back(tree->drafts,
                              &(struct sds_write_back){.file = write_back_draft, .ctx = tree});
}

enum sds_kind sds_tree_check_drafts(struct sds_tree *tree, struct sds_err *err) {
    return sds_drafts_check(tree->drafts, err);
}

void sds_tree_abandon(struct sds_tree *tree) {
    sds_drafts_abandon(tree->drafts);
}
