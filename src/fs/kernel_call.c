// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static struct sds_call *call_of(struct sds_parked *parked) {
    return (struct sds_call *)(void *)parked;
}

static void answered(const struct sds_call *call) {
    sds_requests_observe(call->session->requests, call->op, sds_clock_ns() - call->began_ns);
}

static int run(struct sds_call *call) {
    int e = call->run(call);
    if (e == ERESTART) {
        return e;
    }
    if (e != 0) {
        fuse_reply_err(call->req, e);
    }
    answered(call);
    return 0;
}

// --- what waits

static int run_parked(struct sds_parked *parked) {
    return run(call_of(parked));
}

// Notes why there is no answer, and returns what is answered instead.
static int note(const struct sds_call *call, const struct sds_err *err) {
    struct sds_span name = call->name != NULL ? sds_span_str(call->name) : sds_span(NULL, 0);
    return sds_tree_note(call->session->tree, call->ino, name, err);
}

static int errno_of(const struct sds_call *call, enum sds_parked_end why) {
    struct sds_err err;
    switch (why) {
    case SDS_PARKED_LATE:
        sds_fail(&err, SDS_ERR_TIMEOUT, "timeout", "no answer within %.1f seconds",
                 call->session->options.timeout_ms / 1000.0);
        return note(call, &err);
    case SDS_PARKED_TOO_MANY:
        sds_fail(&err, SDS_ERR_LIMIT, "requests", "more than %u requests wait already",
                 SDS_MAX_PARKED);
        return note(call, &err);
    case SDS_PARKED_KILLED:
        return EINTR;
    case SDS_PARKED_STOPPED:
        return ENOTCONN; // as it is for whoever comes next
    case SDS_PARKED_NO_MEMORY:
        break;
    }
    return ENOMEM;
}

static void end_parked(struct sds_parked *parked, enum sds_parked_end why) {
    const struct sds_call *call = call_of(parked);
    fuse_reply_err(call->req, errno_of(call, why));
    answered(call);
}

static bool is_interrupted(struct sds_parked *parked) {
    return fuse_req_interrupted(call_of(parked)->req) != 0;
}

static void free_parked(struct sds_parked *parked) {
    free(parked);
}

// The call with a name of its own, in one block; the task moves along, since nobody knows it yet.
static struct sds_call *copy(const struct sds_call *call) {
    size_t name = call->name != NULL ? strlen(call->name) + 1 : 0;
    struct sds_call *own = malloc(sizeof *own + name);
    if (own != NULL) {
        *own = *call;
        if (name > 0) {
            own->name = memcpy(own + 1, call->name, name);
        }
    }
    return own;
}

static void park(struct sds_call *call) {
    static const struct sds_parked_ops ops = {.run = run_parked,
                                              .end = end_parked,
                                              .is_interrupted = is_interrupted,
                                              .free = free_parked};
    call->parked.ops = &ops;
    call->parked.pid = fuse_req_ctx(call->req)->pid;
    struct sds_call *own = copy(call);
    if (own == NULL) {
        end_parked(&call->parked, SDS_PARKED_NO_MEMORY);
        sds_task_fini(&call->parked.task);
        return;
    }
    sds_parking_take(own->session->parking, &own->parked);
}

// --- serving

void sds_call_serve(struct sds_call *call, enum sds_op op) {
    struct sds_task *task = &call->parked.task;
    call->session = sds_begin(call->req, op);
    call->op = op;
    call->began_ns = sds_clock_ns();
    sds_task_init(task, sds_parked_resume);
    sds_task_enter(task);
    int e = run(call);
    sds_task_leave();
    if (e == ERESTART) {
        park(call);
    } else {
        sds_task_fini(task);
    }
}
