// SPDX-License-Identifier: Apache-2.0
//
// What a measuring program prints: one JSON object a run, which bench/local reads.
#ifndef SDSFS_BENCH_RESULT_H
#define SDSFS_BENCH_RESULT_H

#include <stdint.h>

double bench_now(void); // seconds on a clock that only goes forward

void bench_print_result(uint64_t records, uint64_t bytes, double seconds, uint64_t digest);

// Parses a whole argument as a number in [0, max]; exits with a message about what otherwise.
uint64_t bench_number(const char *text, uint64_t max, const char *what);

#endif
