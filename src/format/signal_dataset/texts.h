// SPDX-License-Identifier: Apache-2.0
//
// The JSON texts of the tree: metadata.json, annotation.json, shard.json, and views that are texts.
// Rendered on first use and cached, since their size must be known before their bytes.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_TEXTS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_TEXTS_H

#include "base/blob.h"
#include "base/cache.h"
#include "format/driver.h"

struct signal_dataset;

// node is a NODE_ENTRY, NODE_ROW_TEXT or NODE_SHARD_TEXT, or a record's field in such a view. The
// bytes are valid until *ref is
// released.
SDS_MUST_CHECK enum sds_kind text_get(struct signal_dataset *ds, struct sds_node node,
                                      struct sds_cache_ref **ref, struct sds_span *out,
                                      struct sds_err *err);

#endif
