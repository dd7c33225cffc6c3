// SPDX-License-Identifier: Apache-2.0
//
// The reference chain root -> snapshot -> manifest page -> shard entry. Root and snapshot are
// verified when the dataset is opened; a page on first use, and then kept in the cache. Each
// document is compared with the reference that named it.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_CHAIN_H
#define SDSFS_FORMAT_SIGNAL_DATASET_CHAIN_H

#include <time.h>

#include "base/cache.h"
#include "base/hash.h"
#include "format/signal_dataset/documents.h"
#include "remote/store.h"

struct signal_dataset;

// What a reference promises (section 4), for the store. An absolute one promises no size; one of no
// bytes would never be read and so never be compared, and one of more than any object has is wrong
// without asking: the store is to look.
struct sds_expected reference_expected(const struct sds_reference *reference);
// Who the object is that a reference names, in caches: two references that promise different things
// under one path mean different objects, of which one at most is there.
uint64_t reference_key(const struct sds_reference *reference);
// The size of the object that was opened. CORRUPT, check "stored_bytes".
SDS_MUST_CHECK enum sds_kind reference_check_size(const struct sds_reference *reference,
                                                  uint64_t size, struct sds_err *err);
// Reads a control document under the path that its reference means, as it promises.
SDS_MUST_CHECK enum sds_kind reference_read(struct sds_store *store, const char *path,
                                            const struct sds_reference *reference,
                                            struct sds_blob **out, struct sds_err *err);

// Has an object fetched that will be read whole soon, without waiting. For remote stores.
void reference_prefetch(struct sds_store *store, const struct sds_reference *reference);

struct chain {
    struct sds_root_doc root;
    struct sds_snapshot_doc snapshot;
    uint64_t root_bytes; // size of root.json
    struct timespec root_mtime;
    char root_hash[SDS_SHA256_HEX], snapshot_hash[SDS_SHA256_HEX]; // of the two documents
};

// Kinds: what makes the dataset unusable; the object and check are named.
SDS_MUST_CHECK enum sds_kind chain_open(struct signal_dataset *ds, struct sds_err *err);
void chain_close(struct signal_dataset *ds);

// A verified page; valid until *ref is released. page < snapshot.page_count.
SDS_MUST_CHECK enum sds_kind chain_page(struct signal_dataset *ds, size_t page,
                                        struct sds_cache_ref **ref,
                                        const struct sds_manifest_doc **out, struct sds_err *err);

// The reference of the page that holds a record. ordinal < snapshot.record_count.
const struct sds_page_ref *chain_page_of(const struct signal_dataset *ds, uint64_t ordinal);

// Where a record lies. shard points into the page that ref pins.
struct location {
    struct sds_cache_ref *ref;
    const struct sds_shard_entry *shard;
    uint64_t shard_index; // in the whole dataset
    uint64_t physical;    // index in the shard's files
};
// ordinal < snapshot.record_count.
SDS_MUST_CHECK enum sds_kind chain_locate(struct signal_dataset *ds, uint64_t ordinal,
                                          struct location *out, struct sds_err *err);
// The same if the page is at hand; never reads.
bool chain_locate_at_hand(struct signal_dataset *ds, uint64_t ordinal, struct location *out);
// The shard with this number in the whole dataset; physical is 0. shard_index < shard_count.
SDS_MUST_CHECK enum sds_kind chain_shard(struct signal_dataset *ds, uint64_t shard_index,
                                         struct location *out, struct sds_err *err);
void location_fini(struct location *location);

#endif
