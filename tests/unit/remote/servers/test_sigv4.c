// SPDX-License-Identifier: Apache-2.0
//
// The published examples: the test suite of signature version 4, and those of the documentation of
// S3.
#include "unit.h"

#include <stdio.h>

#include "remote/servers/sigv4.h"

#define SUITE_DATE "20150830T123600Z"
#define SUITE_HOST                                                                                 \
    {"host", "example.amazonaws.com"}, {                                                           \
        "x-amz-date", SUITE_DATE                                                                   \
    }
#define S3_DATE "20130524T000000Z"
#define S3_HOST                                                                                    \
    {"host", "examplebucket.s3.amazonaws.com"}, {                                                  \
        "x-amz-date", S3_DATE                                                                      \
    }

static const struct sds_sigv4_key suite = {
    "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service"};
static const struct sds_sigv4_key s3 = {
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "s3"};

static const struct {
    const char *name;
    const struct sds_sigv4_key *key;
    const char *date, *method, *path, *query, *payload;
    struct sds_sigv4_header headers[6];
    const char *names, *signature;
} vectors[] = {
    {"get-vanilla",
     &suite,
     SUITE_DATE,
     "GET",
     "/",
     "",
     SDS_SIGV4_EMPTY,
     {SUITE_HOST},
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-query-order-key-case",
     &suite,
     SUITE_DATE,
     "GET",
     "/",
     "Param1=value1&Param2=value2",
     SDS_SIGV4_EMPTY,
     {SUITE_HOST},
     "host;x-amz-date",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"post-vanilla",
     &suite,
     SUITE_DATE,
     "POST",
     "/",
     "",
     SDS_SIGV4_EMPTY,
     {SUITE_HOST},
     "host;x-amz-date",
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"get-utf8",
     &suite,
     SUITE_DATE,
     "GET",
     "/%E1%88%B4",
     "",
     SDS_SIGV4_EMPTY,
     {SUITE_HOST},
     "host;x-amz-date",
     "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"get-unreserved",
     &suite,
     SUITE_DATE,
     "GET",
     "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
     "",
     SDS_SIGV4_EMPTY,
     {SUITE_HOST},
     "host;x-amz-date",
     "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {"get-header-value-trim",
     &suite,
     SUITE_DATE,
     "GET",
     "/",
     "",
     SDS_SIGV4_EMPTY,
     {{"my-header2", " \"a   b   c\" "}, {"my-header1", " value1 "}, SUITE_HOST},
     "host;my-header1;my-header2;x-amz-date",
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"GET object",
     &s3,
     S3_DATE,
     "GET",
     "/test.txt",
     "",
     SDS_SIGV4_EMPTY,
     {{"range", "bytes=0-9"}, {"x-amz-content-sha256", SDS_SIGV4_EMPTY}, S3_HOST},
     "host;range;x-amz-content-sha256;x-amz-date",
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"PUT object",
     &s3,
     S3_DATE,
     "PUT",
     "/test%24file.text",
     "",
     "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
     {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
      {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
      {"x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
      S3_HOST},
     "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"GET bucket lifecycle",
     &s3,
     S3_DATE,
     "GET",
     "/",
     "lifecycle=",
     SDS_SIGV4_EMPTY,
     {{"x-amz-content-sha256", SDS_SIGV4_EMPTY}, S3_HOST},
     "host;x-amz-content-sha256;x-amz-date",
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"GET bucket (list objects)",
     &s3,
     S3_DATE,
     "GET",
     "/",
     "max-keys=2&prefix=J",
     SDS_SIGV4_EMPTY,
     {{"x-amz-content-sha256", SDS_SIGV4_EMPTY}, S3_HOST},
     "host;x-amz-content-sha256;x-amz-date",
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static void published_vectors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct sds_sigv4_request request = {.method = vectors[i].method,
                                            .path = vectors[i].path,
                                            .query = vectors[i].query,
                                            .payload = vectors[i].payload,
                                            .headers = vectors[i].headers};
        while (request.header_count < 6 && vectors[i].headers[request.header_count].name != NULL) {
            request.header_count++;
        }
        char expected[512];
        snprintf(expected, sizeof expected,
                 "AWS4-HMAC-SHA256 Credential=%s/%.8s/us-east-1/%s/aws4_request, "
                 "SignedHeaders=%s, Signature=%s",
                 vectors[i].key->id, vectors[i].date, vectors[i].key->service, vectors[i].names,
                 vectors[i].signature);
        struct sds_buf out = SDS_BUF_INIT(4096);
        assert_int_equal(sds_sigv4_authorize(vectors[i].key, &request, vectors[i].date, &out),
                         SDS_OK);
        assert_int_equal(sds_buf_add(&out, "", 1), SDS_OK);
        assert_string_equal((char *)out.at, expected);
        sds_buf_fini(&out);
    }
}

static void dates(void **state) {
    (void)state;
    char out[17];
    sds_sigv4_date(1369353600, out);
    assert_string_equal(out, S3_DATE);
    sds_sigv4_date(0, out);
    assert_string_equal(out, "19700101T000000Z");
    sds_sigv4_date(INT64_MAX, out); // no such year
    assert_string_equal(out, "19700101T000000Z");
}

static void ceilings(void **state) {
    (void)state;
    struct sds_sigv4_header headers[SDS_SIGV4_HEADERS_MAX + 1] = {{"a", "b"}};
    struct sds_sigv4_request request = {.method = "GET",
                                        .path = "/",
                                        .query = "",
                                        .payload = SDS_SIGV4_EMPTY,
                                        .headers = headers,
                                        .header_count = SDS_SIGV4_HEADERS_MAX + 1};
    struct sds_buf out = SDS_BUF_INIT(10);
    assert_int_equal(sds_sigv4_authorize(&s3, &request, S3_DATE, &out), SDS_ERR_INTERNAL);
    request.header_count = 1;
    assert_int_equal(sds_sigv4_authorize(&s3, &request, S3_DATE, &out), SDS_ERR_LIMIT);
    sds_buf_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(dates),
        cmocka_unit_test(ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
