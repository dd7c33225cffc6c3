// SPDX-License-Identifier: Apache-2.0
// Values written out again as they stand.
#include "json_cases.h"

static void assert_renders(const char *json, unsigned indent, const char *expected) {
    struct sds_json *doc = must_parse(sds_span_str(json));
    struct sds_buf buf = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_value_render(sds_json_top(doc), indent, &buf), SDS_OK);
    assert_int_equal(sds_buf_add(&buf, "", 1), SDS_OK);
    assert_string_equal((const char *)buf.at, expected);
    sds_buf_fini(&buf);
    sds_json_free(doc);
}

static void renders_scalars_as_written(void **state) {
    (void)state;
    static const char *const scalars[] = {"null",   "true", "false",       "-0",
                                          "1.500",  "1E5",  "\"\\u0061\"", "\"\xC3\xA9\\/\"",
                                          "1e-999", "\"\""};
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        assert_renders(scalars[i], 0, scalars[i]);
        assert_renders(scalars[i], 5, scalars[i]);
    }
}

static void renders_empty_containers_short(void **state) {
    (void)state;
    assert_renders("[ \n ]", 0, "[]");
    assert_renders("{\t}", 3, "{}");
}

static void renders_one_member_a_line(void **state) {
    (void)state;
    assert_renders("{\"b\":[1,2.0,[ ],{}],\"\\u0061\" : {\"c\":null}}", 0,
                   "{\n"
                   "  \"b\": [\n"
                   "    1,\n"
                   "    2.0,\n"
                   "    [],\n"
                   "    {}\n"
                   "  ],\n"
                   "  \"\\u0061\": {\n"
                   "    \"c\": null\n"
                   "  }\n"
                   "}");
}

static void renders_below_an_indent(void **state) {
    (void)state;
    assert_renders("[[1]]", 2,
                   "[\n"
                   "      [\n"
                   "        1\n"
                   "      ]\n"
                   "    ]");
}

static void renders_a_value_inside_a_document(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{\"a\":1,\"b\":[true],\"c\":2}"));
    struct sds_buf buf = SDS_BUF_INIT(100);
    assert_int_equal(sds_value_render(sds_value_get(sds_json_top(doc), "b"), 0, &buf), SDS_OK);
    assert_true(sds_span_eq(sds_buf_span(&buf), sds_span_str("[\n  true\n]")));
    sds_buf_fini(&buf);
    sds_json_free(doc);
}

// Whatever step is the one that no longer fits.
static void reports_a_full_buffer(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{\"a\":[1,2],\"b\":{}}"));
    const size_t rendered = strlen("{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
    for (size_t max = 0; max <= rendered; max++) {
        struct sds_buf buf = SDS_BUF_INIT(max);
        assert_int_equal(sds_value_render(sds_json_top(doc), 0, &buf),
                         max < rendered ? SDS_ERR_LIMIT : SDS_OK);
        sds_buf_fini(&buf);
    }
    sds_json_free(doc);
}

static void renders_the_deepest_document(void **state) {
    (void)state;
    char text[257];
    memset(text, '[', 128);
    memset(text + 128, ']', 128);
    text[256] = '\0';
    struct sds_json *doc = must_parse(sds_span_str(text));
    struct sds_buf buf = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_value_render(sds_json_top(doc), 0, &buf), SDS_OK);
    struct sds_json *again = must_parse(sds_buf_span(&buf));
    bool equal = false;
    assert_int_equal(sds_value_equal(sds_json_top(doc), sds_json_top(again), &equal), SDS_OK);
    assert_true(equal);
    sds_json_free(again);
    sds_json_free(doc);
    sds_buf_fini(&buf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renders_scalars_as_written),
        cmocka_unit_test(renders_empty_containers_short),
        cmocka_unit_test(renders_one_member_a_line),
        cmocka_unit_test(renders_below_an_indent),
        cmocka_unit_test(renders_a_value_inside_a_document),
        cmocka_unit_test(reports_a_full_buffer),
        cmocka_unit_test(renders_the_deepest_document),
    };
    return cmocka_run_group_tests_name("json_render", tests, NULL, NULL);
}
