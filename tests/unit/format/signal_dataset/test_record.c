// SPDX-License-Identifier: Apache-2.0
// Record payloads: the kept ones with the reference's verdicts, and each refusal with its check.
#include "record_cases.h"

static void check_case(struct record_case *c) {
    struct sds_record record;
    struct sds_err err = {0};
    enum sds_kind kind = sds_record_decode(c->payload, &record, &err);
    check_verdict(c, kind, &err);
    if (kind == SDS_OK) {
        check_fields(c, &record);
        assert_true(sds_record_memory(&record) > 0);
        sds_record_fini(&record);
    }
}

static void test_as_reference(void **state) {
    (void)state;
    assert_true(each_case('r', check_case) >= 400);
}

static void test_fields(void **state) {
    (void)state;
    static const char descriptor[] = "{\"fields\":{" FIELD(
        "b", AXIS("x", "1", "") "," AXIS("y", "3", ""),
        ",\"metadata\":{\"k\":1}") "," FIELD("\\u0061\\n",
                                             AXIS("x", "1", "") "," AXIS("z", "3", ""),
                                             "") "},\"version\":\"0.1\",\"format\":\"signal-"
                                                 "dataset.record\",\"scene_id\":\"s\","
                                                 "\"id\":\"r\\u0031\",\"metadata\":{\"m\":[]},"
                                                 "\"unknown\":1e999}";
    struct sds_span payload = record_of("[1,3]", 3, sds_span_str(descriptor));
    struct sds_record record;
    assert_int_equal(sds_record_decode(payload, &record, NULL), SDS_OK);
    assert_true(sds_value_is(record.id, "r1"));
    assert_true(sds_value_is(record.scene_id, "s"));
    assert_int_equal(sds_value_count(record.metadata), 1);

    assert_int_equal(record.field_count, 2);
    assert_int_equal(sds_record_find(&record, sds_span_str("a\n")), 1);
    assert_int_equal(sds_record_find(&record, sds_span_str("b")), 0);
    assert_int_equal(sds_record_find(&record, sds_span_str("a")), -1);
    assert_int_equal(sds_record_find(&record, sds_span_str("")), -1);
    for (uint32_t i = 0; i < 2; i++) { // both fields are the one tensor
        const struct sds_field *field = &record.fields[i];
        assert_int_equal(field->dtype, SDS_U8);
        assert_int_equal(field->rank, 2);
        assert_int_equal(field->shape[0], 1);
        assert_int_equal(field->shape[1], 3);
        assert_int_equal(field->len, 3);
        assert_memory_equal(payload.at + field->off, "xxx{", 4);
        assert_int_equal(sds_value_count(field->axes), 2);
    }
    assert_true(sds_value_there(record.fields[0].metadata));
    assert_false(sds_value_there(record.fields[1].metadata));
    // Beside the document: two fields, the name that was escaped, the shape.
    assert_true(sds_record_memory(&record) >= sds_json_memory(record.doc) +
                                                  2 * sizeof *record.fields + strlen("a\n") +
                                                  2 * sizeof *record.shapes);
    sds_record_fini(&record);
    payload_free(payload);
}

// A tensor without dimensions is read as one element.
static void test_scalar(void **state) {
    (void)state;
    static const char descriptor[] = DESCRIPTOR(FIELD("f", AXIS("x", "1", ""), ""), "");
    struct sds_span payload = record_of("[]", 1, sds_span_str(descriptor));
    struct sds_record record;
    assert_int_equal(sds_record_decode(payload, &record, NULL), SDS_OK);
    assert_int_equal(record.fields[0].rank, 1);
    assert_int_equal(record.fields[0].shape[0], 1);
    sds_record_fini(&record);
    payload_free(payload);
}

static void refuse(const char *shape, size_t data_len, const char *descriptor, enum sds_kind kind,
                   const char *check) {
    struct sds_span payload = record_of(shape, data_len, sds_span_str(descriptor));
    struct sds_record record;
    struct sds_err err = {.check = "nothing"};
    enum sds_kind found = sds_record_decode(payload, &record, &err);
    if (found != kind || strcmp(err.check, check) != 0) {
        fail_msg("%s: %s, %s: %s", descriptor, sds_kind_name(found), err.check, err.message);
    }
    payload_free(payload);
}

#define WITH_AXIS(more) DESCRIPTOR(FIELD("f", AXIS("a", "1", more), ""), "")
#define WITH_COORDINATE(members) WITH_AXIS(",\"coordinate\":{" members "}")

// For a tensor of shape [1].
static const struct {
    const char *descriptor, *check;
} refusals[] = {
    {"", "json"},
    {"{}x", "json"},
    {"{\"a\":1,\"a\":1}", "json"},
    {"{\"a\":NaN}", "json"},
    {"[]", "descriptor"},
    {"{}", "format"},
    {"{\"format\":\"signal-dataset.record\"}", "format"},
    {"{\"format\":\"signal-dataset.record\",\"version\":0.1}", "format"},
    {"{\"format\":\"signal-dataset.records\",\"version\":\"0.1\"}", "format"},
    {"{\"format\":\"signal-dataset.record\",\"version\":\"0.1\",\"id\":\"r\"}", "fields"},
    {"{\"format\":\"signal-dataset.record\",\"version\":\"0.1\",\"id\":\"r\",\"fields\":[]}",
     "fields"},
    {"{\"format\":\"signal-dataset.record\",\"version\":\"0.1\",\"fields\":{" F1 "}}", "id"},
    {"{\"format\":\"signal-dataset.record\",\"version\":\"0.1\",\"id\":\"\",\"fields\":{" F1 "}}",
     "id"},
    {"{\"format\":\"signal-dataset.record\",\"version\":\"0.1\",\"id\":1,\"fields\":{" F1 "}}",
     "id"},
    {DESCRIPTOR(F1, ",\"scene_id\":1"), "scene_id"},
    {DESCRIPTOR("", ""), "unused_tensor"},
    {DESCRIPTOR("\"f\":[]", ""), "fields"},
    {DESCRIPTOR("\"f\":{}", ""), "tensor"},
    {DESCRIPTOR("\"f\":{\"tensor\":0}", ""), "tensor"},
    {DESCRIPTOR("\"f\":{\"tensor\":\"u\"}", ""), "tensor"},
    {DESCRIPTOR("\"f\":{\"tensor\":\"__sds_descriptor__\"}", ""), "tensor"},
    {DESCRIPTOR(FIELD("", AXIS("a", "1", ""), ""), ""), "field_name"},
    {DESCRIPTOR(F1, ",\"metadata\":[1]"), "metadata"},
    {DESCRIPTOR(F1, ",\"metadata\":\"x\""), "metadata"},
    {DESCRIPTOR(F1, ",\"metadata\":{\"a\":[1e999]}"), "metadata"},
    {DESCRIPTOR(F1, ",\"metadata\":{\"a\":{\"\\ud800\":0}}"), "metadata"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "1", ""), ",\"metadata\":1"), ""), "metadata"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "1", ""), ",\"metadata\":{\"a\":\"\\udfff\"}"), ""),
     "metadata"},
    {DESCRIPTOR("\"f\":{\"tensor\":\"t\"}", ""), "axes"},
    {DESCRIPTOR("\"f\":{\"tensor\":\"t\",\"axes\":null}", ""), "axes"},
    {DESCRIPTOR("\"f\":{\"tensor\":\"t\",\"axes\":{}}", ""), "axes"},
    {DESCRIPTOR(FIELD("f", "", ""), ""), "axes"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "1", "") "," AXIS("b", "1", ""), ""), ""), "axes"},
    {DESCRIPTOR(FIELD("f", "\"a\"", ""), ""), "axis"},
    {DESCRIPTOR(FIELD("f", "{\"name\":\"a\"}", ""), ""), "axis"},
    {DESCRIPTOR(FIELD("f", "{\"length\":1}", ""), ""), "axis"},
    {DESCRIPTOR(FIELD("f", "{\"length\":1,\"name\":null}", ""), ""), "axis_name"},
    {DESCRIPTOR(FIELD("f", AXIS("", "1", ""), ""), ""), "axis_name"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "2", ""), ""), ""), "axis_length"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "1.0", ""), ""), ""), "axis_length"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "true", ""), ""), ""), "axis_length"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "-1", ""), ""), ""), "axis_length"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "18446744073709551617", ""), ""), ""), "axis_length"},
    {WITH_AXIS(",\"role\":1"), "axis"},
    {WITH_AXIS(",\"id\":false"), "axis"},
    {WITH_AXIS(",\"metadata\":1"), "metadata"},
    {WITH_AXIS(",\"metadata\":{\"a\":\"\\ud800\"}"), "metadata"},
    {WITH_AXIS(",\"coordinate\":[]"), "coordinate"},
    {WITH_AXIS(",\"coordinate\":0"), "coordinate"},
    {WITH_COORDINATE("\"unit\":1"), "coordinate"},
    {WITH_COORDINATE("\"unit\":\"\\ud800\""), "coordinate"},
    {WITH_COORDINATE("\"start\":true,\"step\":1"), "coordinate"},
    {WITH_COORDINATE("\"start\":0,\"step\":\"1\""), "coordinate"},
    {WITH_COORDINATE("\"start\":0"), "coordinate"},
    {WITH_COORDINATE("\"step\":0"), "coordinate"},
    {WITH_COORDINATE("\"start\":0,\"step\":-1e999"), "coordinate"},
    {WITH_COORDINATE("\"values\":[1],\"reference\":\"\""), "coordinate"},
    {WITH_COORDINATE("\"values\":[1],\"step\":1"), "coordinate"},
    {WITH_COORDINATE("\"start\":1,\"step\":1,\"reference\":\"f\""), "coordinate"},
    {WITH_COORDINATE("\"values\":1"), "coordinate_values"},
    {WITH_COORDINATE("\"values\":[]"), "coordinate_values"},
    {WITH_COORDINATE("\"values\":[1,2]"), "coordinate_values"},
    {WITH_COORDINATE("\"values\":\"ab\""), "coordinate_values"},
    {WITH_COORDINATE("\"values\":[1e999]"), "coordinate_values"},
    {WITH_COORDINATE("\"values\":[\"\\ud800\"]"), "coordinate"},
    {WITH_COORDINATE("\"values\":{\"\\ud800\":0}"), "coordinate"},
    {WITH_COORDINATE("\"metadata\":[[]]"), "metadata"},
    {WITH_COORDINATE("\"metadata\":{\"a\":1e999}"), "metadata"},
    {WITH_COORDINATE("\"metadata\":{\"a\":\"\\ud800\"}"), "metadata"},
    {WITH_COORDINATE("\"reference\":1"), "reference"},
    {WITH_COORDINATE("\"reference\":\"a\""), "reference"},
    {DESCRIPTOR(FIELD("f", AXIS("a", "1", ",\"id\":\"i\""),
                      "") "," FIELD("g", AXIS("a", "1", ",\"id\":\"i\",\"coordinate\":{}"), ""),
                ""),
     "shared_axis"},
    {DESCRIPTOR(
         FIELD("f", AXIS("a", "1", ",\"id\":\"i\",\"coordinate\":{\"unit\":\"s\"}"), "") "," FIELD(
             "g", AXIS("a", "1", ",\"id\":\"\\u0069\",\"coordinate\":{\"unit\":\"m\"}"), ""),
         ""),
     "shared_axis"},
};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        refuse("[1]", 1, refusals[i].descriptor, SDS_ERR_CORRUPT, refusals[i].check);
    }
    static const char repeats[] = DESCRIPTOR(
        FIELD("f", AXIS("a", "1", "") "," AXIS("b", "1", "") "," AXIS("\\u0061", "1", ""), ""), "");
    refuse("[1,1,1]", 1, repeats, SDS_ERR_CORRUPT, "axis_name");
    static const char lengths[] = DESCRIPTOR(
        FIELD("f", AXIS("a", "1", ",\"id\":\"i\"") "," AXIS("b", "2", ",\"id\":\"i\""), ""), "");
    refuse("[1,2]", 2, lengths, SDS_ERR_CORRUPT, "shared_axis");
}

// The message says where: the field, the axis.
static void test_message(void **state) {
    (void)state;
    static const struct {
        const char *descriptor, *message;
    } cases[] = {
        {DESCRIPTOR(FIELD("f\\n", AXIS("a", "2", ""), ""), ""),
         "field \"f\\x0A\": axis 0: length 2 for a dimension of 1"},
        {DESCRIPTOR("\"f\":{\"tensor\":\"u\"}", ""),
         "field \"f\": there is no tensor \"u\" for data"},
        {WITH_COORDINATE("\"reference\":\"a\""),
         "field \"f\": reference \"a\" is neither a field nor the id of an axis"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_span payload = record_of("[1]", 1, sds_span_str(cases[i].descriptor));
        struct sds_record record;
        struct sds_err err;
        assert_int_equal(sds_record_decode(payload, &record, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.message, cases[i].message);
        payload_free(payload);
    }
}

// The descriptor is a tensor of U8 and rank 1.
static void test_descriptor_tensor(void **state) {
    (void)state;
    static const char descriptor[] = DESCRIPTOR(F1, "");
    static const struct {
        const char *dtype, *dimensions; // in front of the last
    } forms[] = {{"I8", ""}, {"BOOL", ""}, {"U8", "1,"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char header[400];
        size_t len = strlen(descriptor);
        snprintf(
            header, sizeof header,
            "{\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
            "\"__sds_descriptor__\":{\"dtype\":\"%s\",\"shape\":[%s%zu],\"data_offsets\":[0,%zu]}}",
            forms[i].dtype, forms[i].dimensions, len, len);
        struct sds_span payload = payload_new(sds_span_str(header), sds_span_str(descriptor));
        struct sds_record record;
        struct sds_err err;
        assert_int_equal(sds_record_decode(payload, &record, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "descriptor");
        payload_free(payload);
    }
    struct sds_span empty = payload_new(sds_span_str("{}"), sds_span(NULL, 0));
    struct sds_record record;
    struct sds_err err;
    assert_int_equal(sds_record_decode(empty, &record, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "descriptor");
    payload_free(empty);
}

static void test_truncated(void **state) {
    (void)state;
    static const char descriptor[] =
        DESCRIPTOR(FIELD("f", AXIS("a", "2", ",\"coordinate\":{\"values\":[1,\"b\"]}"), ""), "");
    struct sds_span whole = record_of("[2]", 2, sds_span_str(descriptor));
    for (size_t len = 0; len <= whole.len; len++) {
        // Of its own allocation, so that a sanitizer sees a read past its end.
        uint8_t *cut = malloc(len + 1);
        assert_non_null(cut);
        memcpy(cut + 1, whole.at, len);
        struct sds_record record;
        struct sds_err err;
        enum sds_kind kind = sds_record_decode(sds_span(cut + 1, len), &record, &err);
        assert_int_equal(kind, len == whole.len ? SDS_OK : SDS_ERR_CORRUPT);
        if (kind == SDS_OK) {
            sds_record_fini(&record);
        }
        free(cut);
    }
    payload_free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_reference),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_scalar),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_descriptor_tensor),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
