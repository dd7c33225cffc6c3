// SPDX-License-Identifier: Apache-2.0
//
// Answers of servers, made up from their heads, and operations to judge them by.
#ifndef SDSFS_TESTS_ANSWERS_H
#define SDSFS_TESTS_ANSWERS_H

#include <stdio.h>
#include <stdlib.h>

#include "remote/http/http.h"
#include "remote/servers/provider.h"

#define NOW 1796083200 // 2026-12-01 00:00:00

static struct sds_span stored = {.at = (const uint8_t *)"hello", .len = 5};
static struct sds_content content;
static struct sds_upload upload;

// Settings that the machine's own environment could have.
static inline void forget_environment(void) {
    static const char *const names[] = {
        "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",   "AWS_REGION",           "AWS_DEFAULT_REGION",
        "AWS_PROFILE",      "STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unsetenv(names[i]);
    }
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
}

static inline struct sds_provider *new_provider(const char *root,
                                                const struct sds_remote_options *options) {
    struct sds_provider *provider = NULL;
    char *prefix = NULL, *shown = NULL;
    struct sds_err err = {0};
    enum sds_kind kind = sds_provider_new(root, options, &provider, &prefix, &shown, &err);
    if (kind != SDS_OK) {
        fail_msg("%s: %s", root, err.message);
    }
    free(prefix);
    free(shown);
    return provider;
}

static inline struct sds_operation operation(enum sds_action action, const char *key) {
    struct sds_operation out = {.action = action, .bucket = "bucket", .key = key};
    if (action == SDS_GET) {
        out.len = 10;
    }
    if (action == SDS_CREATE || action == SDS_SWAP) {
        content = sds_content_of(&stored);
        sds_upload_fini(&upload);
        out.upload = &upload;
        assert_int_equal(sds_operation_content(&out, &content, NULL), SDS_OK);
    }
    return out;
}

// What is asked by who has this credential; NULL: anonymous.
static inline struct sds_http_request prepare_as(const struct sds_credential *who,
                                                 struct sds_provider *provider,
                                                 const struct sds_operation *op) {
    struct sds_http_request out;
    struct sds_err err = {0};
    enum sds_kind kind = provider->ops->prepare(provider, op, who, NOW, &out, &err);
    if (kind != SDS_OK) {
        fail_msg("%s", err.message);
    }
    return out;
}

// An answer whose head is these lines, separated by "\n".
static inline struct sds_http_answer answer(int status, const char *lines, const char *body) {
    struct sds_http_answer out = {.failure = SDS_HTTP_ANSWERED, .status = status};
    sds_http_head_line(&out.head, sds_span_str("HTTP/1.1 200 X"));
    for (const char *p = lines; *p != '\0';) {
        size_t len = strcspn(p, "\n");
        sds_http_head_line(&out.head, sds_span(p, len));
        p += len + (p[len] == '\n');
    }
    sds_http_head_line(&out.head, sds_span_str(""));
    out.body = sds_span_str(body);
    out.received = out.body.len;
    return out;
}

static inline const char *header(const struct sds_http_request *request, const char *name) {
    const char *value = sds_http_request_find(request, name);
    return value != NULL ? value : "";
}

// One line of a table: an answer to an operation, and what is made of it.
struct judged {
    struct sds_operation op;
    int status;
    const char *head, *body;
    enum sds_verdict_what what;
    enum sds_kind kind;
    const char *check;
    const char *says; // a part of the message; NULL: whatever
};

static inline struct sds_verdict judge(struct sds_provider *provider,
                                       const struct sds_operation *op,
                                       const struct sds_http_answer *a, struct sds_err *err) {
    *err = (struct sds_err){0};
    return provider->ops->judge(provider, op, a, NOW, err);
}

static inline void expect_judged(struct sds_provider *provider, const struct judged *expected) {
    struct sds_http_answer a = answer(expected->status, expected->head, expected->body);
    struct sds_err err;
    struct sds_verdict verdict = judge(provider, &expected->op, &a, &err);
    bool as_said = expected->says == NULL || strstr(err.message, expected->says) != NULL;
    if (verdict.what != expected->what || err.kind != expected->kind ||
        strcmp(err.check, expected->check) != 0 || !as_said) {
        fail_msg("%d %s %s: verdict %d (%d), kind %d (%d), check %s (%s): %s", expected->status,
                 expected->head, expected->body, (int)verdict.what, (int)expected->what,
                 (int)err.kind, (int)expected->kind, err.check, expected->check, err.message);
    }
    // In the end there is always somebody to be told why.
    assert_int_equal(verdict.what == SDS_DONE || verdict.what == SDS_NEXT, err.kind == SDS_OK);
}

#endif
