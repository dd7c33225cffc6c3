// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <stdlib.h>

#include "remote/servers/endpoint.h"
#include "remote/servers/uri.h"

static void takes_apart(void **state) {
    (void)state;
    static const struct {
        const char *uri;
        enum sds_scheme scheme;
        const char *bucket, *key;
    } cases[] = {
        {"s3://bucket", SDS_SCHEME_S3, "bucket", ""},
        {"s3://bucket/", SDS_SCHEME_S3, "bucket", ""},
        {"s3://bucket/a/b.sds", SDS_SCHEME_S3, "bucket", "a/b.sds"},
        {"s3://bucket///a//b/./c/", SDS_SCHEME_S3, "bucket", "a//b/./c/"},
        {"s3://my.bucket_1/a%20b+c~\xc3\xa9", SDS_SCHEME_S3, "my.bucket_1", "a%20b+c~\xc3\xa9"},
        {"s3://bucket/a\tb\r\nc", SDS_SCHEME_S3, "bucket", "abc"},
        {"s3://bucket/a?", SDS_SCHEME_S3, "bucket", "a"},
        {"s3://bucket/a#", SDS_SCHEME_S3, "bucket", "a"},
        {"s3://bucket/a@b:c", SDS_SCHEME_S3, "bucket", "a@b:c"},
        {"gs://bucket/a/b", SDS_SCHEME_GCS, "bucket", "a/b"},
        {"http://Host.Example/x/y", SDS_SCHEME_HTTP, "host.example", "x/y"},
        {"http://host:80/x", SDS_SCHEME_HTTP, "host", "x"},
        {"http://host:443/x", SDS_SCHEME_HTTP, "host:443", "x"},
        {"https://host:443", SDS_SCHEME_HTTPS, "host", ""},
        {"https://host:", SDS_SCHEME_HTTPS, "host", ""},
        {"https://127.0.0.1:8443//a", SDS_SCHEME_HTTPS, "127.0.0.1:8443", "/a"},
        {"http://[::1]:8000/x", SDS_SCHEME_HTTP, "[::1]:8000", "x"},
        {"http://[FE80::1]/x", SDS_SCHEME_HTTP, "[fe80::1]", "x"},
        {"http://host/a%20b%3Fc%25", SDS_SCHEME_HTTP, "host", "a b?c%"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_target target;
        struct sds_err err = {0};
        assert_int_equal(sds_target_parse(cases[i].uri, &target, &err), SDS_OK);
        assert_int_equal(target.scheme, cases[i].scheme);
        assert_string_equal(target.bucket, cases[i].bucket);
        assert_string_equal(target.key, cases[i].key);
        sds_target_fini(&target);
    }
}

static void refuses(void **state) {
    (void)state;
    static const struct {
        const char *uri, *why;
    } cases[] = {
        {"s3://", "bucket is missing"},
        {"s3:///a", "bucket is missing"},
        {"s3://user:secret@bucket/a", "user or a password"},
        {"s3://bucket:80/a", "no port"},
        {"s3://buc ket/a", "name of a bucket"},
        {"s3://buc%20ket/a", "name of a bucket"},
        {"s3://../a", "name of a bucket"},
        {"s3://bucket/a?secret=1", "query"},
        {"gs://bucket/a#secret", "fragment"},
        {"s3://bucket/a?#secret", "fragment"},
        {"S3://bucket/a", "not s3://"},
        {"ftp://host/a", "not s3://"},
        {"/a", "not s3://"},
        {"http://", "host is missing"},
        {"http://:80/a", "host is missing"},
        {"http://secret@host/a", "user or a password"},
        {"https://user:secret@host/a", "user or a password"},
        {"http://user:secret/x@host/a", "number of a port"},
        {"http://host:0/a", "number of a port"},
        {"http://host:65536/a", "number of a port"},
        {"http://host:8x/a", "number of a port"},
        {"http://[::1/a", "name of a host"},
        {"http://[]/a", "name of a host"},
        {"http://[::1]x/a", "name of a host"},
        {"http://h\xc3\xb6st/a", "name of a host"},
        {"http://host/a?secret=1", "query"},
        {"http://host/a%2fb", "%2F"},
        {"http://host/a%00b", "%00"},
        {"http://host/a%2", "percent"},
        {"http://host/a%zz", "percent"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_target target;
        struct sds_err err = {0};
        assert_int_equal(sds_target_parse(cases[i].uri, &target, &err), SDS_ERR_INVALID);
        assert_string_equal(err.check, "root");
        if (strstr(err.message, cases[i].why) == NULL || strstr(err.message, "secret") != NULL) {
            fail_msg("%s: %s", cases[i].uri, err.message);
        }
        sds_target_fini(&target);
    }
    char *lengthy = malloc((1 << 16) + 8);
    assert_non_null(lengthy);
    memset(lengthy, 'a', (1 << 16) + 7);
    memcpy(lengthy, "s3://b/", 7);
    lengthy[(1 << 16) + 7] = '\0';
    struct sds_target target;
    assert_int_equal(sds_target_parse(lengthy, &target, NULL), SDS_ERR_INVALID);
    sds_target_fini(&target);
    free(lengthy);
}

static void what_is_typed_has_no_line_ends(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"s3://b/a\tb", "a tab"},
                                           {"s3://b/a\r\n", "a carriage return"},
                                           {"https://h/a\n", "a line feed"}};
    struct sds_target target;
    struct sds_err err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sds_target_parse_typed(cases[i][0], &target, &err), SDS_ERR_INVALID);
        assert_string_equal(err.check, "root");
        assert_non_null(strstr(err.message, cases[i][1]));
        sds_target_fini(&target);
    }
    assert_int_equal(sds_target_parse_typed("s3://b/a b", &target, &err), SDS_OK);
    assert_string_equal(target.key, "a b");
    sds_target_fini(&target);
}

static void what_is_not_printable_is_shown_quoted(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"/a b/\xc3\xa9\"", "/a b/\xc3\xa9\""},
        {"/a\nb", "\"/a\\x0Ab\""},
        {"\x1b[31m", "\"\\x1B[31m\""},
        {"/a\xff", "\"/a\\xFF\""},
        {"s3://u:secret@b/a\n", "\"s3://***@b/a\\x0A\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(SDS_ROOT_SHOWN(cases[i][0]), cases[i][1]);
    }
}

static void shows_no_secrets(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"/a/b?c#d@e", "/a/b?c#d@e"},
        {"relative/s3://x@y", "relative/s3://x@y"},
        {"s3://bucket/a/b", "s3://bucket/a/b"},
        {"s3://bucket/a@b", "s3://bucket/a@b"},
        {"s3://key:secret@bucket/a", "s3://***@bucket/a"},
        {"http://user:secret@host:80/a", "http://***@host:80/a"},
        {"http://secret@host/a", "http://***@host/a"},
        {"http://user:sec@ret@host/a", "http://***@host/a"},
        {"http://user:sec/ret@host/a", "http://***@host/a"},
        {"http://user:sec?ret@host/a", "http://***@host/a"},
        {"http://user:sec#ret@host/a", "http://***@host/a"},
        {"http://se?cret@host/a", "http://***@host/a"},
        {"ftp://user:secret@host/a", "ftp://***@host/a"},
        {"https://host:8080/a", "https://host:8080/a"},
        {"https://host/a?token=secret", "https://host/a?***"},
        {"https://host/a#secret", "https://host/a#***"},
        {"https://host?secret", "https://host?***"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(SDS_ROOT_SHOWN(cases[i][0]), cases[i][1]);
    }
    char small[8];
    assert_string_equal(sds_root_shown("https://host/path", small, sizeof small), "https:/");
}

static void joins_keys(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"", "root.json", "root.json"},
        {"a/b", "root.json", "a/b/root.json"},
        {"a", "x\ty\nz\r.json", "a/xyz.json"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *key = sds_key_join(cases[i][0], cases[i][1]);
        assert_string_equal(key, cases[i][2]);
        free(key);
    }
}

static void encodes(void **state) {
    (void)state;
    struct sds_buf out = SDS_BUF_INIT(256);
    assert_int_equal(sds_percent_encode(&out, "aZ09-._~ /+%\xc3\xa9", "/"), SDS_OK);
    assert_int_equal(sds_buf_add(&out, "", 1), SDS_OK);
    assert_string_equal((char *)out.at, "aZ09-._~%20/%2B%25%C3%A9");
    sds_buf_fini(&out);
    out = SDS_BUF_INIT(2);
    assert_int_equal(sds_percent_encode(&out, " ", ""), SDS_ERR_LIMIT);
    sds_buf_fini(&out);
}

static void endpoints(void **state) {
    (void)state;
    static const struct {
        const char *text, *origin;
        bool bucket_host;
    } cases[] = {
        {"http://127.0.0.1:9000", "http://127.0.0.1:9000", false},
        {"https://Host/", "https://host", false},
        {"https://host:443/base/", "https://host/base", false},
        {"http://{bucket}.localhost:90", "http://localhost:90", true},
        {"localhost:90", "http://localhost:90", false},
        {"[::1]:90", "http://[::1]:90", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_endpoint endpoint;
        assert_int_equal(sds_endpoint_parse(cases[i].text, true, &endpoint, NULL), SDS_OK);
        assert_int_equal(endpoint.bucket_host, cases[i].bucket_host);
        char *origin = sds_endpoint_origin(&endpoint);
        assert_string_equal(origin, cases[i].origin);
        free(origin);
        sds_endpoint_fini(&endpoint);
    }
    static const char *const wrong[] = {"",         "localhost:90",      "s3://bucket",
                                        "http://",  "http://u:secret@h", "http://h?secret",
                                        "ftp://h/", "http://{bucket}.",  "http://h{bucket}/"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct sds_endpoint endpoint;
        struct sds_err err = {0};
        assert_int_equal(sds_endpoint_parse(wrong[i], false, &endpoint, &err), SDS_ERR_INVALID);
        assert_string_equal(err.check, "endpoint");
        assert_null(strstr(err.message, "secret"));
        sds_endpoint_fini(&endpoint);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_apart),
        cmocka_unit_test(refuses),
        cmocka_unit_test(what_is_typed_has_no_line_ends),
        cmocka_unit_test(what_is_not_printable_is_shown_quoted),
        cmocka_unit_test(shows_no_secrets),
        cmocka_unit_test(joins_keys),
        cmocka_unit_test(encodes),
        cmocka_unit_test(endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
