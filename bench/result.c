// SPDX-License-Identifier: Apache-2.0
#include "result.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void bench_print_result(uint64_t records, uint64_t bytes, double seconds, uint64_t digest) {
    printf("{\"records\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%.6f,"
           "\"records_per_s\":%.1f,\"mb_per_s\":%.1f,\"digest\":\"%016" PRIx64 "\"}\n",
           records, bytes, seconds, (double)records / seconds, (double)bytes / seconds / 1e6,
           digest);
}

uint64_t bench_number(const char *text, uint64_t max, const char *what) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value > max) {
        fprintf(stderr, "%s: a number from 0 to %" PRIu64 " is wanted, not %s\n", what, max, text);
        exit(2);
    }
    return value;
}
