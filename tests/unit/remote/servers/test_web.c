// SPDX-License-Identifier: Apache-2.0
//
// What a plain HTTP server is asked, and what is made of its answers.
#include "unit.h"

#include "answers.h"

static struct sds_provider *web(void) {
    return new_provider("https://host:8443/a%20b/x.sds/", &(struct sds_remote_options){0});
}

static void requests(void **state) {
    (void)state;
    struct sds_provider *provider = NULL;
    char *prefix = NULL, *shown = NULL;
    assert_int_equal(sds_provider_new("https://host:8443/a%20b/x.sds/",
                                      &(struct sds_remote_options){0}, &provider, &prefix, &shown,
                                      NULL),
                     SDS_OK);
    assert_string_equal(prefix, "a b/x.sds");
    assert_string_equal(shown, "https://host:8443/a%20b/x.sds");
    assert_string_equal(provider->origin, "https://host:8443");
    assert_false(provider->ops->can_write);
    struct sds_operation op = operation(SDS_GET, "a b/x.sds/c?d#e%f;g=h");
    op.bucket = provider->target.bucket;
    struct sds_http_request request = prepare_as(NULL, provider, &op);
    assert_string_equal(request.url, "https://host:8443/a%20b/x.sds/c%3Fd%23e%25f;g=h");
    assert_string_equal(header(&request, "range"), "bytes=0-9");
    sds_http_request_fini(&request);
    op.key = "/a//./../b";
    request = prepare_as(NULL, provider, &op);
    assert_string_equal(request.url, "https://host:8443//a//./../b");
    sds_http_request_fini(&request);
    free(prefix);
    free(shown);

    strcpy(op.tag.etag, "=abc");
    request = prepare_as(NULL, provider, &op);
    assert_string_equal(header(&request, "if-match"), "\"abc\"");
    sds_http_request_fini(&request);
    strcpy(op.tag.etag, "~1796083200:12");
    request = prepare_as(NULL, provider, &op);
    assert_string_equal(header(&request, "if-unmodified-since"), "Tue, 01 Dec 2026 00:00:00 GMT");
    sds_http_request_fini(&request);
    strcpy(op.tag.etag, "~0:12");
    request = prepare_as(NULL, provider, &op);
    assert_string_equal(header(&request, "if-unmodified-since"), "");
    sds_http_request_fini(&request);

    op = operation(SDS_CREATE, "k");
    struct sds_err err = {0};
    assert_int_equal(provider->ops->prepare(provider, &op, NULL, NOW, &request, &err),
                     SDS_ERR_UNSUPPORTED);
    assert_string_equal(err.check, "conditional_writes");
    sds_upload_fini(&upload);
    sds_provider_free(provider);
}

static void versions(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"ETag: \"abc\"\n", "=abc"},
        {"ETag: W/\"abc\"\nLast-Modified: Tue, 01 Dec 2026 00:00:00 GMT\n", "~1796083200:100"},
        {"Last-Modified: Tue, 01 Dec 2026 00:00:00 GMT\n", "~1796083200:100"},
        {"", "~0:100"},
        {"ETag: \"\"\n", "~0:100"},
    };
    struct sds_provider *provider = web();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char head[256];
        snprintf(head, sizeof head, "%sContent-Range: bytes 0-9/100\n", cases[i][0]);
        struct sds_operation op = operation(SDS_GET, "k");
        struct sds_http_answer a = answer(206, head, "0123456789");
        struct sds_err err;
        struct sds_verdict v = judge(provider, &op, &a, &err);
        assert_int_equal(v.what, SDS_DONE);
        assert_string_equal(v.told.tag.etag, cases[i][1]);
        snprintf(head, sizeof head, "%sContent-Length: 100\n", cases[i][0]);
        op = operation(SDS_HEAD, "k");
        op.tag = v.told.tag;
        a = answer(200, head, "");
        v = judge(provider, &op, &a, &err);
        assert_int_equal(v.what, SDS_DONE);
        assert_int_equal(v.told.size, 100);
    }
    sds_provider_free(provider);
}

static void answers(void **state) {
    (void)state;
    struct sds_provider *provider = web();
    const enum sds_kind storage = SDS_ERR_STORAGE;
    struct sds_operation get = operation(SDS_GET, "k");
    struct sds_operation later = get, known = get, dated = get;
    later.off = 10;
    strcpy(known.tag.etag, "=abc");
    strcpy(dated.tag.etag, "~1796083200:100");
    const char *ten = "0123456789";
    const struct judged cases[] = {
        {get, 200, "Content-Length: 100", ten, SDS_AGAIN, storage, "range", NULL},
        {later, 200, "Content-Length: 10", ten, SDS_FAILED, SDS_ERR_UNSUPPORTED, "ranges", NULL},
        {get, 200, "Content-Length: 11", "0123456789a", SDS_FAILED, SDS_ERR_UNSUPPORTED, "ranges",
         NULL},
        {get, 206, "Content-Type: multipart/byteranges; boundary=x", ten, SDS_AGAIN, storage,
         "range", NULL},
        {known, 206, "ETag: \"xyz\"\nContent-Range: bytes 0-9/100", ten, SDS_FAILED, storage,
         "changed", NULL},
        {known, 206, "Content-Range: bytes 0-9/100", ten, SDS_FAILED, storage, "changed", NULL},
        {dated, 206, "Last-Modified: Tue, 01 Dec 2026 00:00:01 GMT\nContent-Range: bytes 0-9/100",
         ten, SDS_FAILED, storage, "changed", NULL},
        {dated, 206, "Last-Modified: Tue, 01 Dec 2026 00:00:00 GMT\nContent-Range: bytes 0-9/101",
         ten, SDS_FAILED, storage, "changed", NULL},
        {get, 412, "", "", SDS_FAILED, storage, "changed", NULL},
        {get, 416, "", "", SDS_FAILED, storage, "range", "beginning"},
        {later, 416, "Content-Range: bytes */5", "", SDS_FAILED, storage, "range", "5 bytes"},
        {get, 206, "Content-Encoding: gzip\nContent-Range: bytes 0-9/100", ten, SDS_FAILED,
         SDS_ERR_UNSUPPORTED, "encoding", NULL},
        {get, 404, "", "<html>", SDS_FAILED, SDS_ERR_NOT_FOUND, "absent", NULL},
        {get, 410, "", "", SDS_FAILED, SDS_ERR_NOT_FOUND, "absent", NULL},
        {get, 403, "", "", SDS_FAILED, SDS_ERR_DENIED, "permission", NULL},
        {get, 401, "", "", SDS_FAILED, SDS_ERR_DENIED, "permission", NULL},
        {get, 301, "Location: https://u:secret@x/y?secret", "", SDS_FAILED, storage, "redirect",
         "https://***@x/y?***"},
        {get, 302, "", "", SDS_FAILED, storage, "redirect", NULL},
        {get, 503, "Retry-After: 1", "", SDS_AGAIN, storage, "answer", NULL},
        {get, 501, "", "", SDS_FAILED, storage, "answer", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_judged(provider, &cases[i]);
    }
    struct sds_http_answer a = answer(200, "Content-Length: 100", "");
    a.failure = SDS_HTTP_TOO_LONG;
    struct sds_err err;
    assert_int_equal(judge(provider, &get, &a, &err).what, SDS_FAILED);
    assert_string_equal(err.check, "ranges");
    a = answer(416, "Content-Range: bytes */0", "");
    struct sds_verdict v = judge(provider, &get, &a, &err);
    assert_int_equal(v.what, SDS_DONE);
    assert_string_equal(v.told.tag.etag, "~0:0");
    sds_provider_free(provider);
}

// By GET of one byte, from then on.
static void sizes_where_head_does_not_tell(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *head;
    } mute[] = {
        {405, ""},
        {403, ""},
        {501, ""},
        {200, ""},
        {200, "Content-Encoding: gzip\nContent-Length: 5"},
    };
    struct sds_operation head = operation(SDS_HEAD, "k");
    struct sds_err err;
    for (size_t i = 0; i < sizeof mute / sizeof mute[0]; i++) {
        struct sds_provider *provider = web();
        struct sds_http_request request = prepare_as(NULL, provider, &head);
        assert_string_equal(request.method, "HEAD");
        sds_http_request_fini(&request);
        struct sds_http_answer a = answer(mute[i].status, mute[i].head, "");
        assert_int_equal(judge(provider, &head, &a, &err).what, SDS_AGAIN_NOW);
        a = answer(405, "", ""); // of another one that was on its way
        assert_int_equal(judge(provider, &head, &a, &err).what, SDS_AGAIN_NOW);
        request = prepare_as(NULL, provider, &head);
        assert_string_equal(request.method, "GET");
        assert_string_equal(header(&request, "range"), "bytes=0-0");
        sds_http_request_fini(&request);
        a = answer(206, "ETag: \"abc\"\nContent-Range: bytes 0-0/77", "x");
        struct sds_verdict v = judge(provider, &head, &a, &err);
        assert_int_equal(v.what, SDS_DONE);
        assert_int_equal(v.told.size, 77);
        assert_string_equal(v.told.tag.etag, "=abc");
        assert_int_equal(v.received, 0);
        a = answer(403, "", "no");
        assert_int_equal(judge(provider, &head, &a, &err).what, SDS_FAILED);
        assert_string_equal(err.check, "permission");
        sds_provider_free(provider);
    }
}

static void tags_that_tell_versions(void **state) {
    (void)state;
    static const struct {
        struct sds_tag tag;
        bool version;
    } cases[] = {
        {{""}, false},    {{"~0:12"}, false}, {{"~1796083200:12"}, true},
        {{"=abc"}, true}, {{"0"}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sds_tag_is_version(&cases[i].tag), cases[i].version);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(versions),
        cmocka_unit_test(answers),
        cmocka_unit_test(sizes_where_head_does_not_tell),
        cmocka_unit_test(tags_that_tell_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
