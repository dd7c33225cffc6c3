// SPDX-License-Identifier: Apache-2.0
// Answers of Google Cloud Storage in JSON: any bytes are a description of the object that was asked
// for, a refusal, or no answer at all.
#include <ctype.h>
#include <stdlib.h>

#include "remote/http/http.h"
#include "remote/servers/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

static struct sds_provider *make(void) {
    struct sds_provider *provider = NULL;
    char *prefix = NULL, *shown = NULL;
    const struct sds_remote_options options = {.endpoint = "http://h"};
    CHECK(sds_provider_new("gs://b", &options, &provider, &prefix, &shown, NULL) == SDS_OK);
    free(prefix);
    free(shown);
    return provider;
}

// The first two bytes are the status and the action.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int statuses[] = {200, 201, 400, 401, 403, 404, 409, 412, 413, 416, 429, 500, 503};
    if (size < 2) {
        return 0;
    }
    struct sds_provider *provider = make();
    struct sds_content content = {.size = 0};
    struct sds_upload upload = {.large = false};
    struct sds_operation operation = {.action = (enum sds_action)(data[1] % 4),
                                      .bucket = "b",
                                      .key = "k",
                                      .len = 10,
                                      .content = &content,
                                      .upload = &upload};
    struct sds_http_answer answer = {.status = statuses[data[0] % 13],
                                     .body = sds_span(data + 2, size - 2),
                                     .received = size - 2};
    struct sds_err err = {0};
    struct sds_verdict verdict = provider->ops->judge(provider, &operation, &answer, 0, &err);
    CHECK(verdict.what != SDS_NEXT && (verdict.what == SDS_DONE) == (err.kind == SDS_OK));
    if (verdict.what == SDS_DONE && operation.action != SDS_GET) {
        CHECK(verdict.told.size_known && verdict.told.tag.etag[0] != '\0');
        CHECK(strspn(verdict.told.tag.etag, "0123456789") == strlen(verdict.told.tag.etag));
    }
    for (const char *c = err.message; *c != '\0'; c++) {
        CHECK(!iscntrl((unsigned char)*c));
    }
    sds_upload_fini(&upload);
    sds_provider_free(provider);
    return 0;
}
