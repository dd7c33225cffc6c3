// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/gate.h"

#include <errno.h>
#include <unistd.h>

#include "base/blob.h"

#define DOCUMENT_MEMORY 3 // times its size

void gate_init(struct gate *gate) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    gate->document = (struct sds_turns){0};
    // One more than processors: some thread is always in a read.
    sem_init(&gate->chunks, 0, processors > 0 ? (unsigned)processors + 1 : 2);
}

void gate_fini(struct gate *gate) {
    sem_destroy(&gate->chunks);
}

enum sds_kind gate_enter_document(struct gate *gate, struct sds_cache *cache, uint64_t bytes,
                                  struct sds_err *err) {
    if (bytes <= GATE_DOCUMENT_BYTES) {
        return SDS_OK;
    }
    enum sds_kind kind = sds_turns_take(&gate->document, err);
    if (kind == SDS_OK) {
        sds_cache_make_room(cache, bytes > SIZE_MAX / DOCUMENT_MEMORY ? SIZE_MAX
                                                                      : bytes * DOCUMENT_MEMORY);
        sds_blob_trim();
    }
    return kind;
}

void gate_leave_document(struct gate *gate, uint64_t bytes) {
    if (bytes > GATE_DOCUMENT_BYTES) {
        sds_turns_give(&gate->document);
    }
}

void gate_enter_chunk(struct gate *gate, uint64_t bytes) {
    while (bytes > GATE_CHUNK_BYTES && sem_wait(&gate->chunks) != 0 && errno == EINTR) {
    }
}

void gate_leave_chunk(struct gate *gate, uint64_t bytes) {
    if (bytes > GATE_CHUNK_BYTES) {
        sem_post(&gate->chunks);
    }
}
