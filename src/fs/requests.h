// SPDX-License-Identifier: Apache-2.0
//
// Counters of what the kernel asked for, by operation: the proof that a warm file costs nothing.
// Relaxed atomics, so safe from any thread and off everybody's critical path.
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

struct sds_requests {
    struct sds_parked_counts parked;
    atomic_uint_fast64_t by_op[SDS_OP_COUNT];
    atomic_uint_fast64_t read_bytes;
};

static inline void sds_requests_add(struct sds_requests *requests, enum sds_op op) {
    atomic_fetch_add_explicit(&requests->by_op[op], 1, memory_order_relaxed);
}

static inline void sds_requests_add_bytes(struct sds_requests *requests, uint64_t bytes) {
    atomic_fetch_add_explicit(&requests->read_bytes, bytes, memory_order_relaxed);
}

uint64_t sds_requests_total(const struct sds_requests *requests);
const char *sds_op_name(enum sds_op op); // "lookup"

#endif
