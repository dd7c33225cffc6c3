// SPDX-License-Identifier: Apache-2.0
#include "index/readers.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

// More would be faster only until one thread cannot write what they read, and each may hold an
// entry of many megabytes several times: memory is to be bounded whatever the machine.
enum { MAX_READERS = 2, WAITING_BLOCKS = 3 };

// Of all that wait: blocks with large rows are larger than others.
#define WAITING_BYTES ((size_t)16 << 20)

struct reader {
    struct sds_index_readers *all;
    pthread_t thread;
    struct sds_index_block *filling;       // the thread's own
    uint64_t next;                         // ordinal of its next row; the thread's own
    struct sds_index_block *first, **last; // full ones, in the order of ordinals; under all->lock
    unsigned waiting;                      // how many
};

struct sds_index_readers {
    const struct sds_index_work *work;
    pthread_mutex_t lock; // protects all below
    pthread_cond_t changed;
    uint64_t unread; // the first ordinal that no reader has begun with
    uint64_t taken;  // the first ordinal that was not taken
    uint64_t total;
    unsigned running;
    size_t waiting_bytes;
    struct sds_index_block *spare; // empty ones
    bool stop;                     // nobody wants more
    enum sds_kind kind;            // of the failure that comes first in the order of ordinals
    uint64_t failed_at;            // the ordinal that it left out
    struct sds_err err;
    struct reader readers[MAX_READERS];
    unsigned count;
};

// --- the reading threads

// Rows before a failure are wanted still, so that little is lost by it. Lock held.
static bool is_wanted(const struct sds_index_readers *all, uint64_t ordinal) {
    return !all->stop && (all->kind == SDS_OK || ordinal < all->failed_at);
}

// Whether a block has to wait until others were taken. The next one never does. Lock held.
static bool is_too_early(const struct reader *r, uint64_t ordinal) {
    const struct sds_index_readers *all = r->all;
    return ordinal != all->taken &&
           (r->waiting >= WAITING_BLOCKS || all->waiting_bytes >= WAITING_BYTES);
}

// Hands over the block that was filled; false when nobody wants any more.
static bool put(struct reader *r) {
    struct sds_index_readers *all = r->all;
    struct sds_index_block *block = r->filling;
    r->filling = NULL;
    pthread_mutex_lock(&all->lock);
    uint64_t ordinal = block->rows[0].ordinal;
    while (is_too_early(r, ordinal) && is_wanted(all, ordinal)) {
        pthread_cond_wait(&all->changed, &all->lock);
    }
    bool wanted = is_wanted(all, ordinal);
    if (wanted) {
        *r->last = block;
        r->last = &block->next;
        r->waiting++;
        all->waiting_bytes += block->texts.len;
        pthread_cond_broadcast(&all->changed);
    }
    pthread_mutex_unlock(&all->lock);
    if (!wanted) {
        sds_index_block_free(block);
    }
    return wanted;
}

static void fail(struct reader *r, enum sds_kind kind, const struct sds_err *err) {
    struct sds_index_readers *all = r->all;
    pthread_mutex_lock(&all->lock);
    if (all->kind == SDS_OK || r->next < all->failed_at) {
        all->kind = kind;
        all->failed_at = r->next;
        all->err = *err;
    }
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

static bool is_told_to_stop(const struct sds_index_work *work) {
    return work->stop != NULL && atomic_load_explicit(work->stop, memory_order_relaxed);
}

// An empty block: one that was written already, if there is one and the row fits into it.
static struct sds_index_block *new_block(struct sds_index_readers *all, size_t room) {
    pthread_mutex_lock(&all->lock);
    struct sds_index_block *block = all->spare;
    if (block != NULL && sds_index_block_fits(block, room)) {
        all->spare = block->next;
        block->next = NULL;
    } else {
        block = NULL;
    }
    pthread_mutex_unlock(&all->lock);
    return block != NULL ? block : sds_index_block_new(room);
}

static bool take_entry(void *ctx, const struct sds_scanned *entry) {
    struct reader *r = ctx;
    struct sds_err err;
    enum sds_kind kind = SDS_OK;
    size_t room = sds_index_row_room(entry);
    if (r->filling != NULL && !sds_index_block_fits(r->filling, room) && !put(r)) {
        return false;
    }
    if (r->filling == NULL) {
        r->filling = new_block(r->all, room);
    }
    if (is_told_to_stop(r->all->work)) {
        kind = sds_fail(&err, SDS_ERR_INVALID, "stopped", "told to stop");
    } else if (r->filling == NULL) {
        kind = sds_fail(&err, SDS_ERR_NO_MEMORY, "memory", "no memory for rows of the index");
    } else {
        kind = sds_index_block_add(r->filling, entry, &err);
    }
    if (kind != SDS_OK) {
        fail(r, kind, &err);
    }
    r->next += kind == SDS_OK;
    return kind == SDS_OK;
}

// The next stretch, the rest of a shard as a rule. False when there is none.
static bool begin_stretch(struct sds_index_readers *all, uint64_t *first, uint64_t *end) {
    struct sds_dataset *ds = all->work->ds;
    pthread_mutex_lock(&all->lock);
    bool there = is_wanted(all, all->unread) && all->unread < all->total;
    if (there) {
        *first = all->unread;
        all->unread = *end = ds->ops->scan_end(ds, *first);
    }
    pthread_mutex_unlock(&all->lock);
    return there;
}

static void *run(void *arg) {
    struct reader *r = arg;
    struct sds_index_readers *all = r->all;
    struct sds_dataset *ds = all->work->ds;
    struct sds_err err;
    uint64_t first, end;
    while (begin_stretch(all, &first, &end)) {
        r->next = first;
        enum sds_kind kind = ds->ops->scan(ds, first, end, take_entry, r, &err);
        if (kind != SDS_OK) {
            fail(r, kind, &err);
        }
        if (r->filling != NULL && r->filling->count > 0) {
            put(r); // a block never holds two stretches
        }
    }
    pthread_mutex_lock(&all->lock);
    all->running--;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

// --- who takes

// The thread that takes has work of its own, but less than they have.
static unsigned wanted_readers(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors > MAX_READERS ? MAX_READERS : (unsigned)processors;
}

enum sds_kind sds_index_readers_start(const struct sds_index_work *work, uint64_t first,
                                      uint64_t total, struct sds_index_readers **out,
                                      struct sds_err *err) {
    struct sds_index_readers *all = calloc(1, sizeof *all);
    if (all == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for readers");
    }
    all->work = work;
    all->unread = all->taken = first;
    all->total = total;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->changed, NULL);
    pthread_mutex_lock(&all->lock); // they begin when it is known how many they are
    for (unsigned wanted = wanted_readers(); all->count < wanted; all->count++) {
        struct reader *r = &all->readers[all->count];
        r->all = all;
        r->last = &r->first;
        if (pthread_create(&r->thread, NULL, run, r) != 0) {
            break;
        }
    }
    all->running = all->count;
    pthread_mutex_unlock(&all->lock);
    if (all->count == 0) {
        sds_index_readers_stop(all);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "thread", "cannot start a thread");
    }
    *out = all;
    return SDS_OK;
}

// The reader whose first full block is next. Lock held.
static struct reader *next_in_order(struct sds_index_readers *all) {
    for (unsigned i = 0; i < all->count; i++) {
        const struct sds_index_block *block = all->readers[i].first;
        if (block != NULL && block->rows[0].ordinal == all->taken) {
            return &all->readers[i];
        }
    }
    return NULL;
}

enum sds_kind sds_index_readers_take(struct sds_index_readers *all, struct sds_index_block **out,
                                     struct sds_err *err) {
    pthread_mutex_lock(&all->lock);
    struct reader *r;
    while ((r = next_in_order(all)) == NULL && all->running > 0) {
        pthread_cond_wait(&all->changed, &all->lock);
    }
    enum sds_kind kind = SDS_OK;
    *out = NULL;
    if (r != NULL) {
        *out = r->first;
        r->first = r->first->next;
        r->last = r->first == NULL ? &r->first : r->last;
        r->waiting--;
        all->waiting_bytes -= (*out)->texts.len;
        all->taken += (*out)->count;
        pthread_cond_broadcast(&all->changed);
    } else {
        kind = all->kind;
        if (kind != SDS_OK && err != NULL) {
            *err = all->err;
        }
    }
    pthread_mutex_unlock(&all->lock);
    return kind;
}

// Blocks that were made larger for one row are not kept.
void sds_index_readers_give(struct sds_index_readers *all, struct sds_index_block *block) {
    if (!sds_index_block_empty(block)) {
        sds_index_block_free(block);
        return;
    }
    pthread_mutex_lock(&all->lock);
    block->next = all->spare;
    all->spare = block;
    pthread_mutex_unlock(&all->lock);
}

static void free_blocks(struct sds_index_block *first) {
    while (first != NULL) {
        struct sds_index_block *next = first->next;
        sds_index_block_free(first);
        first = next;
    }
}

void sds_index_readers_stop(struct sds_index_readers *all) {
    if (all == NULL) {
        return;
    }
    pthread_mutex_lock(&all->lock);
    all->stop = true;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    for (unsigned i = 0; i < all->count; i++) {
        struct reader *r = &all->readers[i];
        pthread_join(r->thread, NULL);
        sds_index_block_free(r->filling);
        free_blocks(r->first);
    }
    free_blocks(all->spare);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->lock);
    free(all);
}
