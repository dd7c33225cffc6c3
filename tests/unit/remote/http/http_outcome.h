// SPDX-License-Identifier: Apache-2.0
//
// Requests to a scripted server, and what became of them.
#ifndef SDSFS_TESTS_HTTP_OUTCOME_H
#define SDSFS_TESTS_HTTP_OUTCOME_H

#include "remote/scripted_server.h"

#include "base/clock.h"
#include "remote/http/http.h"

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned told; // protected by lock
    struct sds_http_answer answer;
    struct sds_err content_err;
    char *body; // copied, with a NUL behind
    struct sds_http_request request;
};

SCRIPTED void outcome_init(struct outcome *o) {
    *o = (struct outcome){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
}

SCRIPTED void outcome_fini(struct outcome *o) {
    sds_http_request_fini(&o->request);
    free(o->body);
}

SCRIPTED void outcome_tell(void *ctx, const struct sds_http_answer *answer) {
    struct outcome *o = ctx;
    pthread_mutex_lock(&o->lock);
    o->told++;
    o->answer = *answer;
    if (answer->content_err != NULL) {
        o->content_err = *answer->content_err;
    }
    o->body = calloc(1, answer->body.len + 1);
    if (answer->body.len > 0) {
        memcpy(o->body, answer->body.at, answer->body.len);
    }
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
}

SCRIPTED void outcome_wait(struct outcome *o) {
    pthread_mutex_lock(&o->lock);
    while (o->told == 0) {
        pthread_cond_wait(&o->changed, &o->lock);
    }
    assert_int_equal(o->told, 1);
    pthread_mutex_unlock(&o->lock);
}

SCRIPTED struct sds_http *new_pool(const struct sds_http_options *options) {
    struct sds_http *http = NULL;
    struct sds_err err = {0};
    if (sds_http_new(options, &http, &err) != SDS_OK) {
        fail_msg("%s: %s", err.check, err.message);
    }
    return http;
}

// Ready to be started; collects up to 64 KiB.
SCRIPTED void prepare(struct outcome *o, struct scripted_server *server, const char *method,
                      const char *path) {
    outcome_init(o);
    o->request.method = method;
    o->request.max_body = 65536;
    assert_int_equal(
        sds_http_request_url(&o->request, "http://127.0.0.1:%u%s", (unsigned)server->port, path),
        SDS_OK);
}

SCRIPTED void run(struct sds_http *http, struct outcome *o) {
    sds_http_start(http, &o->request, outcome_tell, o);
    outcome_wait(o);
}

SCRIPTED void expect_failure(const struct outcome *o, enum sds_http_failure failure) {
    if (o->answer.failure != failure) {
        fail_msg("failure %d (%s) instead of %d: %s", o->answer.failure, o->answer.reason, failure,
                 o->request.url);
    }
    assert_int_equal(o->answer.reason[0] == '\0', failure == SDS_HTTP_ANSWERED);
}

SCRIPTED void expect_answer(const struct outcome *o, int status, const char *body) {
    expect_failure(o, SDS_HTTP_ANSWERED);
    assert_int_equal(o->answer.status, status);
    assert_int_equal(o->answer.body.len, strlen(body));
    assert_string_equal(o->body, body);
}

// What a test's environment says of proxies and certificates is none of ours.
SCRIPTED int clear_environment(void **state) {
    static const char *const names[] = {
        "http_proxy", "HTTP_PROXY", "https_proxy",   "HTTPS_PROXY",    "all_proxy",    "ALL_PROXY",
        "no_proxy",   "NO_PROXY",   "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsetenv(names[i]);
    }
    return 0;
}

#endif
