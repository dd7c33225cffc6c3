// SPDX-License-Identifier: Apache-2.0
//
// Keeps work that needs much memory beside the cache inside the ceiling: large control documents
// are parsed one at a time, large chunks decoded by no more threads than there are processors for.
// What is small never waits.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_GATE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_GATE_H

#include <semaphore.h>
#include <stdint.h>

#include "base/cache.h"
#include "base/wait.h"

#define GATE_DOCUMENT_BYTES ((uint64_t)4 << 20)
#define GATE_CHUNK_BYTES ((uint64_t)1 << 20)

struct gate {
    struct sds_turns document;
    sem_t chunks;
};

void gate_init(struct gate *gate);
void gate_fini(struct gate *gate);

// Around reading and parsing a document of this many bytes (as its reference declares); to be left
// only after it was entered. A document of 64 MiB takes some 170 MiB while its text, its tokens and
// its parsed form are there together; the cache makes room for that. A task that has to wait for
// the bytes leaves meanwhile. Kinds: WAITING, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind gate_enter_document(struct gate *gate, struct sds_cache *cache,
                                                 uint64_t bytes, struct sds_err *err);
void gate_leave_document(struct gate *gate, uint64_t bytes);

// Around decoding a chunk of this many decoded bytes; nothing inside may wait for a network. More
// threads than processors would only take more memory and, since that comes from fresh mappings, be
// slower.
void gate_enter_chunk(struct gate *gate, uint64_t bytes);
void gate_leave_chunk(struct gate *gate, uint64_t bytes);

#endif
