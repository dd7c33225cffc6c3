// SPDX-License-Identifier: Apache-2.0
//
// The catalog as it is now: annotation sets appear while a dataset is open, published by us or by
// others. Nothing runs in the background; who looks at something that may have grown asks here
// first, and the pointer, some hundred bytes, is read again when the last look is older than the
// option refresh allows; on a server only its version is asked for, and the rest when that is
// another one. A new catalog that fails a check, or a store that does not answer, changes nothing:
// the last one stays, and the problem is told once (through options.warn).
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_FOLLOW_H
#define SDSFS_FORMAT_SIGNAL_DATASET_FOLLOW_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"
#include "base/wait.h"
#include "format/signal_dataset/catalog.h"

struct look;

struct follow {
    pthread_mutex_t lock;               // protects `current`; nothing happens under it
    struct annotation_catalog *current; // never NULL after open; maybe empty
    // Had by the thread or task that looks at the store, also while it waits for the store: others
    // who find that a look is due wait for that one. Protects `told`.
    struct sds_turns looking;
    _Atomic(struct look *) look; // by whoever has the turn
    struct sds_err told;         // the last problem, until a look finds none
    _Atomic int64_t next_ms;     // when the next look is due, on the monotonic clock
};

// Fails when the catalog breaks a rule, unless the options tolerate it: then the catalog is empty
// and the problem was told.
SDS_MUST_CHECK enum sds_kind annotations_open(struct signal_dataset *ds, struct sds_err *err);
void annotations_close(struct signal_dataset *ds);

// The catalog now; the caller unreferences it. Sets outlive it: they stay for as long as the
// dataset.
struct annotation_catalog *annotations_hold(struct signal_dataset *ds);
// The set that has this name now; NULL when there is none.
const struct annotation_set *annotations_find(struct signal_dataset *ds, struct sds_span name);

// Looks at the store if that is due, a task once at most. Does not fail, but for WAITING.
SDS_MUST_CHECK enum sds_kind annotations_follow(struct signal_dataset *ds, struct sds_err *err);
// Looks at the store at once: for who knows that something was published.
SDS_MUST_CHECK enum sds_kind annotations_reload(struct signal_dataset *ds, struct sds_err *err);

#endif
