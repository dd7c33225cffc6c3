// SPDX-License-Identifier: Apache-2.0
//
// Who reads records in which order: forwards, backwards, or every n-th one. Several readers are
// told apart by where they are, since a file system does not know who reads. A reader in random
// order is none. Not safe between threads.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_STREAMS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#define STREAMS 8         // readers told apart
#define STREAMS_RECENT 32 // ordinals that may turn out to be the beginning of one

// A reader's place. Members but `ahead` are streams.c's.
struct stream {
    uint64_t ahead;  // records behind `last` that are ordered already: the user of this counts
    uint64_t last;   // the farthest ordinal it took
    int64_t stride;  // to the next one; 0: no stream
    unsigned run;    // ordinals it took in order, those by which it was found included
    unsigned missed; // that it passed over, and that did not come since
    uint64_t used;
};

struct streams {
    struct stream all[STREAMS];
    uint64_t recent[STREAMS_RECENT]; // a ring, newest at (noted - 1) % STREAMS_RECENT
    uint64_t noted;                  // in the ring
    uint64_t clock;                  // of all that were told
};

// Tells that a record begins to be read. The stream that this moves on (or makes), or NULL.
struct stream *streams_note(struct streams *streams, uint64_t ordinal);

// The ordinal of the record that is next to be ordered; false when there is none below count.
bool stream_next(const struct stream *stream, uint64_t count, uint64_t *out);

#endif
