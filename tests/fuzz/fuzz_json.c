// SPDX-License-Identifier: Apache-2.0
// The JSON reader: any bytes are a document or a refusal, and what can be said about a document
// holds together.
#include <math.h>
#include <stdlib.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

static const struct sds_json_limits limits = {.bytes = 1 << 20, .depth = 128, .nodes = 100000};

static void check_string(struct sds_value string) {
    struct sds_buf scratch = SDS_BUF_INIT(1 << 20);
    struct sds_span text;
    CHECK(sds_value_string(string, &scratch, &text) == SDS_OK);
    CHECK(text.len == sds_value_string_len(string));
    CHECK(sds_string_eq(string, string));
    sds_buf_fini(&scratch);
}

static void check_number(struct sds_value number) {
    uint64_t n;
    double value = sds_value_double(number);
    CHECK(!isnan(value));
    CHECK(!sds_value_u64(number, &n) || value == (double)n);
    CHECK(!sds_value_is_negative(number) || value < 0);
    CHECK(sds_value_type(number) != SDS_JSON_REAL ||
          sds_value_has_infinity(number) == (isinf(value) != 0));
    if (isfinite(value)) {
        char text[32];
        CHECK(sds_double_text(value, text) <= 24);
        CHECK(strtod(text, NULL) == value);
    }
}

static void check_value(struct sds_value v) {
    switch (sds_value_type(v)) {
    case SDS_JSON_STRING:
        check_string(v);
        break;
    case SDS_JSON_INTEGER:
    case SDS_JSON_REAL:
        check_number(v);
        break;
    default:
        break;
    }
    uint64_t count = 0;
    for (struct sds_iter it = sds_value_iter(v); sds_iter_next(&it); count++) {
        if (sds_value_there(it.key)) {
            check_string(it.key);
        }
        CHECK(!sds_value_has_surrogate(it.value) || sds_value_has_surrogate(v));
        check_value(it.value);
    }
    CHECK(count == sds_value_count(v));
}

// What is rendered reads as the same value, and renders the same again.
static void check_rendering(struct sds_value v) {
    struct sds_json_limits wide = limits;
    wide.bytes = 256UL << 20;
    struct sds_buf first = SDS_BUF_INIT(wide.bytes);
    struct sds_buf second = SDS_BUF_INIT(wide.bytes);
    sds_autojson struct sds_json *doc = NULL;
    bool equal = false;
    CHECK(sds_value_render(v, 0, &first) == SDS_OK);
    CHECK(sds_json_parse(sds_buf_span(&first), &wide, &doc, NULL) == SDS_OK);
    CHECK(sds_json_is_plain_utf8(doc));
    CHECK(sds_value_equal(v, sds_json_top(doc), &equal) == SDS_OK && equal);
    CHECK(sds_value_dumped_len(v) == sds_value_dumped_len(sds_json_top(doc)));
    CHECK(sds_value_has_surrogate(v) == sds_value_has_surrogate(sds_json_top(doc)));
    CHECK(sds_value_render(sds_json_top(doc), 0, &second) == SDS_OK);
    CHECK(sds_span_eq(sds_buf_span(&first), sds_buf_span(&second)));
    sds_buf_fini(&first);
    sds_buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sds_autojson struct sds_json *doc = NULL;
    struct sds_err err;
    enum sds_kind kind = sds_json_parse(sds_span(data, size), &limits, &doc, &err);
    if (kind != SDS_OK) {
        CHECK(doc == NULL && err.kind == kind && err.check[0] != '\0' && err.message[0] != '\0');
        return 0;
    }
    struct sds_value top = sds_json_top(doc);
    CHECK(sds_value_dumped_len(top) <= sds_value_dumped_bound(top));
    check_value(top);
    check_rendering(top);
    return 0;
}
