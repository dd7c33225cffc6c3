// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/ahead.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/records.h"

#define STREAMS 8          // readers told apart
#define RUN_BEFORE_AHEAD 3 // ordinals in order before we believe it
#define RECORDS_AHEAD 8
#define BYTES_AHEAD ((uint64_t)24 << 20)
#define QUEUE 64
#define MAX_THREADS 16

// One reader's place: it took the ordinal before `next`, after `run` ordinals in order.
struct stream {
    uint64_t next, ordered_to, used;
    unsigned run;
};

struct ahead {
    struct signal_dataset *ds;
    pthread_mutex_t lock; // protects all below
    pthread_cond_t work;
    struct stream streams[STREAMS];
    uint64_t clock;
    uint64_t queue[QUEUE]; // ordinals, a ring
    unsigned head, waiting;
    bool stop;
    pthread_t threads[MAX_THREADS];
    unsigned thread_count;
};

// Errors are left for the reader that comes: it asks again and is told.
static void decode(struct signal_dataset *ds, uint64_t ordinal) {
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *entry = NULL;
    const struct stored_record *payload = NULL;
    if (record_entry(ds, ordinal, &ref, &entry, NULL) == SDS_OK) {
        sds_cache_release(ref);
    }
    if (record_payload(ds, ordinal, &ref, &payload, NULL) == SDS_OK) {
        sds_cache_release(ref);
    }
}

static void *run(void *arg) {
    struct ahead *ahead = arg;
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop) {
        if (ahead->waiting == 0) {
            pthread_cond_wait(&ahead->work, &ahead->lock);
            continue;
        }
        uint64_t ordinal = ahead->queue[ahead->head];
        ahead->head = (ahead->head + 1) % QUEUE;
        ahead->waiting--;
        pthread_mutex_unlock(&ahead->lock);
        decode(ahead->ds, ordinal);
        pthread_mutex_lock(&ahead->lock);
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
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for decoding ahead");
    }
    ahead->ds = ds;
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
    pthread_cond_destroy(&ahead->work);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

// The stream that an ordinal continues, or the one longest unused, begun anew. NULL when some
// stream has just taken this very ordinal. Lock held.
static struct stream *stream_of(struct ahead *ahead, uint64_t ordinal) {
    struct stream *oldest = &ahead->streams[0];
    for (struct stream *s = ahead->streams; s < ahead->streams + STREAMS; s++) {
        if (s->used > 0 && s->next == ordinal + 1) {
            return NULL;
        }
        if (s->used > 0 && s->next == ordinal) {
            return s;
        }
        oldest = s->used < oldest->used ? s : oldest;
    }
    *oldest = (struct stream){.ordered_to = ordinal + 1};
    return oldest;
}

static uint64_t records_ahead(const struct ahead *ahead, uint64_t bytes) {
    uint64_t budget = sds_cache_budget(ahead->ds->cache) / 4;
    budget = budget < BYTES_AHEAD ? budget : BYTES_AHEAD;
    uint64_t count = bytes > 0 ? budget / bytes : RECORDS_AHEAD;
    return count < RECORDS_AHEAD ? count : RECORDS_AHEAD;
}

void ahead_note(struct ahead *ahead, uint64_t ordinal, uint64_t bytes) {
    if (ahead == NULL) {
        return;
    }
    pthread_mutex_lock(&ahead->lock);
    struct stream *s = stream_of(ahead, ordinal);
    if (s != NULL) {
        s->run++;
        s->next = ordinal + 1;
        s->used = ++ahead->clock;
        uint64_t last = ordinal + records_ahead(ahead, bytes);
        uint64_t count = ahead->ds->chain.snapshot.record_count;
        last = last < count ? last : count - 1;
        if (s->ordered_to <= ordinal) {
            s->ordered_to = ordinal + 1;
        }
        // Ordered several at a time: each wake-up costs as much as decoding a small record.
        bool order =
            s->run >= RUN_BEFORE_AHEAD && s->ordered_to - ordinal <= (last - ordinal) / 2 + 1;
        for (; order && s->ordered_to <= last && ahead->waiting < QUEUE; s->ordered_to++) {
            ahead->queue[(ahead->head + ahead->waiting++) % QUEUE] = s->ordered_to;
        }
        if (order && ahead->waiting > 0) {
            pthread_cond_signal(&ahead->work);
        }
    }
    pthread_mutex_unlock(&ahead->lock);
}
