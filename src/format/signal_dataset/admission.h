// SPDX-License-Identifier: Apache-2.0
//
// How much of a server's bytes may be in memory for readers at a time. A task that wants a large
// chunk holds its stored bytes from when they are asked for, and then its decoded ones; a hundred
// readers that wait cost a hundred chunks. So such a task comes here first, and queues while those
// who are in hold their share of the cache's budget. Those who are in are tasks, until they are
// over, and large values that are being read (reading.h): their readers come back for the next
// piece, and would find it gone if others took its place.
//
// Nothing can lock up. Who queues holds nothing that others wait for: no lock, no turn, no bytes
// but small ones. Who is in is let through whatever more it wants, and waits only for answers,
// which have a deadline. When nobody is in, the first is let in however much it wants. A task that
// is given up leaves the queue with what else it keeps (base/wait.h). Threads without a task are
// few, and may hold what those who are in wait for (a load of the cache), so they never queue.
//
// Safe from any thread; events are fired with no lock held.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_ADMISSION_H
#define SDSFS_FORMAT_SIGNAL_DATASET_ADMISSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cache.h"
#include "base/err.h"

#define ADMISSION_SMALL ((size_t)256 << 10) // at most: never counted, never queued

struct ticket;

struct admission {
    const struct sds_cache *cache; // whose budget is shared out
    // Called ten times and more a second while somebody queues: lets go of what nobody needs.
    void (*relieve)(void *ctx);
    void *ctx;
    pthread_mutex_t lock; // protects all below
    pthread_cond_t work;  // of the thread
    size_t used;          // bytes of those who are in
    unsigned in;          // how many they are
    struct ticket *holders;
    struct ticket *first, **end; // the queue
    atomic_uint queued;          // its length; read without the lock
    pthread_t thread;            // calls relieve; begun when somebody queues for the first time
    bool started, stop;
};

void admission_init(struct admission *admission, const struct sds_cache *cache,
                    void (*relieve)(void *ctx), void *ctx);
// relieve is not called any more. Nobody queues; values may still be let go.
void admission_stop(struct admission *admission);
// After it was stopped; nobody is in any more.
void admission_fini(struct admission *admission);

// Before this many bytes are read for a task, which is in from then on until it is over. what:
// those who want the same thing are let in together. Kinds: WAITING, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind admission_enter(struct admission *admission, uint64_t what,
                                             size_t bytes, struct sds_err *err);

// A value is held for its readers, until it is let go; never refused.
void admission_hold(struct admission *admission, size_t bytes);
void admission_let_go(struct admission *admission, size_t bytes);

// Whether somebody queues.
bool admission_is_pressed(const struct admission *admission);

#endif
