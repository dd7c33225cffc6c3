// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "remote/credentials/document.h"
#include "remote/credentials/document_xml.h"
#include "remote/credentials/expiry.h"
#include "remote/credentials/when.h"

#define NOW 1700000000

static enum sds_kind read(enum sds_document form, const char *text, struct sds_credential *out,
                          struct sds_err *err) {
    return sds_document_read(form, sds_span_str(text), NOW, out, err);
}

static void is_read(enum sds_document form, const char *text, const char *key_id,
                    const char *secret, const char *token, int64_t expires) {
    struct sds_credential got;
    struct sds_err err = {0};
    if (read(form, text, &got, &err) != SDS_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_string_equal(got.key_id, key_id);
    assert_string_equal(got.secret, secret);
    assert_string_equal(got.token, token);
    assert_int_equal(got.expires, expires);
    assert_false(got.anonymous);
}

#define XML_OF(inside) "<R xmlns=\"x\"><Res><Credentials>" inside "</Credentials></Res></R>"

static void good_documents_are_read(void **state) {
    (void)state;
    is_read(SDS_DOCUMENT_METADATA,
            "{\"Code\":\"Success\",\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s/+=\",\"Token\":"
            "\"t\",\"Expiration\":\"2023-11-14T22:13:20Z\",\"RoleArn\":{}}",
            "A", "s/+=", "t", NOW);
    is_read(SDS_DOCUMENT_METADATA, "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\"}", "A", "s",
            "", 0);
    is_read(SDS_DOCUMENT_PROCESS,
            "{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"SessionToken\":"
            "\"\\u0074\",\"Expiration\":\"2023-11-14T23:13:20.123+01:00\"}",
            "A", "s", "t", NOW);
    is_read(SDS_DOCUMENT_SSO,
            "{\"roleCredentials\":{\"accessKeyId\":\"A\",\"secretAccessKey\":\"s\","
            "\"sessionToken\":\"t\",\"expiration\":1700000000999}}",
            "A", "s", "t", NOW);
    is_read(SDS_DOCUMENT_STS,
            XML_OF("<AccessKeyId>A</AccessKeyId>\n<SecretAccessKey>s</SecretAccessKey>"
                   "<SessionToken>\n t&amp;&lt;\n</SessionToken>"
                   "<Expiration>2023-11-14T22:13:20Z</Expiration>"),
            "A", "s", "t&<", NOW);
    is_read(SDS_DOCUMENT_TOKEN,
            "{\"access_token\":\"y.z\",\"expires_in\":3599,\"token_type\":"
            "\"bearer\"}",
            "", "", "y.z", NOW + 3599);
    is_read(SDS_DOCUMENT_TOKEN, "{\"access_token\":\"y.z\"}", "", "", "y.z", 0);
    is_read(SDS_DOCUMENT_IMPERSONATED,
            "{\"accessToken\":\"y.z\",\"expireTime\":\"2023-11-14T22:13:20Z\"}", "", "", "y.z",
            NOW);
}

// The text "SECRET" is in all of them and must be in no message.
static void bad_documents_are_refused_without_showing_them(void **state) {
    (void)state;
    static const struct {
        enum sds_document form;
        const char *text;
    } cases[] = {
        {SDS_DOCUMENT_METADATA, ""},
        {SDS_DOCUMENT_METADATA, "SECRET"},
        {SDS_DOCUMENT_METADATA, "[\"SECRET\"]"},
        {SDS_DOCUMENT_METADATA, "{\"AccessKeyId\":\"SECRET\"}"},
        {SDS_DOCUMENT_METADATA, "{\"AccessKeyId\":\"SECRET\",\"SecretAccessKey\":7}"},
        {SDS_DOCUMENT_METADATA, "{\"AccessKeyId\":\"\",\"SecretAccessKey\":\"SECRET\"}"},
        {SDS_DOCUMENT_METADATA, "{\"AccessKeyId\":\"A\\nB\",\"SecretAccessKey\":\"SECRET\"}"},
        {SDS_DOCUMENT_METADATA, "{\"AccessKeyId\":\"A B\",\"SecretAccessKey\":\"SECRET\"}"},
        {SDS_DOCUMENT_METADATA, "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"SECRET \"}"},
        {SDS_DOCUMENT_METADATA,
         "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"SECRET\",\"Token\":[]}"},
        {SDS_DOCUMENT_METADATA,
         "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"SECRET\",\"Token\":\"SECRET T\"}"},
        {SDS_DOCUMENT_METADATA,
         "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"SECRET\",\"Expiration\":\"SECRET\"}"},
        {SDS_DOCUMENT_METADATA, "{\"Code\":\"SECRET\",\"AccessKeyId\":\"A\","
                                "\"SecretAccessKey\":\"SECRET\"}"},
        {SDS_DOCUMENT_PROCESS, "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"SECRET\"}"},
        {SDS_DOCUMENT_PROCESS,
         "{\"Version\":2,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"SECRET\"}"},
        {SDS_DOCUMENT_SSO, "{\"roleCredentials\":{\"accessKeyId\":\"A\",\"secretAccessKey\":"
                           "\"SECRET\",\"expiration\":\"SECRET\"}}"},
        {SDS_DOCUMENT_SSO, "{\"roleCredentials\":\"SECRET\"}"},
        {SDS_DOCUMENT_STS, "<SECRET/>"},
        {SDS_DOCUMENT_STS, XML_OF("<AccessKeyId>SECRET</AccessKeyId>")},
        {SDS_DOCUMENT_STS, "<Credentials><AccessKeyId>SECRET"},
        {SDS_DOCUMENT_STS, XML_OF("<AccessKeyId>A</AccessKeyId><SecretAccessKey>SECRET"
                                  "</SecretAccessKey><SessionToken>t</SessionToken>"
                                  "<Expiration>SECRET</Expiration>")},
        {SDS_DOCUMENT_TOKEN, "{\"access_token\":\"SECRET x\"}"},
        {SDS_DOCUMENT_TOKEN, "{\"access_token\":\"SECRET\",\"expires_in\":-1}"},
        {SDS_DOCUMENT_TOKEN, "{\"access_token\":\"SECRET\",\"expires_in\":1e300}"},
        {SDS_DOCUMENT_TOKEN, "{\"access_token\":\"SECRET\",\"expires_in\":\"SECRET\"}"},
        {SDS_DOCUMENT_TOKEN, "{\"access_token\":\"SECRET\",\"token_type\":\"SECRET\"}"},
        {SDS_DOCUMENT_IMPERSONATED, "{\"accessToken\":\"SECRET\",\"expireTime\":\"SECRET\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_credential got = {.expires = 1};
        struct sds_err err = {0};
        if (read(cases[i].form, cases[i].text, &got, &err) != SDS_ERR_INVALID) {
            fail_msg("taken: %s", cases[i].text);
        }
        assert_string_equal(err.check, "credentials");
        assert_null(strstr(err.message, "SECRET"));
        static const struct sds_credential wiped;
        assert_memory_equal(&got, &wiped, sizeof got);
    }
}

static void texts_have_to_fit(void **state) {
    (void)state;
    char text[9000], token[8300];
    struct sds_credential got;
    for (size_t len = sizeof got.token - 1; len <= sizeof got.token; len++) {
        memset(token, 'x', len);
        token[len] = '\0';
        snprintf(text, sizeof text, "{\"access_token\":\"%s\"}", token);
        assert_int_equal(read(SDS_DOCUMENT_TOKEN, text, &got, NULL),
                         len < sizeof got.token ? SDS_OK : SDS_ERR_INVALID);
    }
    char *huge = calloc(1, SDS_DOCUMENT_BYTES_MAX + 2);
    assert_non_null(huge);
    memset(huge, ' ', SDS_DOCUMENT_BYTES_MAX + 1);
    memcpy(huge, "{\"access_token\":\"x\"}", 20);
    assert_int_equal(read(SDS_DOCUMENT_TOKEN, huge, &got, NULL), SDS_ERR_LIMIT);
    huge[SDS_DOCUMENT_BYTES_MAX] = '\0';
    assert_int_equal(read(SDS_DOCUMENT_TOKEN, huge, &got, NULL), SDS_OK);
    free(huge);
}

static void codes_of_errors_are_plain_words(void **state) {
    (void)state;
    static const struct {
        const char *text, *code;
    } cases[] = {
        {"{\"error\":\"invalid_grant\",\"error_description\":\"x\"}", "invalid_grant"},
        {"{\"error\":{\"code\":403,\"status\":\"PERMISSION_DENIED\"}}", "PERMISSION_DENIED"},
        {"{\"Code\":\"AssumeRoleUnauthorizedAccess\"}", "AssumeRoleUnauthorizedAccess"},
        {"{\"__type\":\"com.amazon#UnauthorizedException\"}", "com.amazon#UnauthorizedException"},
        {"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>", "AccessDenied"},
        {"{\"error\":\"with spaces\"}", ""},
        {"{\"error\":\"a\\u001b[31m\"}", ""},
        {"{\"error\":\"0123456789012345678901234567890123456789012345678\"}", ""},
        {"<Code>a<b></Code>", ""},
        {"nothing of the kind", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char code[64];
        assert_string_equal(sds_document_error(sds_span_str(cases[i].text), code, sizeof code),
                            cases[i].code);
    }
}

static void elements_are_found_by_their_names(void **state) {
    (void)state;
    static const struct {
        const char *text, *found; // NULL: not found
    } cases[] = {
        {"<a>x</a>", "x"},
        {"<b/><a k='1'>x</a>", "x"},
        {"<ab>y</ab><a>x</a>", "x"},
        {"<a>&quot;&apos;&gt;</a>", "\"'>"},
        {"<a> x </a >", "x"},
        {"<a/>x</a>", NULL},
        {"<a>x", NULL},
        {"<a>x</ab>", NULL},
        {"<a></a>", NULL},
        {"<a>&#65;</a>", NULL},
        {"<a><b>x</b></a>", NULL},
        {"<a", NULL},
        {"<", NULL},
        {"<a>1234567</a>", "1234567"},
        {"<a>12345678</a>", NULL},
        {"<a>\xc3\xa9</a>", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[8];
        bool found = sds_xml_text(sds_span_str(cases[i].text), "a", out, sizeof out);
        if (found != (cases[i].found != NULL)) {
            fail_msg("%s", cases[i].text);
        }
        assert_string_equal(out, cases[i].found != NULL ? cases[i].found : "");
    }
}

static void times_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value; // -1: none
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2023-11-14T22:13:20Z", NOW},
        {"2023-11-14T22:13:20UTC", NOW},
        {"2023-11-14t22:13:20.999999z", NOW},
        {"2023-11-14T22:13:20+00:00", NOW},
        {"2023-11-14T17:43:20-0430", NOW},
        {"2024-02-29T00:00:00Z", 1709164800},
        {"2023-02-29T00:00:00Z", -1},
        {"2023-11-14T22:13:20", -1},
        {"2023-11-14T22:13:20+25:00", -1},
        {"2023-11-14T24:13:20Z", -1},
        {"2023-13-14T22:13:20Z", -1},
        {"2023-11-14T22:13:20.Z", -1},
        {"2023-11-14T22:13:20Z ", -1},
        {"1969-11-14T22:13:20Z", -1},
        {"23-11-14T22:13:20Z", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = -1;
        bool read = sds_when_parse(cases[i].text, &got);
        if (read != (cases[i].value >= 0) || (read && got != cases[i].value)) {
            fail_msg("%s is %lld", cases[i].text, (long long)got);
        }
    }
}

static void credentials_age(void **state) {
    (void)state;
    // An hour: ageing in the last ten minutes, stale in the last one.
    assert_int_equal(sds_freshness_of(0, 3600, 0), SDS_FRESH);
    assert_int_equal(sds_freshness_of(0, 3600, 2999), SDS_FRESH);
    assert_int_equal(sds_freshness_of(0, 3600, 3000), SDS_AGEING);
    assert_int_equal(sds_freshness_of(0, 3600, 3539), SDS_AGEING);
    assert_int_equal(sds_freshness_of(0, 3600, 3540), SDS_STALE);
    assert_int_equal(sds_freshness_of(0, 3600, 9999), SDS_STALE);
    // A short life: in proportion, so that it is not stale at its birth.
    assert_int_equal(sds_freshness_of(100, 180, 159), SDS_FRESH);
    assert_int_equal(sds_freshness_of(100, 180, 160), SDS_AGEING);
    assert_int_equal(sds_freshness_of(100, 180, 169), SDS_AGEING);
    assert_int_equal(sds_freshness_of(100, 180, 170), SDS_STALE);
    assert_int_equal(sds_freshness_of(100, 100, 99), SDS_FRESH);
    assert_int_equal(sds_freshness_of(100, 90, 100), SDS_STALE);
    assert_int_equal(sds_freshness_of(100, 0, 1000000), SDS_FRESH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_documents_are_read),
        cmocka_unit_test(bad_documents_are_refused_without_showing_them),
        cmocka_unit_test(texts_have_to_fit),
        cmocka_unit_test(codes_of_errors_are_plain_words),
        cmocka_unit_test(elements_are_found_by_their_names),
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(credentials_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
