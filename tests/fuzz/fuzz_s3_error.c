// SPDX-License-Identifier: Apache-2.0
// Error documents of S3: whatever a server sends with whatever status is a verdict, with a reason
// that is printable, and teaches nothing that could not stand in the name of a host.
#include "around_provider.h"
#include "remote/servers/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_child(struct sds_span body, size_t size) {
    char out[64];
    out[0] = 'x';
    bool found = sds_xml_child(body, "Error", "Code", out, size);
    CHECK(memchr(out, '\0', size) != NULL && (found || out[0] == '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int statuses[] = {301, 307, 400, 401, 403, 404, 409, 412,
                                   416, 429, 500, 501, 503, 200, 206, 418};
    struct around a;
    if (size < 2) {
        return 0;
    }
    around_begin(&a, "s3://b", statuses, sizeof statuses / sizeof *statuses, data, size);
    (void)around_judge(&a);
    struct sds_http_request request;
    CHECK(a.provider->ops->prepare(a.provider, &a.operation, NULL, 0, &request, NULL) == SDS_OK);
    CHECK(strcmp(request.url, "http://h/b/k") == 0);
    sds_http_request_fini(&request);
    check_child(a.answer.body, 64);
    check_child(a.answer.body, 1);
    around_end(&a);
    return 0;
}
