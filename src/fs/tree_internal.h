// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the tree share: tree.c (attributes, lookup), tree_list.c, tree_content.c,
// tree_xattr.c and tree_drafts.c.
#ifndef SDSFS_FS_TREE_INTERNAL_H
#define SDSFS_FS_TREE_INTERNAL_H

#include "fs/inode.h"
#include "fs/prefetch.h"
#include "fs/tree.h"

#define SDS_CONTROL_NAME "control"
#define SDS_DRAFTS_NAME "annotations" // in it
#define SDS_PREFETCH_NAME "prefetch"
#define SDS_MAX_PATH_BYTES (64 << 10)

struct sds_tree {
    struct sds_dataset *ds;
    struct sds_errors *errors;
    struct sds_nodes *nodes;
    struct sds_control *control;
    struct sds_drafts *drafts;
    int (*write_back)(void *ctx, uint64_t ino);
    void *write_back_ctx;
    struct sds_prefetch prefetch;
    struct sds_totals totals;
    uid_t uid;
    gid_t gid;
    mode_t umask;
};

// The node behind an inode number; ESTALE for one that a file handle kept for too long.
int sds_tree_node(const struct sds_tree *tree, uint64_t ino, struct sds_node *out);

// Notes a failure that concerns a node of the dataset, or the control directory or a name in it,
// and turns it into an errno.
int sds_tree_failed(struct sds_tree *tree, struct sds_node node, const struct sds_err *err);
int sds_tree_failed_name(struct sds_tree *tree, struct sds_node dir, struct sds_span name,
                         const struct sds_err *err);

// A control file's text, for a purpose.
int sds_tree_render(struct sds_tree *tree, struct sds_node node, enum sds_render_for purpose,
                    struct sds_rendering *out);

// The attributes of any node, with one lookup taken.
int sds_tree_held_entry(struct sds_tree *tree, struct sds_node node, struct sds_entry *out);

// Whether a node is control/prefetch, which is there if the driver takes announcements.
static inline bool sds_tree_is_prefetch(const struct sds_tree *tree, struct sds_node node) {
    return node.kind == SDS_KIND_PREFETCH && tree->ds->ops->announce != NULL;
}

// tree_drafts.c: the attributes of a file of the drafts, and a look-up among them (one lookup
// taken).
int sds_tree_draft_entry(struct sds_tree *tree, uint64_t id, struct sds_entry *out);
int sds_tree_draft_lookup(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                          struct sds_entry *out);

#endif
