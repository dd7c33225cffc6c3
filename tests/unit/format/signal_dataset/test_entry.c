// SPDX-License-Identifier: Apache-2.0
// Metadata entries: the kept ones with the reference's verdicts, each refusal with its check.
#include "record_cases.h"

static void check_case(struct record_case *c) {
    struct sds_record entry;
    struct sds_err err = {0};
    enum sds_kind kind = sds_metadata_decode(c->payload, &entry, &err);
    check_verdict(c, kind, &err);
    if (kind == SDS_OK) {
        check_fields(c, &entry);
        sds_record_fini(&entry);
    } else if (kind == SDS_ERR_UNSUPPORTED) {
        assert_string_equal(err.check, "dtype");
    }
}

static void test_as_reference(void **state) {
    (void)state;
    assert_true(each_case('m', check_case) >= 160);
}

#define ENTRY(fields) "{\"id\":\"r\",\"fields\":{" fields "}}"
#define PART(dtype, shape, axes, more)                                                             \
    "\"f\":{\"dtype\":" dtype ",\"shape\":" shape ",\"axes\":" axes more "}"

static void test_fields(void **state) {
    (void)state;
    static const char text[] =
        "{\"id\":7,\"scene_id\":[],\"metadata\":0,\"fields\":{"
        "\"\":{\"dtype\":\"<f8\",\"shape\":[2,3],\"axes\":[{\"name\":1,\"length\":2.0},"
        "{\"name\":1,\"length\":3}],\"metadata\":{\"a\":\"\\ud800\"}},"
        "\"s\":{\"dtype\":\"|b1\",\"shape\":\"\",\"axes\":{}},"
        "\"z\":{\"dtype\":\"<i2\",\"shape\":[18446744073709551616,0],\"axes\":"
        "[{\"name\":\"\",\"length\":18446744073709551616},{\"name\":\"\",\"length\":false}]},"
        "\"w\":{\"dtype\":\"<i2\",\"shape\":[9223372036854775808],\"axes\":"
        "[{\"name\":\"\",\"length\":9223372036854775808}]}}}";
    struct sds_record entry;
    assert_int_equal(sds_metadata_decode(sds_span_str(text), &entry, NULL), SDS_OK);
    assert_int_equal(sds_value_type(entry.id), SDS_JSON_INTEGER);
    assert_int_equal(sds_value_type(entry.scene_id), SDS_JSON_ARRAY);
    assert_int_equal(sds_value_type(entry.metadata), SDS_JSON_INTEGER);
    assert_int_equal(entry.field_count, 4);
    assert_int_equal(sds_record_find(&entry, sds_span_str("")), 0);

    assert_int_equal(entry.fields[0].dtype, SDS_F64);
    assert_int_equal(entry.fields[0].rank, 2);
    assert_int_equal(entry.fields[0].shape[1], 3);
    assert_int_equal(entry.fields[0].len, 2 * 3 * 8);
    assert_int_equal(sds_value_count(entry.fields[0].axes), 2);

    assert_int_equal(entry.fields[1].rank, 0);
    assert_int_equal(entry.fields[1].len, 1);
    assert_false(sds_value_there(entry.fields[1].axes));

    // What 64 bits do not hold.
    assert_true(entry.fields[2].shape[0] == UINT64_MAX);
    assert_int_equal(entry.fields[2].len, 0);
    assert_true(entry.fields[3].len == UINT64_MAX);
    assert_true(sds_record_memory(&entry) > 0);
    sds_record_fini(&entry);
}

static const struct {
    const char *text;
    enum sds_kind kind;
    const char *check;
} refusals[] = {
    {"", SDS_ERR_CORRUPT, "json"},
    {"{\"id\":1,\"id\":1,\"fields\":{}}", SDS_ERR_CORRUPT, "json"},
    {"[]", SDS_ERR_CORRUPT, "entry"},
    {"{\"fields\":{}}", SDS_ERR_CORRUPT, "id"},
    {"{\"id\":1}", SDS_ERR_CORRUPT, "fields"},
    {"{\"id\":1,\"fields\":null}", SDS_ERR_CORRUPT, "fields"},
    {"{\"id\":1,\"fields\":{},\"metadata\":true}", SDS_ERR_CORRUPT, "metadata"},
    {"{\"id\":1,\"fields\":{},\"metadata\":{\"a\":1e999}}", SDS_ERR_CORRUPT, "metadata"},
    {ENTRY("\"f\":null"), SDS_ERR_CORRUPT, "fields"},
    {ENTRY("\"f\":{\"shape\":[],\"axes\":[]}"), SDS_ERR_CORRUPT, "dtype"},
    {ENTRY(PART("\"float32\"", "[]", "[]", "")), SDS_ERR_UNSUPPORTED, "dtype"},
    {ENTRY(PART("\">f4\"", "[]", "[]", "")), SDS_ERR_UNSUPPORTED, "dtype"},
    {ENTRY(PART("null", "[]", "[]", "")), SDS_ERR_UNSUPPORTED, "dtype"},
    {ENTRY("\"f\":{\"dtype\":\"<f4\",\"axes\":[]}"), SDS_ERR_CORRUPT, "shape"},
    {ENTRY(PART("\"<f4\"", "0", "[]", "")), SDS_ERR_CORRUPT, "shape"},
    {ENTRY(PART("\"<f4\"", "\"a\"", "[]", "")), SDS_ERR_CORRUPT, "shape"},
    {ENTRY(PART("\"<f4\"", "[-1]", "[" AXIS("a", "-1", "") "]", "")), SDS_ERR_CORRUPT, "shape"},
    {ENTRY(PART("\"<f4\"", "[1.0]", "[" AXIS("a", "1", "") "]", "")), SDS_ERR_CORRUPT, "shape"},
    {ENTRY(PART("\"<f4\"", "[true]", "[" AXIS("a", "1", "") "]", "")), SDS_ERR_CORRUPT, "shape"},
    {ENTRY("\"f\":{\"dtype\":\"<f4\",\"shape\":[]}"), SDS_ERR_CORRUPT, "axes"},
    {ENTRY(PART("\"<f4\"", "[]", "null", "")), SDS_ERR_CORRUPT, "axes"},
    {ENTRY(PART("\"<f4\"", "[1]", "\"a\"", "")), SDS_ERR_CORRUPT, "axes"},
    {ENTRY(PART("\"<f4\"", "[1]", "[]", "")), SDS_ERR_CORRUPT, "axes"},
    {ENTRY(PART("\"<f4\"", "[1]", "[[]]", "")), SDS_ERR_CORRUPT, "axis"},
    {ENTRY(PART("\"<f4\"", "[1]", "[{\"length\":1}]", "")), SDS_ERR_CORRUPT, "axis"},
    {ENTRY(PART("\"<f4\"", "[1]", "[{\"name\":1}]", "")), SDS_ERR_CORRUPT, "axis"},
    {ENTRY(PART("\"<f4\"", "[1]", "[" AXIS("a", "\"1\"", "") "]", "")), SDS_ERR_CORRUPT,
     "axis_length"},
    {ENTRY(PART("\"<f4\"", "[1]", "[" AXIS("a", "null", "") "]", "")), SDS_ERR_CORRUPT,
     "axis_length"},
    {ENTRY(PART("\"<f4\"", "[1]", "[" AXIS("a", "1", ",\"coordinate\":1") "]", "")),
     SDS_ERR_CORRUPT, "coordinate"},
    {ENTRY(PART("\"<f4\"", "[1]", "[" AXIS("a", "1", ",\"coordinate\":{\"values\":1}") "]", "")),
     SDS_ERR_CORRUPT, "coordinate_values"},
    {ENTRY(PART("\"<f4\"", "[1]", "[" AXIS("a", "1", ",\"metadata\":1") "]", "")), SDS_ERR_CORRUPT,
     "metadata"},
    {ENTRY(PART("\"<f4\"", "[]", "[]", ",\"metadata\":\"x\"")), SDS_ERR_CORRUPT, "metadata"},
};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct sds_record entry;
        struct sds_err err = {.check = "nothing"};
        enum sds_kind kind = sds_metadata_decode(sds_span_str(refusals[i].text), &entry, &err);
        if (kind != refusals[i].kind || strcmp(err.check, refusals[i].check) != 0) {
            fail_msg("%s: %s, %s: %s", refusals[i].text, sds_kind_name(kind), err.check,
                     err.message);
        }
    }
}

static void test_truncated(void **state) {
    (void)state;
    static const char text[] = ENTRY(PART("\"<f4\"", "[2]", "[" AXIS("a", "2", "") "]", ""));
    for (size_t len = 0; len < strlen(text); len++) {
        // Of its own allocation, so that a sanitizer sees a read past its end.
        uint8_t *cut = malloc(len + 1);
        assert_non_null(cut);
        memcpy(cut + 1, text, len);
        struct sds_record entry;
        struct sds_err err;
        assert_int_equal(sds_metadata_decode(sds_span(cut + 1, len), &entry, &err),
                         SDS_ERR_CORRUPT);
        free(cut);
    }
}

static enum sds_kind decode(const struct sds_buf *text, struct sds_err *err) {
    struct sds_record entry;
    enum sds_kind kind = sds_metadata_decode(sds_buf_span(text), &entry, err);
    if (kind == SDS_OK) {
        sds_record_fini(&entry);
    }
    return kind;
}

static void test_size_limit(void **state) {
    (void)state;
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_METADATA_BYTES + 1);
    assert_int_equal(sds_buf_reserve(&text, SDS_MAX_METADATA_BYTES + 1), SDS_OK);
    memset(text.at, ' ', SDS_MAX_METADATA_BYTES + 1);
    memcpy(text.at, ENTRY(""), strlen(ENTRY("")));
    struct sds_err err;
    text.len = SDS_MAX_METADATA_BYTES;
    assert_int_equal(decode(&text, &err), SDS_OK);
    text.len++;
    assert_int_equal(decode(&text, &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "metadata_size");
    sds_buf_fini(&text);
}

static void test_count_limits(void **state) {
    (void)state;
    struct sds_err err;
    for (int count = SDS_MAX_FIELDS; count <= SDS_MAX_FIELDS + 1; count++) {
        struct sds_buf text = SDS_BUF_INIT(1 << 20);
        assert_int_equal(sds_buf_add_str(&text, "{\"id\":1,\"fields\":{"), SDS_OK);
        for (int i = 0; i < count; i++) {
            assert_int_equal(sds_buf_printf(&text,
                                            "%s\"%d\":{\"dtype\":\"<f4\",\"shape\":[],\"axes\":[]}",
                                            i == 0 ? "" : ",", i),
                             SDS_OK);
        }
        assert_int_equal(sds_buf_add_str(&text, "}}"), SDS_OK);
        enum sds_kind kind = decode(&text, &err);
        assert_int_equal(kind, count == SDS_MAX_FIELDS ? SDS_OK : SDS_ERR_LIMIT);
        assert_true(kind == SDS_OK || strcmp(err.check, "field_count") == 0);
        sds_buf_fini(&text);
    }
    for (int count = SDS_MAX_AXES; count <= SDS_MAX_AXES + 1; count++) {
        struct sds_buf text = SDS_BUF_INIT(1 << 20);
        assert_int_equal(
            sds_buf_add_str(&text, "{\"id\":1,\"fields\":{\"f\":{\"dtype\":\"<f4\",\"shape\":["),
            SDS_OK);
        for (int i = 0; i < count; i++) {
            assert_int_equal(sds_buf_add_str(&text, i == 0 ? "1" : ",1"), SDS_OK);
        }
        assert_int_equal(sds_buf_add_str(&text, "],\"axes\":["), SDS_OK);
        for (int i = 0; i < count; i++) {
            assert_int_equal(sds_buf_printf(&text, "%s%s", i == 0 ? "" : ",", AXIS("a", "1", "")),
                             SDS_OK);
        }
        assert_int_equal(sds_buf_add_str(&text, "]}}}"), SDS_OK);
        enum sds_kind kind = decode(&text, &err);
        assert_int_equal(kind, count == SDS_MAX_AXES ? SDS_OK : SDS_ERR_LIMIT);
        assert_true(kind == SDS_OK || strcmp(err.check, "axes") == 0);
        sds_buf_fini(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_reference), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_size_limit),   cmocka_unit_test(test_count_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
