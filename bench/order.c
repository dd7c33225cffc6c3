// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <stdlib.h>

// SplitMix64: one word of state, and short enough to be written again in Python.
static uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

uint64_t *bench_order(uint64_t count, uint64_t seed) {
    uint64_t *order = calloc(count, sizeof *order);
    if (order == NULL) {
        return NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        order[i] = i;
    }
    if (seed == 0) {
        return order;
    }
    for (uint64_t i = count; i > 1; i--) {
        uint64_t j = next_random(&seed) % i;
        uint64_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    return order;
}
