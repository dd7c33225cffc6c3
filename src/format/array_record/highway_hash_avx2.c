// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/highway_hash.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const void *at) {
    return _mm256_loadu_si256(at);
}

// The zipper of highway_hash.c, on both pairs of lanes at once.
AVX2 static inline __m256i zipper(__m256i v) {
    const __m256i order = _mm256_setr_epi8(3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7, 3,
                                           12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7);
    return _mm256_shuffle_epi8(v, order);
}

AVX2 void sds_highway_rounds_avx2(struct sds_highway *hash, const uint8_t *packets, size_t count) {
    __m256i v0 = load(hash->v0), v1 = load(hash->v1);
    __m256i mul0 = load(hash->mul0), mul1 = load(hash->mul1);
    for (; count > 0; count--, packets += SDS_HIGHWAY_PACKET) {
        v1 = _mm256_add_epi64(v1, _mm256_add_epi64(mul0, load(packets)));
        mul0 = _mm256_xor_si256(mul0, _mm256_mul_epu32(v1, _mm256_srli_epi64(v0, 32)));
        v0 = _mm256_add_epi64(v0, mul1);
        mul1 = _mm256_xor_si256(mul1, _mm256_mul_epu32(v0, _mm256_srli_epi64(v1, 32)));
        v0 = _mm256_add_epi64(v0, zipper(v1));
        v1 = _mm256_add_epi64(v1, zipper(v0));
    }
    _mm256_storeu_si256((void *)hash->v0, v0);
    _mm256_storeu_si256((void *)hash->v1, v1);
    _mm256_storeu_si256((void *)hash->mul0, mul0);
    _mm256_storeu_si256((void *)hash->mul1, mul1);
}

#else
typedef int highway_hash_avx2_is_empty; // ISO C wants a declaration in every file
#endif
