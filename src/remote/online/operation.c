// SPDX-License-Identifier: Apache-2.0
#include "remote/online/operation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/wait.h"
#include "remote/online/witness.h"

#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 5000
#define LEARNING_MAX 4           // times that a provider may have learned something
#define UPLOAD_BYTES_PER_MS 1024 // what is slower than that may miss its deadline

struct operation {
    struct sds_operations *all;
    struct sds_operation what;     // key and bucket are ours
    struct sds_operation question; // that was sent for it
    char *key, *bucket;
    void *into;
    sds_operation_done done;
    void *ctx;
    uint64_t deadline_ms;
    unsigned tries, learned;
    int status; // of the last answer; 0: there was none
    bool written, doubt;
    struct sds_witness witness;
    struct sds_credential credential; // that was sent
    struct sds_http_request request;
    struct sds_http_pause pause;
    struct sds_upload upload;
};

void sds_operations_init(struct sds_operations *operations) {
    pthread_mutex_init(&operations->lock, NULL);
    pthread_cond_init(&operations->idle, NULL);
}

void sds_operations_abandon(struct sds_operations *operations) {
    operations->closed = true;
    if (operations->credentials != NULL) {
        sds_credentials_abandon(operations->credentials);
    }
    sds_http_abandon(operations->http);
}

void sds_operations_fini(struct sds_operations *operations) {
    sds_operations_abandon(operations);
    pthread_mutex_lock(&operations->lock);
    while (operations->flying > 0) {
        pthread_cond_wait(&operations->idle, &operations->lock);
    }
    pthread_mutex_unlock(&operations->lock);
    pthread_mutex_destroy(&operations->lock);
    pthread_cond_destroy(&operations->idle);
}

// --- the end

static void count_flying(struct sds_operations *all, int by) {
    pthread_mutex_lock(&all->lock);
    all->flying += (unsigned)by;
    if (all->flying == 0) {
        pthread_cond_broadcast(&all->idle);
    }
    pthread_mutex_unlock(&all->lock);
}

// Servers that cannot read a session token say no more than that something was wrong or forbidden.
static void hint_at_token(const struct operation *op, struct sds_err *err) {
    bool session = op->credential.key_id[0] != '\0' && op->credential.token[0] != '\0';
    bool mute = strcmp(err->check, "answer") == 0 || strcmp(err->check, "permission") == 0;
    if (session && mute && (op->status == 400 || op->status == 403)) {
        sds_err_hint(err,
                     "a session token was sent with the credentials, which may be none of this "
                     "server's or be over");
    }
}

// Most of those who are refused so have not told us who they are.
static void hint_at_signature(const struct operation *op, struct sds_err *err) {
    char source[256];
    if (op->credential.anonymous && op->all->credentials != NULL &&
        (op->status == 401 || op->status == 403)) {
        sds_err_hint(err, "it was not signed; credentials: %s",
                     sds_credentials_source(op->all->credentials, source, sizeof source));
    }
}

// Operations are told only here. What is left of `all` may be gone when this returns.
static void end(struct operation *op, struct sds_outcome *outcome) {
    struct sds_operations *all = op->all;
    if (outcome->err.kind != SDS_OK) {
        if (all->closed) {
            sds_fail(&outcome->err, SDS_ERR_STORAGE, "closed", "the store was closed meanwhile");
        } else if (op->tries > 1) {
            sds_err_hint(&outcome->err, "after %u tries", op->tries);
        }
        hint_at_token(op, &outcome->err);
        hint_at_signature(op, &outcome->err);
        all->stats->failures[outcome->err.kind]++;
    }
    outcome->written = op->written && outcome->err.kind != SDS_OK;
    op->done(op->ctx, outcome);
    sds_credential_wipe(&op->credential);
    free(op->key);
    free(op->bucket);
    free(op);
    count_flying(all, -1);
}

static void fail(struct operation *op, const struct sds_err *err) {
    struct sds_outcome outcome = {.err = *err};
    end(op, &outcome);
}

// --- one try

static void try_now(void *ctx);

// Random, up to a bound that doubles: those who failed together do not come back together.
static uint32_t pause_of(const struct operation *op, uint32_t asked) {
    uint32_t bound = PAUSE_MIN_MS;
    for (unsigned i = 1; i < op->tries && bound < PAUSE_MAX_MS; i++) {
        bound *= 2;
    }
    bound = bound < PAUSE_MAX_MS ? bound : PAUSE_MAX_MS;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t dice = sds_mix64((uint64_t)now.tv_nsec ^ (uintptr_t)op ^ op->tries);
    uint32_t pause = (uint32_t)(dice % bound) + 1;
    return pause > asked ? pause : asked + pause / 4;
}

// Another try after a pause, if there is one left that is not beyond the deadline; else `why`.
static void try_later(struct operation *op, uint32_t asked, struct sds_outcome *outcome) {
    uint32_t pause = pause_of(op, asked);
    if (op->tries > op->all->retries || op->all->closed ||
        sds_clock_ms() + pause >= op->deadline_ms) {
        end(op, outcome);
        return;
    }
    op->all->stats->retries++;
    sds_http_after(op->all->http, &op->pause, pause, try_now, op);
}

static void try_at_once(struct operation *op, struct sds_outcome *outcome) {
    if (op->learned++ >= LEARNING_MAX || op->all->closed || sds_clock_ms() >= op->deadline_ms) {
        end(op, outcome);
        return;
    }
    op->all->stats->retries++;
    try_now(op);
}

static void renew(struct operation *op, struct sds_outcome *outcome) {
    if (op->all->credentials != NULL &&
        sds_credentials_renew(op->all->credentials, &op->credential)) {
        try_at_once(op, outcome);
    } else {
        end(op, outcome);
    }
}

// Told by the pool.
static void answered(void *ctx, const struct sds_http_answer *answer) {
    struct operation *op = ctx;
    struct sds_provider *provider = op->all->provider;
    struct sds_outcome outcome = {.err = {.kind = SDS_OK}};
    struct sds_verdict verdict =
        provider->ops->judge(provider, &op->question, answer, (int64_t)time(NULL), &outcome.err);
    sds_http_request_fini(&op->request);
    op->request = (struct sds_http_request){0};
    op->status = answer->status;
    if (sds_witness_hear(&op->witness, &op->what, &verdict, &outcome.err)) {
        op->tries--; // of what was to be done this was none yet
        op->all->stats->retries++;
        try_now(op);
        return;
    }
    op->written = op->written || verdict.written;
    outcome.told = verdict.told;
    outcome.received = verdict.received;
    switch (verdict.what) {
    case SDS_DONE:
        outcome.err = (struct sds_err){.kind = SDS_OK};
        end(op, &outcome);
        break;
    case SDS_NEXT:
        op->tries = 0; // it got further
        try_now(op);
        break;
    case SDS_AGAIN:
        try_later(op, verdict.pause_ms, &outcome);
        break;
    case SDS_AGAIN_NOW:
        try_at_once(op, &outcome);
        break;
    case SDS_RENEW:
        renew(op, &outcome);
        break;
    case SDS_FAILED:
        end(op, &outcome);
        break;
    }
}

static void send_it(struct operation *op) {
    struct sds_provider *provider = op->all->provider;
    struct sds_err err;
    op->tries++;
    op->question = sds_witness_question(&op->witness, &op->what);
    enum sds_kind kind = provider->ops->prepare(provider, &op->question, &op->credential,
                                                (int64_t)time(NULL), &op->request, &err);
    if (kind != SDS_OK) {
        fail(op, &err);
        return;
    }
    bool bytes = op->into != NULL && op->question.action == SDS_GET;
    op->request.into = bytes ? op->into : NULL;
    op->request.into_len = bytes ? (size_t)op->question.len : 0;
    op->request.deadline_ms = op->deadline_ms;
    sds_http_start(op->all->http, &op->request, answered, op);
}

// Also told by the credentials, when it is worth asking them again.
static void try_now(void *ctx) {
    struct operation *op = ctx;
    struct sds_outcome outcome = {.err = {.kind = SDS_OK}};
    if (op->all->closed || sds_clock_ms() >= op->deadline_ms) {
        sds_fail(&outcome.err, SDS_ERR_TIMEOUT, "timeout", "no answer in time");
        end(op, &outcome);
        return;
    }
    enum sds_kind kind = SDS_OK;
    if (op->all->credentials == NULL) {
        op->credential.anonymous = true;
    } else {
        kind =
            sds_credentials_take(op->all->credentials, &op->credential, try_now, op, &outcome.err);
    }
    if (kind == SDS_OK) {
        send_it(op);
    } else if (kind == SDS_ERR_STORAGE) { // one that is out of time has tried for long enough
        op->tries++;
        try_later(op, 0, &outcome);
    } else if (kind != SDS_ERR_WAITING) { // with which it is no longer ours
        end(op, &outcome);
    }
}

// --- the beginning

static uint64_t patience_ms(const struct sds_operations *all, const struct sds_operation *what) {
    uint64_t bytes = what->content != NULL ? what->content->size : 0;
    return all->timeout_ms + bytes / UPLOAD_BYTES_PER_MS;
}

void sds_operation_start(struct sds_operations *operations, const struct sds_operation *what,
                         void *into, sds_operation_done done, void *ctx) {
    struct operation *op = calloc(1, sizeof *op);
    char *key = strdup(what->key), *bucket = strdup(what->bucket);
    if (op == NULL || key == NULL || bucket == NULL) {
        struct sds_outcome outcome = {.err = {.kind = SDS_OK}};
        sds_fail(&outcome.err, SDS_ERR_NO_MEMORY, "memory", "no memory for a request");
        free(op);
        free(key);
        free(bucket);
        done(ctx, &outcome);
        return;
    }
    op->all = operations;
    op->what = *what;
    op->what.key = op->key = key;
    op->what.bucket = op->bucket = bucket;
    op->what.upload = &op->upload;
    op->what.doubt = &op->doubt;
    op->into = into;
    op->done = done;
    op->ctx = ctx;
    op->deadline_ms =
        what->deadline_ms != 0 ? what->deadline_ms : sds_clock_ms() + patience_ms(operations, what);
    operations->stats->operations++;
    count_flying(operations, 1);
    try_now(op);
}

struct waiting {
    struct sds_outcome *outcome;
    struct sds_event *event;
};

static void tell_waiting(void *ctx, const struct sds_outcome *outcome) {
    struct waiting *waiting = ctx;
    struct sds_event *event = sds_event_ref(waiting->event); // waiting is gone once it is fired
    *waiting->outcome = *outcome;
    sds_event_fire(event);
    sds_event_unref(event);
}

void sds_operation_run(struct sds_operations *operations, const struct sds_operation *what,
                       void *into, struct sds_outcome *outcome) {
    struct waiting waiting = {.outcome = outcome, .event = sds_event_new()};
    *outcome = (struct sds_outcome){.err = {.kind = SDS_OK}};
    if (sds_task_here()) {
        sds_fail(&outcome->err, SDS_ERR_INTERNAL, "task", "a task must not wait for this");
    } else if (waiting.event == NULL) {
        sds_fail(&outcome->err, SDS_ERR_NO_MEMORY, "memory", "no memory for waiting");
    } else {
        sds_operation_start(operations, what, into, tell_waiting, &waiting);
        if (sds_event_wait(waiting.event, &outcome->err) != SDS_OK) {
            sds_fail(&outcome->err, SDS_ERR_INTERNAL, "task", "a task must not wait for this");
        }
    }
    sds_event_unref(waiting.event);
}
