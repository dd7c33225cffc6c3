// SPDX-License-Identifier: Apache-2.0
//
// Keeps large values while they are being read. The kernel reads a file in pieces of 128 KiB to 1
// MiB and never says when it opens or closes one; a record that does not fit the cache's budget
// would be decoded again for every piece. So a large value stays pinned from its first piece until
// its last byte was served, or nobody asked for a while. Those who wait for such memory
// (admission.h) make that a shorter while, and count what is held here. Safe from any thread.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_READING_H
#define SDSFS_FORMAT_SIGNAL_DATASET_READING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cache.h"
#include "format/signal_dataset/admission.h"

#define READING_MAX 32 // large values that are read at a time

struct reading {
    pthread_mutex_t
        lock; // protects the slots; admission.lock is taken under it, no cache call made
    struct reading_slot {
        struct sds_cache_ref *ref; // a pin of our own, NULL for a free slot
        int64_t touched_ns;        // CLOCK_MONOTONIC
        bool finished;             // its last byte was served
    } slots[READING_MAX];
    atomic_uint used;
    size_t large; // bytes; smaller values are left to the cache while nobody waits for memory
    struct admission *admission; // NULL: nobody ever waits for it
};

void reading_init(struct reading *reading, size_t large, struct admission *admission);
// Lets everything go; nobody may be reading any more.
void reading_fini(struct reading *reading);

// Tells that a piece of the value under ref was served, and whether it reached the value's end.
void reading_touch(struct reading *reading, struct sds_cache_ref *ref, bool at_end);

// Lets go of what nobody asks for any more; sooner while somebody waits for memory.
void reading_sweep(struct reading *reading);

#endif
