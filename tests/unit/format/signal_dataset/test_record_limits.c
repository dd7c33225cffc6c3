// SPDX-License-Identifier: Apache-2.0
// Record payloads at the limits of section 3, and one step beyond.
#include <sys/mman.h>

#include "record_cases.h"

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
        cmocka_unit_test(test_field_limit),      cmocka_unit_test(test_tensor_count),
        cmocka_unit_test(test_descriptor_limit), cmocka_unit_test(test_metadata_limit),
        cmocka_unit_test(test_values_limit),     cmocka_unit_test(test_total_limit),
        cmocka_unit_test(test_tensor_limit),     cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
