// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/reading.h"

#include <time.h>

#define SECOND_NS 1000000000LL
#define STALLED_NS (2 * SECOND_NS) // a reader that stopped in the middle
// Pieces arrive out of order, so others may still be on their way when the last one was served.
#define FINISHED_NS (SECOND_NS / 10)
// While others wait for the memory. A reader that is only slow has its value loaded again.
#define PRESSED_STALLED_NS (SECOND_NS / 4)
#define PRESSED_FINISHED_NS (SECOND_NS / 50)

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

void reading_init(struct reading *reading, size_t large, struct admission *admission) {
    *reading = (struct reading){.large = large, .admission = admission};
    pthread_mutex_init(&reading->lock, NULL);
}

static bool is_pressed(const struct reading *reading) {
    return reading->admission != NULL && admission_is_pressed(reading->admission);
}

static int64_t patience_ns(bool finished, bool pressed) {
    if (pressed) {
        return finished ? PRESSED_FINISHED_NS : PRESSED_STALLED_NS;
    }
    return finished ? FINISHED_NS : STALLED_NS;
}

// A pin that is not in the table any more, or is too many.
static void let_go(const struct reading *reading, struct sds_cache_ref *ref, bool held) {
    size_t bytes = ref != NULL ? sds_cache_cost(ref) : 0;
    sds_cache_release(ref);
    if (held && ref != NULL && reading->admission != NULL) {
        admission_let_go(reading->admission, bytes);
    }
}

// Takes the pins of slots whose time is over out of the table; the caller releases them.
static size_t take_expired(struct reading *reading, int64_t now, bool pressed,
                           struct sds_cache_ref *taken[READING_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < READING_MAX; i++) {
        struct reading_slot *slot = &reading->slots[i];
        if (slot->ref != NULL && now - slot->touched_ns >= patience_ns(slot->finished, pressed)) {
            taken[count++] = slot->ref;
            *slot = (struct reading_slot){0};
        }
    }
    atomic_fetch_sub(&reading->used, (unsigned)count);
    return count;
}

static void expire(struct reading *reading, int64_t now) {
    struct sds_cache_ref *taken[READING_MAX];
    bool pressed = is_pressed(reading);
    pthread_mutex_lock(&reading->lock);
    size_t count = take_expired(reading, now, pressed, taken);
    pthread_mutex_unlock(&reading->lock);
    for (size_t i = 0; i < count; i++) {
        let_go(reading, taken[i], true);
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

static bool goes_before(const struct reading_slot *a, const struct reading_slot *b) {
    return a->touched_ns + patience_ns(a->finished, false) <
           b->touched_ns + patience_ns(b->finished, false);
}

// The slot that holds ref, else a free one, else the one that was finished or touched first.
static struct reading_slot *slot_for(struct reading *reading, const struct sds_cache_ref *ref) {
    struct reading_slot *best = &reading->slots[0];
    for (size_t i = 0; i < READING_MAX; i++) {
        struct reading_slot *slot = &reading->slots[i];
        if (slot->ref == ref) {
            return slot;
        }
        if (best->ref != NULL && (slot->ref == NULL || goes_before(slot, best))) {
            best = slot;
        }
    }
    return best;
}

void reading_touch(struct reading *reading, struct sds_cache_ref *ref, bool at_end) {
    reading_sweep(reading);
    size_t cost = sds_cache_cost(ref);
    if (cost < reading->large && !(cost > ADMISSION_SMALL && is_pressed(reading))) {
        return;
    }
    struct sds_cache_ref *pin = sds_cache_pin(ref), *unneeded = pin;
    int64_t now = now_ns();
    pthread_mutex_lock(&reading->lock);
    struct reading_slot *slot = slot_for(reading, ref);
    bool fresh = slot->ref != ref;
    if (fresh) {
        unneeded = slot->ref; // NULL, or what has to make room
        *slot = (struct reading_slot){.ref = pin};
        if (reading->admission != NULL) {
            admission_hold(reading->admission, cost);
        }
        atomic_fetch_add(&reading->used, unneeded == NULL);
    }
    slot->touched_ns = now;
    slot->finished = at_end;
    pthread_mutex_unlock(&reading->lock);
    let_go(reading, unneeded, fresh);
}
