// SPDX-License-Identifier: Apache-2.0
//
// Keeps work that needs much memory beside the cache inside the ceiling: large control documents
// are parsed one at a time, large chunks decoded by no more threads than there are processors for.
// What is small never waits.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_GATE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_GATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#include "base/cache.h"

#define GATE_DOCUMENT_BYTES ((uint64_t)4 << 20)
#define GATE_CHUNK_BYTES ((uint64_t)1 << 20)

struct gate {
    pthread_mutex_t document;
    sem_t chunks;
};

void gate_init(struct gate *gate);
void gate_fini(struct gate *gate);

// Around reading and parsing a document of this many bytes (as its reference declares). A document
// of 64 MiB takes some 170 MiB while its text, its tokens and its parsed form are there together;
// the cache makes room for that.
void gate_enter_document(struct gate *gate, struct sds_cache *cache, uint64_t bytes);
void gate_leave_document(struct gate *gate, uint64_t bytes);

// Around reading and decoding a chunk of this many decoded bytes. More threads than processors
// would only take more memory and, since that comes from fresh mappings, be slower.
void gate_enter_chunk(struct gate *gate, uint64_t bytes);
void gate_leave_chunk(struct gate *gate, uint64_t bytes);

#endif
