// SPDX-License-Identifier: Apache-2.0
//
// One cache for the whole daemon: values of any kind under 128-bit keys, least recently used first
// out, bounded by the sum of their costs in bytes. Misses are shared: a key that is being loaded
// makes other threads wait for that load instead of starting their own. No lock is held while
// loading or freeing. A failed load is not cached; those who waited for it get its error. A load
// that ends with SDS_ERR_WAITING (base/wait.h) is nobody's but the task's that ran it: others who
// want the value try themselves.
//
// It is the ledger of the daemon's memory, too: what is held outside of it for a while is charged
// to it, so that cached values make room.
#ifndef SDSFS_BASE_CACHE_H
#define SDSFS_BASE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct sds_cache;
struct sds_cache_ref; // a pinned entry

struct sds_cache_key {
    uint64_t kind_and_owner; // what the value is and whose
    uint64_t id;
};

// How values of one kind are made and freed. load runs without locks, in the thread that missed.
struct sds_cache_class {
    enum sds_kind (*load)(void *ctx, void **value, size_t *cost, struct sds_err *err);
    void (*free)(void *value);
};

// budget: bytes that unpinned and pinned values together should stay under. A single value above
// the budget is still loaded, and dropped when the last reader lets go.
struct sds_cache *sds_cache_new(size_t budget); // NULL: no memory
void sds_cache_free(struct sds_cache *cache);   // nothing may be pinned
size_t sds_cache_budget(const struct sds_cache *cache);
// Another budget, at any time; what is above it goes.
void sds_cache_set_budget(struct sds_cache *cache, size_t budget);

// The value under key, loading it if it is not there. *value is valid until *ref is released.
SDS_MUST_CHECK enum sds_kind sds_cache_get(struct sds_cache *cache, struct sds_cache_key key,
                                           const struct sds_cache_class *cls, void *ctx,
                                           struct sds_cache_ref **ref, void **value,
                                           struct sds_err *err);
// NULL when the key is not there or still loading; never loads, does not touch the order.
struct sds_cache_ref *sds_cache_peek(struct sds_cache *cache, struct sds_cache_key key,
                                     void **value);
void sds_cache_release(struct sds_cache_ref *ref); // NULL is fine
// Another pin of a pinned entry, released on its own. Returns ref.
struct sds_cache_ref *sds_cache_pin(struct sds_cache_ref *ref);
// What a pinned entry costs.
size_t sds_cache_cost(const struct sds_cache_ref *ref);

// Drops the value under key if nobody has it pinned: it is known to be of no more use.
void sds_cache_drop(struct sds_cache *cache, struct sds_cache_key key);
// Drops unpinned values until `bytes` more would fit the budget (or none is left): for work that
// needs much memory beside the cache for a while.
void sds_cache_make_room(struct sds_cache *cache, size_t bytes);
// Drops all unpinned values: what they refer to is about to go.
void sds_cache_clear(struct sds_cache *cache);

// Memory that is in use elsewhere counts like a pinned value until it is given back. try: only if
// it fits the budget beside what is pinned, and false otherwise.
void sds_cache_charge(struct sds_cache *cache, size_t bytes);
bool sds_cache_try_charge(struct sds_cache *cache, size_t bytes);
void sds_cache_uncharge(struct sds_cache *cache, size_t bytes);

struct sds_cache_stats {
    uint64_t hits, misses, evicted;
    size_t bytes, budget;
};
void sds_cache_stats(struct sds_cache *cache, struct sds_cache_stats *out);

#endif
