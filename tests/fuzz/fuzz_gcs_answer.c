// SPDX-License-Identifier: Apache-2.0
// Answers of Google Cloud Storage in JSON: any bytes are a description of the object that was asked
// for, a refusal, or no answer at all.
#include "around_provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int statuses[] = {200, 201, 400, 401, 403, 404, 409, 412, 413, 416, 429, 500, 503};
    struct around a;
    if (size < 2) {
        return 0;
    }
    around_begin(&a, "gs://b", statuses, sizeof statuses / sizeof *statuses, data, size);
    struct sds_verdict verdict = around_judge(&a);
    if (verdict.what == SDS_DONE && a.operation.action != SDS_GET) {
        CHECK(verdict.told.size_known && verdict.told.tag.etag[0] != '\0');
        CHECK(strspn(verdict.told.tag.etag, "0123456789") == strlen(verdict.told.tag.etag));
    }
    around_end(&a);
    return 0;
}
