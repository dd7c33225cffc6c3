// SPDX-License-Identifier: Apache-2.0
#include "fs/requests.h"

static const struct {
    uint64_t ns;
    const char *seconds;
} ends[SDS_LATENCY_BUCKETS] = {
    {100000, "0.0001"},   {250000, "0.00025"}, {1000000, "0.001"},    {2500000, "0.0025"},
    {10000000, "0.01"},   {25000000, "0.025"}, {100000000, "0.1"},    {250000000, "0.25"},
    {1000000000, "1.0"},  {2500000000, "2.5"}, {10000000000, "10.0"}, {30000000000, "30.0"},
    {UINT64_MAX, "+Inf"},
};

void sds_requests_observe(struct sds_requests *requests, enum sds_op op, uint64_t ns) {
    struct sds_latency *latency = &requests->latency[op];
    int bucket = 0;
    while (ns > ends[bucket].ns) {
        bucket++;
    }
    atomic_fetch_add_explicit(&latency->buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&latency->ns, ns, memory_order_relaxed);
}

const char *sds_latency_end(int bucket) {
    return ends[bucket].seconds;
}

uint64_t sds_requests_total(const struct sds_requests *requests) {
    uint64_t total = 0;
    for (int op = 0; op < SDS_OP_COUNT; op++) {
        total += atomic_load_explicit(&requests->by_op[op], memory_order_relaxed);
    }
    return total;
}

const char *sds_op_name(enum sds_op op) {
    static const char *const names[SDS_OP_COUNT] = {
        [SDS_OP_LOOKUP] = "lookup",
        [SDS_OP_FORGET] = "forget",
        [SDS_OP_GETATTR] = "getattr",
        [SDS_OP_READLINK] = "readlink",
        [SDS_OP_OPEN] = "open",
        [SDS_OP_READ] = "read",
        [SDS_OP_OPENDIR] = "opendir",
        [SDS_OP_READDIR] = "readdir",
        [SDS_OP_READDIRPLUS] = "readdirplus",
        [SDS_OP_RELEASEDIR] = "releasedir",
        [SDS_OP_STATFS] = "statfs",
        [SDS_OP_GETXATTR] = "getxattr",
        [SDS_OP_LISTXATTR] = "listxattr",
        [SDS_OP_CHANGE] = "change",
    };
    return names[op];
}
