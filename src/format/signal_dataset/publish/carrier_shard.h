// SPDX-License-Identifier: Apache-2.0
//
// Carriers in order as one shard object. Its name tells what is in it
// (docs/formats/signal-dataset.md, section 8, "Content hash"), so that who publishes the same rows
// again comes to the same object.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_CARRIER_SHARD_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_CARRIER_SHARD_H

#include "base/hash.h"
#include "format/signal_dataset/publish/publication.h"
#include "format/signal_dataset/publish/spool.h"

// "<2 hex>/<64 or 32 hex>", NUL included: what a path has between "objects/" and ".arrayrecord".
#define CARRIER_SHARD_NAME (2 + 1 + SDS_SHA256_HEX)

struct carrier_shard {
    uint64_t first_ordinal, record_count;
    uint64_t stored_bytes;
    char content[SDS_SHA256_HEX]; // content hash
    char name[CARRIER_SHARD_NAME];
};

// Writes the carriers of count rows from the first on. directory as for spool_open; the spool is to
// be closed. The shard has no name yet.
SDS_MUST_CHECK enum sds_kind carrier_shard_write(struct publication *pub, size_t first,
                                                 size_t count, int directory, struct spool *spool,
                                                 struct carrier_shard *shard, struct sds_err *err);

// Names a shard after the first digits of the SHA-256 of a text.
void carrier_shard_name(struct carrier_shard *shard, struct sds_span text, int digits);
struct object_path carrier_shard_path(const struct publication *pub,
                                      const struct carrier_shard *shard);

// Stores what was spooled. An object that is there already must have the same size, and when
// count_too the same number of records, to be taken for this one (else CORRUPT).
SDS_MUST_CHECK enum sds_kind carrier_shard_store(struct publication *pub, struct spool *spool,
                                                 const struct carrier_shard *shard, bool count_too,
                                                 struct sds_err *err);

// Compares the shard with the object that has its name. CORRUPT as above, also when there is none
// (then *err says "absent").
SDS_MUST_CHECK enum sds_kind carrier_shard_compare(struct publication *pub,
                                                   const struct carrier_shard *shard,
                                                   bool count_too, struct sds_err *err);
// Puts a shard that was compared down in the receipt.
void carrier_shard_reused(struct publication *pub, const struct carrier_shard *shard);

#endif
