// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/gate.h"

#include "base/blob.h"

#define TIMES_ITS_SIZE 3

void gate_init(struct gate *gate) {
    pthread_mutex_init(&gate->lock, NULL);
}

void gate_fini(struct gate *gate) {
    pthread_mutex_destroy(&gate->lock);
}

void gate_enter(struct gate *gate, struct sds_cache *cache, uint64_t bytes) {
    if (bytes > GATE_BYTES) {
        pthread_mutex_lock(&gate->lock);
        sds_cache_make_room(cache,
                            bytes > SIZE_MAX / TIMES_ITS_SIZE ? SIZE_MAX : bytes * TIMES_ITS_SIZE);
        sds_blob_trim();
    }
}

void gate_leave(struct gate *gate, uint64_t bytes) {
    if (bytes > GATE_BYTES) {
        pthread_mutex_unlock(&gate->lock);
    }
}
