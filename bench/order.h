// SPDX-License-Identifier: Apache-2.0
//
// The order in which a benchmark visits records: the same for every target with the same seed, so
// that all of them see the same hits and misses (bench/reference.py has it again in Python).
#ifndef SDSFS_BENCH_ORDER_H
#define SDSFS_BENCH_ORDER_H

#include <stdint.h>

// The ordinals 0 to count - 1, shuffled; ascending when seed is 0. The caller frees it; NULL when
// there is no memory.
uint64_t *bench_order(uint64_t count, uint64_t seed);

#endif
