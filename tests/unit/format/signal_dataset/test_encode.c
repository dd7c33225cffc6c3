// SPDX-License-Identifier: Apache-2.0
// Records and metadata entries written: what the reference makes of the kept ones, the order of
// tensors, and refusals.
#include "format/signal_dataset/encode.h"

#include "record_cases.h"
#include "reencode.h"

static void check_written(const struct record_case *c, enum sds_kind kind,
                          const struct sds_buf *written, const struct sds_err *err) {
    char digest[SDS_SHA256_HEX] = "refused";
    if (kind == SDS_OK) {
        sds_sha256_hex(sds_buf_span(written), digest);
    }
    // The reference writes the length of an axis as it found it, 3.0 or true.
    bool odd_length =
        c->kind == 'm' && kind == SDS_ERR_INVALID && strcmp(err->check, "axis_length") == 0;
    if (!odd_length && strcmp(digest, c->written) != 0) {
        fail_msg("%s: wrote %s, expected %s (%s)", c->label, digest, c->written,
                 kind == SDS_OK ? "" : err->message);
    }
    assert_true(kind == SDS_OK || (kind == SDS_ERR_INVALID && err->kind == SDS_ERR_INVALID));
}

static void skip_fields(const struct record_case *c) {
    for (unsigned i = 0; i < c->fields; i++) {
        assert_int_equal(fscanf(c->expected, "%*[^\n]\n"), 0);
    }
}

static void check_record_case(struct record_case *c) {
    struct sds_record record;
    struct sds_err err = {0};
    skip_fields(c);
    if (sds_record_decode(c->payload, &record, NULL) != SDS_OK) {
        return;
    }
    struct sds_buf written = SDS_BUF_INIT(1 << 24);
    enum sds_kind kind = reencode_record(&record, c->payload, &written, &err);
    if (strcmp(c->written, "-") != 0) { // '-': a good record, but not an annotation
        check_written(c, kind, &written, &err);
    }
    sds_record_fini(&record);
    sds_buf_fini(&written);
}

static void check_entry_case(struct record_case *c) {
    struct sds_record entry;
    struct sds_err err = {0};
    skip_fields(c);
    if (sds_metadata_decode(c->payload, &entry, NULL) != SDS_OK) {
        return;
    }
    struct sds_buf written = SDS_BUF_INIT(1 << 24);
    enum sds_kind kind = reencode_entry(&entry, &written, &err);
    check_written(c, kind, &written, &err);
    assert_true(kind == SDS_OK || written.len == 0);
    sds_record_fini(&entry);
    sds_buf_fini(&written);
}

static void writes_as_reference(void **state) {
    (void)state;
    assert_true(each_case('r', check_record_case) >= 400);
    assert_true(each_case('a', check_record_case) >= 40);
    assert_true(each_case('m', check_entry_case) >= 150);
}

static const uint64_t two[] = {2};

#define AXIS_A                                                                                     \
    "[{\"coordinate\":null,\"id\":null,\"length\":2,\"metadata\":{},\"name\":\"a\",\"role\":"      \
    "null}]"

static struct sds_field_source field_of(const char *name, enum sds_dtype dtype) {
    return (struct sds_field_source){
        .name = sds_span_str(name),
        .dtype = dtype,
        .rank = 1,
        .shape = two,
        .axes = sds_span_str(AXIS_A),
        .metadata = sds_span_str("{}"),
    };
}

static struct sds_record_source source_of(const struct sds_field_source *fields, size_t count) {
    return (struct sds_record_source){
        .id = sds_span_str("\"r\""),
        .scene_id = sds_span_str("null"),
        .metadata = sds_span_str("{}"),
        .fields = fields,
        .field_count = count,
    };
}

// Names in an order of their own, so that number, name and place all differ.
static void orders_tensors(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum sds_dtype dtype;
    } fields[] = {
        {"c", SDS_BOOL}, {"d", SDS_U8},  {"b", SDS_U8},  {"e", SDS_I8},  {"f", SDS_I16},
        {"g", SDS_U16},  {"h", SDS_F16}, {"i", SDS_I32}, {"j", SDS_U32}, {"k", SDS_F32},
        {"l", SDS_C64},  {"m", SDS_F64}, {"n", SDS_I64}, {"a", SDS_U64},
    };
    enum { COUNT = sizeof fields / sizeof fields[0] };
    struct sds_field_source sources[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sources[i] = field_of(fields[i].name, fields[i].dtype);
    }
    struct sds_record_source source = source_of(sources, COUNT);
    struct sds_blob *payload = NULL;
    uint64_t offsets[COUNT];
    assert_int_equal(sds_record_encode(&source, 1 << 20, &payload, offsets, NULL), SDS_OK);
    static const char order[] = "tensor_000000tensor_000013tensor_000012tensor_000011tensor_000010"
                                "tensor_000009tensor_000008tensor_000007tensor_000006tensor_000005"
                                "tensor_000004__sds_descriptor__tensor_000001tensor_000003"
                                "tensor_000002";
    struct sds_buf found = SDS_BUF_INIT(1000);
    size_t header_len = (size_t)sds_le64(payload->at);
    assert_int_equal(header_len % 8, 0);
    struct sds_json *header = NULL;
    const struct sds_json_limits limits = {.bytes = 1 << 20, .depth = 4, .nodes = 1000};
    assert_int_equal(sds_json_parse(sds_span(payload->at + 8, header_len), &limits, &header, NULL),
                     SDS_OK);
    for (struct sds_iter it = sds_value_iter(sds_json_top(header)); sds_iter_next(&it);) {
        assert_int_equal(sds_value_string_add(it.key, &found), SDS_OK);
    }
    assert_true(sds_span_eq(sds_buf_span(&found), sds_span_str(order)));

    struct sds_record record;
    assert_int_equal(sds_record_decode(sds_span(payload->at, payload->len), &record, NULL), SDS_OK);
    for (size_t i = 0; i < COUNT; i++) {
        int32_t at = sds_record_find(&record, sources[i].name);
        assert_true(at >= 0);
        assert_int_equal(record.fields[at].off, offsets[i]);
        assert_int_equal(record.fields[at].dtype, fields[i].dtype);
        for (uint64_t k = 0; k < record.fields[at].len; k++) {
            assert_int_equal(payload->at[offsets[i] + k], 0);
        }
    }
    sds_record_fini(&record);
    sds_json_free(header);
    sds_buf_fini(&found);
    sds_blob_unref(payload);
}

// As many fields as there may be; one more is refused.
static void writes_many_fields(void **state) {
    (void)state;
    enum { MOST = SDS_MAX_FIELDS };
    struct sds_field_source *fields = calloc(MOST + 1, sizeof *fields);
    char(*names)[8] = calloc(MOST + 1, sizeof *names);
    uint64_t *offsets = calloc(MOST + 1, sizeof *offsets);
    assert_true(fields != NULL && names != NULL && offsets != NULL);
    for (unsigned i = 0; i <= MOST; i++) {
        snprintf(names[i], sizeof names[i], "%u", i);
        fields[i] = field_of(names[i], (enum sds_dtype)(i % SDS_DTYPES));
    }
    for (size_t count = MOST; count <= MOST + 1; count++) {
        struct sds_record_source source = source_of(fields, count);
        struct sds_blob *payload = NULL;
        struct sds_err err;
        enum sds_kind kind = sds_record_encode(&source, 1 << 30, &payload, offsets, &err);
        assert_int_equal(kind, count == MOST ? SDS_OK : SDS_ERR_LIMIT);
        assert_string_equal(kind == SDS_OK ? "field_count" : err.check, "field_count");
        assert_true((kind == SDS_OK) == (payload != NULL));
        sds_blob_unref(payload);
    }
    free(fields);
    free(names);
    free(offsets);
}

static void keeps_to_max_bytes(void **state) {
    (void)state;
    struct sds_field_source field = field_of("f", SDS_F64);
    struct sds_record_source source = source_of(&field, 1);
    struct sds_blob *payload = NULL;
    uint64_t offset;
    struct sds_err err;
    assert_int_equal(sds_record_encode(&source, 1 << 20, &payload, &offset, NULL), SDS_OK);
    size_t size = payload->len;
    sds_blob_unref(payload);
    payload = NULL;
    assert_int_equal(sds_record_encode(&source, size - 1, &payload, &offset, &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "record_size");
    assert_null(payload);
    assert_int_equal(sds_record_encode(&source, size, &payload, &offset, NULL), SDS_OK);
    sds_blob_unref(payload);
}

static void refuse(const struct sds_record_source *source, enum sds_kind kind, const char *check) {
    struct sds_blob *payload = NULL;
    uint64_t offsets[4];
    struct sds_err err = {.check = "nothing"};
    enum sds_kind found = sds_record_encode(source, 1 << 30, &payload, offsets, &err);
    if (found != kind || err.kind != kind || strcmp(err.check, check) != 0) {
        fail_msg("%s, %s (%s), expected %s, %s", sds_kind_name(found), err.check, err.message,
                 sds_kind_name(kind), check);
    }
    assert_null(payload);
}

static void refuses_records(void **state) {
    (void)state;
    struct sds_field_source good = field_of("f", SDS_F32);
    struct sds_record_source source = source_of(&good, 1);
    source.id = sds_span_str("\"\"");
    refuse(&source, SDS_ERR_INVALID, "id");
    source = source_of(&good, 1);
    source.scene_id = sds_span_str("1");
    refuse(&source, SDS_ERR_INVALID, "scene_id");
    source = source_of(&good, 1);
    source.metadata = sds_span_str("[1]");
    refuse(&source, SDS_ERR_INVALID, "metadata");
    source = source_of(NULL, 0);
    refuse(&source, SDS_ERR_INVALID, "fields");
}

static void refuses_fields(void **state) {
    (void)state;
    static const uint64_t huge[] = {UINT64_MAX, 2}, large[] = {SDS_MAX_TENSOR_BYTES / 8 + 1};
    struct sds_field_source field = field_of("", SDS_F64);
    struct sds_record_source source = source_of(&field, 1);
    refuse(&source, SDS_ERR_INVALID, "field_name");
    field = field_of("\xED\xA0\x80", SDS_F64);
    refuse(&source, SDS_ERR_INVALID, "surrogate");
    field = field_of("f", SDS_F64);
    field.axes = sds_span_str("[]");
    refuse(&source, SDS_ERR_INVALID, "axes");
    field.rank = 0; // the reference writes scalars as one element
    refuse(&source, SDS_ERR_INVALID, "axes");
    field.rank = 2;
    field.shape = huge;
    refuse(&source, SDS_ERR_LIMIT, "tensor_size");
    field.rank = 1;
    field.shape = large;
    refuse(&source, SDS_ERR_LIMIT, "tensor_size");
    struct sds_field_source twice[] = {field_of("f", SDS_F64), field_of("f", SDS_U8)};
    source = source_of(twice, 2);
    refuse(&source, SDS_ERR_INVALID, "json");
}

// An entry is refused as a whole: what was in the buffer stays.
static void refuses_entries(void **state) {
    (void)state;
    struct sds_field_source field = field_of("f", SDS_F32);
    struct sds_record_source source = source_of(&field, 1);
    struct sds_buf out = SDS_BUF_INIT(1 << 20);
    struct sds_err err;
    assert_int_equal(sds_buf_add_str(&out, "x"), SDS_OK);
    source.metadata = sds_span_str("1");
    assert_int_equal(sds_metadata_encode(&source, &out, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "metadata");
    field.name = sds_span_str("\xff");
    assert_int_equal(sds_metadata_encode(&source, &out, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "surrogate");
    assert_true(sds_span_eq(sds_buf_span(&out), sds_span_str("x")));
    source = source_of(NULL, 0);
    assert_int_equal(sds_metadata_encode(&source, &out, &err), SDS_OK);
    assert_true(sds_span_eq(
        sds_buf_span(&out),
        sds_span_str("x{\"fields\":{},\"id\":\"r\",\"metadata\":{},\"scene_id\":null}")));
    sds_buf_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_as_reference), cmocka_unit_test(orders_tensors),
        cmocka_unit_test(writes_many_fields),  cmocka_unit_test(keeps_to_max_bytes),
        cmocka_unit_test(refuses_records),     cmocka_unit_test(refuses_fields),
        cmocka_unit_test(refuses_entries),
    };
    return cmocka_run_group_tests_name("encode", tests, NULL, NULL);
}
