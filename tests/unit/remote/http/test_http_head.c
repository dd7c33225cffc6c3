// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <stdio.h>

#include "remote/http/http_head.h"

// Lines separated by '|'; the status line comes first by itself.
static struct sds_http_head parsed(const char *lines) {
    struct sds_http_head head;
    memset(&head, 0xee, sizeof head); // a status line forgets what was
    sds_http_head_line(&head, sds_span_str("HTTP/1.1 200 OK\r\n"));
    while (*lines != '\0') {
        size_t len = strcspn(lines, "|");
        sds_http_head_line(&head, sds_span(lines, len));
        lines += len + (lines[len] == '|');
    }
    return head;
}

static void lengths(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        bool has, bad;
        uint64_t length;
    } cases[] = {
        {"", false, false, 0},
        {"Content-Length: 0", true, false, 0},
        {"content-LENGTH:5\r\n", true, false, 5},
        {"Content-Length: \t 5 \t", true, false, 5},
        {"Content-Length: 9223372036854775807", true, false, INT64_MAX},
        {"Content-Length: 9223372036854775808", false, true, 0},
        {"Content-Length: 99999999999999999999999", false, true, 0},
        {"Content-Length: -1", false, true, 0},
        {"Content-Length: +1", false, true, 0},
        {"Content-Length: 0x10", false, true, 0},
        {"Content-Length:", false, true, 0},
        {"Content-Length: 5, 5", false, true, 0},
        {"Content-Length: 5|Content-Length: 5", true, false, 5},
        {"Content-Length: 5|Content-Length: 6", false, true, 0},
        {"Content-Length: x|Content-Length: 6", false, true, 0},
        {"Content-Length : 5", false, false, 0},
        {"X-Content-Length: 5", false, false, 0},
        {"Content-Length", false, false, 0},
        {"Content-Length: 5|HTTP/1.1 200 OK", false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_http_head head = parsed(cases[i].lines);
        if (head.has_length != cases[i].has || head.length_bad != cases[i].bad ||
            (head.has_length && head.length != cases[i].length)) {
            fail_msg("%s", cases[i].lines);
        }
    }
}

static void ranges(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        bool has, known, bad;
        uint64_t first, last, total;
    } cases[] = {
        {"Content-Range: bytes 0-0/1", true, true, false, 0, 0, 1},
        {"Content-Range: Bytes 3-7/100", true, true, false, 3, 7, 100},
        {"Content-Range: bytes 3-7/*", true, false, false, 3, 7, 0},
        {"Content-Range: bytes */100", false, true, false, 0, 0, 100},
        {"Content-Range: bytes */*", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 3-7", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 3-7/7", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 7-3/100", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 3-/100", false, false, true, 0, 0, 0},
        {"Content-Range: bytes -7/100", false, false, true, 0, 0, 0},
        {"Content-Range: bytes=3-7/100", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 3-7/100x", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 3 - 7/100", false, false, true, 0, 0, 0},
        {"Content-Range: items 3-7/100", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 0-9223372036854775806/9223372036854775807", true, true, false, 0,
         INT64_MAX - 1, INT64_MAX},
        {"Content-Range: bytes 0-18446744073709551615/*", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 3-7/100|Content-Range: bytes 3-7/100", true, true, false, 3, 7, 100},
        {"Content-Range: bytes 3-7/100|Content-Range: bytes 3-8/100", false, false, true, 0, 0, 0},
        {"Content-Range: bytes 3-7/100|Content-Range: bytes 3-7/*", false, false, true, 0, 0, 0},
        {"Content-Range: x|Content-Range: bytes 3-7/100", false, false, true, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_http_head head = parsed(cases[i].lines);
        if (head.has_range != cases[i].has || head.total_known != cases[i].known ||
            head.range_bad != cases[i].bad || head.first != cases[i].first ||
            head.last != cases[i].last || head.total != cases[i].total) {
            fail_msg("%s", cases[i].lines);
        }
    }
}

static void uploaded(void **state) {
    (void)state;
    struct sds_http_head head = parsed("Range: bytes=0-524287");
    assert_true(head.has_uploaded && head.uploaded == 524288);
    assert_false(parsed("Range: bytes=1-524287").has_uploaded);
    assert_false(parsed("Range: bytes=0-").has_uploaded);
    assert_false(parsed("Range: 0-7").has_uploaded);
    assert_false(parsed("").has_uploaded);
}

static void etags(void **state) {
    (void)state;
    static const struct {
        const char *lines, *etag;
        bool weak, bad;
    } cases[] = {
        {"", "", false, false},
        {"ETag: \"abc-12\"", "\"abc-12\"", false, false},
        {"ETag: W/\"abc\"", "\"abc\"", true, false},
        {"ETag: \"\"", "\"\"", false, false},
        {"ETag:", "", false, true},
        {"ETag: abc", "", false, true},
        {"ETag: \"abc", "", false, true},
        {"ETag: \"", "", false, true},
        {"ETag: w/\"abc\"", "", false, true},
        {"ETag: \"a b\"", "", false, true},
        {"ETag: \"a\"b\"", "", false, true},
        {"ETag: \"a\xff\"", "", false, true},
        {"ETag: \"a\x01\"", "", false, true},
        {"ETag: \"a\"|ETag: \"a\"", "\"a\"", false, false},
        {"ETag: \"a\"|ETag: \"b\"", "", false, true},
        {"ETag: \"a\"|ETag: W/\"a\"", "", false, true},
        {"ETag: \"a\"|ETag: \"b\"|ETag: \"a\"", "", false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_http_head head = parsed(cases[i].lines);
        if (strcmp(head.etag, cases[i].etag) != 0 || head.weak_etag != cases[i].weak ||
            head.etag_bad != cases[i].bad) {
            fail_msg("%s: %s", cases[i].lines, head.etag);
        }
    }
}

static void etag_fits_or_is_bad(void **state) {
    (void)state;
    char line[300];
    for (size_t len = 253; len <= 254; len++) { // with two quotes and a NUL: 256 and 257
        size_t n = (size_t)snprintf(line, sizeof line, "ETag: \"%0*d\"", (int)len, 1);
        struct sds_http_head head = {0};
        sds_http_head_line(&head, sds_span(line, n));
        assert_int_equal(strlen(head.etag), len == 253 ? 255 : 0);
        assert_int_equal(head.etag_bad, len == 254);
    }
}

static void texts(void **state) {
    (void)state;
    struct sds_http_head head =
        parsed("Location: https://a.example/b?c|x-amz-bucket-region: eu-west-3|"
               "X-Amz-Request-Id: 4442587FB7D0A2F9|Location: https://other.example/");
    assert_string_equal(head.location, "https://a.example/b?c"); // the first counts
    assert_string_equal(head.region, "eu-west-3");
    assert_string_equal(head.request_id, "4442587FB7D0A2F9");
    assert_string_equal(parsed("X-GUploader-UploadID: AAA").request_id, "AAA");
    assert_string_equal(parsed("Location: https://a.example/ b").location, "");
    assert_string_equal(parsed("x-amz-bucket-region: \x1b[31m").region, "");
    char line[100];
    int n = snprintf(line, sizeof line, "x-amz-bucket-region: %064d", 1);
    head = (struct sds_http_head){0};
    sds_http_head_line(&head, sds_span(line, (size_t)n));
    assert_string_equal(head.region, "");
    sds_http_head_line(&head, sds_span(line, (size_t)n - 1));
    assert_int_equal(strlen(head.region), 63);
}

static void flags(void **state) {
    (void)state;
    assert_false(parsed("").encoded);
    assert_false(parsed("Content-Encoding: Identity").encoded);
    assert_false(parsed("Content-Encoding:").encoded);
    assert_true(parsed("Content-Encoding: gzip").encoded);
    assert_true(parsed("Content-Encoding: gzip|Content-Encoding: identity").encoded);
    assert_true(parsed("Accept-Ranges: none").accept_ranges_none);
    assert_false(parsed("Accept-Ranges: bytes").accept_ranges_none);
}

#define NOON "Sun, 06 Nov 1994 12:00:00 GMT"
#define NOON_AND_9 "Sun, 06 Nov 1994 12:00:09 GMT"

static void retry_after(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        bool has;
        uint32_t ms;
    } cases[] = {
        {"", false, 0},
        {"Retry-After: 0", true, 0},
        {"Retry-After: 7", true, 7000},
        {"Retry-After: 3599", true, 3599000},
        {"Retry-After: 3601", true, SDS_HTTP_RETRY_AFTER_MAX_MS},
        {"Retry-After: 4294967296", true, SDS_HTTP_RETRY_AFTER_MAX_MS},
        {"Retry-After: -1", false, 0},
        {"Retry-After: soon", false, 0},
        {"Date: " NOON "|Retry-After: " NOON_AND_9, true, 9000},
        {"Retry-After: " NOON_AND_9 "|Date: " NOON, true, 9000},
        {"Date: " NOON_AND_9 "|Retry-After: " NOON, true, 0},
        {"Date: " NOON "|Retry-After: Sun, 06 Nov 2094 12:00:00 GMT", true,
         SDS_HTTP_RETRY_AFTER_MAX_MS},
        {"Retry-After: " NOON_AND_9, false, 0}, // against what clock?
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_http_head head = parsed(cases[i].lines);
        if (head.has_retry_after != cases[i].has || head.retry_after_ms != cases[i].ms) {
            fail_msg("%s: %u", cases[i].lines, head.retry_after_ms);
        }
    }
}

static void versions(void **state) {
    (void)state;
    struct sds_http_head head = parsed("Last-Modified: " NOON "|x-goog-generation: 17");
    assert_true(head.has_modified && head.modified == 784123200);
    assert_true(head.has_generation && head.generation == 17);
    assert_false(parsed("Last-Modified: yesterday").has_modified);
    assert_true(parsed("Last-Modified: " NOON "|Last-Modified: " NOON).has_modified);
    head = parsed("Last-Modified: " NOON "|Last-Modified: " NOON_AND_9 "|Last-Modified: " NOON);
    assert_false(head.has_modified);
    assert_false(parsed("Last-Modified: x|Last-Modified: " NOON).has_modified);
    assert_true(parsed("x-goog-generation: 0").has_generation);
    assert_false(parsed("x-goog-generation: 1x").has_generation);
    head = parsed("x-goog-generation: 1|x-goog-generation: 2|x-goog-generation: 1");
    assert_false(head.has_generation);
}

static void hashes(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        bool has;
        uint32_t crc;
    } cases[] = {
        {"", false, 0},
        {"x-goog-hash: crc32c=AAAAAA==", true, 0},
        {"x-goog-hash: crc32c=n03x6A==", true, 0x9f4df1e8},
        {"x-goog-hash: crc32c=/////w==", true, 0xffffffff},
        {"x-goog-hash: crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ==", true, 0x9f4df1e8},
        {"x-goog-hash: md5=Ojk9c3dhfxgoKVVHYwFbHQ==, crc32c=n03x6A==", true, 0x9f4df1e8},
        {"x-goog-hash: crc32c=n03x6A==|x-goog-hash: md5=Ojk9c3dhfxgoKVVHYwFbHQ==", true,
         0x9f4df1e8},
        {"x-goog-hash: crc32c=n03x6A==|x-goog-hash: crc32c=AAAAAA==", false, 0},
        {"x-goog-hash: md5=Ojk9c3dhfxgoKVVHYwFbHQ==", false, 0},
        {"x-goog-hash: crc32c=n03x6A=", false, 0},
        {"x-goog-hash: crc32c=n03x6A", false, 0},
        {"x-goog-hash: crc32c=n03x6B==", false, 0}, // bits that belong to nothing
        {"x-goog-hash: crc32c=n03x=A==", false, 0},
        {"x-goog-hash: ,,,", false, 0},
        {"x-goog-hash:", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_http_head head = parsed(cases[i].lines);
        if (head.has_crc32c != cases[i].has || head.crc32c != cases[i].crc) {
            fail_msg("%s: %08x", cases[i].lines, head.crc32c);
        }
    }
}

static void dates(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
    } good[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov  6 08:49:37 1994", 784111777},
        {"Wed Nov 16 08:49:37 1994", 784975777},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Thu, 29 Feb 2024 23:59:59 GMT", 1709251199},
        {"Tue, 19 Jan 2038 03:14:08 GMT", 2147483648},
        {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228799},
        {"Friday, 01-Jan-69 00:00:00 GMT", 3124224000},
    };
    static const char *const bad[] = {
        "",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Wed, 29 Feb 2023 00:00:00 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 anF 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov -994 08:49:37 GMT",
        ", 06 Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
        "784111777",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t seconds = -1;
        if (!sds_http_date_parse(sds_span_str(good[i].text), &seconds) ||
            seconds != good[i].seconds) {
            fail_msg("%s: %lld", good[i].text, (long long)seconds);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t seconds;
        if (sds_http_date_parse(sds_span_str(bad[i]), &seconds)) {
            fail_msg("%s: %lld", bad[i], (long long)seconds);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths),
        cmocka_unit_test(ranges),
        cmocka_unit_test(uploaded),
        cmocka_unit_test(etags),
        cmocka_unit_test(etag_fits_or_is_bad),
        cmocka_unit_test(texts),
        cmocka_unit_test(flags),
        cmocka_unit_test(retry_after),
        cmocka_unit_test(versions),
        cmocka_unit_test(hashes),
        cmocka_unit_test(dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
