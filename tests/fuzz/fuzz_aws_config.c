// SPDX-License-Identifier: Apache-2.0
// The reader of shared configuration: any bytes are a document or a refusal that shows none of
// them, and what it answers lies inside the text.
#include <stdlib.h>

#include "remote/credentials/ini.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct sds_ini_section sections[] = {
        {NULL, "default"}, {"profile", "a"}, {"profile", ""}, {"sso-session", "a"}, {NULL, "a b"}};
    static const char *const keys[] = {"a", "region", "s3", "aws_secret_access_key"};
    struct sds_ini *ini = NULL;
    struct sds_err err;
    enum sds_kind kind = sds_ini_parse(sds_span(data, size), &ini, &err);
    if (kind != SDS_OK) {
        CHECK(ini == NULL && err.kind == kind && err.message[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        bool has = sds_ini_has(ini, sections[i]);
        for (size_t j = 0; j < 2 * sizeof keys / sizeof keys[0]; j++) {
            struct sds_span value = {0};
            enum sds_ini_answer answer = sds_ini_get(ini, sections[i], keys[j / 2],
                                                     j % 2 == 0 ? NULL : "endpoint_url", &value);
            CHECK(answer == SDS_INI_ABSENT || has);
            CHECK(value.len <= size);
            CHECK(value.len == 0 || memchr(value.at, '\n', value.len) == NULL);
        }
    }
    sds_ini_free(ini);
    return 0;
}
