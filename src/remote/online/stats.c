// SPDX-License-Identifier: Apache-2.0
#include "remote/online/stats.h"

#include <stddef.h>

static void emit_failures(const struct sds_remote_stats *stats, sds_stats_emit emit, void *ctx) {
    static const struct {
        enum sds_kind kind;
        const char *name, *help;
    } shown[] = {
        {SDS_ERR_NOT_FOUND, "sdsfs_store_absent_total", "Objects that were not there"},
        {SDS_ERR_STORAGE, "sdsfs_store_failures_storage_total",
         "Operations that failed since the store could not be asked"},
        {SDS_ERR_TIMEOUT, "sdsfs_store_failures_timeout_total",
         "Operations that failed since no answer came in time"},
        {SDS_ERR_DENIED, "sdsfs_store_failures_denied_total", "Operations that the store refused"},
        {SDS_ERR_CONFLICT, "sdsfs_store_conflicts_total", "Names that were taken by others"},
    };
    uint64_t rest = 0;
    for (size_t kind = 1; kind < SDS_ERR_WAITING; kind++) {
        rest += stats->failures[kind];
    }
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        uint64_t count = stats->failures[shown[i].kind];
        rest -= count < rest ? count : rest;
        emit(ctx, shown[i].name, shown[i].help, count);
    }
    emit(ctx, "sdsfs_store_failures_other_total", "Operations that failed for another reason",
         rest);
}

static void emit_http(const struct sds_http *http, sds_stats_emit emit, void *ctx) {
    struct sds_http_stats seen;
    sds_http_stats(http, &seen);
    uint64_t answered = 0;
    for (size_t i = 0; i < SDS_HTTP_LATENCY_BUCKETS; i++) {
        answered += seen.latency[i];
    }
    emit(ctx, "sdsfs_store_requests_total",
         "HTTP requests, repeated ones and those for credentials included", seen.requests);
    emit(ctx, "sdsfs_store_received_bytes_total", "Bytes of content received", seen.received);
    emit(ctx, "sdsfs_store_sent_bytes_total", "Bytes of content sent", seen.sent);
    emit(ctx, "sdsfs_store_connections_total", "Connections opened", seen.connections);
    emit(ctx, "sdsfs_store_in_flight", "HTTP requests on their way or waiting for their turn",
         seen.active + seen.waiting);
    emit(ctx, "sdsfs_store_answers_total", "HTTP requests that were answered", answered);
    emit(ctx, "sdsfs_store_latency_milliseconds_total", "How long the answered ones took, added up",
         seen.latency_sum_ms);
    emit(ctx, "sdsfs_store_answers_4xx_total", "Answers with a status of 400 to 499",
         seen.statuses[4]);
    emit(ctx, "sdsfs_store_answers_5xx_total", "Answers with a status of 500 to 599",
         seen.statuses[5]);
}

static void emit_disk(struct sds_disk_cache *disk, sds_stats_emit emit, void *ctx) {
    struct sds_disk_stats seen;
    sds_disk_cache_stats(disk, &seen);
    emit(ctx, "sdsfs_disk_cache_hits_total", "Ranges found in the disk cache", seen.hits);
    emit(ctx, "sdsfs_disk_cache_misses_total", "Ranges looked for there in vain", seen.misses);
    emit(ctx, "sdsfs_disk_cache_hit_bytes_total", "Bytes read from it", seen.hit_bytes);
    emit(ctx, "sdsfs_disk_cache_written_bytes_total", "Bytes written to it", seen.written_bytes);
    emit(ctx, "sdsfs_disk_cache_dropped_bytes_total", "Bytes that were not written to it",
         seen.dropped_bytes);
    emit(ctx, "sdsfs_disk_cache_evicted_total", "Files removed to make room", seen.evicted);
    emit(ctx, "sdsfs_disk_cache_corrupt_total", "Files removed since their checksum was wrong",
         seen.corrupt);
    emit(ctx, "sdsfs_disk_cache_forgotten_total",
         "Files removed since what was in them failed a check of its content", seen.forgotten);
    emit(ctx, "sdsfs_disk_cache_bytes", "Bytes on the disk, of all users", seen.used_bytes);
    emit(ctx, "sdsfs_disk_cache_working", "1: the directory works", seen.working);
}

void sds_remote_stats_emit(const struct sds_remote_stats *stats, const struct sds_http *http,
                           struct sds_disk_cache *disk, sds_stats_emit emit, void *ctx) {
    emit_http(http, emit, ctx);
    emit(ctx, "sdsfs_store_operations_total", "Reads and writes of objects asked of the store",
         stats->operations);
    emit(ctx, "sdsfs_store_retries_total", "Requests that were repeated", stats->retries);
    emit_failures(stats, emit, ctx);
    emit(ctx, "sdsfs_store_doubts_total",
         "Answers that failed a check of their content and were asked for again", stats->doubts);
    emit(ctx, "sdsfs_readahead_bytes", "Bytes fetched ahead that nobody has read yet",
         stats->ahead);
    emit(ctx, "sdsfs_readahead_used_bytes_total", "Bytes fetched ahead that were read",
         stats->ahead_used);
    emit(ctx, "sdsfs_readahead_wasted_bytes_total", "Bytes fetched ahead and let go unread",
         stats->ahead_wasted);
    if (disk != NULL) {
        emit_disk(disk, emit, ctx);
    }
}
