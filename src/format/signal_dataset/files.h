// SPDX-License-Identifier: Apache-2.0
//
// Contents of the tree's files and links: sizes, which are exact before the first read, and ranges,
// which are slices of cached payloads and texts.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_FILES_H
#define SDSFS_FORMAT_SIGNAL_DATASET_FILES_H

#include "format/driver.h"

struct signal_dataset;

// Type and size of a node that is a file or a link.
SDS_MUST_CHECK enum sds_kind file_attr(struct signal_dataset *ds, struct sds_node node,
                                       struct sds_attr *out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind file_read(struct signal_dataset *ds, struct sds_node node,
                                       uint64_t off, size_t len, struct sds_pieces *out,
                                       struct sds_err *err);
SDS_MUST_CHECK enum sds_kind file_link(struct signal_dataset *ds, struct sds_node node,
                                       struct sds_buf *out, struct sds_err *err);

#endif
