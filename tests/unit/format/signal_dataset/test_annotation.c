// SPDX-License-Identifier: Apache-2.0
// Annotation rows: the kept carriers with the reference's verdicts, each refusal with its check,
// and annotation.json.
#include "record_cases.h"

// The carriers whose annotation is not written as json.dumps would write it; tokens stay as they
// are.
static bool written_freely(const struct record_case *c) {
    return strcmp(c->label, "carriers: keys escaped") == 0;
}

static void check_case(struct record_case *c) {
    struct sds_annotation row;
    struct sds_err err = {0};
    enum sds_kind kind = sds_annotation_decode(c->payload, &row, &err);
    check_verdict(c, kind, &err);
    if (kind != SDS_OK) {
        return;
    }
    check_fields(c, &row.carrier);
    struct sds_buf text = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_annotation_render(&row, &text), SDS_OK);
    char digest[SDS_SHA256_HEX];
    sds_sha256_hex(sds_buf_span(&text), digest);
    if (strcmp(digest, c->rendered) != 0 && !written_freely(c)) {
        fail_msg("%s: %.*s", c->label, (int)text.len, (const char *)text.at);
    }
    sds_buf_fini(&text);
    sds_annotation_fini(&row);
}

static void test_as_reference(void **state) {
    (void)state;
    assert_true(each_case('a', check_case) >= 60);
}

#define CARRIER(annotation) DESCRIPTOR(F1, ",\"metadata\":{\"annotation\":" annotation "}")

static enum sds_kind decode(const char *descriptor, struct sds_span *payload,
                            struct sds_annotation *out, struct sds_err *err) {
    *payload = record_of("[1]", 1, sds_span_str(descriptor));
    return sds_annotation_decode(*payload, out, err);
}

static void expect_text(const struct sds_annotation *row, const char *expected) {
    struct sds_buf text = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_annotation_render(row, &text), SDS_OK);
    assert_int_equal(sds_buf_add(&text, "", 1), SDS_OK);
    assert_string_equal((const char *)text.at, expected);
    sds_buf_fini(&text);
}

static void test_render(void **state) {
    (void)state;
    struct sds_span payload;
    struct sds_annotation row;
    struct sds_err err;
    assert_int_equal(
        decode(CARRIER("{\"provenance\":{\"by\":[\"\\u0061\",{}]},\"values\":{\"z\":1e0,\"a\":{"
                       "\"b\":-0.0}},"
                       "\"detail_status\":\"d\\n\",\"empty_fields\":false,\"status\":\"failed\","
                       "\"more\":0,\"source_index\":12}"),
               &payload, &row, &err),
        SDS_OK);
    assert_int_equal(row.source_index, 12);
    assert_int_equal(row.carrier.field_count, 1);
    assert_int_equal(sds_record_find(&row.carrier, sds_span_str("f")), 0);
    expect_text(&row, "{\n"
                      "  \"source_record_id\": \"r\",\n"
                      "  \"source_index\": 12,\n"
                      "  \"status\": \"failed\",\n"
                      "  \"values\": {\n"
                      "    \"z\": 1e0,\n"
                      "    \"a\": {\n"
                      "      \"b\": -0.0\n"
                      "    }\n"
                      "  },\n"
                      "  \"provenance\": {\n"
                      "    \"by\": [\n"
                      "      \"\\u0061\",\n"
                      "      {}\n"
                      "    ]\n"
                      "  },\n"
                      "  \"detail_status\": \"d\\n\"\n"
                      "}\n");
    sds_annotation_fini(&row);
    payload_free(payload);
}

static void test_render_absent(void **state) {
    (void)state;
    struct sds_span payload;
    struct sds_annotation row;
    struct sds_err err;
    assert_int_equal(
        decode(CARRIER("{\"source_index\":0,\"status\":\"skipped\",\"empty_fields\":true}"),
               &payload, &row, &err),
        SDS_OK);
    assert_int_equal(row.carrier.field_count, 0);
    assert_int_equal(sds_record_find(&row.carrier, sds_span_str("f")), -1);
    static const char expected[] = "{\n"
                                   "  \"source_record_id\": \"r\",\n"
                                   "  \"source_index\": 0,\n"
                                   "  \"status\": \"skipped\",\n"
                                   "  \"values\": {},\n"
                                   "  \"provenance\": {},\n"
                                   "  \"detail_status\": null\n"
                                   "}\n";
    expect_text(&row, expected);
    for (size_t max = 0; max < strlen(expected); max++) {
        struct sds_buf small = SDS_BUF_INIT(max);
        assert_int_equal(sds_annotation_render(&row, &small), SDS_ERR_LIMIT);
        sds_buf_fini(&small);
    }
    sds_annotation_fini(&row);
    payload_free(payload);
}

#define GOOD(more)                                                                                 \
    CARRIER("{\"source_index\":1,\"status\":\"success\",\"empty_fields\":false" more "}")
#define INDEX(value)                                                                               \
    CARRIER("{\"source_index\":" value ",\"status\":\"success\",\"empty_fields\":false}")
#define STATUS(value) CARRIER("{\"source_index\":1,\"status\":" value ",\"empty_fields\":false}")
#define EMPTY(value)                                                                               \
    CARRIER("{\"source_index\":1,\"status\":\"success\",\"empty_fields\":" value "}")

static const struct {
    const char *descriptor, *check;
} refusals[] = {
    {DESCRIPTOR(F1, ",\"metadata\":[1]"), "metadata"}, // not even a record
    {DESCRIPTOR(F1, ""), "annotation"},
    {DESCRIPTOR(F1, ",\"metadata\":0"), "annotation"},
    {DESCRIPTOR(F1, ",\"metadata\":{\"annotations\":{}}"), "annotation"},
    {CARRIER("null"), "annotation"},
    {CARRIER("[]"), "annotation"},
    {CARRIER("{}"), "source_index"},
    {INDEX("null"), "source_index"},
    {INDEX("true"), "source_index"},
    {INDEX("-1"), "source_index"},
    {INDEX("1.0"), "source_index"},
    {INDEX("\"1\""), "source_index"},
    {INDEX("18446744073709551616"), "source_index"},
    {CARRIER("{\"source_index\":1,\"empty_fields\":false}"), "status"},
    {STATUS("null"), "status"},
    {STATUS("\"Success\""), "status"},
    {STATUS("\"\""), "status"},
    {GOOD(",\"values\":null"), "values"},
    {GOOD(",\"values\":[]"), "values"},
    {GOOD(",\"provenance\":null"), "provenance"},
    {GOOD(",\"provenance\":\"x\""), "provenance"},
    {GOOD(",\"detail_status\":\"\""), "detail_status"},
    {GOOD(",\"detail_status\":0"), "detail_status"},
    {CARRIER("{\"source_index\":1,\"status\":\"success\"}"), "empty_fields"},
    {EMPTY("null"), "empty_fields"},
    {EMPTY("0"), "empty_fields"},
    {EMPTY("\"true\""), "empty_fields"},
};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct sds_span payload;
        struct sds_annotation row;
        struct sds_err err = {.check = "nothing"};
        enum sds_kind kind = decode(refusals[i].descriptor, &payload, &row, &err);
        if (kind != SDS_ERR_CORRUPT || strcmp(err.check, refusals[i].check) != 0) {
            fail_msg("%s: %s, %s: %s", refusals[i].descriptor, sds_kind_name(kind), err.check,
                     err.message);
        }
        payload_free(payload);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_reference),
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_render_absent),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
