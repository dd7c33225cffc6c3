// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/streams.h"

#include <stddef.h>

// Three neighbours in a row are believed; with any other distance four are, and closer together,
// since in a small dataset three random ordinals are too often as far apart as one another.
#define NEIGHBOURS 3
#define OTHERS 4
#define OTHERS_RECENT (STREAMS_RECENT / 2)

// Readers with several threads take ordinals a little out of order.
#define BEHIND 8

// Ordinals are below 2^40, so their differences are int64_t.
static int64_t distance(uint64_t from, uint64_t to) {
    return (int64_t)to - (int64_t)from;
}

static uint64_t recent_at(const struct streams *streams, uint64_t age) {
    return streams->recent[(streams->noted - 1 - age) % STREAMS_RECENT];
}

static bool is_recent(const struct streams *streams, int64_t ordinal, uint64_t ages) {
    ages = streams->noted < ages ? streams->noted : ages;
    for (uint64_t age = 0; ordinal >= 0 && age < ages; age++) {
        if (recent_at(streams, age) == (uint64_t)ordinal) {
            return true;
        }
    }
    return false;
}

// Whether the ordinals that a run of this stride up to `last` has before it were read lately.
static bool is_run(const struct streams *streams, int64_t last, int64_t stride) {
    bool neighbours = stride == 1 || stride == -1;
    int before = (neighbours ? NEIGHBOURS : OTHERS) - 1;
    uint64_t ages = neighbours ? STREAMS_RECENT : OTHERS_RECENT;
    for (int i = before; i > 0; i--) {
        if (!is_recent(streams, last - i * stride, ages)) {
            return false;
        }
    }
    return true;
}

// The stride of the run that an ordinal ends, or 0.
static int64_t stride_to(const struct streams *streams, uint64_t ordinal) {
    int64_t last = (int64_t)ordinal;
    if (is_run(streams, last, 1)) {
        return 1;
    }
    if (is_run(streams, last, -1)) {
        return -1;
    }
    uint64_t ages = streams->noted < OTHERS_RECENT ? streams->noted : OTHERS_RECENT;
    for (uint64_t age = 0; age < ages; age++) {
        int64_t stride = distance(recent_at(streams, age), ordinal);
        if (stride != 0 && is_run(streams, last, stride)) {
            return stride;
        }
    }
    return 0;
}

static struct stream *oldest(struct streams *streams) {
    struct stream *found = &streams->all[0];
    for (struct stream *s = streams->all; s < streams->all + STREAMS; s++) {
        found = s->used < found->used ? s : found;
    }
    return found;
}

// How many steps of a stream an ordinal is from where it is; false when it is off its way.
static bool steps_to(const struct stream *stream, uint64_t ordinal, int64_t *out) {
    int64_t way = distance(stream->last, ordinal);
    if (stream->stride == 0 || way % stream->stride != 0) {
        return false;
    }
    *out = way / stream->stride;
    return true;
}

struct stream *streams_note(struct streams *streams, uint64_t ordinal) {
    int64_t steps;
    for (struct stream *s = streams->all; s < streams->all + STREAMS; s++) {
        if (!steps_to(s, ordinal, &steps) || steps <= -BEHIND ||
            (steps > 1 && (uint64_t)steps > s->ahead)) {
            continue;
        }
        if (steps <= 0) {
            return NULL; // it was there, or a slower thread of its is
        }
        s->ahead -= s->ahead < (uint64_t)steps ? s->ahead : (uint64_t)steps;
        s->last = ordinal;
        s->run++;
        s->used = ++streams->clock;
        return s;
    }
    if (is_recent(streams, (int64_t)ordinal, STREAMS_RECENT)) {
        return NULL;
    }
    int64_t stride = stride_to(streams, ordinal);
    streams->recent[streams->noted++ % STREAMS_RECENT] = ordinal;
    if (stride == 0) {
        return NULL;
    }
    struct stream *s = oldest(streams);
    *s = (struct stream){.last = ordinal,
                         .stride = stride,
                         .run = stride == 1 || stride == -1 ? NEIGHBOURS : OTHERS,
                         .used = ++streams->clock};
    return s;
}

bool stream_next(const struct stream *stream, uint64_t count, uint64_t *out) {
    int64_t steps = (int64_t)stream->ahead + 1; // few
    int64_t way;
    if (__builtin_mul_overflow(steps, stream->stride, &way)) {
        return false;
    }
    int64_t next = (int64_t)stream->last + way;
    *out = (uint64_t)next;
    return next >= 0 && (uint64_t)next < count;
}
