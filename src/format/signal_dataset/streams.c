// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/streams.h"

#include <stddef.h>

// How many ordinals in a row are believed, and how many others may lie between two of them, which
// other readers took. In a small dataset random ordinals are in some order rather often: so it is
// little for what is most common, and more for the rest.
#define FORWARDS 3
#define BACKWARDS 4
#define OTHERS 5
#define NEIGHBOURS_APART 8
#define OTHERS_APART 4

#define BEHIND 8     // readers with several threads take ordinals a little out of order
#define FORGOTTEN 64 // ordinals later a reader that did not come is no more

// Ordinals are below 2^40, so their differences are int64_t.
static int64_t distance(uint64_t from, uint64_t to) {
    return (int64_t)to - (int64_t)from;
}

static uint64_t recent_at(const struct streams *streams, uint64_t age) {
    return streams->recent[(streams->noted - 1 - age) % STREAMS_RECENT];
}

static uint64_t ages(const struct streams *streams, uint64_t most) {
    most = most < STREAMS_RECENT ? most : STREAMS_RECENT;
    return streams->noted < most ? streams->noted : most;
}

// Looks for an ordinal from an age on, among `most`; *age is behind it then.
static bool find_recent(const struct streams *streams, int64_t ordinal, uint64_t most,
                        uint64_t *age) {
    uint64_t end = ages(streams, *age + most);
    for (uint64_t i = *age; ordinal >= 0 && i < end; i++) {
        if (recent_at(streams, i) == (uint64_t)ordinal) {
            *age = i + 1;
            return true;
        }
    }
    return false;
}

static unsigned believed(int64_t stride) {
    return stride == 1 ? FORWARDS : stride == -1 ? BACKWARDS : OTHERS;
}

// Whether the ordinals that a run of this stride up to `last` has before it were taken, one after
// the other.
static bool is_run(const struct streams *streams, int64_t last, int64_t stride) {
    uint64_t apart = stride == 1 || stride == -1 ? NEIGHBOURS_APART : OTHERS_APART;
    uint64_t age = 0;
    for (unsigned before = believed(stride) - 1; before > 0; before--) {
        last -= stride;
        if (!find_recent(streams, last, apart, &age)) {
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
    for (uint64_t age = 0; age < ages(streams, OTHERS_APART); age++) {
        int64_t stride = distance(recent_at(streams, age), ordinal);
        if (stride < -1 || stride > 1) {
            if (is_run(streams, last, stride)) {
                return stride;
            }
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

// Moves a stream on; false when it passed over so many that it is none.
static bool move_on(struct stream *stream, uint64_t ordinal, uint64_t steps) {
    stream->ahead -= stream->ahead < steps ? stream->ahead : steps;
    stream->last = ordinal;
    stream->run++;
    stream->missed += (unsigned)(steps - 1);
    if (stream->missed > stream->run / 2) {
        *stream = (struct stream){0};
    }
    return stream->stride != 0;
}

struct stream *streams_note(struct streams *streams, uint64_t ordinal) {
    uint64_t now = ++streams->clock;
    int64_t steps;
    for (struct stream *s = streams->all; s < streams->all + STREAMS; s++) {
        if (now - s->used > FORGOTTEN || !steps_to(s, ordinal, &steps) || steps <= -BEHIND ||
            (steps > 1 && (uint64_t)steps > s->ahead)) {
            continue;
        }
        s->used = now;
        if (steps <= 0) { // it was there, or a slower thread of its is
            s->missed -= steps < 0 && s->missed > 0;
            return NULL;
        }
        return move_on(s, ordinal, (uint64_t)steps) ? s : NULL;
    }
    uint64_t age = 0;
    if (find_recent(streams, (int64_t)ordinal, STREAMS_RECENT, &age)) {
        return NULL;
    }
    int64_t stride = stride_to(streams, ordinal);
    streams->recent[streams->noted++ % STREAMS_RECENT] = ordinal;
    if (stride == 0) {
        return NULL;
    }
    struct stream *s = oldest(streams);
    *s = (struct stream){.last = ordinal, .stride = stride, .run = believed(stride), .used = now};
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
