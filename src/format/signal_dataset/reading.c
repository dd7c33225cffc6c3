// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/reading.h"

#include <time.h>

#define SECOND_NS 1000000000LL
#define STALLED_NS (2 * SECOND_NS) // a reader that stopped in the middle
// Pieces arrive out of order, so others may still be on their way when the last one was served.
#define FINISHED_NS (SECOND_NS / 10)

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

void reading_init(struct reading *reading, size_t large) {
    *reading = (struct reading){.large = large};
    pthread_mutex_init(&reading->lock, NULL);
}

// Takes the pins of slots whose time is over out of the table; the caller releases them.
static size_t take_expired(struct reading *reading, int64_t now,
                           struct sds_cache_ref *taken[READING_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < READING_MAX; i++) {
        struct reading_slot *slot = &reading->slots[i];
        if (slot->ref != NULL && slot->deadline_ns <= now) {
            taken[count++] = slot->ref;
            *slot = (struct reading_slot){0};
        }
    }
    atomic_fetch_sub(&reading->used, (unsigned)count);
    return count;
}

static void expire(struct reading *reading, int64_t now) {
    struct sds_cache_ref *taken[READING_MAX];
    pthread_mutex_lock(&reading->lock);
    size_t count = take_expired(reading, now, taken);
    pthread_mutex_unlock(&reading->lock);
    for (size_t i = 0; i < count; i++) {
        sds_cache_release(taken[i]);
    }
}

void reading_sweep(struct reading *reading) {
    if (atomic_load(&reading->used) > 0) {
        expire(reading, now_ns());
    }
}

void reading_fini(struct reading *reading) {
    expire(reading, INT64_MAX);
    pthread_mutex_destroy(&reading->lock);
}

// The slot that holds ref, else a free one, else the one that expires first.
static struct reading_slot *slot_for(struct reading *reading, const struct sds_cache_ref *ref) {
    struct reading_slot *best = &reading->slots[0];
    for (size_t i = 0; i < READING_MAX; i++) {
        struct reading_slot *slot = &reading->slots[i];
        if (slot->ref == ref) {
            return slot;
        }
        if (best->ref != NULL && (slot->ref == NULL || slot->deadline_ns < best->deadline_ns)) {
            best = slot;
        }
    }
    return best;
}

void reading_touch(struct reading *reading, struct sds_cache_ref *ref, bool at_end) {
    reading_sweep(reading);
    if (sds_cache_cost(ref) < reading->large) {
        return;
    }
    struct sds_cache_ref *pin = sds_cache_pin(ref), *unneeded = pin;
    int64_t deadline = now_ns() + (at_end ? FINISHED_NS : STALLED_NS);
    pthread_mutex_lock(&reading->lock);
    struct reading_slot *slot = slot_for(reading, ref);
    if (slot->ref != ref) {
        unneeded = slot->ref; // NULL, or what has to make room
        slot->ref = pin;
        atomic_fetch_add(&reading->used, unneeded == NULL);
    }
    slot->deadline_ns = deadline;
    pthread_mutex_unlock(&reading->lock);
    sds_cache_release(unneeded);
}
