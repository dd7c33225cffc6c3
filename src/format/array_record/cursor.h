// SPDX-License-Identifier: Apache-2.0
//
// A place in a run of hostile bytes, and the varints of docs/formats/array-record.md. A read moves
// the cursor only when it succeeds.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_CURSOR_H
#define SDSFS_FORMAT_ARRAY_RECORD_CURSOR_H

#include "base/bytes.h"

struct sds_cursor {
    const uint8_t *at, *end;
};

static inline struct sds_cursor sds_cursor(struct sds_span bytes) {
    return (struct sds_cursor){.at = bytes.at, .end = bytes.at + bytes.len};
}

static inline size_t sds_cursor_left(const struct sds_cursor *c) {
    return (size_t)(c->end - c->at);
}

static inline bool sds_cursor_take(struct sds_cursor *c, uint64_t len, struct sds_span *out) {
    if (len > sds_cursor_left(c)) {
        return false;
    }
    *out = sds_span(c->at, (size_t)len);
    c->at += len;
    return true;
}

static inline bool sds_cursor_u8(struct sds_cursor *c, uint8_t *out) {
    if (c->at == c->end) {
        return false;
    }
    *out = *c->at++;
    return true;
}

// Base 128, low group first. Encodings that are not the shortest are accepted, bits beyond the
// width are not.
static inline bool sds_cursor_varint(struct sds_cursor *c, unsigned bits, uint64_t *out) {
    uint64_t value = 0;
    const uint8_t *p = c->at;
    for (unsigned shift = 0; shift < bits && p < c->end; shift += 7) {
        uint64_t group = *p & 0x7f;
        if (bits - shift < 7 && group >> (bits - shift) != 0) {
            return false;
        }
        value |= group << shift;
        if (*p++ < 0x80) {
            c->at = p;
            *out = value;
            return true;
        }
    }
    return false;
}

static inline bool sds_cursor_varint64(struct sds_cursor *c, uint64_t *out) {
    return sds_cursor_varint(c, 64, out);
}

static inline bool sds_cursor_varint32(struct sds_cursor *c, uint32_t *out) {
    uint64_t value;
    if (!sds_cursor_varint(c, 32, &value)) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

#endif
