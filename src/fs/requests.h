// SPDX-License-Identifier: Apache-2.0
//
// Counters of what the kernel asked for, by operation: the proof that a warm file costs nothing;
// and how long the answers took. Relaxed atomics, so safe from any thread and off everybody's
// critical path.
#ifndef SDSFS_FS_REQUESTS_H
#define SDSFS_FS_REQUESTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "fs/parked.h"

enum sds_op {
    SDS_OP_LOOKUP,
    SDS_OP_FORGET,
    SDS_OP_GETATTR,
    SDS_OP_READLINK,
    SDS_OP_OPEN,
    SDS_OP_READ,
    SDS_OP_OPENDIR,
    SDS_OP_READDIR,
    SDS_OP_READDIRPLUS,
    SDS_OP_RELEASEDIR,
    SDS_OP_STATFS,
    SDS_OP_GETXATTR,
    SDS_OP_LISTXATTR,
    SDS_OP_CHANGE, // anything that would write
    SDS_OP_COUNT,
};

// How many answers took how long: each bucket has those that are not in one before it.
#define SDS_LATENCY_BUCKETS 13
struct sds_latency {
    atomic_uint_fast64_t buckets[SDS_LATENCY_BUCKETS];
    atomic_uint_fast64_t ns; // all of them together
};

struct sds_requests {
    struct sds_parked_counts parked;
    atomic_uint_fast64_t by_op[SDS_OP_COUNT];
    atomic_uint_fast64_t read_bytes;
    struct sds_latency latency[SDS_OP_COUNT]; // of those that look at the dataset
};

static inline void sds_requests_add(struct sds_requests *requests, enum sds_op op) {
    atomic_fetch_add_explicit(&requests->by_op[op], 1, memory_order_relaxed);
}

static inline void sds_requests_add_bytes(struct sds_requests *requests, uint64_t bytes) {
    atomic_fetch_add_explicit(&requests->read_bytes, bytes, memory_order_relaxed);
}

// An answer was given after so long.
void sds_requests_observe(struct sds_requests *requests, enum sds_op op, uint64_t ns);
// The end of a bucket in seconds as OpenMetrics writes it ("0.001"); "+Inf" for the last.
const char *sds_latency_end(int bucket);

uint64_t sds_requests_total(const struct sds_requests *requests);
const char *sds_op_name(enum sds_op op); // "lookup"

#endif
