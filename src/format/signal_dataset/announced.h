// SPDX-License-Identifier: Apache-2.0
//
// Records that somebody announced to read, in order: which of them to begin with next. A window of
// them is begun and not read yet; it moves on with the reader, and, where one skips some or never
// comes, with time. Not safe between threads.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_ANNOUNCED_H
#define SDSFS_FORMAT_SIGNAL_DATASET_ANNOUNCED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANNOUNCED_MAX 65536   // that wait; more are not taken
#define ANNOUNCED_WINDOW 128  // begun and not read, at most
#define ANNOUNCED_PASSED 32   // read so far behind it, a record is no longer waited for
#define ANNOUNCED_UNREAD 30000 // milliseconds that a record is waited for

struct announced {
    uint64_t *waiting; // a ring of `room`
    size_t head, count, room;
    struct announced_begun {
        uint64_t ordinal, since_ms;
    } begun[ANNOUNCED_WINDOW]; // in order
    size_t begun_count;
};

void announced_fini(struct announced *announced);
// Takes as many as there is room for; without memory none.
void announced_add(struct announced *announced, const uint64_t *ordinals, size_t count);
// The next record to begin, which then is begun; false when there is none, or `most` are begun.
bool announced_next(struct announced *announced, size_t most, uint64_t now_ms, uint64_t *out);
void announced_read(struct announced *announced, uint64_t ordinal);
// Lets go of what nobody came for.
void announced_expire(struct announced *announced, uint64_t now_ms);

#endif
