// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "fs/errno.h"
#include "fs/tree_internal.h"

static const char xattr_prefix[] = "user.sds.";
static const char error_xattr[] = "error";

// Looks for one attribute, or collects all names.
struct xattr_search {
    const char *wanted; // without prefix; NULL: collect the names
    struct sds_buf *out;
    bool found;
    enum sds_kind kind;
};

static enum sds_kind add_name(struct sds_buf *out, const char *name) {
    enum sds_kind kind = sds_buf_add_str(out, xattr_prefix);
    return kind == SDS_OK ? sds_buf_add(out, name, strlen(name) + 1) : kind;
}

static bool take_xattr(void *ctx, const char *name, struct sds_span value) {
    struct xattr_search *search = ctx;
    if (search->wanted == NULL) {
        search->kind = add_name(search->out, name);
    } else if (strcmp(name, search->wanted) == 0) {
        search->found = true;
        search->kind = sds_buf_add_span(search->out, value);
        return false;
    }
    return search->kind == SDS_OK;
}

// The first failure noted for a node or below it.
static bool first_error(struct sds_tree *tree, struct sds_node node, struct sds_buf *out) {
    struct sds_buf path = SDS_BUF_INIT(SDS_MAX_PATH_BYTES);
    tree->ds->ops->path(tree->ds, node, &path);
    bool found = sds_errors_first(tree->errors, sds_buf_span(&path), out);
    sds_buf_fini(&path);
    return found;
}

int sds_tree_getxattr(struct sds_tree *tree, uint64_t ino, const char *name, struct sds_buf *out) {
    struct sds_node node;
    if (strncmp(name, "user.", strlen("user.")) != 0) {
        return EOPNOTSUPP; // so that `ls -l` asks for an ACL once, not for each name
    }
    int e = sds_tree_node(tree, ino, &node);
    if (e != 0) {
        return e;
    }
    if (sds_node_is_ours(node) || strncmp(name, xattr_prefix, strlen(xattr_prefix)) != 0) {
        return ENODATA;
    }
    struct xattr_search search = {.wanted = name + strlen(xattr_prefix), .out = out};
    if (strcmp(search.wanted, error_xattr) == 0) {
        return first_error(tree, node, out) ? 0 : ENODATA;
    }
    struct sds_err err;
    enum sds_kind kind = tree->ds->ops->xattrs(tree->ds, node, take_xattr, &search, &err);
    if (search.found) {
        return sds_errno(search.kind);
    }
    return kind == SDS_OK ? ENODATA : sds_tree_failed(tree, node, &err);
}

int sds_tree_listxattr(struct sds_tree *tree, uint64_t ino, struct sds_buf *out) {
    struct sds_node node;
    int e = sds_tree_node(tree, ino, &node);
    if (e != 0 || sds_node_is_ours(node)) {
        return e;
    }
    struct xattr_search search = {.out = out};
    struct sds_err err;
    // Another failure than having to wait is noted, and then user.sds.error says so.
    if (tree->ds->ops->xattrs(tree->ds, node, take_xattr, &search, &err) != SDS_OK &&
        sds_tree_failed(tree, node, &err) == ERESTART) {
        return ERESTART;
    }
    struct sds_buf ignored = SDS_BUF_INIT(SDS_MAX_PATH_BYTES);
    if (search.kind == SDS_OK && first_error(tree, node, &ignored)) {
        search.kind = add_name(out, error_xattr);
    }
    sds_buf_fini(&ignored);
    return sds_errno(search.kind);
}
