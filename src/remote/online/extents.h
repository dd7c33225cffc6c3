// SPDX-License-Identifier: Apache-2.0
//
// The bytes of one object that are in memory or on their way there, as extents that do not overlap:
// whoever wants a byte that has been asked for already waits for that extent instead of asking
// again. An extent is on its way until it ends, once: there or failed. It lives as long as somebody
// has a reference: who fetches it, who waits for it, the tasks that keep it (base/wait.h), and the
// ledger when it has been put there for those who come later. An extent that failed counts for
// nothing, but for the tasks that keep it, which are told.
//
// All functions may be called from any thread, with no lock held that the ledger's values need.
#ifndef SDSFS_REMOTE_EXTENTS_H
#define SDSFS_REMOTE_EXTENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/blob.h"
#include "base/cache.h"
#include "base/err.h"
#include "base/wait.h"

struct sds_extent;

// Embedded in what stands for the object, which outlives it: hold and let_go are called for each
// extent that begins and ends to live. ahead counts bytes that were fetched for nobody yet, over
// all objects of a store.
struct sds_extents_owner {
    void (*hold)(void *owner);
    void (*let_go)(void *owner);
    struct sds_cache *ledger;                    // NULL: nothing is charged or put
    atomic_uint_fast64_t *ahead, *used, *wasted; // bytes; see sds_extent.ahead
};

struct sds_extents {
    pthread_mutex_t lock; // protects all below and what sds_extent says
    const struct sds_extents_owner *how;
    void *owner;
    struct sds_extent **live; // on their way or there, by offset
    size_t count, cap;
    struct sds_extent *failed; // those that are kept
};

enum sds_extent_state { SDS_EXTENT_FLYING, SDS_EXTENT_THERE, SDS_EXTENT_FAILED };

struct sds_extent {
    struct sds_extents *of;
    uint64_t off;
    struct sds_event *ended; // happens once it is no longer FLYING
    void *ctx;               // of whoever fetches it

    // Protected by the lock; err and blob do not change once it has ended.
    unsigned refs;
    enum sds_extent_state state;
    uint64_t len;          // may get shorter when it ends
    struct sds_blob *blob; // its bytes when it is there, from the blob's first on
    struct sds_err err;    // of one that failed
    struct sds_extent *next_failed;

    size_t charged; // of the ledger; by whoever has the only right to, see extents.c
    bool put;       // the ledger has it
    bool ahead;     // asked for by nobody yet: counted until it is read
    uint64_t read;  // how many bytes of it
};

void sds_extents_init(struct sds_extents *extents, const struct sds_extents_owner *how,
                      void *owner);
void sds_extents_fini(struct sds_extents *extents); // none are left

// What is known of the byte at `pos`: *out is a reference to the extent that has it, with its state
// and its end, or NULL, with the end of the gap (the next extent's beginning; UINT64_MAX for none).
struct sds_extent_view {
    struct sds_extent *extent;
    enum sds_extent_state state;
    uint64_t end;
};
void sds_extents_look(struct sds_extents *extents, uint64_t pos, struct sds_extent_view *out);

// As above where there is an extent; else makes one, on its way, of as much of [from, to) around
// pos as lies in the gap, charges the ledger (`charged` were charged already), and tells so by
// *fresh: the caller has to have it fetched and to end it, for which it has a second reference.
// Kinds: NO_MEMORY.
struct sds_extent_claim {
    uint64_t pos, from, to;
    size_t charged;
    bool ahead;
};
SDS_MUST_CHECK enum sds_kind sds_extents_claim(struct sds_extents *extents,
                                               const struct sds_extent_claim *claim,
                                               struct sds_extent_view *out, bool *fresh,
                                               struct sds_err *err);

// It has ended: there, with the first len bytes of its blob, or failed (err). keep: is put into the
// ledger, for others than those who wait. Takes over the fetch's reference and fires the event.
void sds_extent_there(struct sds_extent *extent, uint64_t len, bool keep);
void sds_extent_failed(struct sds_extent *extent, const struct sds_err *err);
// This thread's task, if there is one, keeps it from here on. Kinds: NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_extent_keep(struct sds_extent *extent, struct sds_err *err);
// Waits until it has ended; a task keeps it. With what it failed with, or WAITING.
SDS_MUST_CHECK enum sds_kind sds_extent_wait(struct sds_extent *extent, struct sds_err *err);

// Copies bytes of one that is there.
void sds_extent_copy(struct sds_extent *extent, uint64_t off, void *buf, size_t len);

// Bytes [start, end) that are there are so no longer for whoever comes from now on; those who have
// them keep them. What is on its way stays.
void sds_extents_drop(struct sds_extents *extents, uint64_t start, uint64_t end);

struct sds_extent *sds_extent_ref(struct sds_extent *extent);
void sds_extent_unref(struct sds_extent *extent); // NULL is fine

#endif
