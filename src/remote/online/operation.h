// SPDX-License-Identifier: Apache-2.0
//
// One operation on a server from its preparation to its end: the credential, the request, the
// verdict on its answer, and again after a pause for as long as that can help: a number of tries
// and a deadline bound it. What would be a verdict against what is known of the object is asked for
// in another way before it is one (witness.h). It holds no thread while it is on its way.
//
// Any thread may start one. Who started it is told exactly once, mostly on the thread of the HTTP
// pool, with no lock held, and must not block there.
#ifndef SDSFS_REMOTE_OPERATION_H
#define SDSFS_REMOTE_OPERATION_H

#include <pthread.h>
#include <stdatomic.h>

#include "remote/credentials/credentials.h"
#include "remote/http/http.h"
#include "remote/online/stats.h"
#include "remote/servers/provider.h"

// What the operations of a store have in common.
struct sds_operations {
    struct sds_http *http;
    struct sds_provider *provider;
    struct sds_credentials *credentials; // NULL: the provider wants none
    uint32_t timeout_ms;
    unsigned retries;
    struct sds_remote_stats *stats;
    atomic_bool closed; // those on their way fail, and those to come

    pthread_mutex_t lock; // protects flying
    pthread_cond_t idle;
    unsigned flying;
};

void sds_operations_init(struct sds_operations *operations); // the locks
// Whoever waits is told, soon. Does not block.
void sds_operations_abandon(struct sds_operations *operations);
void sds_operations_fini(
    struct sds_operations *operations); // abandons, and waits until none is left

struct sds_outcome {
    struct sds_err err;   // kind OK: done
    struct sds_told told; // when done; also the size that a refused range told
    uint64_t received;    // GET: bytes that came; fewer than asked when the object ends before
    bool written;         // not done, but may have been: look before anything is concluded
};
typedef void (*sds_operation_done)(void *ctx, const struct sds_outcome *outcome);

// Starts it. what is copied, but for what it stores. into: where the bytes of a GET go, len of
// them.
void sds_operation_start(struct sds_operations *operations, const struct sds_operation *what,
                         void *into, sds_operation_done done, void *ctx);
// Starts it and waits until it is done; for threads that work for no task.
void sds_operation_run(struct sds_operations *operations, const struct sds_operation *what,
                       void *into, struct sds_outcome *outcome);

#endif
