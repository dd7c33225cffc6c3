// SPDX-License-Identifier: Apache-2.0
// Axes and metadata as the reference writes them, and what cannot be written.
#include "unit.h"

#include "format/signal_dataset/encode.h"

static const struct sds_json_limits limits = {.bytes = 1 << 20, .depth = 128, .nodes = 100000};

static const uint64_t shape[] = {2, 3};

static struct sds_json *must_parse(const char *text) {
    struct sds_json *doc = NULL;
    assert_int_equal(sds_json_parse(sds_span_str(text), &limits, &doc, NULL), SDS_OK);
    return doc;
}

static void assert_axes(const char *axes, uint32_t rank, const char *expected) {
    struct sds_json *doc = must_parse(axes);
    struct sds_buf out = SDS_BUF_INIT(1 << 20);
    struct sds_err err;
    if (sds_axes_write(sds_json_top(doc), shape, rank, &out, &err) != SDS_OK) {
        fail_msg("%s: %s", axes, err.message);
    }
    assert_int_equal(sds_buf_add(&out, "", 1), SDS_OK);
    assert_string_equal((const char *)out.at, expected);
    sds_buf_fini(&out);
    sds_json_free(doc);
}

#define BEHIND_COORDINATE(name, length)                                                            \
    ",\"id\":null,\"length\":" length ",\"metadata\":{},\"name\":\"" name "\",\"role\":null}"
#define PLAIN(name, length) "{\"coordinate\":null" BEHIND_COORDINATE(name, length)
#define WITH_VALUES(values)                                                                        \
    "[{\"coordinate\":{\"metadata\":{},\"reference\":null,\"start\":null,\"step\":null,"           \
    "\"unit\":null,\"values\":" values "}" BEHIND_COORDINATE("a", "2") "]"

static void writes_all_keys(void **state) {
    (void)state;
    assert_axes("[]", 0, "[]");
    assert_axes("[{\"name\":\"a\"}]", 1, "[" PLAIN("a", "2") "]");
    assert_axes("[{\"name\":\"\\u0061\",\"length\":2},{\"length\":3,\"name\":\"b\",\"x\":1}]", 2,
                "[" PLAIN("a", "2") "," PLAIN("b", "3") "]");
    assert_axes(
        "[{\"name\":\"a\",\"role\":\"time\",\"id\":\"i\",\"metadata\":{\"b\":1,\"a\":[2.50]},"
        "\"coordinate\":{\"unit\":\"s\",\"step\":1e0,\"start\":-0,\"y\":0,"
        "\"metadata\":{\"k\":null}}}]",
        1,
        "[{\"coordinate\":{\"metadata\":{\"k\":null},\"reference\":null,\"start\":0,"
        "\"step\":1.0,\"unit\":\"s\",\"values\":null},\"id\":\"i\",\"length\":2,"
        "\"metadata\":{\"a\":[2.5],\"b\":1},\"name\":\"a\",\"role\":\"time\"}]");
    assert_axes("[{\"name\":\"a\",\"coordinate\":{\"reference\":\"f\"}}]", 1,
                "[{\"coordinate\":{\"metadata\":{},\"reference\":\"f\",\"start\":null,"
                "\"step\":null,\"unit\":null,\"values\":null}" BEHIND_COORDINATE("a", "2") "]");
    assert_axes("[{\"name\":\"a\",\"coordinate\":null,\"metadata\":0}]", 1,
                "[" PLAIN("a", "2") "]");
}

// Values are written as the array that Python makes of them.
static void writes_values_as_array(void **state) {
    (void)state;
    static const struct {
        const char *values, *written;
    } cases[] = {
        {"[1,\"x\"]", "[1,\"x\"]"},
        {"[[1,[null]],2.0]", "[[1,[null]],2.0]"},
        {"\"ab\"", "[\"a\",\"b\"]"},
        {"\"\"", "[]"},
        {"\"\\n\xC3\xA9\\ud83d\\ude00\\u0000\"",
         "[\"\\n\",\"\xC3\xA9\",\"\xF0\x9F\x98\x80\",\"\\u0000\"]"},
        {"{\"b\":{},\"a\\u0062\":2}", "[\"b\",\"ab\"]"},
        {"{}", "[]"},
        {"null", "null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_buf axes = SDS_BUF_INIT(1000), expected = SDS_BUF_INIT(1000);
        assert_int_equal(sds_buf_printf(&axes, "[{\"name\":\"a\",\"coordinate\":{\"values\":%s}}]",
                                        cases[i].values),
                         SDS_OK);
        assert_int_equal(sds_buf_printf(&expected, WITH_VALUES("%s"), cases[i].written), SDS_OK);
        assert_axes((const char *)axes.at, 1, (const char *)expected.at);
        sds_buf_fini(&axes);
        sds_buf_fini(&expected);
    }
}

static void writes_absent_axes(void **state) {
    (void)state;
    struct sds_buf out = SDS_BUF_INIT(100);
    struct sds_err err;
    assert_int_equal(sds_axes_write((struct sds_value){0}, shape, 0, &out, NULL), SDS_OK);
    assert_true(sds_span_eq(sds_buf_span(&out), sds_span_str("[]")));
    assert_int_equal(sds_axes_write((struct sds_value){0}, shape, 1, &out, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "axes");
    sds_buf_fini(&out);
}

static void refuses(void **state) {
    (void)state;
    static const struct {
        const char *axes, *check, *message;
    } cases[] = {
        {"{}", "axes", "axes are object, not an array"},
        {"[]", "axes", "0 axes for rank 1"},
        {"[{\"name\":\"a\"},{\"name\":\"b\"}]", "axes", "2 axes for rank 1"},
        {"[1]", "axis", "axis 0: axis is integer, not an object"},
        {"[{}]", "axis", "axis 0: axis has no name"},
        {"[{\"name\":\"a\",\"length\":3}]", "axis_length", "axis 0: length 3 for a dimension of 2"},
        {"[{\"name\":\"a\",\"length\":2.0}]", "axis_length",
         "axis 0: length 2.0 for a dimension of 2"},
        {"[{\"name\":\"a\",\"length\":null}]", "axis_length",
         "axis 0: length null for a dimension of 2"},
        {"[{\"name\":\"a\",\"metadata\":[1]}]", "metadata",
         "axis 0: metadata is array, not an object"},
        {"[{\"name\":\"a\",\"metadata\":{\"b\":1e999}}]", "metadata",
         "axis 0: metadata holds an infinite number"},
        {"[{\"name\":\"\\ud800\"}]", "surrogate",
         "axis 0: a string holds a lone surrogate, which is not UTF-8"},
        {"[{\"name\":\"a\",\"coordinate\":1}]", "coordinate",
         "axis 0: coordinate is integer, not an object"},
        {"[{\"name\":\"a\",\"coordinate\":{\"start\":1e999}}]", "infinite",
         "axis 0: a number is beyond the range of double"},
        {"[{\"name\":\"a\",\"coordinate\":{\"values\":1}}]", "coordinate_values",
         "axis 0: coordinate values are integer, not an array"},
        {"[{\"name\":\"a\",\"coordinate\":{\"values\":[1,[2,{}]]}}]", "coordinate_values",
         "axis 0: coordinate values hold an object"},
        {"[{\"name\":\"a\",\"coordinate\":{\"values\":\"a\\ud800\"}}]", "surrogate",
         "axis 0: \"\\xED\\xA0\\x80\" is not UTF-8"},
        {"[{\"name\":\"a\",\"coordinate\":{\"values\":{\"\\ud800\":0}}}]", "surrogate",
         "axis 0: a string holds a lone surrogate, which is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = must_parse(cases[i].axes);
        struct sds_buf out = SDS_BUF_INIT(1000);
        struct sds_err err;
        assert_int_equal(sds_axes_write(sds_json_top(doc), shape, 1, &out, &err), SDS_ERR_INVALID);
        assert_int_equal(err.kind, SDS_ERR_INVALID);
        assert_string_equal(err.check, cases[i].check);
        assert_string_equal(err.message, cases[i].message);
        sds_buf_fini(&out);
        sds_json_free(doc);
    }
}

static void assert_metadata(const char *text, const char *expected) {
    struct sds_json *doc = must_parse(text);
    struct sds_buf out = SDS_BUF_INIT(1000);
    assert_int_equal(sds_metadata_write(sds_json_top(doc), &out, NULL), SDS_OK);
    assert_true(sds_span_eq(sds_buf_span(&out), sds_span_str(expected)));
    sds_buf_fini(&out);
    sds_json_free(doc);
}

static void writes_metadata(void **state) {
    (void)state;
    static const char *const falsy[] = {"null", "false", "0", "-0.0", "\"\"", "[]", "{}"};
    for (size_t i = 0; i < sizeof falsy / sizeof falsy[0]; i++) {
        assert_metadata(falsy[i], "{}");
    }
    assert_metadata("{\"b\":1.50,\"a\":{}}", "{\"a\":{},\"b\":1.5}");
    struct sds_buf out = SDS_BUF_INIT(1000);
    assert_int_equal(sds_metadata_write((struct sds_value){0}, &out, NULL), SDS_OK);
    struct sds_json *doc = must_parse("[1]");
    struct sds_err err;
    assert_int_equal(sds_metadata_write(sds_json_top(doc), &out, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "metadata");
    assert_true(sds_span_eq(sds_buf_span(&out), sds_span_str("{}")));
    sds_buf_fini(&out);
    sds_json_free(doc);
}

// Whatever piece is the one that no longer fits.
static void reports_a_full_buffer(void **state) {
    (void)state;
    struct sds_json *doc =
        must_parse("[{\"name\":\"a\",\"coordinate\":{\"values\":\"ab\"}},"
                   "{\"name\":\"b\",\"coordinate\":{\"values\":{\"x\":1,\"y\":2,\"z\":3}}}]");
    for (size_t max = 0;; max++) {
        struct sds_buf out = SDS_BUF_INIT(max);
        struct sds_err err = {.check = "nothing"};
        enum sds_kind kind = sds_axes_write(sds_json_top(doc), shape, 2, &out, &err);
        size_t len = out.len;
        sds_buf_fini(&out);
        if (kind == SDS_OK) {
            assert_int_equal(len, max);
            break;
        }
        assert_int_equal(kind, SDS_ERR_LIMIT);
        assert_string_equal(err.check, "limit");
    }
    sds_json_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_all_keys),    cmocka_unit_test(writes_values_as_array),
        cmocka_unit_test(writes_absent_axes), cmocka_unit_test(refuses),
        cmocka_unit_test(writes_metadata),    cmocka_unit_test(reports_a_full_buffer),
    };
    return cmocka_run_group_tests_name("axes_write", tests, NULL, NULL);
}
