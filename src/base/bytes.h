// SPDX-License-Identifier: Apache-2.0
//
// Views of bytes, and little-endian loads and stores that need no alignment. A span owns nothing
// and must not outlive what it points into.
#ifndef SDSFS_BASE_BYTES_H
#define SDSFS_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sds_span {
    const uint8_t *at;
    size_t len;
};

static inline struct sds_span sds_span(const void *at, size_t len) {
    return (struct sds_span){.at = at, .len = len};
}

static inline struct sds_span sds_span_str(const char *text) {
    return sds_span(text, strlen(text));
}

static inline bool sds_span_eq(struct sds_span a, struct sds_span b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

// Bytewise order, a prefix before what it begins.
static inline int sds_span_cmp(struct sds_span a, struct sds_span b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n == 0 ? 0 : memcmp(a.at, b.at, n);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static inline uint32_t sds_le32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t sds_le64(const uint8_t *p) {
    return (uint64_t)sds_le32(p) | (uint64_t)sds_le32(p + 4) << 32;
}

static inline void sds_put_le64(uint8_t *p, uint64_t value) {
    for (int i = 0; i < 8; i++) {
        p[i] = (uint8_t)(value >> (8 * i));
    }
}

#endif
