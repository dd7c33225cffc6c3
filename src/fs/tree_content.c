// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "fs/tree_internal.h"

static void lend(struct sds_blob *blob, size_t at, size_t len, struct sds_pieces *pieces) {
    *pieces = (struct sds_pieces){.count = 1, .release = sds_blob_release, .owner = blob};
    pieces->iov[0].iov_base = blob->at + at;
    pieces->iov[0].iov_len = len;
}

static int read_draft(struct sds_tree *tree, struct sds_node node, uint64_t off, size_t len,
                      struct sds_pieces *pieces) {
    struct sds_blob *blob;
    int e = sds_drafts_read(tree->drafts, node.key, off, len, &blob);
    if (e == 0) {
        lend(blob, 0, blob->len, pieces);
    }
    return e;
}

static int read_control(struct sds_tree *tree, struct sds_node node, uint64_t off, size_t len,
                        struct sds_pieces *pieces) {
    if (sds_tree_is_prefetch(tree, node)) {
        *pieces = (struct sds_pieces){0}; // there is nothing in it
        return 0;
    }
    if (!sds_node_is_control_file(node)) {
        return sds_node_is_control_dir(node) ? EISDIR : ESTALE;
    }
    struct sds_rendering rendering;
    int e = sds_tree_render(tree, node, SDS_RENDER_READ, &rendering);
    if (e != 0) {
        return e;
    }
    size_t size = rendering.text->len;
    size_t at = off < size ? (size_t)off : size;
    lend(rendering.text, at, len < size - at ? len : size - at, pieces);
    return 0;
}

int sds_tree_read(struct sds_tree *tree, uint64_t ino, uint64_t off, size_t len,
                  struct sds_pieces *pieces) {
    struct sds_node node;
    int e = sds_tree_node(tree, ino, &node);
    if (e != 0) {
        return e;
    }
    if (sds_node_is_draft(node)) {
        return read_draft(tree, node, off, len, pieces);
    }
    if (sds_node_is_ours(node)) {
        return read_control(tree, node, off, len, pieces);
    }
    struct sds_err err;
    if (tree->ds->ops->read(tree->ds, node, off, len, pieces, &err) != SDS_OK) {
        return sds_tree_failed(tree, node, &err);
    }
    return 0;
}

int sds_tree_readlink(struct sds_tree *tree, uint64_t ino, struct sds_buf *out) {
    struct sds_node node;
    int e = sds_tree_node(tree, ino, &node);
    if (e != 0) {
        return e;
    }
    if (sds_node_is_ours(node)) {
        return EINVAL;
    }
    struct sds_err err;
    return tree->ds->ops->readlink(tree->ds, node, out, &err) == SDS_OK
               ? 0
               : sds_tree_failed(tree, node, &err);
}
