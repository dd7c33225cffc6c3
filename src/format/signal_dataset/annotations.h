// SPDX-License-Identifier: Apache-2.0
//
// What is in annotation sets: their root documents with the tables of carrier shards, and rows,
// read on demand and cached. Which sets there are: catalog.h.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_ANNOTATIONS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_ANNOTATIONS_H

#include "base/cache.h"
#include "format/signal_dataset/catalog.h"
#include "format/signal_dataset/record.h"

struct signal_dataset;

// A set's root document; valid until *ref is released.
SDS_MUST_CHECK enum sds_kind
annotation_set_doc(struct signal_dataset *ds, const struct annotation_set *set,
                   struct sds_cache_ref **ref, const struct sds_set_doc **out, struct sds_err *err);

// A sound row.
struct row {
    struct sds_blob *blob;
    struct sds_span bytes;
    struct sds_annotation annotation;
};
SDS_MUST_CHECK enum sds_kind annotation_row(struct signal_dataset *ds,
                                            const struct annotation_set *set, uint64_t ordinal,
                                            struct sds_cache_ref **ref, const struct row **out,
                                            struct sds_err *err);

// The same if it is at hand; never reads.
bool annotation_row_at_hand(struct signal_dataset *ds, const struct annotation_set *set,
                            uint64_t ordinal, struct sds_cache_ref **ref, const struct row **out);

#endif
