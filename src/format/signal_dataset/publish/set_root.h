// SPDX-License-Identifier: Apache-2.0
//
// The root.json of an annotation set (docs/formats/signal-dataset.md, section 7), written.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_SET_ROOT_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_SET_ROOT_H

#include "format/signal_dataset/publish/carrier_shard.h"

struct object_path set_root_path(const struct publication *pub);

// Writes the document and parses it again, so that what is published can be read. Kinds: INVALID,
// check "shards" when there are more of them than a document can name; NO_MEMORY. out is
// empty; it is to be freed also after a failure.
SDS_MUST_CHECK enum sds_kind set_root_write(const struct publication *pub,
                                            const struct carrier_shard *shards, size_t count,
                                            struct sds_buf *out, struct sds_err *err);

// Whether a set of so many shards can have a root, before anything is written.
SDS_MUST_CHECK enum sds_kind set_root_fits(const struct publication *pub, uint64_t records_a_shard,
                                           struct sds_err *err);

// Compares the text with the root that is there. CONFLICT when that is another one; NOT_FOUND.
SDS_MUST_CHECK enum sds_kind set_root_compare(const struct publication *pub, struct sds_span text,
                                              struct sds_err *err);
// What set_root_publish would say now, from reading alone.
SDS_MUST_CHECK enum sds_kind set_root_check(const struct publication *pub, struct sds_span text,
                                            struct sds_err *err);

// What both ways of publishing a set end with: creates the root and has the catalog name it.
// CONFLICT when the name is taken.
SDS_MUST_CHECK enum sds_kind set_root_publish(struct publication *pub, struct sds_span text,
                                              struct sds_err *err);

#endif
