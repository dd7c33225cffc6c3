// SPDX-License-Identifier: Apache-2.0
// The heads of HTTP answers: whatever the lines are, what is known of them holds together, and the
// same lines again change nothing.
#include <ctype.h>
#include <stdlib.h>

#include "remote/http/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

static void read_lines(struct sds_http_head *head, const uint8_t *data, size_t size) {
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end != NULL ? (size_t)(end - data) + 1 : size;
        uint8_t *line = malloc(len); // of its own, so that reading past its end is seen
        CHECK(line != NULL);
        memcpy(line, data, len);
        sds_http_head_line(head, sds_span(line, len));
        free(line);
        data += len;
        size -= len;
    }
}

static void check_text(const char *text, size_t size) {
    CHECK(strnlen(text, size) < size);
    for (const char *c = text; *c != '\0'; c++) {
        CHECK(*c > ' ' && *c <= '~');
    }
}

static void check_etag(const struct sds_http_head *head) {
    size_t len = strlen(head->etag);
    check_text(head->etag, sizeof head->etag);
    CHECK(!head->etag_bad || len == 0);
    CHECK(!head->weak_etag || len > 0);
    if (len > 0) {
        CHECK(len >= 2 && head->etag[0] == '"' &&
              strchr(head->etag + 1, '"') == head->etag + len - 1);
    }
}

static void check_numbers(const struct sds_http_head *head) {
    CHECK(!(head->has_length && head->length_bad) && head->length <= INT64_MAX);
    CHECK(!head->range_bad || (!head->has_range && !head->total_known));
    CHECK(!head->has_range || (head->first <= head->last && head->last <= INT64_MAX));
    CHECK(!head->has_range || !head->total_known || head->last < head->total);
    CHECK(head->has_uploaded == (head->uploaded > 0));
    CHECK(head->retry_after_ms <= SDS_HTTP_RETRY_AFTER_MAX_MS);
    CHECK(head->has_retry_after || head->retry_after_ms == 0);
    CHECK(head->has_generation || head->generation == 0);
    CHECK(head->has_crc32c || head->crc32c == 0);
    CHECK(head->has_modified || head->modified == 0);
}

static bool same(const struct sds_http_head *a, const struct sds_http_head *b) {
    return a->has_length == b->has_length && a->length_bad == b->length_bad &&
           a->has_range == b->has_range && a->total_known == b->total_known &&
           a->range_bad == b->range_bad && a->first == b->first && a->last == b->last &&
           a->total == b->total && strcmp(a->etag, b->etag) == 0 && a->weak_etag == b->weak_etag &&
           a->etag_bad == b->etag_bad && a->encoded == b->encoded &&
           strcmp(a->location, b->location) == 0 && strcmp(a->region, b->region) == 0 &&
           a->has_modified == b->has_modified && a->modified == b->modified &&
           a->has_generation == b->has_generation && a->has_crc32c == b->has_crc32c &&
           a->crc32c == b->crc32c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sds_http_head head = {0}, again;
    read_lines(&head, data, size);
    check_etag(&head);
    check_text(head.location, sizeof head.location);
    check_text(head.region, sizeof head.region);
    check_text(head.request_id, sizeof head.request_id);
    check_numbers(&head);
    again = head;
    read_lines(&again, data, size);
    CHECK(same(&head, &again));
    return 0;
}
