// SPDX-License-Identifier: Apache-2.0
//
// Writing the varints of docs/formats/array-record.md, always the shortest encoding. cursor.h reads
// them.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_VARINT_H
#define SDSFS_FORMAT_ARRAY_RECORD_VARINT_H

#include "base/buf.h"

#define SDS_VARINT_MAX 10

// Base 128, low group first. Returns how many bytes that takes.
static inline size_t sds_varint_put(uint8_t to[SDS_VARINT_MAX], uint64_t value) {
    size_t len = 0;
    for (; value > 0x7f; value >>= 7) {
        to[len++] = (uint8_t)(value | 0x80);
    }
    to[len++] = (uint8_t)value;
    return len;
}

// Appends it. Kinds: LIMIT, NO_MEMORY.
SDS_MUST_CHECK static inline enum sds_kind sds_varint_add(struct sds_buf *out, uint64_t value) {
    uint8_t bytes[SDS_VARINT_MAX];
    return sds_buf_add(out, bytes, sds_varint_put(bytes, value));
}

#endif
