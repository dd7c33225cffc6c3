// SPDX-License-Identifier: Apache-2.0
// What sources of credentials answer: any bytes are a credential whose texts may stand in a header,
// or a refusal that leaves nothing behind. The first byte says which kind of document it is.
#include <stdlib.h>

#include "remote/credentials/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

static void check_text(const char *text, size_t size) {
    size_t len = strnlen(text, size);
    CHECK(len < size);
    for (size_t i = 0; i < len; i++) {
        CHECK(text[i] >= 0x20 && text[i] <= 0x7e);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct sds_credential nothing;
    struct sds_credential got;
    struct sds_err err;
    char code[64];
    if (size == 0) {
        return 0;
    }
    enum sds_document form = (enum sds_document)(data[0] % (SDS_DOCUMENT_IMPERSONATED + 1));
    struct sds_span text = sds_span(data + 1, size - 1);
    enum sds_kind kind = sds_document_read(form, text, 1700000000, &got, &err);
    if (kind != SDS_OK) {
        CHECK(memcmp(&got, &nothing, sizeof got) == 0);
        CHECK(err.kind == kind && err.message[0] != '\0');
    } else {
        check_text(got.key_id, sizeof got.key_id);
        check_text(got.secret, sizeof got.secret);
        check_text(got.token, sizeof got.token);
        CHECK(strchr(got.token, ' ') == NULL && (got.token[0] != '\0' || got.secret[0] != '\0'));
        CHECK(!got.anonymous);
    }
    sds_document_error(text, code, sizeof code);
    check_text(code, sizeof code);
    return 0;
}
