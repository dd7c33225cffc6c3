// SPDX-License-Identifier: Apache-2.0
//
// A request of the kernel that may have to wait for the dataset, as something that can be run
// again (fs/parked.h). It begins in the thread that took it, on that thread's stack, and mostly
// ends there; only when it has to wait does it get memory of its own, and the thread is free.
#ifndef SDSFS_FS_KERNEL_CALL_H
#define SDSFS_FS_KERNEL_CALL_H

#include "fs/parked.h"
#include "fs/session_internal.h"

struct sds_call {
    struct sds_parked parked; // first; kernel_call.c's own
    fuse_req_t req;
    struct sds_session *session;
    enum sds_op op;
    uint64_t began_ns; // when it was taken
    // Answers and returns 0; or an errno that is to be answered; or ERESTART: nothing was answered,
    // and nothing is held that the next run would take again.
    int (*run)(struct sds_call *call);
    // Arguments, as far as run wants them. The name is copied when the call has to wait.
    fuse_ino_t ino;
    const char *name;
    size_t size;
    off_t off;
    struct sds_draft_stream *stream;
};

// Serves the request. The call need not outlive this.
void sds_call_serve(struct sds_call *call, enum sds_op op);

#endif
