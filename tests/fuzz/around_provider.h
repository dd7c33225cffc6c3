// SPDX-License-Identifier: Apache-2.0
//
// A provider, and an operation whose answer a fuzzer makes up.
#ifndef SDSFS_FUZZ_AROUND_PROVIDER_H
#define SDSFS_FUZZ_AROUND_PROVIDER_H

#include <ctype.h>
#include <stdlib.h>

#include "remote/http/http.h"
#include "remote/servers/provider.h"

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

// What an answer is judged by; in place for as long as that lasts.
struct around {
    struct sds_provider *provider;
    struct sds_content content;
    struct sds_upload upload;
    struct sds_operation operation;
    struct sds_http_answer answer;
    struct sds_err err;
};

// Of a root at http://h. The input's first byte chooses the status, its second one the action, and
// the rest is the body.
static inline void around_begin(struct around *a, const char *root, const int *statuses,
                                size_t count, const uint8_t *data, size_t size) {
    char *prefix = NULL, *shown = NULL;
    const struct sds_remote_options options = {.region = "r", .endpoint = "http://h"};
    *a = (struct around){.operation = {.action = (enum sds_action)(data[1] % 4),
                                       .bucket = "b",
                                       .key = "k",
                                       .len = 10,
                                       .content = &a->content,
                                       .upload = &a->upload},
                         .answer = {.status = statuses[data[0] % count],
                                    .body = sds_span(data + 2, size - 2),
                                    .received = size - 2}};
    CHECK(sds_provider_new(root, &options, &a->provider, &prefix, &shown, NULL) == SDS_OK);
    free(prefix);
    free(shown);
}

// The verdict, which has a printable reason unless it is good.
static inline struct sds_verdict around_judge(struct around *a) {
    struct sds_verdict verdict =
        a->provider->ops->judge(a->provider, &a->operation, &a->answer, 0, &a->err);
    CHECK(verdict.what != SDS_NEXT && (verdict.what == SDS_DONE) == (a->err.kind == SDS_OK));
    for (const char *c = a->err.message; *c != '\0'; c++) {
        CHECK(!iscntrl((unsigned char)*c));
    }
    return verdict;
}

static inline void around_end(struct around *a) {
    sds_upload_fini(&a->upload);
    sds_provider_free(a->provider);
}

#endif
