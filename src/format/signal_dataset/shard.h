// SPDX-License-Identifier: Apache-2.0
//
// Shard files: an object with its ArrayRecord index, opened on first use and kept in the cache, and
// the records in it.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_SHARD_H
#define SDSFS_FORMAT_SIGNAL_DATASET_SHARD_H

#include "base/blob.h"
#include "base/cache.h"
#include "format/signal_dataset/documents.h"
#include "remote/store.h"

struct signal_dataset;

// An object that a reference names, opened; its size was compared with the reference (absolute
// references excepted: they have no size check). Valid until *ref is released.
SDS_MUST_CHECK enum sds_kind shard_object(struct signal_dataset *ds,
                                          const struct sds_reference *reference,
                                          struct sds_cache_ref **ref, struct sds_object **out,
                                          struct sds_err *err);

// The most bytes that a chunk of a shard may decode to.
uint64_t shard_chunk_limit(const struct signal_dataset *ds);

// The number of records that a shard file holds; opens it, so it also tells whether it can be.
SDS_MUST_CHECK enum sds_kind shard_count(struct signal_dataset *ds,
                                         const struct sds_reference *reference, uint64_t *out,
                                         struct sds_err *err);

// Has what opening a shard file takes fetched, without waiting.
void shard_prefetch(struct signal_dataset *ds, const struct sds_reference *reference);
// All of it, as far as there is memory: somebody is going to read it from front to back.
void shard_prefetch_whole(struct signal_dataset *ds, const struct sds_reference *reference);

// Size of one record's payload. index beyond the end: CORRUPT, check "index".
SDS_MUST_CHECK enum sds_kind shard_record_size(struct signal_dataset *ds,
                                               const struct sds_reference *reference,
                                               uint64_t index, uint64_t *out, struct sds_err *err);

// One record's payload; *blob holds it and is the caller's.
SDS_MUST_CHECK enum sds_kind shard_record(struct signal_dataset *ds,
                                          const struct sds_reference *reference, uint64_t index,
                                          struct sds_blob **blob, struct sds_span *out,
                                          struct sds_err *err);

#endif
