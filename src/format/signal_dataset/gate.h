// SPDX-License-Identifier: Apache-2.0
//
// Keeps the parsing of large control documents inside the memory ceiling: a document of 64 MiB
// takes some 170 MiB while its text, its tokens and its parsed form are there together. Documents
// above GATE_BYTES pass one at a time, after the cache has made room; smaller ones never wait.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_GATE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_GATE_H

#include <pthread.h>
#include <stdint.h>

#include "base/cache.h"

#define GATE_BYTES ((uint64_t)4 << 20)

struct gate {
    pthread_mutex_t lock;
};

void gate_init(struct gate *gate);
void gate_fini(struct gate *gate);

// Around reading and parsing a document of this many bytes (as its reference declares).
void gate_enter(struct gate *gate, struct sds_cache *cache, uint64_t bytes);
void gate_leave(struct gate *gate, uint64_t bytes);

#endif
