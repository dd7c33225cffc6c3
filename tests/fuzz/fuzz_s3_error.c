// SPDX-License-Identifier: Apache-2.0
// Error documents of S3: whatever a server sends with whatever status is a verdict, with a reason
// that is printable, and teaches nothing that could not stand in the name of a host.
#include <ctype.h>
#include <stdlib.h>

#include "remote/http/http.h"
#include "remote/servers/provider.h"
#include "remote/servers/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

static struct sds_provider *make(void) {
    struct sds_provider *provider = NULL;
    char *prefix = NULL, *shown = NULL;
    const struct sds_remote_options options = {.region = "r", .endpoint = "http://h"};
    CHECK(sds_provider_new("s3://b", &options, &provider, &prefix, &shown, NULL) == SDS_OK);
    free(prefix);
    free(shown);
    return provider;
}

static void check_text(const char *text) {
    for (; *text != '\0'; text++) {
        CHECK(!iscntrl((unsigned char)*text));
    }
}

static void check_child(struct sds_span body, size_t size) {
    char out[64];
    out[0] = 'x';
    bool found = sds_xml_child(body, "Error", "Code", out, size);
    CHECK(memchr(out, '\0', size) != NULL && (found || out[0] == '\0'));
}

// The first two bytes are the status and the action.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int statuses[] = {301, 307, 400, 401, 403, 404, 409, 412,
                                   416, 429, 500, 501, 503, 200, 206, 418};
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
    struct sds_http_answer answer = {.status = statuses[data[0] % 16],
                                     .body = sds_span(data + 2, size - 2),
                                     .received = size - 2};
    struct sds_err err = {0};
    struct sds_verdict verdict = provider->ops->judge(provider, &operation, &answer, 0, &err);
    CHECK(verdict.what != SDS_NEXT && (verdict.what == SDS_DONE) == (err.kind == SDS_OK));
    check_text(err.message);
    struct sds_http_request request;
    CHECK(provider->ops->prepare(provider, &operation, NULL, 0, &request, NULL) == SDS_OK);
    CHECK(strcmp(request.url, "http://h/b/k") == 0);
    sds_http_request_fini(&request);
    sds_provider_free(provider);
    check_child(answer.body, 64);
    check_child(answer.body, 1);
    return 0;
}
