// SPDX-License-Identifier: Apache-2.0
// Record payloads: the kept ones with the reference's verdicts, each refusal with its check, and
// what lies at the limits.
#include <sys/mman.h>

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

#define F1 FIELD("f", AXIS("a", "1", ""), "")
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
         "field \"f\\x0A\": axis 0: length \"2\" for a dimension of 1"},
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

#define BEGIN "{\"format\":\"signal-dataset.record\",\"version\":\"0.1\",\"id\":\"r\""

static void decode_descriptor(const struct sds_buf *descriptor, const char *shape, size_t data_len,
                              enum sds_kind kind, const char *check) {
    struct sds_span payload = record_of(shape, data_len, sds_buf_span(descriptor));
    struct sds_record record;
    struct sds_err err = {.check = "", .message = ""};
    enum sds_kind found = sds_record_decode(payload, &record, &err);
    if (found != kind || strcmp(err.check, check) != 0) {
        fail_msg("%s, %s: %s", sds_kind_name(found), err.check, err.message);
    }
    if (kind == SDS_OK) {
        sds_record_fini(&record);
    }
    payload_free(payload);
}

static void add(struct sds_buf *buf, const char *text) {
    assert_int_equal(sds_buf_add_str(buf, text), SDS_OK);
}

static void test_field_limit(void **state) {
    (void)state;
    for (int count = SDS_MAX_FIELDS; count <= SDS_MAX_FIELDS + 1; count++) {
        struct sds_buf descriptor = SDS_BUF_INIT(1 << 20);
        add(&descriptor, BEGIN ",\"fields\":{");
        for (int i = 0; i < count; i++) {
            assert_int_equal(sds_buf_printf(&descriptor,
                                            "%s\"%d\":{\"tensor\":\"t\",\"axes\":[%s]}",
                                            i == 0 ? "" : ",", i, AXIS("a", "1", "")),
                             SDS_OK);
        }
        add(&descriptor, "}}");
        bool good = count == SDS_MAX_FIELDS;
        decode_descriptor(&descriptor, "[1]", 1, good ? SDS_OK : SDS_ERR_LIMIT,
                          good ? "" : "field_count");
        sds_buf_fini(&descriptor);
    }
}

// As many tensors as fields, and the descriptor; one more.
static void test_tensor_count(void **state) {
    (void)state;
    for (int count = SDS_MAX_FIELDS; count <= SDS_MAX_FIELDS + 1; count++) {
        struct sds_buf header = SDS_BUF_INIT(1 << 20), descriptor = SDS_BUF_INIT(1 << 20);
        add(&header, "{");
        add(&descriptor, BEGIN ",\"fields\":{");
        for (int i = 0; i < count; i++) {
            assert_int_equal(
                sds_buf_printf(
                    &header, "\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},", i),
                SDS_OK);
            assert_int_equal(sds_buf_printf(&descriptor,
                                            "%s\"%d\":{\"tensor\":\"%d\",\"axes\":[%s]}",
                                            i == 0 ? "" : ",", i, i, AXIS("a", "0", "")),
                             SDS_OK);
        }
        add(&descriptor, "}}");
        assert_int_equal(sds_buf_printf(&header,
                                        "\"__sds_descriptor__\":{\"dtype\":\"U8\",\"shape\":[%zu],"
                                        "\"data_offsets\":[0,%zu]}}",
                                        descriptor.len, descriptor.len),
                         SDS_OK);
        struct sds_span payload = payload_new(sds_buf_span(&header), sds_buf_span(&descriptor));
        struct sds_record record;
        struct sds_err err;
        enum sds_kind kind = sds_record_decode(payload, &record, &err);
        if (count == SDS_MAX_FIELDS) {
            assert_int_equal(kind, SDS_OK);
            assert_int_equal(record.field_count, SDS_MAX_FIELDS);
            sds_record_fini(&record);
        } else {
            assert_int_equal(kind, SDS_ERR_LIMIT);
            assert_string_equal(err.check, "tensor_count");
        }
        payload_free(payload);
        sds_buf_fini(&header);
        sds_buf_fini(&descriptor);
    }
}

static void test_descriptor_limit(void **state) {
    (void)state;
    static const char text[] = DESCRIPTOR(F1, "");
    struct sds_buf descriptor = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES + 1);
    assert_int_equal(sds_buf_reserve(&descriptor, SDS_MAX_DESCRIPTOR_BYTES + 1), SDS_OK);
    memset(descriptor.at, ' ', SDS_MAX_DESCRIPTOR_BYTES + 1);
    memcpy(descriptor.at, text, strlen(text));
    descriptor.len = SDS_MAX_DESCRIPTOR_BYTES;
    decode_descriptor(&descriptor, "[1]", 1, SDS_OK, "");
    descriptor.len++;
    decode_descriptor(&descriptor, "[1]", 1, SDS_ERR_LIMIT, "descriptor_size");
    sds_buf_fini(&descriptor);
}

#define FLOATS 200000
#define FLOAT_DUMPED (18 + 2) // "1000000000000000.0, " for "1e15,"

// Adds metadata of which json.dumps makes what the limit leaves beside the others, plus the excess.
// The numbers are written in a quarter of that.
static void add_metadata(struct sds_buf *buf, size_t others, size_t excess) {
    size_t dumped = strlen("{\"k\": [], \"s\": \"\"}") + FLOATS * FLOAT_DUMPED - 2 + others;
    size_t rest = SDS_MAX_METADATA_BYTES + excess - dumped;
    add(buf, "{\"k\":[");
    for (size_t i = 0; i < FLOATS; i++) {
        add(buf, i == 0 ? "1e15" : ",1e15");
    }
    add(buf, "],\"s\":\"");
    assert_int_equal(sds_buf_reserve(buf, rest), SDS_OK);
    memset(buf->at + buf->len, 'y', rest);
    buf->len += rest;
    add(buf, "\"}");
}

static void check_metadata_limit(const char *before, const char *after, size_t others) {
    for (size_t excess = 0; excess <= 1; excess++) {
        struct sds_buf descriptor = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES);
        add(&descriptor, before);
        add_metadata(&descriptor, others, excess);
        add(&descriptor, after);
        decode_descriptor(&descriptor, "[1]", 1, excess == 0 ? SDS_OK : SDS_ERR_LIMIT,
                          excess == 0 ? "" : "metadata_size");
        sds_buf_fini(&descriptor);
    }
}

#define COORDINATE_NULLS                                                                           \
    "{\"values\": null, \"start\": null, \"step\": null, \"reference\": null, \"unit\": null}"

static void test_metadata_limit(void **state) {
    (void)state;
    // Beside the large one: a pair of braces for each of the record, the field, the axis.
    check_metadata_limit(BEGIN ",\"metadata\":", ",\"fields\":{" F1 "}}", 4);
    check_metadata_limit(BEGIN ",\"fields\":{\"f\":{\"tensor\":\"t\",\"metadata\":",
                         ",\"axes\":[" AXIS("a", "1", "") "]}}}", 4);
    check_metadata_limit(BEGIN ",\"fields\":{\"f\":{\"tensor\":\"t\",\"axes\":[{\"metadata\":",
                         ",\"name\":\"a\",\"length\":1}]}}}", 4);
    check_metadata_limit(BEGIN ",\"fields\":{\"f\":{\"tensor\":\"t\",\"axes\":"
                               "[{\"name\":\"a\",\"length\":1,\"coordinate\":{\"metadata\":",
                         "}}]}}}", 6 + strlen(COORDINATE_NULLS));
    check_metadata_limit(BEGIN ",\"fields\":{\"f\":{\"tensor\":\"t\",\"axes\":"
                               "[{\"name\":\"a\",\"length\":1,\"coordinate\":{\"values\":[",
                         "]}}]}}}", strlen("[]") + 8 + strlen(COORDINATE_NULLS) - strlen("null"));
}

#define VALUES 100000

// Coordinate values of which json.dumps makes so many bytes.
static void check_values_limit(const struct sds_buf *values, size_t dumped) {
    size_t others = dumped + strlen(COORDINATE_NULLS) - strlen("null") + 3 * strlen("{}");
    for (size_t excess = 0; excess <= 1; excess++) {
        struct sds_buf descriptor = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES);
        add(&descriptor, BEGIN ",\"fields\":{\"f\":{\"tensor\":\"t\",\"axes\":"
                               "[{\"name\":\"a\",\"length\":100000,\"coordinate\":{\"values\":");
        assert_int_equal(sds_buf_add_span(&descriptor, sds_buf_span(values)), SDS_OK);
        add(&descriptor, "}}]}},\"metadata\":");
        add_metadata(&descriptor, others, excess);
        add(&descriptor, "}");
        decode_descriptor(&descriptor, "[100000]", VALUES, excess == 0 ? SDS_OK : SDS_ERR_LIMIT,
                          excess == 0 ? "" : "metadata_size");
        sds_buf_fini(&descriptor);
    }
}

// A string or an object counts as the array that it stands for.
static void test_values_limit(void **state) {
    (void)state;
    struct sds_buf string = SDS_BUF_INIT(1 << 22), object = SDS_BUF_INIT(1 << 22);
    add(&string, "\"");
    add(&object, "{");
    for (int i = 0; i < VALUES; i++) {
        add(&string, i % 2 == 0 ? "\xC3\xA9" : "\\u00e9");
        assert_int_equal(sds_buf_printf(&object, "%s\"%05d\":0", i == 0 ? "" : ",", i), SDS_OK);
    }
    add(&string, "\"");
    add(&object, "}");
    check_values_limit(&string, strlen("[]") + VALUES * strlen("\"\xC3\xA9\", ") - strlen(", "));
    check_values_limit(&object, strlen("[]") + VALUES * strlen("\"00000\", ") - strlen(", "));
    sds_buf_fini(&string);
    sds_buf_fini(&object);
}

// Fields that share a tensor count it each: 64 GiB in 8192 fields of 8 MiB.
static void test_total_limit(void **state) {
    (void)state;
    for (unsigned excess = 0; excess <= 1; excess++) {
        struct sds_buf descriptor = SDS_BUF_INIT(1 << 20);
        add(&descriptor, BEGIN ",\"fields\":{");
        for (unsigned i = 0; i < 8192 + excess; i++) {
            assert_int_equal(sds_buf_printf(&descriptor,
                                            "%s\"%u\":{\"tensor\":\"t\",\"axes\":[%s]}",
                                            i == 0 ? "" : ",", i, AXIS("a", "8388608", "")),
                             SDS_OK);
        }
        add(&descriptor, "}}");
        decode_descriptor(&descriptor, "[8388608]", 8 << 20, excess == 0 ? SDS_OK : SDS_ERR_LIMIT,
                          excess == 0 ? "" : "tensor_size");
        sds_buf_fini(&descriptor);
    }
}

// One tensor may have 16 GiB, a payload 64 GiB. The data is address space that nobody reads.
static void test_tensor_limit(void **state) {
    (void)state;
    for (uint64_t excess = 0; excess <= 1; excess++) {
        char header[400], descriptor[300];
        uint64_t len = SDS_MAX_TENSOR_BYTES + excess;
        snprintf(descriptor, sizeof descriptor,
                 DESCRIPTOR(FIELD("f", AXIS("a", "%llu", ""), ""), ""), (unsigned long long)len);
        size_t text = strlen(descriptor);
        snprintf(
            header, sizeof header,
            "{\"__sds_descriptor__\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[0,%zu]},"
            "\"t\":{\"dtype\":\"U8\",\"shape\":[%llu],\"data_offsets\":[%zu,%llu]}}",
            text, text, (unsigned long long)len, text, (unsigned long long)(text + len));
        uint64_t total = 8 + strlen(header) + text + len;
        uint8_t *at = mmap(NULL, total, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            skip(); // a machine that keeps to the memory it has
        }
        struct sds_span front = payload_new(sds_span_str(header), sds_span_str(descriptor));
        memcpy(at, front.at, front.len);
        payload_free(front);
        struct sds_record record;
        struct sds_err err;
        enum sds_kind kind = sds_record_decode(sds_span(at, total), &record, &err);
        assert_int_equal(kind, excess == 0 ? SDS_OK : SDS_ERR_LIMIT);
        if (kind == SDS_OK) {
            assert_int_equal(record.fields[0].len, SDS_MAX_TENSOR_BYTES);
            sds_record_fini(&record);
        } else {
            assert_string_equal(err.check, "tensor_size");
        }
        munmap(at, total);
    }
    struct sds_record record;
    struct sds_err err;
    struct sds_span huge = sds_span("", (size_t)SDS_MAX_RECORD_BYTES + 1);
    assert_int_equal(sds_record_decode(huge, &record, &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "record_size");
}

// Many names that agree in all but their end, in every table that is searched by name.
static void test_many_names(void **state) {
    (void)state;
    struct sds_buf descriptor = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES);
    char shape[200] = "[1";
    for (int i = 1; i < SDS_MAX_RANK; i++) {
        strcat(shape, ",1");
    }
    strcat(shape, "]");
    add(&descriptor, BEGIN ",\"fields\":{");
    for (int i = 0; i < 500; i++) {
        assert_int_equal(sds_buf_printf(&descriptor, "%s\"%0100d\":{\"tensor\":\"t\",\"axes\":[",
                                        i == 0 ? "" : ",", i),
                         SDS_OK);
        for (int k = 0; k < SDS_MAX_RANK; k++) {
            assert_int_equal(
                sds_buf_printf(&descriptor,
                               "%s{\"name\":\"%0100d\",\"length\":1,\"id\":\"\\u0061%050d\","
                               "\"coordinate\":{\"reference\":\"%0100d\"}}",
                               k == 0 ? "" : ",", k, k, 499 - k),
                SDS_OK);
        }
        add(&descriptor, "]}");
    }
    add(&descriptor, "}}");
    decode_descriptor(&descriptor, shape, 1, SDS_OK, "");
    sds_buf_fini(&descriptor);
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
        cmocka_unit_test(test_field_limit),
        cmocka_unit_test(test_tensor_count),
        cmocka_unit_test(test_descriptor_limit),
        cmocka_unit_test(test_metadata_limit),
        cmocka_unit_test(test_values_limit),
        cmocka_unit_test(test_total_limit),
        cmocka_unit_test(test_tensor_limit),
        cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
