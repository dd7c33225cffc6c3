// SPDX-License-Identifier: Apache-2.0
//
// What the pool counts.
#include "remote/http/http_internal.h"

const uint32_t sds_http_latency_bounds_ms[SDS_HTTP_LATENCY_BUCKETS - 1] = {
    2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000};

void sds_http_count(struct sds_http_counters *counters, const struct sds_http_answer *answer) {
    sds_http_add(&counters->failures[answer->failure], 1);
    if (answer->failure != SDS_HTTP_ANSWERED) {
        return;
    }
    unsigned bucket = 0;
    while (bucket < SDS_HTTP_LATENCY_BUCKETS - 1 &&
           answer->took_ms > sds_http_latency_bounds_ms[bucket]) {
        bucket++;
    }
    unsigned digit = (unsigned)answer->status / 100;
    sds_http_add(&counters->statuses[digit < 6 ? digit : 0], 1);
    sds_http_add(&counters->latency[bucket], 1);
    sds_http_add(&counters->latency_sum_ms, answer->took_ms);
}

static uint64_t now(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void now_all(const _Atomic uint64_t *counters, uint64_t *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        out[i] = now(&counters[i]);
    }
}

void sds_http_stats(const struct sds_http *http, struct sds_http_stats *out) {
    const struct sds_http_counters *c = &http->counters;
    *out = (struct sds_http_stats){
        .requests = now(&c->requests),
        .waiting = now(&c->waiting),
        .active = now(&c->active),
        .sent = now(&c->sent),
        .received = now(&c->received),
        .connections = now(&c->connections),
        .latency_sum_ms = now(&c->latency_sum_ms),
    };
    now_all(c->statuses, out->statuses, 6);
    now_all(c->failures, out->failures, SDS_HTTP_FAILURES);
    now_all(c->latency, out->latency, SDS_HTTP_LATENCY_BUCKETS);
}
