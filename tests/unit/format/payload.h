// SPDX-License-Identifier: Apache-2.0
//
// SafeTensors payloads for tests: a header and what follows it.
#ifndef SDSFS_TESTS_PAYLOAD_H
#define SDSFS_TESTS_PAYLOAD_H

#include <stdlib.h>

#include "base/buf.h"

// A payload of its own allocation, so that a sanitizer sees a read past its end. Freed by the
// caller.
static inline struct sds_span payload_new(struct sds_span header, struct sds_span data) {
    uint8_t *at = malloc(8 + header.len + data.len);
    if (at == NULL) {
        abort();
    }
    for (size_t i = 0; i < 8; i++) {
        at[i] = (uint8_t)((uint64_t)header.len >> (8 * i));
    }
    memcpy(at + 8, header.at, header.len);
    if (data.len > 0) {
        memcpy(at + 8 + header.len, data.at, data.len);
    }
    return sds_span(at, 8 + header.len + data.len);
}

static inline void payload_free(struct sds_span payload) {
    free((void *)(uintptr_t)payload.at);
}

#endif
