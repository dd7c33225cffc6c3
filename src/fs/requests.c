// SPDX-License-Identifier: Apache-2.0
#include "fs/requests.h"

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
