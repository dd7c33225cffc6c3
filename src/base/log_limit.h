// SPDX-License-Identifier: Apache-2.0
//
// How often the same kind of line goes into the log: so many in a while, and then one that tells
// how many were left out. Pure; whoever has it locks it.
#ifndef SDSFS_BASE_LOG_LIMIT_H
#define SDSFS_BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SDS_LOG_LIMIT_LINES = 20, // of a kind
    SDS_LOG_LIMIT_MS = 10000, // in so long
    SDS_LOG_LIMIT_KINDS = 64, // kinds that are told apart; more share their count
    SDS_LOG_LIMIT_NAME = 96,
};

struct sds_log_limit {
    struct sds_log_kind {
        char name[SDS_LOG_LIMIT_NAME]; // cut if longer; "": free
        uint64_t since_ms;
        unsigned lines, left_out;
    } kinds[SDS_LOG_LIMIT_KINDS];
};

// Whether a line of a kind may be written now.
bool sds_log_limit_take(struct sds_log_limit *limit, const char *kind, uint64_t now_ms);
// The next kind of which lines were left out in a while that is over: how many, and its name, which
// are forgotten. 0: none.
unsigned sds_log_limit_over(struct sds_log_limit *limit, uint64_t now_ms,
                            char name[SDS_LOG_LIMIT_NAME]);

#endif
