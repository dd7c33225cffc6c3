// SPDX-License-Identifier: Apache-2.0
//
// Records as the mount shows them: the payload from the data shard, the entry from the metadata
// shard, and the fields, which are named and sized by the entry and served from the payload where
// the two agree (docs/tree.md).
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_RECORDS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_RECORDS_H

#include "base/blob.h"
#include "base/cache.h"
#include "format/signal_dataset/record.h"

struct signal_dataset;

// One sound record of a shard: a payload of a data shard, or an entry of a metadata shard.
struct stored_record {
    struct sds_blob *blob;
    struct sds_span bytes;
    struct sds_record record;
};

// Decode, check and cache. What is returned is valid until *ref is released.
SDS_MUST_CHECK enum sds_kind record_payload(struct signal_dataset *ds, uint64_t ordinal,
                                            struct sds_cache_ref **ref,
                                            const struct stored_record **out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind record_entry(struct signal_dataset *ds, uint64_t ordinal,
                                          struct sds_cache_ref **ref,
                                          const struct stored_record **out, struct sds_err *err);

// Size of the payload without decoding it.
SDS_MUST_CHECK enum sds_kind record_payload_size(struct signal_dataset *ds, uint64_t ordinal,
                                                 uint64_t *out, struct sds_err *err);

// The fields that a record's directory shows: those of the entry, or, where the entry is bad, those
// of the payload.
struct record_fields {
    struct sds_cache_ref *ref;
    const struct sds_record *record;
};
SDS_MUST_CHECK enum sds_kind record_fields(struct signal_dataset *ds, uint64_t ordinal,
                                           struct record_fields *out, struct sds_err *err);
// The same if it is at hand; never reads.
bool record_fields_at_hand(struct signal_dataset *ds, uint64_t ordinal, struct record_fields *out);
void record_fields_fini(struct record_fields *fields);

// Writes metadata.json to an empty buffer: re-indented, or as it is stored where that would pass
// the buffer's ceiling.
SDS_MUST_CHECK enum sds_kind entry_render(const struct stored_record *entry, struct sds_buf *out);

// Fails (CORRUPT, check "field") unless the payload has this field with this dtype and shape.
SDS_MUST_CHECK enum sds_kind field_in_payload(const struct stored_record *payload,
                                              const struct sds_field *wanted,
                                              const struct sds_field **out, struct sds_err *err);

#endif
