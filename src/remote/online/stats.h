// SPDX-License-Identifier: Apache-2.0
//
// What a store on a server counts, and how control/metrics shows it. From any thread.
#ifndef SDSFS_REMOTE_STATS_H
#define SDSFS_REMOTE_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "remote/disk/disk_cache.h"
#include "remote/http/http.h"

struct sds_remote_stats {
    atomic_uint_fast64_t operations; // each of one request or more
    atomic_uint_fast64_t retries;
    atomic_uint_fast64_t failures[SDS_ERR_WAITING]; // operations that failed, by enum sds_kind
    atomic_uint_fast64_t doubts; // what failed a check of its content and was asked for again
    // Bytes fetched for nobody yet: now; read by somebody in the end; let go unread.
    atomic_uint_fast64_t ahead, ahead_used, ahead_wasted;
};

typedef void (*sds_stats_emit)(void *ctx, const char *name, const char *help, uint64_t value);
// disk: NULL without a disk cache.
void sds_remote_stats_emit(const struct sds_remote_stats *stats, const struct sds_http *http,
                           struct sds_disk_cache *disk, sds_stats_emit emit, void *ctx);

#endif
