// SPDX-License-Identifier: Apache-2.0
//
// The directories of the tree (docs/tree.md): which names stand where, and what each node is.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_TREE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_TREE_H

#include "format/driver.h"

struct signal_dataset;

// The functions of the same names in struct sds_driver_ops.
SDS_MUST_CHECK enum sds_kind tree_lookup(struct signal_dataset *ds, struct sds_node dir,
                                         struct sds_span name, struct sds_node *out,
                                         struct sds_err *err);
SDS_MUST_CHECK enum sds_kind tree_getattr(struct signal_dataset *ds, struct sds_node node,
                                          struct sds_attr *out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind tree_list(struct signal_dataset *ds, struct sds_node dir,
                                       uint64_t cookie, sds_list_fn emit, void *ctx,
                                       struct sds_err *err);
SDS_MUST_CHECK enum sds_kind tree_xattrs(struct signal_dataset *ds, struct sds_node node,
                                         sds_xattr_fn emit, void *ctx, struct sds_err *err);
void tree_path(struct signal_dataset *ds, struct sds_node node, struct sds_buf *out);

#endif
