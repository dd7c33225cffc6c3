// SPDX-License-Identifier: Apache-2.0
//
// What Google Cloud Storage is asked, and what is made of its answers.
#include "unit.h"

#include "answers.h"
#include "remote/credentials/credentials.h"

static struct sds_credential who = {.token = "bearer"};

static int clean(void **state) {
    (void)state;
    forget_environment();
    return 0;
}

static int end(void **state) {
    (void)state;
    sds_upload_fini(&upload);
    return 0;
}

static struct sds_provider *google(void) {
    return new_provider("gs://b/x", &(struct sds_remote_options){0});
}

static struct sds_provider *stand_in(void) {
    return new_provider("gs://b/x", &(struct sds_remote_options){.endpoint = "http://h:1"});
}

// --- requests

static void reads(void **state) {
    (void)state;
    struct sds_provider *provider = google();
    struct sds_operation op = operation(SDS_GET, "a/b c+d%~");
    struct sds_http_request request = prepare_as(&who, provider, &op);
    assert_string_equal(request.method, "GET");
    assert_string_equal(request.url, "https://storage.googleapis.com/download/storage/v1/b/bucket/"
                                     "o/a%2Fb%20c%2Bd%25~?alt=media");
    assert_string_equal(header(&request, "range"), "bytes=0-9");
    assert_string_equal(header(&request, "authorization"), "Bearer bearer");
    sds_http_request_fini(&request);

    strcpy(op.tag.etag, "17");
    request = prepare_as(&who, provider, &op);
    assert_non_null(strstr(request.url, "?alt=media&generation=17"));
    sds_http_request_fini(&request);
    op.pinned = true; // what the reference says counts
    op.generation = 0;
    request = prepare_as(&who, provider, &op);
    assert_non_null(strstr(request.url, "?alt=media&generation=0"));
    sds_http_request_fini(&request);

    op = operation(SDS_HEAD, "k");
    request = prepare_as(&who, provider, &op);
    assert_string_equal(request.url,
                        "https://storage.googleapis.com/storage/v1/b/bucket/o/k?projection=noAcl");
    sds_http_request_fini(&request);
    who.anonymous = true;
    request = prepare_as(&who, provider, &op);
    assert_string_equal(header(&request, "authorization"), "");
    sds_http_request_fini(&request);
    who.anonymous = false;
    sds_provider_free(provider);
}

static void stand_ins(void **state) {
    (void)state;
    setenv("STORAGE_EMULATOR_HOST", "localhost:9000", 1);
    setenv("GOOGLE_CLOUD_PROJECT", "project", 1);
    struct sds_provider *provider =
        new_provider("gs://b", &(struct sds_remote_options){.requester_pays = true});
    struct sds_operation op = operation(SDS_HEAD, "k");
    struct sds_http_request request = prepare_as(&who, provider, &op);
    assert_string_equal(request.url,
                        "http://localhost:9000/storage/v1/b/bucket/o/k?projection=noAcl");
    assert_string_equal(provider->origin, "http://localhost:9000");
    sds_http_request_fini(&request);
    static const enum sds_action all[] = {SDS_GET, SDS_HEAD, SDS_CREATE, SDS_SWAP};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        op = operation(all[i], "k");
        request = prepare_as(&who, provider, &op);
        assert_string_equal(header(&request, "x-goog-user-project"), "project");
        sds_http_request_fini(&request);
    }
    sds_provider_free(provider);
}

static void multipart(void **state) {
    (void)state;
    struct sds_provider *provider = google();
    struct sds_operation op = operation(SDS_CREATE, "a/\"x\".json");
    struct sds_http_request request = prepare_as(&who, provider, &op);
    assert_string_equal(request.method, "POST");
    assert_string_equal(request.url, "https://storage.googleapis.com/upload/storage/v1/b/bucket/"
                                     "o?uploadType=multipart&ifGenerationMatch=0");
    assert_string_equal(header(&request, "content-type"),
                        "multipart/related; boundary=sds-2cf24dba5fb0a30e26e83b2ac5b9e29e");
    assert_string_equal(
        (const char *)request.prefix.at,
        "--sds-2cf24dba5fb0a30e26e83b2ac5b9e29e\r\n"
        "Content-Type: application/json; charset=UTF-8\r\n\r\n"
        "{\"name\":\"a/\\\"x\\\".json\",\"crc32c\":\"mnG7TA==\",\"contentType\":\"application/"
        "json\"}"
        "\r\n--sds-2cf24dba5fb0a30e26e83b2ac5b9e29e\r\n"
        "Content-Type: application/json\r\n\r\n");
    assert_string_equal((const char *)request.suffix.at,
                        "\r\n--sds-2cf24dba5fb0a30e26e83b2ac5b9e29e--\r\n");
    assert_ptr_equal(request.body, &content);
    sds_http_request_fini(&request);

    op = operation(SDS_SWAP, "k");
    request = prepare_as(&who, provider, &op);
    assert_non_null(strstr(request.url, "&ifGenerationMatch=0"));
    sds_http_request_fini(&request);
    strcpy(op.tag.etag, "17");
    request = prepare_as(&who, provider, &op);
    assert_non_null(strstr(request.url, "&ifGenerationMatch=17"));
    sds_http_request_fini(&request);

    op = operation(SDS_CREATE, "a\xff"); // JSON is UTF-8
    struct sds_err err = {0};
    assert_int_equal(provider->ops->prepare(provider, &op, &who, NOW, &request, &err),
                     SDS_ERR_INVALID);
    sds_provider_free(provider);
}

// --- answers

#define METADATA(name, generation)                                                                 \
    "{\"name\":\"" name "\",\"size\":\"12\",\"generation\":\"" generation                          \
    "\",\"crc32c\":\"czFm2A==\",\"updated\":\"2026-12-01T00:00:00.245Z\"}"
#define GENERATION "X-Goog-Generation: 17\n"

static struct sds_operation seen(enum sds_action action) {
    struct sds_operation out = operation(action, "k");
    strcpy(out.tag.etag, "17");
    return out;
}

static void good_answers(void **state) {
    (void)state;
    struct sds_provider *provider = google();
    struct sds_err err;
    struct sds_operation op = seen(SDS_GET);
    struct sds_http_answer a =
        answer(206, GENERATION "Content-Range: bytes 0-9/12\nX-Goog-Hash: crc32c=czFm2A==\n",
               "0123456789");
    struct sds_verdict v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_string_equal(v.told.tag.etag, "17");
    assert_true(v.told.has_crc);
    assert_int_equal(v.told.crc32c, 0x733166d8);
    assert_int_equal(v.told.size, 12);

    op = operation(SDS_HEAD, "k");
    a = answer(200, "", METADATA("k", "18"));
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.told.size, 12);
    assert_string_equal(v.told.tag.etag, "18");
    assert_int_equal(v.told.crc32c, 0x733166d8);
    assert_int_equal(v.told.modified, NOW);

    op = operation(SDS_CREATE, "k");
    a = answer(200, "", METADATA("k", "19"));
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_string_equal(v.told.tag.etag, "19");

    op = operation(SDS_GET, "k");
    a = answer(416, GENERATION "Content-Range: bytes */0\n", "");
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_int_equal(v.told.size, 0);
    assert_string_equal(v.told.tag.etag, "17");
    sds_provider_free(provider);
}

#define REASON(reason) "{\"error\":{\"message\":\"m\",\"errors\":[{\"reason\":\"" reason "\"}]}}"

static void other_answers(void **state) {
    (void)state;
    struct sds_provider *provider = google();
    const enum sds_kind storage = SDS_ERR_STORAGE;
    struct sds_operation get = operation(SDS_GET, "k"), head = operation(SDS_HEAD, "k");
    struct sds_operation known = seen(SDS_GET), pinned = get;
    pinned.pinned = true;
    pinned.generation = 5;
    struct sds_operation create = operation(SDS_CREATE, "k"), swap = seen(SDS_SWAP);
    const char *ten = "0123456789";
    const struct judged cases[] = {
        {get, 404, "", "Not Found", SDS_FAILED, SDS_ERR_NOT_FOUND, "absent", NULL},
        {get, 404, "", "{\"error\":{\"message\":\"The specified bucket does not exist.\"}}",
         SDS_FAILED, storage, "bucket", "there is no bucket"},
        {get, 404, "", "The specified bucket does not exist.", SDS_FAILED, storage, "bucket",
         "there is no bucket"},
        {get, 404, "",
         "{\"error\":{\"message\":\"No such object: b/The specified bucket does not exist.\"}}",
         SDS_FAILED, SDS_ERR_NOT_FOUND, "absent", NULL},
        {pinned, 404, "", "", SDS_FAILED, SDS_ERR_NOT_FOUND, "absent", "generation"},
        {known, 404, "", "", SDS_FAILED, storage, "changed", NULL},
        {swap, 404, "", "", SDS_FAILED, SDS_ERR_CONFLICT, "changed", NULL},
        {create, 404, "", "", SDS_FAILED, SDS_ERR_NOT_FOUND, "absent", NULL},
        {get, 401, "", REASON("authError"), SDS_RENEW, SDS_ERR_DENIED, "credentials", "authError"},
        {get, 403, "", REASON("forbidden"), SDS_FAILED, SDS_ERR_DENIED, "permission",
         "403 forbidden: \"m\""},
        {get, 403, "", REASON("userRateLimitExceeded"), SDS_AGAIN, storage, "answer", NULL},
        {create, 412, "", REASON("conditionNotMet"), SDS_FAILED, SDS_ERR_CONFLICT, "exists", NULL},
        {create, 409, "", "", SDS_FAILED, SDS_ERR_CONFLICT, "exists", NULL},
        {swap, 412, "", "", SDS_FAILED, SDS_ERR_CONFLICT, "changed", NULL},
        {get, 412, "", "", SDS_FAILED, storage, "changed", NULL},
        {create, 501, "", "", SDS_FAILED, SDS_ERR_UNSUPPORTED, "conditional_writes", NULL},
        {get, 408, "", "", SDS_AGAIN, storage, "answer", NULL},
        {get, 429, "", "", SDS_AGAIN, storage, "answer", NULL},
        {get, 503, "", REASON("backendError"), SDS_AGAIN, storage, "answer", "backendError"},
        {get, 400, "", "[", SDS_FAILED, storage, "answer", "400"},
        {get, 302, "Location: http://x/", "", SDS_FAILED, storage, "redirect", NULL},
        {known, 206, "X-Goog-Generation: 18\nContent-Range: bytes 0-9/12", ten, SDS_FAILED, storage,
         "changed", NULL},
        {pinned, 206, "X-Goog-Generation: 18\nContent-Range: bytes 0-9/12", ten, SDS_FAILED,
         storage, "changed", NULL},
        {get, 206, "Content-Range: bytes 0-9/12", ten, SDS_AGAIN, storage, "answer", NULL},
        {get, 206, GENERATION "Content-Range: bytes 1-10/12", ten, SDS_AGAIN, storage, "range",
         NULL},
        {get, 200, GENERATION "Content-Encoding: gzip\nContent-Length: 10", ten, SDS_FAILED,
         SDS_ERR_UNSUPPORTED, "encoding", NULL},
        {head, 200, "", "", SDS_AGAIN, storage, "answer", NULL},
        {head, 200, "", "[1]", SDS_AGAIN, storage, "answer", NULL},
        {head, 200, "", METADATA("other", "17"), SDS_AGAIN, storage, "answer", NULL},
        {head, 200, "", METADATA("k", "-1"), SDS_AGAIN, storage, "answer", NULL},
        {head, 200, "", METADATA("k", "18446744073709551616"), SDS_AGAIN, storage, "answer", NULL},
        {head, 206, "", METADATA("k", "17"), SDS_FAILED, storage, "answer", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_judged(provider, &cases[i]);
    }
    sds_provider_free(provider);
}

// --- uploads in several requests

static struct sds_span large = {.len = 9u << 20};

static struct sds_operation large_operation(void) {
    struct sds_operation op = operation(SDS_CREATE, "k");
    content = sds_content_of(&large);
    assert_int_equal(sds_operation_content(&op, &content, NULL), SDS_OK);
    return op;
}

#define SESSION "https://storage.googleapis.com/upload/storage/v1/b/bucket/o?upload_id=x"

static void expect_rest(struct sds_provider *provider, const struct sds_operation *op,
                        const char *range, uint64_t len) {
    struct sds_http_request request = prepare_as(&who, provider, op);
    assert_string_equal(request.method, "PUT");
    assert_string_equal(request.url, SESSION);
    assert_string_equal(header(&request, "content-range"), range);
    assert_int_equal(request.body == NULL ? 0 : request.body->size, len);
    if (len > 0) {
        uint8_t last;
        assert_int_equal(request.body->read_at(request.body->ctx, len - 1, &last, 1, NULL), SDS_OK);
        assert_int_equal(last, large.at[large.len - 1]);
    }
    sds_http_request_fini(&request);
}

static void expect_step(struct sds_provider *provider, const struct sds_operation *op, int status,
                        const char *head, enum sds_verdict_what what) {
    struct sds_http_answer a = answer(status, head, "");
    struct sds_err err;
    assert_int_equal(judge(provider, op, &a, &err).what, what);
    assert_int_equal(what == SDS_NEXT, err.kind == SDS_OK);
}

static void resumable(void **state) {
    (void)state;
    uint8_t *bytes = calloc(1, large.len);
    assert_non_null(bytes);
    bytes[large.len - 1] = 77;
    large.at = bytes;
    struct sds_provider *provider = google();
    struct sds_operation op = large_operation();
    struct sds_http_request request = prepare_as(&who, provider, &op);
    assert_non_null(strstr(request.url, "uploadType=resumable&ifGenerationMatch=0"));
    assert_string_equal(header(&request, "x-upload-content-length"), "9437184");
    assert_null(request.body);
    sds_http_request_fini(&request);
    expect_step(provider, &op, 200, "Location: " SESSION, SDS_NEXT);
    expect_rest(provider, &op, "bytes 0-9437183/9437184", 9437184);

    // It breaks off: how much is there?
    struct sds_http_answer broken = {.failure = SDS_HTTP_BROKEN};
    struct sds_err err;
    struct sds_verdict v = judge(provider, &op, &broken, &err);
    assert_int_equal(v.what, SDS_AGAIN);
    assert_true(v.written);
    expect_rest(provider, &op, "bytes */9437184", 0);
    expect_step(provider, &op, 308, "Range: bytes=0-8388607", SDS_NEXT);
    expect_rest(provider, &op, "bytes 8388608-9437183/9437184", 1048576);
    expect_step(provider, &op, 503, "", SDS_AGAIN);
    expect_rest(provider, &op, "bytes */9437184", 0);
    expect_step(provider, &op, 308, "Range: bytes=0-8388607", SDS_NEXT);
    expect_step(provider, &op, 308, "Range: bytes=0-8388607", SDS_AGAIN); // no further
    expect_step(provider, &op, 308, "Range: bytes=0-9437184", SDS_FAILED);
    expect_step(provider, &op, 412, "", SDS_FAILED);

    // The session is gone: from the beginning.
    expect_step(provider, &op, 410, "", SDS_AGAIN);
    request = prepare_as(&who, provider, &op);
    assert_non_null(strstr(request.url, "uploadType=resumable"));
    sds_http_request_fini(&request);
    expect_step(provider, &op, 200, "Location: https://storage.googleapis.com.evil/x", SDS_FAILED);
    expect_step(provider, &op, 200, "Location: http://storage.googleapis.com/x", SDS_FAILED);
    expect_step(provider, &op, 200, "", SDS_FAILED);
    expect_step(provider, &op, 200, "Location: " SESSION, SDS_NEXT);
    struct sds_http_answer a = answer(200, "", METADATA("k", "20"));
    v = judge(provider, &op, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_string_equal(v.told.tag.etag, "20");
    sds_provider_free(provider);

    // Others get it in one, when that is within reason, until they say that this is too much.
    provider = stand_in();
    op = large_operation();
    content.size = (5ULL << 30) + 1;
    assert_int_equal(provider->ops->prepare(provider, &op, &who, NOW, &request, &err),
                     SDS_ERR_STORAGE);
    assert_string_equal(err.check, "size");
    content.size = large.len;
    request = prepare_as(&who, provider, &op);
    assert_non_null(strstr(request.url, "uploadType=multipart"));
    sds_http_request_fini(&request);
    expect_step(provider, &op, 413, "", SDS_AGAIN_NOW);
    request = prepare_as(&who, provider, &op);
    assert_non_null(strstr(request.url, "uploadType=resumable"));
    sds_http_request_fini(&request);
    sds_provider_free(provider);
    free(bytes);
}

static void whole_objects_have_a_checksum(void **state) {
    (void)state;
    struct sds_told told = {.has_crc = true, .crc32c = 0x9a71bb4c};
    struct sds_err err = {0};
    assert_int_equal(sds_told_matches(&told, stored, &err), SDS_OK);
    told.crc32c ^= 1;
    assert_int_equal(sds_told_matches(&told, stored, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "checksum");
    told.has_crc = false;
    assert_int_equal(sds_told_matches(&told, stored, &err), SDS_OK);
}

static enum sds_kind unreadable(void *ctx, uint64_t off, void *buf, size_t len,
                                struct sds_err *err) {
    (void)ctx, (void)off, (void)buf, (void)len;
    return sds_fail(err, SDS_ERR_STORAGE, "draft", "gone");
}

static void content_that_cannot_be_read(void **state) {
    (void)state;
    struct sds_content gone = {.read_at = unreadable, .size = 10};
    struct sds_operation op = {.action = SDS_CREATE};
    struct sds_err err = {0};
    assert_int_equal(sds_operation_content(&op, &gone, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "draft");
    assert_null(op.content);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads, clean, end),
        cmocka_unit_test_setup_teardown(stand_ins, clean, end),
        cmocka_unit_test_setup_teardown(multipart, clean, end),
        cmocka_unit_test_setup_teardown(good_answers, clean, end),
        cmocka_unit_test_setup_teardown(other_answers, clean, end),
        cmocka_unit_test_setup_teardown(resumable, clean, end),
        cmocka_unit_test(whole_objects_have_a_checksum),
        cmocka_unit_test(content_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
