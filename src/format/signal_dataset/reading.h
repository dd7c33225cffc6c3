// SPDX-License-Identifier: Apache-2.0
//
// Keeps large values while they are being read. The kernel reads a file in pieces of 128 KiB to 1
// MiB and never says when it opens or closes one; a record that does not fit the cache's budget
// would be decoded again for every piece. So a large value stays pinned from its first piece until
// its last byte was served, or nobody asked for a while. Safe from any thread.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_READING_H
#define SDSFS_FORMAT_SIGNAL_DATASET_READING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cache.h"

#define READING_MAX 32 // large values that are read at a time

struct reading {
    pthread_mutex_t lock; // protects the slots; no cache call is made under it
    struct reading_slot {
        struct sds_cache_ref *ref; // a pin of our own, NULL for a free slot
        int64_t deadline_ns;       // CLOCK_MONOTONIC
    } slots[READING_MAX];
    atomic_uint used;
    size_t large; // bytes; smaller values are left to the cache
};

void reading_init(struct reading *reading, size_t large);
// Lets everything go; nobody may be reading any more.
void reading_fini(struct reading *reading);

// Tells that a piece of the value under ref was served, and whether it reached the value's end.
void reading_touch(struct reading *reading, struct sds_cache_ref *ref, bool at_end);

// Lets go of what nobody asks for any more.
void reading_sweep(struct reading *reading);

#endif
