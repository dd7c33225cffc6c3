// SPDX-License-Identifier: Apache-2.0
//
// What S3 is asked, and what is made of its answers.
#include "unit.h"

#include "answers.h"
#include "remote/credentials/credentials.h"

static struct sds_credential who = {.key_id = "AKIA", .secret = "secret"};

static int clean(void **state) {
    (void)state;
    forget_environment();
    who = (struct sds_credential){.key_id = "AKIA", .secret = "secret"};
    return 0;
}

static int end(void **state) {
    (void)state;
    sds_upload_fini(&upload);
    return 0;
}

// --- requests

static void urls(void **state) {
    (void)state;
    static const struct {
        const char *bucket, *key;
        struct sds_remote_options options;
        const char *url;
    } cases[] = {
        {"bucket",
         "a/b c+d%~\xc3\xa9",
         {0},
         "https://bucket.s3.us-east-1.amazonaws.com/a/b%20c%2Bd%25~%C3%A9"},
        {"bucket", "/a//b/./../c", {0}, "https://bucket.s3.us-east-1.amazonaws.com//a//b/./../c"},
        {"bucket",
         "k",
         {.region = "eu-central-1"},
         "https://bucket.s3.eu-central-1.amazonaws.com/k"},
        {"bucket",
         "k",
         {.region = "cn-north-1"},
         "https://bucket.s3.cn-north-1.amazonaws.com.cn/k"},
        {"bucket", "k", {.path_style = true}, "https://s3.us-east-1.amazonaws.com/bucket/k"},
        {"my.bucket", "k", {0}, "https://s3.us-east-1.amazonaws.com/my.bucket/k"},
        {"Bucket", "k", {0}, "https://s3.us-east-1.amazonaws.com/Bucket/k"},
        {"bucket", "k", {.endpoint = "http://127.0.0.1:9000"}, "http://127.0.0.1:9000/bucket/k"},
        {"bucket", "k", {.endpoint = "https://host/base/"}, "https://host/base/bucket/k"},
        {"bucket",
         "k",
         {.endpoint = "http://{bucket}.localhost:9000"},
         "http://bucket.localhost:9000/k"},
        {"bucket",
         "k",
         {.endpoint = "http://{bucket}.localhost:9000", .path_style = true},
         "http://localhost:9000/bucket/k"},
        {"bucket", "k", {.endpoint = "http://[::1]:9000"}, "http://[::1]:9000/bucket/k"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_provider *provider = new_provider("s3://root/x", &cases[i].options);
        struct sds_operation op = operation(SDS_GET, cases[i].key);
        op.bucket = cases[i].bucket;
        struct sds_http_request request = prepare_as(&who, provider, &op);
        assert_string_equal(request.url, cases[i].url);
        sds_http_request_fini(&request);
        sds_provider_free(provider);
    }
}

static void environment(void **state) {
    (void)state;
    setenv("AWS_DEFAULT_REGION", "eu-west-2", 1);
    struct sds_operation op = operation(SDS_GET, "k");
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_http_request request = prepare_as(&who, provider, &op);
    assert_string_equal(request.url, "https://bucket.s3.eu-west-2.amazonaws.com/k");
    assert_string_equal(provider->origin, "https://amazonaws.com");
    sds_http_request_fini(&request);
    sds_provider_free(provider);

    setenv("AWS_REGION", "eu-west-3", 1);
    setenv("AWS_ENDPOINT_URL", "http://one", 1);
    setenv("AWS_ENDPOINT_URL_S3", "http://two:8", 1);
    provider = new_provider("s3://b", &(struct sds_remote_options){0});
    request = prepare_as(&who, provider, &op);
    assert_string_equal(request.url, "http://two:8/bucket/k");
    assert_non_null(strstr(header(&request, "Authorization"), "/eu-west-3/s3/aws4_request"));
    assert_string_equal(provider->origin, "http://two:8");
    sds_http_request_fini(&request);
    sds_provider_free(provider);
    clean(NULL);
}

static void reads_are_signed_with_all_that_they_say(void **state) {
    (void)state;
    struct sds_provider *provider =
        new_provider("s3://b", &(struct sds_remote_options){.requester_pays = true});
    struct sds_operation op = operation(SDS_GET, "k");
    op.off = 100;
    strcpy(op.tag.etag, "abc");
    strcpy(who.token, "session");
    struct sds_http_request request = prepare_as(&who, provider, &op);
    assert_string_equal(request.method, "GET");
    assert_string_equal(header(&request, "range"), "bytes=100-109");
    assert_string_equal(header(&request, "if-match"), "\"abc\"");
    assert_string_equal(header(&request, "x-amz-request-payer"), "requester");
    assert_string_equal(header(&request, "x-amz-security-token"), "session");
    assert_string_equal(header(&request, "x-amz-date"), "20261201T000000Z");
    assert_non_null(strstr(header(&request, "authorization"),
                           "SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date;"
                           "x-amz-request-payer;x-amz-security-token, Signature="));
    assert_null(strstr(header(&request, "authorization"), "secret"));
    assert_null(request.body);
    sds_http_request_fini(&request);

    op = operation(SDS_HEAD, "k");
    request = prepare_as(&who, provider, &op);
    assert_string_equal(request.method, "HEAD");
    assert_string_equal(header(&request, "range"), "");
    sds_http_request_fini(&request);
    sds_provider_free(provider);
}

static void anonymous_requests_have_no_signature(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation op = operation(SDS_GET, "k");
    who.anonymous = true;
    struct sds_http_request request = prepare_as(&who, provider, &op);
    assert_string_equal(header(&request, "authorization"), "");
    assert_string_equal(header(&request, "x-amz-date"), "");
    sds_http_request_fini(&request);
    assert_int_equal(provider->ops->prepare(provider, &op, NULL, NOW, &request, NULL), SDS_OK);
    assert_string_equal(header(&request, "authorization"), "");
    sds_http_request_fini(&request);
    sds_provider_free(provider);
}

static void writes_are_conditional(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation op = operation(SDS_CREATE, "a/root.json");
    struct sds_http_request request = prepare_as(&who, provider, &op);
    assert_string_equal(request.method, "PUT");
    assert_string_equal(header(&request, "if-none-match"), "*");
    assert_string_equal(header(&request, "content-type"), "application/json");
    assert_string_equal(header(&request, "x-amz-content-sha256"),
                        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_ptr_equal(request.body, &content);
    sds_http_request_fini(&request);

    op = operation(SDS_SWAP, "a/b.arrayrecord");
    request = prepare_as(&who, provider, &op);
    assert_string_equal(header(&request, "if-none-match"), "*");
    assert_string_equal(header(&request, "content-type"), "application/octet-stream");
    sds_http_request_fini(&request);

    strcpy(op.tag.etag, "abc");
    request = prepare_as(&who, provider, &op);
    assert_string_equal(header(&request, "if-match"), "abc"); // without quotes
    assert_string_equal(header(&request, "if-none-match"), "");
    sds_http_request_fini(&request);
    sds_provider_free(provider);
}

static void what_cannot_be_asked(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_http_request request;
    struct sds_err err = {0};
    struct sds_operation op = operation(SDS_GET, "");
    assert_int_equal(provider->ops->prepare(provider, &op, &who, NOW, &request, &err),
                     SDS_ERR_INVALID);
    char key[SDS_HTTP_ERROR_BODY_MAX];
    memset(key, 'k', 1025);
    key[1025] = '\0';
    op.key = key;
    assert_int_equal(provider->ops->prepare(provider, &op, &who, NOW, &request, &err),
                     SDS_ERR_LIMIT);
    assert_string_equal(err.check, "key");
    key[1024] = '\0';
    assert_int_equal(provider->ops->prepare(provider, &op, &who, NOW, &request, &err), SDS_OK);
    sds_http_request_fini(&request);
    op.len = 0;
    assert_int_equal(provider->ops->prepare(provider, &op, &who, NOW, &request, &err),
                     SDS_ERR_INTERNAL);
    op = operation(SDS_CREATE, "k");
    content.size = (5ULL << 30) + 1;
    assert_int_equal(provider->ops->prepare(provider, &op, &who, NOW, &request, &err),
                     SDS_ERR_STORAGE);
    assert_string_equal(err.check, "size");
    sds_provider_free(provider);
}

static void roots(void **state) {
    (void)state;
    struct sds_provider *provider = NULL;
    char *prefix = NULL, *shown = NULL;
    struct sds_remote_options options = {0};
    assert_int_equal(sds_provider_new("s3://b//x/y//", &options, &provider, &prefix, &shown, NULL),
                     SDS_OK);
    assert_string_equal(prefix, "x/y");
    assert_string_equal(shown, "s3://b//x/y");
    assert_string_equal(provider->target.bucket, "b");
    assert_string_equal(provider->ops->name, "s3");
    sds_provider_free(provider);
    free(prefix);
    free(shown);

    struct sds_err err = {0};
    options.region = "eu west";
    assert_int_equal(sds_provider_new("s3://b", &options, &provider, &prefix, &shown, &err),
                     SDS_ERR_INVALID);
    assert_string_equal(err.check, "region");
    options = (struct sds_remote_options){.endpoint = "http://u:secret@h"};
    assert_int_equal(sds_provider_new("s3://b", &options, &provider, &prefix, &shown, &err),
                     SDS_ERR_INVALID);
    assert_string_equal(err.check, "endpoint");
    assert_null(strstr(err.message, "secret"));
    assert_int_equal(sds_provider_new("s3://", &options, &provider, &prefix, &shown, &err),
                     SDS_ERR_INVALID);
    assert_string_equal(err.check, "root");
}

// --- answers

#define CODE(code) "<Error><Code>" code "</Code><Message>m</Message></Error>"
#define ETAG "ETag: \"abc\"\n"

static struct sds_operation seen(enum sds_action action) {
    struct sds_operation out = operation(action, "k");
    strcpy(out.tag.etag, "abc");
    return out;
}

static void good_answers(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation op = operation(SDS_GET, "k");
    struct sds_err err;
    struct sds_http_answer a = answer(206,
                                      ETAG "Content-Length: 10\nContent-Range: bytes 0-9/100\n"
                                           "Last-Modified: Tue, 01 Dec 2026 00:00:00 GMT\n",
                                      "0123456789");
    struct sds_verdict v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.received, 10);
    assert_true(v.told.size_known);
    assert_int_equal(v.told.size, 100);
    assert_string_equal(v.told.tag.etag, "abc");
    assert_int_equal(v.told.modified, NOW);

    // The object's end.
    op.off = 95;
    a = answer(206, ETAG "Content-Length: 5\nContent-Range: bytes 95-99/100\n", "01234");
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.received, 5);

    // All of it, which is less than was asked for.
    op.off = 0;
    a = answer(200, ETAG "Content-Length: 5\n", "01234");
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.told.size, 5);

    // Nothing is all of it.
    a = answer(416, ETAG "Content-Range: bytes */0\n", CODE("InvalidRange"));
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.received, 0);
    assert_int_equal(v.told.size, 0);

    op = operation(SDS_HEAD, "k");
    a = answer(200, ETAG "Content-Length: 100\n", "");
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.told.size, 100);
    assert_string_equal(v.told.tag.etag, "abc");

    op = operation(SDS_CREATE, "k");
    a = answer(200, ETAG, "");
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.told.size, 5);
    assert_string_equal(v.told.tag.etag, "abc");
    sds_provider_free(provider);
}

static void bad_answers(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation get = seen(SDS_GET), head = seen(SDS_HEAD);
    struct sds_operation later = get;
    later.off = 50;
    const enum sds_kind storage = SDS_ERR_STORAGE;
    const char *ten = "0123456789";
    const struct judged cases[] = {
        // Not the bytes that were asked for.
        {get, 206, ETAG "Content-Range: bytes 1-10/100", ten, SDS_AGAIN, storage, "range", NULL},
        {get, 206, ETAG "Content-Range: bytes 0-8/100", "012345678", SDS_AGAIN, storage, "range",
         NULL},
        {get, 206, ETAG "Content-Range: bytes 0-10/100", "0123456789a", SDS_AGAIN, storage, "range",
         NULL},
        {get, 206, ETAG "Content-Range: bytes 0-9/9", ten, SDS_AGAIN, storage, "range", NULL},
        {get, 206, ETAG "Content-Range: bytes 0-9/*", ten, SDS_AGAIN, storage, "range", NULL},
        {get, 206, ETAG "Content-Range: bytes 0-9/100", "012345", SDS_AGAIN, storage, "range",
         NULL},
        {get, 206, ETAG "Content-Range: bytes 0-9/100\nContent-Length: 11", ten, SDS_AGAIN, storage,
         "range", NULL},
        {get, 206, ETAG, ten, SDS_AGAIN, storage, "range", NULL},
        {get, 206, ETAG "Content-Range: items 0-9/100", ten, SDS_AGAIN, storage, "range", NULL},
        {later, 206, ETAG "Content-Range: bytes 49-58/100", ten, SDS_AGAIN, storage, "range", NULL},
        // The whole object for a part of it.
        {later, 200, ETAG "Content-Length: 10", ten, SDS_AGAIN, storage, "range", NULL},
        {get, 200, ETAG "Content-Length: 11", "0123456789a", SDS_AGAIN, storage, "range", NULL},
        {get, 200, ETAG, "0123", SDS_AGAIN, storage, "range", NULL},
        // There is nothing there.
        {later, 416, "", CODE("InvalidRange"), SDS_FAILED, storage, "range", "before byte 50"},
        {later, 416, "Content-Range: bytes */40", "", SDS_FAILED, storage, "range", "40 bytes"},
        {later, 416, "", "<Error><ActualObjectSize>40</ActualObjectSize></Error>", SDS_FAILED,
         storage, "range", "40 bytes"},
        {later, 416, "Content-Range: bytes */60", "", SDS_AGAIN, storage, "range", NULL},
        {get, 416, ETAG, CODE("InvalidRange"), SDS_FAILED, storage, "range",
         "at the object's beginning"},
        {get, 416, "Content-Range: bytes */60", "", SDS_AGAIN, storage, "range", NULL},
        // Another version.
        {get, 206, "ETag: \"xyz\"\nContent-Range: bytes 0-9/100", ten, SDS_FAILED, storage,
         "changed", NULL},
        {get, 206, "Content-Range: bytes 0-9/100", ten, SDS_AGAIN, storage, "answer", NULL},
        {head, 200, "ETag: \"xyz\"\nContent-Length: 100", "", SDS_FAILED, storage, "changed", NULL},
        {get, 412, "", CODE("PreconditionFailed"), SDS_FAILED, storage, "changed", NULL},
        {head, 412, "", "", SDS_FAILED, storage, "changed", NULL},
        {head, 200, ETAG, "", SDS_AGAIN, storage, "answer", NULL},
        // Encoded.
        {get, 206, ETAG "Content-Encoding: gzip\nContent-Range: bytes 0-9/100", ten, SDS_FAILED,
         SDS_ERR_UNSUPPORTED, "encoding", NULL},
        {head, 200, ETAG "Content-Encoding: gzip\nContent-Length: 9", "", SDS_FAILED,
         SDS_ERR_UNSUPPORTED, "encoding", NULL},
        // Nothing that would be an answer.
        {get, 204, ETAG, "", SDS_FAILED, storage, "answer", NULL},
        {get, 304, ETAG, "", SDS_FAILED, storage, "answer", NULL},
        {get, 418, "", "", SDS_FAILED, storage, "answer", "418"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_judged(provider, &cases[i]);
    }
    sds_provider_free(provider);
}

// As Ceph says it of an empty object: only all of it tells.
static void nothing_at_the_beginning_is_looked_at_again(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation get = seen(SDS_GET);
    bool doubt = false;
    get.doubt = &doubt;
    struct sds_err err;
    struct sds_http_request request = prepare_as(&who, provider, &get);
    assert_string_equal(header(&request, "range"), "bytes=0-9");
    sds_http_request_fini(&request);
    struct sds_http_answer nothing = answer(416, "", CODE("InvalidRange"));
    assert_int_equal(judge(provider, &get, &nothing, &err).what, SDS_AGAIN_NOW);
    assert_true(doubt);
    request = prepare_as(&who, provider, &get);
    assert_string_equal(header(&request, "range"), "");
    assert_string_equal(header(&request, "if-match"), "\"abc\"");
    sds_http_request_fini(&request);

    struct sds_http_answer a = answer(200, ETAG "Content-Length: 0\n", "");
    struct sds_verdict v = judge(provider, &get, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.received, 0);
    assert_true(v.told.size_known);
    assert_int_equal(v.told.size, 0);
    a = answer(200, ETAG "Content-Length: 3\n", "abc"); // then that is what it is
    v = judge(provider, &get, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.received, 3);
    a = answer(200, ETAG "Content-Length: 100\n", "");
    a.failure = SDS_HTTP_TOO_LONG;
    assert_int_equal(judge(provider, &get, &a, &err).what, SDS_AGAIN);
    assert_string_equal(err.check, "range");
    assert_int_equal(judge(provider, &get, &nothing, &err).what, SDS_FAILED);
    assert_int_equal(err.kind, SDS_ERR_STORAGE);
    assert_string_equal(err.check, "range");
    sds_provider_free(provider);
}

static void refusals(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation get = operation(SDS_GET, "k"), create = operation(SDS_CREATE, "k");
    struct sds_operation swap = seen(SDS_SWAP);
    const enum sds_kind storage = SDS_ERR_STORAGE;
    const struct judged cases[] = {
        {get, 404, "", CODE("NoSuchKey"), SDS_FAILED, SDS_ERR_NOT_FOUND, "absent", NULL},
        {get, 404, "", "", SDS_FAILED, SDS_ERR_NOT_FOUND, "absent", NULL},
        {get, 404, "", CODE("NoSuchBucket"), SDS_FAILED, storage, "bucket", "no bucket"},
        {create, 404, "", CODE("NoSuchBucket"), SDS_FAILED, storage, "bucket", "no bucket"},
        {swap, 404, "", CODE("NoSuchKey"), SDS_FAILED, SDS_ERR_CONFLICT, "changed", NULL},
        {swap, 404, "", CODE("NoSuchBucket"), SDS_FAILED, storage, "bucket", NULL},
        {get, 403, "", CODE("AccessDenied"), SDS_FAILED, SDS_ERR_DENIED, "permission",
         "403 AccessDenied: \"m\""},
        {get, 403, "", CODE("Forbidden"), SDS_FAILED, SDS_ERR_DENIED, "permission", NULL},
        {get, 403, "", "", SDS_RENEW, SDS_ERR_DENIED, "permission", NULL},
        {get, 401, "", "", SDS_RENEW, storage, "credentials", NULL},
        {get, 400, "", CODE("ExpiredToken"), SDS_RENEW, storage, "credentials", "credentials"},
        {get, 403, "", CODE("ExpiredTokenException"), SDS_RENEW, storage, "credentials", NULL},
        {get, 400, "", CODE("InvalidToken"), SDS_RENEW, storage, "credentials", NULL},
        {get, 400, "", CODE("TokenRefreshRequired"), SDS_RENEW, storage, "credentials", NULL},
        {get, 403, "", CODE("InvalidAccessKeyId"), SDS_RENEW, storage, "credentials", NULL},
        {get, 404, "", CODE("XAdminUserNotFound"), SDS_RENEW, storage, "credentials", NULL},
        {create, 403, "", CODE("SignatureDoesNotMatch"), SDS_RENEW, storage, "credentials", NULL},
        {get, 400, "", CODE("AuthorizationHeaderMalformed"), SDS_RENEW, storage, "credentials",
         NULL},
        {get, 403, "", CODE("RequestTimeTooSkewed"), SDS_FAILED, storage, "clock", NULL},
        {create, 412, "", CODE("PreconditionFailed"), SDS_FAILED, SDS_ERR_CONFLICT, "exists", NULL},
        {swap, 412, "", "", SDS_FAILED, SDS_ERR_CONFLICT, "changed", NULL},
        {create, 409, "", CODE("ConditionalRequestConflict"), SDS_AGAIN, storage, "answer", NULL},
        {create, 501, "", CODE("NotImplemented"), SDS_FAILED, SDS_ERR_UNSUPPORTED,
         "conditional_writes", NULL},
        {swap, 501, "", "", SDS_FAILED, SDS_ERR_UNSUPPORTED, "conditional_writes", NULL},
        {create, 400, "", CODE("NotImplemented"), SDS_FAILED, SDS_ERR_UNSUPPORTED,
         "conditional_writes", NULL},
        {create, 400, "",
         "<Error><Code>InvalidArgument</Code><ArgumentName>If-None-Match</ArgumentName></Error>",
         SDS_FAILED, SDS_ERR_UNSUPPORTED, "conditional_writes", NULL},
        {swap, 400, "",
         "<Error><Code>InvalidArgument</Code><Message>no if-match here</Message></Error>",
         SDS_FAILED, SDS_ERR_UNSUPPORTED, "conditional_writes", NULL},
        {swap, 400, "", CODE("InvalidArgument"), SDS_FAILED, storage, "answer", NULL},
        {get, 501, "", CODE("NotImplemented"), SDS_FAILED, storage, "answer", NULL},
        {create, 400, "", CODE("EntityTooLarge"), SDS_FAILED, storage, "size", NULL},
        {create, 400, "", CODE("BadDigest"), SDS_AGAIN, storage, "answer", NULL},
        {get, 400, "", CODE("RequestTimeout"), SDS_AGAIN, storage, "answer", NULL},
        {get, 503, "", CODE("SlowDown"), SDS_AGAIN, storage, "answer", "503 SlowDown"},
        {get, 500, "", CODE("InternalError"), SDS_AGAIN, storage, "answer", NULL},
        {get, 429, "", "", SDS_AGAIN, storage, "answer", NULL},
        {get, 408, "", "", SDS_AGAIN, storage, "answer", NULL},
        {get, 502, "", "<html>", SDS_AGAIN, storage, "answer", "502"},
        {get, 504, "", "", SDS_AGAIN, storage, "answer", NULL},
        {get, 505, "", "", SDS_FAILED, storage, "answer", NULL},
        {get, 301, "", "", SDS_FAILED, storage, "redirect", "region="},
        {get, 307, "Location: http://elsewhere/x?X-Amz-Signature=secret", "", SDS_FAILED, storage,
         "redirect", "http://elsewhere/x?***"},
        // What a server could have us repeat.
        {get, 400, "", "<Error><Code>a&#10;b</Code><Message>Signature=0123</Message></Error>",
         SDS_FAILED, storage, "answer", "400 \"a\\x0Ab\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_judged(provider, &cases[i]);
    }
    struct sds_err err;
    struct sds_http_answer a =
        answer(400, "", "<Error><Code>X</Code><Message>Signature=0123</Message></Error>");
    judge(provider, &get, &a, &err);
    assert_null(strstr(err.message, "0123"));
    sds_provider_free(provider);
}

static void pauses_as_the_server_asks(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation get = operation(SDS_GET, "k"), create = operation(SDS_CREATE, "k");
    struct sds_http_answer a = answer(503, "Retry-After: 3", CODE("SlowDown"));
    struct sds_err err;
    struct sds_verdict v = judge(provider, &get, &a, &err);
    assert_int_equal(v.pause_ms, 3000);
    assert_false(v.written);
    a = answer(500, "", CODE("InternalError"));
    v = judge(provider, &create, &a, &err);
    assert_int_equal(v.pause_ms, 0);
    assert_true(v.written); // or not: who lost a race may be told so
    a = answer(409, "", CODE("ConditionalRequestConflict"));
    v = judge(provider, &create, &a, &err);
    assert_false(v.written);
    sds_provider_free(provider);
}

static void failures_of_the_transport(void **state) {
    (void)state;
    static const struct {
        enum sds_http_failure failure;
        enum sds_verdict_what what;
        enum sds_kind kind;
        bool written;
    } cases[] = {
        {SDS_HTTP_RESOLVE, SDS_AGAIN, SDS_ERR_STORAGE, false},
        {SDS_HTTP_CONNECT, SDS_AGAIN, SDS_ERR_STORAGE, false},
        {SDS_HTTP_TLS, SDS_FAILED, SDS_ERR_STORAGE, false},
        {SDS_HTTP_BROKEN, SDS_AGAIN, SDS_ERR_STORAGE, true},
        {SDS_HTTP_STALLED, SDS_AGAIN, SDS_ERR_TIMEOUT, true},
        {SDS_HTTP_TIMEOUT, SDS_AGAIN, SDS_ERR_TIMEOUT, true},
        {SDS_HTTP_CANCELLED, SDS_FAILED, SDS_ERR_STORAGE, true},
        {SDS_HTTP_TOO_LONG, SDS_AGAIN, SDS_ERR_STORAGE, true},
    };
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_operation get = operation(SDS_GET, "k"), create = operation(SDS_CREATE, "k");
        struct sds_http_answer a = answer(206, ETAG, "");
        a.failure = cases[i].failure;
        struct sds_err err;
        struct sds_verdict v = judge(provider, &get, &a, &err);
        assert_int_equal(v.what, cases[i].what);
        assert_int_equal(err.kind, cases[i].kind);
        assert_false(v.written);
        v = judge(provider, &create, &a, &err);
        assert_int_equal(v.what, cases[i].what);
        assert_int_equal(v.written, cases[i].written);
    }
    struct sds_operation get = operation(SDS_GET, "k");
    struct sds_http_answer a = answer(200, ETAG "Content-Length: 100", "");
    a.failure = SDS_HTTP_TOO_LONG; // the whole object
    struct sds_err err;
    assert_int_equal(judge(provider, &get, &a, &err).what, SDS_AGAIN);
    assert_string_equal(err.check, "range");
    struct sds_err why;
    sds_fail(&why, SDS_ERR_STORAGE, "draft", "gone");
    a.failure = SDS_HTTP_BODY;
    a.content_err = &why;
    struct sds_operation create = operation(SDS_CREATE, "k");
    assert_int_equal(judge(provider, &create, &a, &err).what, SDS_FAILED);
    assert_string_equal(err.check, "draft");
    sds_provider_free(provider);
}

// --- what is learned

static void expect_url(struct sds_provider *provider, const struct sds_operation *op,
                       const char *url) {
    struct sds_http_request request = prepare_as(&who, provider, op);
    assert_string_equal(request.url, url);
    sds_http_request_fini(&request);
}

static void regions_are_learned(void **state) {
    (void)state;
    static const char *const told[][2] = {
        {"x-amz-bucket-region: eu-west-1", ""},
        {"", "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>"},
        {"", "<Error><Code>PermanentRedirect</Code>"
             "<Endpoint>bucket.s3.eu-west-1.amazonaws.com</Endpoint></Error>"},
        {"", "<Error><Code>PermanentRedirect</Code>"
             "<Endpoint>bucket.s3-eu-west-1.amazonaws.com</Endpoint></Error>"},
        {"Location: https://bucket.s3.eu-west-1.amazonaws.com/k", ""},
    };
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
        struct sds_operation get = operation(SDS_GET, "k"), other = get;
        other.bucket = "other";
        bool malformed = strstr(told[i][1], "Malformed") != NULL;
        struct sds_http_answer a = answer(malformed ? 400 : 301, told[i][0], told[i][1]);
        struct sds_err err;
        assert_int_equal(judge(provider, &get, &a, &err).what, SDS_AGAIN_NOW);
        assert_int_equal(err.kind, SDS_ERR_STORAGE);
        expect_url(provider, &get, "https://bucket.s3.eu-west-1.amazonaws.com/k");
        expect_url(provider, &other, "https://other.s3.us-east-1.amazonaws.com/k");
        sds_provider_free(provider);
    }
    // Nothing that could lead to another server.
    static const char *const lies[][2] = {
        {"x-amz-bucket-region: eu/west", ""},
        {"x-amz-bucket-region: evil.example#", ""},
        {"Location: https://s3.evil.example/k", ""},
        {"", "<Error><Region>a.b</Region></Error>"},
        {"", "<Error><Endpoint>x.s3.evil/.amazonaws.com</Endpoint></Error>"},
    };
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct sds_operation get = operation(SDS_GET, "k");
        struct sds_http_answer a = answer(301, lies[i][0], lies[i][1]);
        struct sds_err err;
        assert_int_equal(judge(provider, &get, &a, &err).what, SDS_FAILED);
        expect_url(provider, &get, "https://bucket.s3.us-east-1.amazonaws.com/k");
    }
    sds_provider_free(provider);
}

static void clocks_are_learned(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation get = operation(SDS_GET, "k");
    struct sds_http_answer a =
        answer(403, "Date: Tue, 01 Dec 2026 02:00:00 GMT", CODE("RequestTimeTooSkewed"));
    struct sds_err err;
    assert_int_equal(judge(provider, &get, &a, &err).what, SDS_AGAIN_NOW);
    assert_string_equal(err.check, "clock");
    struct sds_http_request request = prepare_as(&who, provider, &get);
    assert_string_equal(header(&request, "x-amz-date"), "20261201T020000Z");
    sds_http_request_fini(&request);
    sds_provider_free(provider);
}

static void a_head_that_does_not_say_why_is_asked_again_by_get(void **state) {
    (void)state;
    struct sds_provider *provider = new_provider("s3://b", &(struct sds_remote_options){0});
    struct sds_operation head = operation(SDS_HEAD, "k");
    struct sds_http_answer a = answer(403, "", "");
    struct sds_err err;
    assert_int_equal(judge(provider, &head, &a, &err).what, SDS_AGAIN_NOW);
    struct sds_http_request request = prepare_as(&who, provider, &head);
    assert_string_equal(request.method, "GET");
    assert_string_equal(header(&request, "range"), "bytes=0-0");
    sds_http_request_fini(&request);

    a = answer(403, "", CODE("SignatureDoesNotMatch"));
    assert_int_equal(judge(provider, &head, &a, &err).what, SDS_RENEW);
    assert_string_equal(err.check, "credentials");
    a = answer(403, "", ""); // still nothing: then so be it
    assert_int_equal(judge(provider, &head, &a, &err).what, SDS_RENEW);
    assert_string_equal(err.check, "permission");

    a = answer(206, ETAG "Content-Range: bytes 0-0/77", "x");
    struct sds_verdict v = judge(provider, &head, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.told.size, 77);
    bool doubt = false;
    head.doubt = &doubt;
    a = answer(416, "", CODE("InvalidRange"));
    assert_int_equal(judge(provider, &head, &a, &err).what, SDS_AGAIN_NOW);
    request = prepare_as(&who, provider, &head);
    assert_string_equal(request.method, "GET");
    assert_string_equal(header(&request, "range"), "");
    sds_http_request_fini(&request);
    a = answer(200, ETAG "Content-Length: 0\n", "");
    v = judge(provider, &head, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.told.size, 0);
    sds_provider_free(provider);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(urls, clean, end),
        cmocka_unit_test_setup_teardown(environment, clean, end),
        cmocka_unit_test_setup_teardown(reads_are_signed_with_all_that_they_say, clean, end),
        cmocka_unit_test_setup_teardown(anonymous_requests_have_no_signature, clean, end),
        cmocka_unit_test_setup_teardown(writes_are_conditional, clean, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_asked, clean, end),
        cmocka_unit_test_setup_teardown(roots, clean, end),
        cmocka_unit_test_setup_teardown(good_answers, clean, end),
        cmocka_unit_test_setup_teardown(bad_answers, clean, end),
        cmocka_unit_test_setup_teardown(nothing_at_the_beginning_is_looked_at_again, clean, end),
        cmocka_unit_test_setup_teardown(refusals, clean, end),
        cmocka_unit_test_setup_teardown(pauses_as_the_server_asks, clean, end),
        cmocka_unit_test_setup_teardown(failures_of_the_transport, clean, end),
        cmocka_unit_test_setup_teardown(regions_are_learned, clean, end),
        cmocka_unit_test_setup_teardown(clocks_are_learned, clean, end),
        cmocka_unit_test_setup_teardown(a_head_that_does_not_say_why_is_asked_again_by_get, clean,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
