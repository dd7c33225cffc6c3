// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on sizes. The checked kind is for those that come from outside: true means that the
// result did not fit.
#ifndef SDSFS_BASE_CKD_H
#define SDSFS_BASE_CKD_H

#include <stdbool.h>
#include <stdint.h>

static inline bool sds_ckd_add(uint64_t *out, uint64_t a, uint64_t b) {
    return __builtin_add_overflow(a, b, out);
}

static inline bool sds_ckd_mul(uint64_t *out, uint64_t a, uint64_t b) {
    return __builtin_mul_overflow(a, b, out);
}

static inline uint64_t sds_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint64_t sds_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

#endif
