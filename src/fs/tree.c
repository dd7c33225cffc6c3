// SPDX-License-Identifier: Apache-2.0
#include "fs/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/name.h"
#include "fs/errno.h"
#include "fs/tree_internal.h"
#include "fs/walk.h"

enum {
    BLOCK_BYTES = 512, // what st_blocks counts
    IO_BYTES = 4096,
};

struct sds_tree *sds_tree_new(struct sds_dataset *ds, struct sds_errors *errors,
                              struct sds_requests *requests,
                              const struct sds_tree_options *options) {
    struct sds_tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL) {
        return NULL;
    }
    *tree = (struct sds_tree){.ds = ds,
                              .errors = errors,
                              .nodes = sds_nodes_new(),
                              .uid = options->uid,
                              .gid = options->gid,
                              .umask = options->umask};
    sds_prefetch_init(&tree->prefetch);
    if (tree->nodes != NULL) {
        tree->control = sds_control_new(&(struct sds_control_sources){.ds = ds,
                                                                      .errors = errors,
                                                                      .requests = requests,
                                                                      .nodes = tree->nodes,
                                                                      .version = options->version,
                                                                      .root = options->root,
                                                                      .store = options->store,
                                                                      .config = options->config,
                                                                      .ctx = options->config_ctx});
    }
    tree->drafts = sds_drafts_new(ds, errors, options->state_dir, options->root);
    if (tree->control == NULL || tree->drafts == NULL) {
        sds_tree_free(tree);
        return NULL;
    }
    ds->ops->totals(ds, &tree->totals);
    return tree;
}

void sds_tree_free(struct sds_tree *tree) {
    if (tree != NULL) {
        sds_drafts_free(tree->drafts);
        sds_control_free(tree->control);
        sds_nodes_free(tree->nodes);
        sds_prefetch_fini(&tree->prefetch);
        free(tree);
    }
}

void sds_tree_sweep(struct sds_tree *tree) {
    if (tree->ds->ops->sweep != NULL) {
        tree->ds->ops->sweep(tree->ds);
    }
}

// A node's number, with one lookup taken where nodes are counted.
static int hold(struct sds_tree *tree, struct sds_node node, uint64_t *ino) {
    if (node.wide == 0) {
        *ino = sds_node_ino(node);
        return 0;
    }
    uint64_t number;
    if (!sds_nodes_hold(tree->nodes, node, &number)) {
        return ENOMEM;
    }
    *ino = sds_ino_pack(SDS_KIND_WIDE, number);
    return 0;
}

void sds_tree_forget(struct sds_tree *tree, uint64_t ino, uint64_t count) {
    if (sds_ino_kind(ino) == SDS_KIND_WIDE) {
        sds_nodes_drop(tree->nodes, sds_ino_key(ino), count);
    } else if (sds_ino_kind(ino) == SDS_KIND_DRAFT) {
        sds_drafts_forget(tree->drafts, sds_ino_key(ino), count);
    }
}

int sds_tree_node(const struct sds_tree *tree, uint64_t ino, struct sds_node *out) {
    if (ino == SDS_ROOT_INO) {
        *out = SDS_NODE_ROOT;
        return 0;
    }
    if (sds_ino_kind(ino) == SDS_KIND_WIDE) {
        return sds_nodes_find(tree->nodes, sds_ino_key(ino), out) ? 0 : ESTALE;
    }
    *out = (struct sds_node){.kind = sds_ino_kind(ino), .key = sds_ino_key(ino)};
    return out->kind == 0 ? ESTALE : 0;
}

// Appends the path of a node; of our own, the directory stands for its files, whose names callers
// add.
static void add_path(struct sds_tree *tree, struct sds_node node, struct sds_buf *path) {
    if (!sds_node_is_ours(node)) {
        tree->ds->ops->path(tree->ds, node, path);
    } else if (sds_buf_add_str(path, SDS_CONTROL_NAME) != SDS_OK) {
        path->len = 0; // no memory: the failure is told without its place
    }
}

int sds_tree_failed_name(struct sds_tree *tree, struct sds_node dir, struct sds_span name,
                         const struct sds_err *err) {
    if (err->kind == SDS_ERR_INVALID || err->kind == SDS_ERR_WAITING) {
        return sds_errno(err->kind); // the caller's mistake, or none at all
    }
    struct sds_buf path = SDS_BUF_INIT(SDS_MAX_PATH_BYTES);
    add_path(tree, dir, &path);
    if (name.len > 0 && (path.len == 0 || sds_buf_add_str(&path, "/") == SDS_OK) &&
        sds_buf_add_span(&path, name) != SDS_OK) {
        path.len = 0;
    }
    sds_errors_add(tree->errors, sds_buf_span(&path), err);
    sds_buf_fini(&path);
    return sds_errno_inside(err->kind);
}

int sds_tree_failed(struct sds_tree *tree, struct sds_node node, const struct sds_err *err) {
    return sds_tree_failed_name(tree, node, sds_span(NULL, 0), err);
}

int sds_tree_note(struct sds_tree *tree, uint64_t ino, struct sds_span name,
                  const struct sds_err *err) {
    struct sds_node node;
    int e = sds_tree_node(tree, ino, &node);
    return e != 0 ? e : sds_tree_failed_name(tree, node, name, err);
}

int sds_tree_render(struct sds_tree *tree, struct sds_node node, enum sds_render_for purpose,
                    struct sds_rendering *out) {
    enum sds_control_file file = sds_node_control_file(node);
    struct sds_err err;
    if (sds_control_render(tree->control, file, purpose, out, &err) == SDS_OK) {
        return 0;
    }
    return sds_tree_failed_name(tree, node, sds_span_str(sds_control_name(file)), &err);
}

static void fill(const struct sds_tree *tree, uint64_t ino, enum sds_node_type type, uint64_t size,
                 struct timespec changed, struct stat *st) {
    static const mode_t modes[] = {
        [SDS_FILE] = S_IFREG | 0444, [SDS_DIRECTORY] = S_IFDIR | 0555, [SDS_LINK] = S_IFLNK | 0777};
    *st = (struct stat){
        .st_ino = ino,
        .st_mode = type == SDS_LINK ? modes[type] : modes[type] & ~tree->umask,
        .st_nlink = 1, // also of directories: "not told", since telling would mean to list them
        .st_uid = tree->uid,
        .st_gid = tree->gid,
        .st_size = (off_t)size,
        .st_blksize = IO_BYTES,
        .st_blocks = (blkcnt_t)(size / BLOCK_BYTES + (size % BLOCK_BYTES != 0)),
        .st_atim = changed,
        .st_mtim = changed,
        .st_ctim = changed,
    };
}

static int control_entry(struct sds_tree *tree, struct sds_node node, enum sds_render_for purpose,
                         struct sds_entry *out) {
    if (sds_node_is_draft(node)) {
        return sds_tree_draft_entry(tree, node.key, out);
    }
    *out = (struct sds_entry){.ino = sds_node_ino(node)};
    if (sds_node_is_control_dir(node)) {
        fill(tree, out->ino, SDS_DIRECTORY, 0, tree->totals.mtime, &out->st);
        return 0;
    }
    if (sds_tree_is_prefetch(tree, node)) {
        fill(tree, out->ino, SDS_FILE, 0, tree->totals.mtime, &out->st);
        out->st.st_mode = (S_IFREG | 0200) & ~tree->umask;
        return 0;
    }
    if (!sds_node_is_control_file(node)) {
        return ESTALE;
    }
    struct sds_rendering rendering;
    int e = sds_tree_render(tree, node, purpose, &rendering);
    if (e != 0) {
        return e;
    }
    fill(tree, out->ino, SDS_FILE, rendering.text->len, rendering.changed, &out->st);
    sds_blob_unref(rendering.text);
    return 0;
}

// The attributes of a node of the driver, under a number that the caller answers for.
static int driver_entry(struct sds_tree *tree, struct sds_node node, uint64_t ino,
                        struct sds_entry *out) {
    struct sds_attr attr;
    struct sds_err err;
    if (tree->ds->ops->getattr(tree->ds, node, &attr, &err) != SDS_OK) {
        return sds_tree_failed(tree, node, &err);
    }
    *out = (struct sds_entry){.ino = ino, .lasting = true, .changing = attr.changing};
    fill(tree, ino, attr.type, attr.size, attr.changing ? attr.mtime : tree->totals.mtime,
         &out->st);
    return 0;
}

int sds_tree_held_entry(struct sds_tree *tree, struct sds_node node, struct sds_entry *out) {
    if (sds_node_is_ours(node)) {
        return control_entry(tree, node, SDS_RENDER_LOOKUP, out);
    }
    uint64_t ino;
    int e = hold(tree, node, &ino);
    if (e != 0) {
        return e;
    }
    e = driver_entry(tree, node, ino, out);
    if (e != 0) {
        sds_tree_forget(tree, ino, 1);
    }
    return e;
}

int sds_tree_getattr(struct sds_tree *tree, uint64_t ino, struct sds_entry *out) {
    struct sds_node node;
    int e = sds_tree_node(tree, ino, &node);
    if (e != 0) {
        return e;
    }
    return sds_node_is_ours(node) ? control_entry(tree, node, SDS_RENDER_GETATTR, out)
                                  : driver_entry(tree, node, ino, out);
}

// Finds a node of the dataset, or the directory that holds it, by walking to where its path says it
// lies.
static int walk_to(struct sds_tree *tree, struct sds_node node, bool parent, struct sds_node *out) {
    struct sds_buf path = SDS_BUF_INIT(SDS_MAX_PATH_BYTES);
    tree->ds->ops->path(tree->ds, node, &path);
    while (parent && path.len > 0 && path.at[path.len - 1] != '/') {
        path.len--;
    }
    struct sds_place place;
    struct sds_err err;
    enum sds_kind kind = sds_walk(tree->ds, sds_buf_span(&path), false, &place, &err);
    sds_buf_fini(&path);
    if (kind != SDS_OK) {
        return kind == SDS_ERR_NOT_FOUND ? ESTALE : sds_tree_failed(tree, node, &err);
    }
    *out = place.node;
    return 0;
}

// "." is only asked for when the kernel has nothing but a number, out of a file handle that an NFS
// client kept, or made up: the node is believed when it is found where it claims to be.
static int find_self(struct sds_tree *tree, struct sds_node node, struct sds_node *out) {
    if (sds_node_is_ours(node) || sds_node_is_root(node)) {
        *out = node;
        return 0;
    }
    int e = walk_to(tree, node, false, out);
    return e == 0 && !sds_node_same(node, *out) ? ESTALE : e;
}

static int find_parent(struct sds_tree *tree, struct sds_node node, struct sds_node *out) {
    if (sds_node_is_ours(node) || sds_node_is_root(node)) {
        bool below = sds_node_is_control_file(node) || sds_node_is_draft(node) ||
                     node.kind == SDS_KIND_PREFETCH;
        *out = below ? sds_control_dir_node() : SDS_NODE_ROOT;
        return 0;
    }
    return walk_to(tree, node, true, out);
}

static int absent(bool lasting, struct sds_entry *out) {
    *out = (struct sds_entry){.lasting = lasting};
    return ENOENT;
}

static bool is_name(struct sds_span name, const char *text) {
    return sds_span_eq(name, sds_span_str(text));
}

static int find_in_control(const struct sds_tree *tree, struct sds_node dir, struct sds_span name,
                           struct sds_node *out, struct sds_entry *none) {
    enum sds_control_file file;
    if (!sds_node_is_control_dir(dir)) {
        return ENOTDIR;
    }
    if (is_name(name, SDS_DRAFTS_NAME)) {
        *out = sds_draft_node(SDS_DRAFTS_TOP);
        return 0;
    }
    if (is_name(name, SDS_PREFETCH_NAME) && sds_tree_is_prefetch(tree, sds_prefetch_node())) {
        *out = sds_prefetch_node();
        return 0;
    }
    if (!sds_control_find(name, &file)) {
        return absent(false, none);
    }
    *out = sds_control_file_node(file);
    return 0;
}

static int find_in_dataset(struct sds_tree *tree, struct sds_node dir, struct sds_span name,
                           struct sds_node *out, struct sds_entry *none) {
    struct sds_err err;
    enum sds_kind kind = tree->ds->ops->lookup(tree->ds, dir, name, out, &err);
    if (kind == SDS_ERR_NOT_FOUND) {
        struct sds_attr attr;
        kind = tree->ds->ops->getattr(tree->ds, dir, &attr, &err);
        return kind == SDS_ERR_WAITING ? sds_errno(kind)
                                       : absent(kind == SDS_OK && !attr.growing, none);
    }
    return kind == SDS_OK ? 0 : sds_tree_failed_name(tree, dir, name, &err);
}

static int find(struct sds_tree *tree, struct sds_node dir, struct sds_span name,
                struct sds_node *out, struct sds_entry *none) {
    if (name.len > SDS_NAME_MAX) {
        return ENAMETOOLONG;
    }
    if (is_name(name, ".")) {
        return find_self(tree, dir, out);
    }
    if (is_name(name, "..")) {
        return find_parent(tree, dir, out);
    }
    if (sds_node_is_root(dir) && is_name(name, SDS_CONTROL_NAME)) {
        *out = sds_control_dir_node();
        return 0;
    }
    return sds_node_is_ours(dir) ? find_in_control(tree, dir, name, out, none)
                                 : find_in_dataset(tree, dir, name, out, none);
}

// ".." of all drafts is the control directory.
static bool is_parent_of_drafts(struct sds_node dir, struct sds_span name) {
    return dir.key == SDS_DRAFTS_TOP && is_name(name, "..");
}

int sds_tree_lookup(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                    struct sds_entry *out) {
    struct sds_node parent, node;
    int e = sds_tree_node(tree, dir, &parent);
    if (e == 0 && sds_node_is_draft(parent) && !is_parent_of_drafts(parent, name)) {
        return sds_tree_draft_lookup(tree, parent.key, name, out);
    }
    if (e == 0) {
        e = find(tree, parent, name, &node, out);
    }
    return e != 0 ? e : sds_tree_held_entry(tree, node, out);
}

void sds_tree_statfs(const struct sds_tree *tree, struct statvfs *out) {
    uint64_t bytes = tree->totals.bytes;
    *out = (struct statvfs){
        .f_bsize = IO_BYTES,
        .f_frsize = IO_BYTES,
        .f_blocks = bytes / IO_BYTES + (bytes % IO_BYTES != 0),
        .f_files = tree->totals.records,
        .f_namemax = SDS_NAME_MAX,
    };
}
