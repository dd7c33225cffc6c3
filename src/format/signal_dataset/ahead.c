// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/ahead.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/ckd.h"
#include "base/clock.h"
#include "base/wait.h"
#include "format/signal_dataset/announced.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/records.h"
#include "format/signal_dataset/shard.h"
#include "format/signal_dataset/streams.h"

#define DISK_RECORDS 8     // a reader is ahead of, at most
#define SERVER_RECORDS 128 // since each takes a while to come
#define FIRST_RECORDS 2    // until it is clear that a reader goes on
#define UNKNOWN_BYTES ((uint64_t)256 << 10) // of a record, before one was read
#define ERRANDS 128
#define STEADY_RECORDS 32 // in order, after which the next shard will be read whole
#define MAX_THREADS 16

// A record that is being brought in. The task stands first: resume gets its address.
struct errand {
    struct sds_task task;
    struct ahead *ahead;
    uint64_t ordinal;
    enum wanted {
        RECORD,
        STEADILY, // for a reader that has gone forwards for long
        ENTRY,    // of the metadata alone
    } what;
    enum { FREE, READY, RUNNING, PARKED } state;
    struct errand *next; // in the list of those that are free, or of those that are ready
};

struct ahead {
    struct signal_dataset *ds;
    bool remote;
    pthread_mutex_t lock; // protects all below
    pthread_cond_t work;
    struct streams streams;
    struct announced announced;
    uint64_t bytes; // of the record that was read last
    struct errand errands[ERRANDS];
    struct errand *free;
    struct errand *ready, **ready_end; // oldest first
    unsigned live;                     // errands that are not free
    bool stop;
    pthread_t threads[MAX_THREADS];
    unsigned thread_count;
};

// ---- errands

// A shard that begins with this record is going to be read from front to back: in large pieces at
// once, since the store would have to find out about the reader again.
static void prefetch_from_front(struct signal_dataset *ds, uint64_t ordinal) {
    struct location at;
    if (chain_locate_at_hand(ds, ordinal, &at)) {
        if (at.shard->first_ordinal == ordinal) {
            shard_prefetch_whole(ds, &at.shard->data);
        }
        location_fini(&at);
    }
}

// Errors are left for the reader that comes: it asks again and is told. Entry and payload are
// fetched at the same time.
static enum sds_kind bring(struct signal_dataset *ds, uint64_t ordinal, enum wanted what) {
    if (what == STEADILY) {
        prefetch_from_front(ds, ordinal);
    }
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *record = NULL;
    enum sds_kind entry = record_entry(ds, ordinal, &ref, &record, NULL);
    if (entry == SDS_OK) {
        sds_cache_release(ref);
    }
    if (what == ENTRY) {
        return entry;
    }
    enum sds_kind payload = record_payload(ds, ordinal, &ref, &record, NULL);
    if (payload == SDS_OK) {
        sds_cache_release(ref);
    }
    return entry == SDS_ERR_WAITING ? entry : payload;
}

// What it waited for is there: it goes on before others begin. From whatever thread.
static void resume(struct sds_task *task) {
    struct errand *errand = (struct errand *)task;
    struct ahead *ahead = errand->ahead;
    pthread_mutex_lock(&ahead->lock);
    errand->state = READY;
    errand->next = ahead->ready;
    if (ahead->ready == NULL) {
        ahead->ready_end = &errand->next;
    }
    ahead->ready = errand;
    pthread_cond_signal(&ahead->work);
    pthread_mutex_unlock(&ahead->lock);
}

// Orders a record; false when nothing more can be. Lock held.
static bool order(struct ahead *ahead, uint64_t ordinal, enum wanted what) {
    struct errand *errand = ahead->free;
    if (errand == NULL) {
        return false;
    }
    ahead->free = errand->next;
    errand->ordinal = ordinal;
    errand->what = what;
    errand->state = READY;
    errand->next = NULL;
    sds_task_init(&errand->task, resume);
    *ahead->ready_end = errand;
    ahead->ready_end = &errand->next;
    ahead->live++;
    pthread_cond_signal(&ahead->work);
    return true;
}

// Lock held.
static void end_errand(struct ahead *ahead, struct errand *errand) {
    errand->state = FREE;
    errand->next = ahead->free;
    ahead->free = errand;
    ahead->live--;
}

// Runs an errand until it ends or has to wait; true when it ended.
static bool run_errand(struct ahead *ahead, struct errand *errand) {
    for (;;) {
        sds_task_enter(&errand->task);
        enum sds_kind kind = bring(ahead->ds, errand->ordinal, errand->what);
        sds_task_leave();
        if (kind != SDS_ERR_WAITING) {
            sds_task_fini(&errand->task);
            return true;
        }
        pthread_mutex_lock(&ahead->lock);
        errand->state = PARKED;
        pthread_mutex_unlock(&ahead->lock);
        if (sds_task_park(&errand->task)) {
            return false; // from here on it is whoever's resumes it
        }
    }
}

// ---- how far ahead

// How many records of this size are brought in ahead of one reader.
static uint64_t records_ahead(const struct ahead *ahead, uint64_t bytes) {
    uint64_t cache = sds_cache_budget(ahead->ds->cache);
    uint64_t budget = sds_min(cache / 4, ahead->ds->options.read_ahead);
    uint64_t most = ahead->remote ? SERVER_RECORDS : DISK_RECORDS;
    uint64_t count = bytes > 0 ? budget / bytes : most;
    if (count == 0 && ahead->remote && bytes <= cache / 3) {
        count = 1; // one large record is worth having on its way
    }
    return count < most ? count : most;
}

// Whether one more may be on its way, whoever it is for. Lock held.
static bool has_room(const struct ahead *ahead) {
    uint64_t bytes = ahead->bytes > 0 ? ahead->bytes : UNKNOWN_BYTES;
    return ahead->live == 0 || ahead->live < sds_cache_budget(ahead->ds->cache) / 2 / bytes;
}

// Lock held.
static void order_announced(struct ahead *ahead) {
    if (ahead->announced.count == 0) {
        return;
    }
    uint64_t most = records_ahead(ahead, ahead->bytes > 0 ? ahead->bytes : UNKNOWN_BYTES);
    uint64_t now = sds_clock_ms(), ordinal;
    while (ahead->free != NULL && has_room(ahead) &&
           announced_next(&ahead->announced, most, now, &ordinal)) {
        order(ahead, ordinal, RECORD);
    }
}

// How many records a stream is to be ahead by now: more each time, so that one that soon ends has
// not cost much.
static uint64_t stream_wants(const struct ahead *ahead, const struct stream *stream,
                             uint64_t bytes) {
    uint64_t most = records_ahead(ahead, bytes);
    unsigned doubled = stream->run > 3 ? stream->run - 3 : 0;
    uint64_t now = doubled < 16 ? (uint64_t)FIRST_RECORDS << doubled : most;
    return now < most ? now : most;
}

// Lock held.
static void order_stream(struct ahead *ahead, struct stream *stream, uint64_t bytes) {
    uint64_t count = ahead->ds->chain.snapshot.record_count, ordinal;
    uint64_t wanted = stream_wants(ahead, stream, bytes);
    bool steadily = ahead->remote && stream->stride == 1 && stream->run >= STEADY_RECORDS;
    // Several at a time: each wake-up costs as much as decoding a small record.
    if (stream->ahead > wanted / 2) {
        return;
    }
    while (stream->ahead < wanted && has_room(ahead) && stream_next(stream, count, &ordinal) &&
           order(ahead, ordinal, steadily ? STEADILY : RECORD)) {
        stream->ahead++;
    }
}

void ahead_note(struct ahead *ahead, uint64_t ordinal, uint64_t bytes) {
    if (ahead == NULL) {
        return;
    }
    pthread_mutex_lock(&ahead->lock);
    ahead->bytes = bytes;
    announced_read(&ahead->announced, ordinal);
    order_announced(ahead);
    struct stream *stream = streams_note(&ahead->streams, ordinal);
    if (stream != NULL) {
        order_stream(ahead, stream, bytes);
    }
    pthread_mutex_unlock(&ahead->lock);
}

void ahead_announce(struct ahead *ahead, const uint64_t *ordinals, size_t count) {
    if (ahead != NULL) {
        pthread_mutex_lock(&ahead->lock);
        announced_add(&ahead->announced, ordinals, count);
        order_announced(ahead);
        pthread_mutex_unlock(&ahead->lock);
    }
}

void ahead_entry(struct ahead *ahead, uint64_t ordinal) {
    bool ordered = false;
    pthread_mutex_lock(&ahead->lock);
    for (size_t i = 0; !ordered && i < ERRANDS; i++) {
        const struct errand *errand = &ahead->errands[i];
        ordered = errand->state != FREE && errand->what == ENTRY && errand->ordinal == ordinal;
    }
    if (!ordered) {
        (void)order(ahead, ordinal, ENTRY);
    }
    pthread_mutex_unlock(&ahead->lock);
}

void ahead_sweep(struct ahead *ahead) {
    if (ahead != NULL) {
        pthread_mutex_lock(&ahead->lock);
        announced_expire(&ahead->announced, sds_clock_ms());
        order_announced(ahead);
        pthread_mutex_unlock(&ahead->lock);
    }
}

// ---- threads

static struct errand *take_ready(struct ahead *ahead) {
    struct errand *errand = ahead->ready;
    ahead->ready = errand->next;
    if (ahead->ready == NULL) {
        ahead->ready_end = &ahead->ready;
    }
    errand->state = RUNNING;
    return errand;
}

static void *run(void *arg) {
    struct ahead *ahead = arg;
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop) {
        if (ahead->ready == NULL) {
            pthread_cond_wait(&ahead->work, &ahead->lock);
            continue;
        }
        struct errand *errand = take_ready(ahead);
        pthread_mutex_unlock(&ahead->lock);
        bool ended = run_errand(ahead, errand);
        pthread_mutex_lock(&ahead->lock);
        if (ended) {
            end_errand(ahead, errand);
            order_announced(ahead);
        }
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

enum sds_kind ahead_start(struct signal_dataset *ds, unsigned threads, struct ahead **out,
                          struct sds_err *err) {
    *out = NULL;
    if (threads == 0) {
        return SDS_OK;
    }
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (ahead == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for reading ahead");
    }
    ahead->ds = ds;
    ahead->remote = sds_store_is_remote(ds->store);
    ahead->ready_end = &ahead->ready;
    for (size_t i = 0; i < ERRANDS; i++) {
        ahead->errands[i] = (struct errand){.ahead = ahead, .next = ahead->free};
        ahead->free = &ahead->errands[i];
    }
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->work, NULL);
    for (unsigned i = 0; i < threads && i < MAX_THREADS; i++) {
        if (pthread_create(&ahead->threads[i], NULL, run, ahead) != 0) {
            ahead_stop(ahead);
            return sds_fail(err, SDS_ERR_NO_MEMORY, "thread", "cannot start a thread");
        }
        ahead->thread_count++;
    }
    *out = ahead;
    return SDS_OK;
}

// Takes back an errand that no thread of ours runs any more. Lock held.
static void drop_errand(struct ahead *ahead, struct errand *errand) {
    while (errand->state == PARKED) {
        pthread_mutex_unlock(&ahead->lock);
        bool mine = sds_task_unpark(&errand->task);
        pthread_mutex_lock(&ahead->lock);
        if (mine) {
            break;
        }
        while (errand->state == PARKED) { // it is being resumed
            pthread_cond_wait(&ahead->work, &ahead->lock);
        }
    }
    if (errand->state != FREE) {
        pthread_mutex_unlock(&ahead->lock); // what it kept may be what others wait for
        sds_task_fini(&errand->task);
        pthread_mutex_lock(&ahead->lock);
    }
}

void ahead_stop(struct ahead *ahead) {
    if (ahead == NULL) {
        return;
    }
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_broadcast(&ahead->work);
    pthread_mutex_unlock(&ahead->lock);
    for (unsigned i = 0; i < ahead->thread_count; i++) {
        pthread_join(ahead->threads[i], NULL);
    }
    pthread_mutex_lock(&ahead->lock);
    for (size_t i = 0; i < ERRANDS; i++) {
        drop_errand(ahead, &ahead->errands[i]);
    }
    pthread_mutex_unlock(&ahead->lock);
    announced_fini(&ahead->announced);
    pthread_cond_destroy(&ahead->work);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
