// SPDX-License-Identifier: Apache-2.0
// Strings of a document: unescaping, comparison, surrogates.
#include "json_cases.h"

static const struct {
    const char *json;
    const char *bytes;
    size_t len;
} unescaped[] = {
    {"\"\"", "", 0},
    {"\"plain\"", "plain", 5},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
    {"\"a\\u0000b\"", "a\0b", 3},
    {"\"\\u0041\\u00e9\\u20AC\"", "A\xC3\xA9\xE2\x82\xAC", 6},
    {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80", 4},
    {"\"\\udbff\\udfff\"", "\xF4\x8F\xBF\xBF", 4},
    {"\"x\\ud800\"", "x\xED\xA0\x80", 4},
    {"\"\\ude00\\ud83d\"", "\xED\xB8\x80\xED\xA0\xBD", 6},
    {"\"\\ud83d\\ud83d\\ude00\"", "\xED\xA0\xBD\xF0\x9F\x98\x80", 7},
    {"\"\\ud83d\xED\xB8\x80\"", "\xED\xA0\xBD\xED\xB8\x80", 6},      // not joined: one is no escape
    {"\"\xED\xA0\xBD\xED\xB8\x80\"", "\xED\xA0\xBD\xED\xB8\x80", 6}, // nor is either
    {"\"before\\tafter \xC3\xA9\"", "before\tafter \xC3\xA9", 15},
};
#define UNESCAPED (sizeof unescaped / sizeof unescaped[0])

static void unescapes(void **state) {
    (void)state;
    for (size_t i = 0; i < UNESCAPED; i++) {
        struct sds_json *doc = must_parse(sds_span_str(unescaped[i].json));
        struct sds_value string = sds_json_top(doc);
        struct sds_span expected = sds_span(unescaped[i].bytes, unescaped[i].len);
        struct sds_buf scratch = SDS_BUF_INIT(100);
        struct sds_buf appended = SDS_BUF_INIT(100);
        struct sds_span out;
        assert_int_equal(sds_value_string(string, &scratch, &out), SDS_OK);
        assert_true(sds_span_eq(out, expected));
        assert_int_equal(sds_buf_add_str(&appended, "<"), SDS_OK);
        assert_int_equal(sds_value_string_add(string, &appended), SDS_OK);
        assert_int_equal(appended.at[0], '<');
        assert_true(sds_span_eq(sds_span(appended.at + 1, appended.len - 1), expected));
        assert_int_equal(sds_value_string_len(string), expected.len);
        sds_buf_fini(&scratch);
        sds_buf_fini(&appended);
        sds_json_free(doc);
    }
}

static void compares_after_unescaping(void **state) {
    (void)state;
    for (size_t i = 0; i < UNESCAPED; i++) {
        for (size_t k = 0; k < UNESCAPED; k++) {
            struct sds_json *left = must_parse(sds_span_str(unescaped[i].json));
            struct sds_json *right = must_parse(sds_span_str(unescaped[k].json));
            bool equal = sds_span_eq(sds_span(unescaped[i].bytes, unescaped[i].len),
                                     sds_span(unescaped[k].bytes, unescaped[k].len));
            assert_int_equal(sds_string_eq(sds_json_top(left), sds_json_top(right)), equal);
            sds_json_free(left);
            sds_json_free(right);
        }
    }
}

static void points_into_the_text_without_escapes(void **state) {
    (void)state;
    static const char text[] = "[\"ab\",\"\\u0061b\"]";
    struct sds_json *doc = must_parse(BYTES(text));
    struct sds_buf scratch = SDS_BUF_INIT(100);
    struct sds_span out;
    struct sds_iter it = sds_value_iter(sds_json_top(doc));
    assert_true(sds_iter_next(&it));
    assert_int_equal(sds_value_string(it.value, &scratch, &out), SDS_OK);
    assert_ptr_equal(out.at, text + 2);
    assert_int_equal(scratch.len, 0);
    assert_true(sds_iter_next(&it));
    assert_int_equal(sds_value_string(it.value, &scratch, &out), SDS_OK);
    assert_ptr_equal(out.at, scratch.at);
    assert_int_equal(scratch.len, 2);
    sds_buf_fini(&scratch);
    sds_json_free(doc);
}

static void leaves_a_full_buffer_unchanged(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("\"123\\n5\""));
    struct sds_span out;
    struct sds_buf scratch = SDS_BUF_INIT(5);
    assert_int_equal(sds_value_string(sds_json_top(doc), &scratch, &out), SDS_OK);
    assert_int_equal(out.len, 5);
    assert_int_equal(sds_value_string(sds_json_top(doc), &scratch, &out), SDS_ERR_LIMIT);
    assert_int_equal(sds_value_string_add(sds_json_top(doc), &scratch), SDS_ERR_LIMIT);
    assert_int_equal(scratch.len, 5);
    sds_buf_fini(&scratch);
    sds_json_free(doc);
}

static void recognises_text(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *text;
        bool is;
    } cases[] = {
        {"\"abc\"", "abc", true},
        {"\"abc\"", "ab", false},
        {"\"ab\"", "abc", false},
        {"\"\"", "", true},
        {"\"\"", "a", false},
        {"\"\\u0061bc\"", "abc", true},
        {"\"\\u0061b\"", "abc", false},
        {"\"\\u0061bcd\"", "abc", false},
        {"\"a\\n\"", "a\n", true},
        {"\"a\\u0000\"", "a", false},
        {"\"\\u00e9\"", "\xC3\xA9", true},
        {"1", "1", false},
        {"null", "", false},
        {"[\"abc\"]", "abc", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = must_parse(sds_span_str(cases[i].json));
        assert_int_equal(sds_value_is(sds_json_top(doc), cases[i].text), cases[i].is);
        sds_json_free(doc);
    }
}

static void finds_lone_surrogates(void **state) {
    (void)state;
    static const struct {
        const char *json;
        bool has;
    } cases[] = {
        {"\"\\ud800\"", true},
        {"\"\\udfff\"", true},
        {"\"\xED\xA0\x80\"", true},
        {"\"\\ud83d\\ude00\"", false},
        {"\"\\uD7FF\\uE000\xED\x9F\xBF\xEE\x80\x80\"", false},
        {"\"\\ud83d\\ude00\\ude00\"", true},
        {"\"\\\\ud800\"", false},
        {"[1,[\"a\",\"\\ud800\"],2]", true},
        {"[1,[\"a\",{\"x\\udc00\":1}],2]", true},
        {"{\"a\":{\"b\":[[[\"\\udc00\"]]]}}", true},
        {"{\"\\ud83d\\ude00\":[\"\\u00e9\",1,null]}", false},
        {"[]", false},
        {"1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = must_parse(sds_span_str(cases[i].json));
        assert_int_equal(sds_value_has_surrogate(sds_json_top(doc)), cases[i].has);
        sds_json_free(doc);
    }
}

// A surrogate marks what contains it and nothing beside it.
static void marks_only_what_holds_the_surrogate(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{\"a\":[],\"b\":[\"\\ud800\"],\"c\":[\"d\"]}"));
    struct sds_value top = sds_json_top(doc);
    assert_true(sds_value_has_surrogate(top));
    assert_false(sds_value_has_surrogate(sds_value_get(top, "a")));
    assert_true(sds_value_has_surrogate(sds_value_get(top, "b")));
    assert_false(sds_value_has_surrogate(sds_value_get(top, "c")));
    sds_json_free(doc);
}

static void other_types_have_no_bytes(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("[123]"));
    struct sds_buf scratch = SDS_BUF_INIT(100);
    struct sds_span out;
    assert_int_equal(sds_value_string(sds_json_top(doc), &scratch, &out), SDS_OK);
    assert_int_equal(out.len, 0);
    assert_int_equal(sds_value_string_len(sds_json_top(doc)), 0);
    sds_json_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unescapes),
        cmocka_unit_test(compares_after_unescaping),
        cmocka_unit_test(points_into_the_text_without_escapes),
        cmocka_unit_test(leaves_a_full_buffer_unchanged),
        cmocka_unit_test(recognises_text),
        cmocka_unit_test(finds_lone_surrogates),
        cmocka_unit_test(marks_only_what_holds_the_surrogate),
        cmocka_unit_test(other_types_have_no_bytes),
    };
    return cmocka_run_group_tests_name("json_string", tests, NULL, NULL);
}
