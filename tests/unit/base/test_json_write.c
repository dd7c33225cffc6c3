// SPDX-License-Identifier: Apache-2.0
// Values as the reference writes them.
#include "base/json_write.h"

#include "json_cases.h"

static void assert_text(const struct sds_buf *buf, struct sds_span expected) {
    if (!sds_span_eq(sds_buf_span(buf), expected)) {
        fail_msg("wrote %s, expected %s", SDS_QUOTE(buf->at, buf->len),
                 SDS_QUOTE(expected.at, expected.len));
    }
}

static void assert_writes(struct sds_value v, enum sds_json_style style, char *hex) {
    struct sds_buf buf = SDS_BUF_INIT(1 << 20);
    struct sds_err err;
    enum sds_kind kind = sds_json_write(v, style, &buf, &err);
    if (strcmp(hex, "refused") == 0) {
        assert_int_equal(kind, SDS_ERR_INVALID);
        bool surrogate = sds_value_has_surrogate(v);
        assert_string_equal(err.check, surrogate ? "surrogate" : "infinite");
        assert_int_equal(buf.len, 0);
    } else {
        assert_int_equal(kind, SDS_OK);
        if (style == SDS_JSON_INDENTED) { // as the reference ends its documents
            assert_int_equal(sds_buf_add(&buf, "\n", 1), SDS_OK);
        }
        assert_text(&buf, from_hex(hex));
    }
    sds_buf_fini(&buf);
}

static void writes_as_reference(void **state) {
    (void)state;
    struct table table = read_table("written.txt");
    unsigned refused = 0;
    for (size_t i = 0; i < table.count; i++) {
        const struct line *line = &table.lines[i];
        struct sds_json *doc = must_parse(from_hex(line->column[0]));
        refused += strcmp(line->column[1], "refused") == 0;
        assert_writes(sds_json_top(doc), SDS_JSON_COMPACT, line->column[1]);
        assert_writes(sds_json_top(doc), SDS_JSON_INDENTED, line->column[2]);
        sds_json_free(doc);
    }
    assert_true(table.count - refused > 100 && refused > 20);
    free_table(&table);
}

static void writes_floats_as_reference(void **state) {
    (void)state;
    struct table table = read_table("float_text.txt");
    for (size_t i = 0; i < table.count; i++) {
        const char *text = table.lines[i].column[1];
        struct sds_json *doc = must_parse(sds_span_str(text));
        struct sds_buf buf = SDS_BUF_INIT(1000);
        assert_int_equal(sds_json_write(sds_json_top(doc), SDS_JSON_COMPACT, &buf, NULL), SDS_OK);
        assert_text(&buf, sds_span_str(text));
        sds_buf_fini(&buf);
        sds_json_free(doc);
    }
    free_table(&table);
}

// However many digits they were given with.
static void writes_reals_as_their_doubles(void **state) {
    (void)state;
    struct table table = read_table("reals.txt");
    for (size_t i = 0; i < table.count; i++) {
        struct sds_json *doc = must_parse(sds_span_str(table.lines[i].column[0]));
        struct sds_value real = sds_json_top(doc);
        struct sds_buf buf = SDS_BUF_INIT(1000);
        if (sds_value_type(real) == SDS_JSON_REAL && !sds_value_has_infinity(real)) {
            char text[32];
            size_t len = sds_double_text(sds_value_double(real), text);
            assert_int_equal(sds_json_write(real, SDS_JSON_COMPACT, &buf, NULL), SDS_OK);
            assert_text(&buf, sds_span(text, len));
        }
        sds_buf_fini(&buf);
        sds_json_free(doc);
    }
    free_table(&table);
}

// Behind what is there already; a part of a document, too, and nothing at all.
static void appends(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{\"a\":1,\"b\":{\"d\":1.50,\"c\":[]},\"e\":2}"));
    struct sds_buf buf = SDS_BUF_INIT(1000);
    assert_int_equal(sds_buf_add_str(&buf, "x"), SDS_OK);
    struct sds_value inner = sds_value_get(sds_json_top(doc), "b");
    assert_int_equal(sds_json_write(inner, SDS_JSON_COMPACT, &buf, NULL), SDS_OK);
    struct sds_value absent = sds_value_get(sds_json_top(doc), "z");
    assert_int_equal(sds_json_write(absent, SDS_JSON_INDENTED, &buf, NULL), SDS_OK);
    assert_text(&buf, sds_span_str("x{\"c\":[],\"d\":1.5}null"));
    sds_buf_fini(&buf);
    sds_json_free(doc);
}

// What is wrong elsewhere in the document does not matter.
static void refuses_only_what_it_writes(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{\"a\":[1],\"\\ud800\":1e999}"));
    struct sds_buf buf = SDS_BUF_INIT(1000);
    struct sds_value a = sds_value_get(sds_json_top(doc), "a");
    assert_int_equal(sds_json_write(a, SDS_JSON_COMPACT, &buf, NULL), SDS_OK);
    assert_int_equal(sds_json_write(sds_json_top(doc), SDS_JSON_COMPACT, &buf, NULL),
                     SDS_ERR_INVALID);
    assert_text(&buf, sds_span_str("[1]"));
    sds_buf_fini(&buf);
    sds_json_free(doc);
}

static void reports_a_full_buffer(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{\"b\":[1,2.5],\"a\\n\":{},\"\":\"\\u00e9\"}"));
    const size_t written = strlen("{\"\":\"\xC3\xA9\",\"a\\n\":{},\"b\":[1,2.5]}");
    for (size_t max = 0; max <= written; max++) {
        struct sds_buf buf = SDS_BUF_INIT(max);
        struct sds_err err = {.check = "nothing"};
        enum sds_kind kind = sds_json_write(sds_json_top(doc), SDS_JSON_COMPACT, &buf, &err);
        assert_int_equal(kind, max < written ? SDS_ERR_LIMIT : SDS_OK);
        assert_string_equal(err.check, max < written ? "limit" : "nothing");
        sds_buf_fini(&buf);
    }
    sds_json_free(doc);
}

static void assert_string(struct sds_span text, const char *expected) {
    struct sds_buf buf = SDS_BUF_INIT(1000);
    assert_int_equal(sds_json_write_string(text, &buf), SDS_OK);
    assert_text(&buf, sds_span_str(expected));
    sds_buf_fini(&buf);
}

static void writes_strings(void **state) {
    (void)state;
    assert_string(sds_span(NULL, 0), "\"\"");
    assert_string(BYTES("a/b'c"), "\"a/b'c\"");
    assert_string(BYTES("\"\\"), "\"\\\"\\\\\"");
    assert_string(BYTES("\0\x01\b\t\n\v\f\r\x1f\x20\x7f"),
                  "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \x7f\"");
    assert_string(BYTES("x\xC3\xA9\ny\xE2\x80\xA8\xF0\x9F\x98\x80"),
                  "\"x\xC3\xA9\\ny\xE2\x80\xA8\xF0\x9F\x98\x80\"");
}

static void refuses_strings_that_are_not_utf8(void **state) {
    (void)state;
    static const char *const strings[] = {"\xff",      "a\x80",           "\n\xC3",
                                          "\xC0\x80",  "\xED\xA0\x80",    "\xED\xBF\xBF",
                                          "\xE2\x80x", "\xF5\x80\x80\x80"};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        struct sds_buf buf = SDS_BUF_INIT(1000);
        assert_int_equal(sds_json_write_string(sds_span_str(strings[i]), &buf), SDS_ERR_INVALID);
        sds_buf_fini(&buf);
    }
}

static void reports_a_full_buffer_of_a_string(void **state) {
    (void)state;
    for (size_t max = 0; max <= 6; max++) {
        struct sds_buf buf = SDS_BUF_INIT(max);
        assert_int_equal(sds_json_write_string(BYTES("a\nb"), &buf),
                         max < 6 ? SDS_ERR_LIMIT : SDS_OK);
        sds_buf_fini(&buf);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_as_reference),
        cmocka_unit_test(writes_floats_as_reference),
        cmocka_unit_test(writes_reals_as_their_doubles),
        cmocka_unit_test(appends),
        cmocka_unit_test(refuses_only_what_it_writes),
        cmocka_unit_test(reports_a_full_buffer),
        cmocka_unit_test(writes_strings),
        cmocka_unit_test(refuses_strings_that_are_not_utf8),
        cmocka_unit_test(reports_a_full_buffer_of_a_string),
    };
    return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
