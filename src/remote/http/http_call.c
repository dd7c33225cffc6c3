// SPDX-License-Identifier: Apache-2.0
//
// A request whose answer is waited for.
#include "remote/http/http_internal.h"

struct call {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done; // protected by lock, like the two below
    enum sds_kind kind;
    struct sds_http_reply reply;
    struct sds_err err;
};

static enum sds_kind take_answer(const struct sds_http_answer *answer, struct sds_http_reply *reply,
                                 struct sds_err *err) {
    if (answer->failure != SDS_HTTP_ANSWERED) {
        return sds_http_failed(answer, err);
    }
    struct sds_blob *body = sds_blob_new(answer->body.len);
    if (body == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an answer");
    }
    if (answer->body.len > 0) {
        memcpy(body->at, answer->body.at, answer->body.len);
    }
    *reply = (struct sds_http_reply){.status = answer->status,
                                     .head = answer->head,
                                     .body = body,
                                     .received = answer->received,
                                     .took_ms = answer->took_ms};
    return SDS_OK;
}

static void on_done(void *ctx, const struct sds_http_answer *answer) {
    struct call *call = ctx;
    pthread_mutex_lock(&call->lock);
    call->kind = take_answer(answer, &call->reply, &call->err);
    call->done = true;
    pthread_cond_signal(&call->ended); // under the lock: without it the call may be gone
    pthread_mutex_unlock(&call->lock);
}

enum sds_kind sds_http_call(struct sds_http *http, struct sds_http_request *request,
                            struct sds_http_reply *out, struct sds_err *err) {
    struct call call = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    if (pthread_equal(pthread_self(), http->thread)) {
        return sds_fail(err, SDS_ERR_INTERNAL, "thread", "the thread of connections cannot wait");
    }
    sds_http_start(http, request, on_done, &call);
    pthread_mutex_lock(&call.lock);
    while (!call.done) {
        pthread_cond_wait(&call.ended, &call.lock);
    }
    pthread_mutex_unlock(&call.lock);
    pthread_mutex_destroy(&call.lock);
    pthread_cond_destroy(&call.ended);
    if (call.kind == SDS_OK) {
        *out = call.reply;
    } else if (err != NULL) {
        *err = call.err;
    }
    return call.kind;
}

void sds_http_reply_fini(struct sds_http_reply *reply) {
    sds_blob_unref(reply->body);
    *reply = (struct sds_http_reply){0};
}
