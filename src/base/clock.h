// SPDX-License-Identifier: Apache-2.0
//
// Time that only goes forward, for deadlines.
#ifndef SDSFS_BASE_CLOCK_H
#define SDSFS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

// Milliseconds since some moment before this process.
static inline uint64_t sds_clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// The same in nanoseconds, for measuring.
static inline uint64_t sds_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
