// SPDX-License-Identifier: Apache-2.0
//
// Rows as carriers: decoded again they say what the row says, and have its tensors. That the bytes
// are the reference's is for tests/integration/test_annotate.py.
#include "scratch.h"

#include "format/signal_dataset/publish/carrier.h"
#include "format/signal_dataset/record.h"

struct maker {
    struct scratch scratch;
    struct carrier_maker maker;
};

static void begin(struct maker *m, uint64_t max_bytes) {
    scratch_make(&m->scratch);
    struct tensor_directory directory = {.fd = m->scratch.fd, .confined = true};
    carrier_maker_init(&m->maker, directory, max_bytes);
}

static void end(struct maker *m) {
    carrier_maker_fini(&m->maker);
    scratch_remove(&m->scratch);
}

static struct sds_blob *make(struct maker *m, const char *line, struct sds_annotation *out) {
    struct input_row row;
    struct sds_blob *payload = NULL;
    struct sds_err err;
    struct sds_span id = sds_span_str("\"rec\"");
    assert_int_equal(input_row_parse(sds_span_str(line), &row, &err), SDS_OK);
    if (carrier_check(&m->maker, &row, 41, id, &err) != SDS_OK ||
        carrier_make(&m->maker, &row, 41, id, &payload, &err) != SDS_OK) {
        fail_msg("%s: %s: %s", line, err.check, err.message);
    }
    input_row_fini(&row);
    assert_int_equal(sds_annotation_decode(sds_span(payload->at, payload->len), out, &err), SDS_OK);
    assert_true(sds_value_is(out->source_record_id, "rec"));
    assert_int_equal(out->source_index, 41);
    return payload;
}

static void expect_refused(struct maker *m, const char *line, const char *check) {
    struct input_row row;
    struct sds_err err;
    assert_int_equal(input_row_parse(sds_span_str(line), &row, &err), SDS_OK);
    enum sds_kind kind = carrier_check(&m->maker, &row, 0, sds_span_str("\"rec\""), &err);
    input_row_fini(&row);
    if (kind != SDS_ERR_INVALID || err.kind != kind || strcmp(err.check, check) != 0) {
        fail_msg("%s: %s \"%s\" (%s), not \"%s\"", line, sds_kind_name(kind), err.check,
                 err.message, check);
    }
}

static void a_row_without_fields(void **state) {
    (void)state;
    struct maker m;
    struct sds_annotation annotation;
    begin(&m, 1 << 20);
    struct sds_blob *payload = make(&m,
                                    "{\"ordinal\":41,\"status\":\"failed\",\"detail_status\":"
                                    "\"late\",\"values\":{\"b\":1,\"a\":-0}}",
                                    &annotation);
    assert_true(sds_value_is(annotation.status, "failed"));
    assert_true(sds_value_is(annotation.detail_status, "late"));
    struct sds_span values = sds_value_text(annotation.values);
    assert_true(sds_span_eq(values, sds_span_str("{\"a\":0,\"b\":1}")));
    assert_int_equal(sds_value_count(annotation.provenance), 0);
    assert_int_equal(annotation.carrier.field_count, 0);
    sds_annotation_fini(&annotation);
    sds_blob_unref(payload);
    end(&m);
}

static void a_row_with_tensors(void **state) {
    (void)state;
    static const uint64_t three[] = {3}, two_by_none[] = {2, 0};
    static const uint8_t bytes[] = {7, 8, 9};
    struct maker m;
    struct sds_annotation annotation;
    begin(&m, 1 << 20);
    scratch_npy(&m.scratch, "u.npy", SDS_U8, three, 1, sds_span(bytes, 3));
    scratch_npy(&m.scratch, "n.npy", SDS_F64, two_by_none, 2, sds_span("", 0));
    struct sds_blob *payload =
        make(&m,
             "{\"ordinal\":41,\"status\":\"success\",\"fields\":{"
             "\"caf\\u00e9\":{\"npy\":\"\\u0075.npy\",\"axes\":[{\"name\":\"t\",\"length\":3}]},"
             "\"none\":{\"npy\":\"n.npy\",\"axes\":[{\"name\":\"x\"},{\"name\":\"y\"}],"
             "\"metadata\":{\"k\":[]}}}}",
             &annotation);
    const struct sds_record *carrier = &annotation.carrier;
    assert_int_equal(carrier->field_count, 2);
    int32_t i = sds_record_find(carrier, sds_span_str("caf\xc3\xa9"));
    assert_true(i >= 0);
    assert_int_equal(carrier->fields[i].dtype, SDS_U8);
    assert_memory_equal(payload->at + carrier->fields[i].off, bytes, 3);
    i = sds_record_find(carrier, sds_span_str("none"));
    assert_true(i >= 0);
    assert_int_equal(carrier->fields[i].rank, 2);
    assert_int_equal(carrier->fields[i].len, 0);
    sds_annotation_fini(&annotation);
    sds_blob_unref(payload);
    end(&m);
}

// More fields than files are kept open for.
static void a_row_with_many_tensors(void **state) {
    (void)state;
    enum { FIELDS = 100 };
    static const uint64_t one[] = {1};
    struct maker m;
    struct sds_annotation annotation;
    struct sds_buf line = SDS_BUF_INIT(SIZE_MAX);
    begin(&m, 1 << 20);
    assert_int_equal(sds_buf_add_str(&line, "{\"ordinal\":41,\"status\":\"success\",\"fields\":{"),
                     SDS_OK);
    for (unsigned i = 0; i < FIELDS; i++) {
        char name[16];
        uint8_t byte = (uint8_t)i;
        snprintf(name, sizeof name, "%u.npy", i);
        scratch_npy(&m.scratch, name, SDS_U8, one, 1, sds_span(&byte, 1));
        assert_int_equal(sds_buf_printf(&line,
                                        "%s\"f%u\":{\"npy\":\"%s\",\"axes\":[{\"name\":\"t\"}]}",
                                        i > 0 ? "," : "", i, name),
                         SDS_OK);
    }
    assert_int_equal(sds_buf_add(&line, "}}", 3), SDS_OK);
    struct sds_blob *payload = make(&m, (char *)line.at, &annotation);
    for (unsigned i = 0; i < FIELDS; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        int32_t at = sds_record_find(&annotation.carrier, sds_span_str(name));
        assert_true(at >= 0);
        assert_int_equal(payload->at[annotation.carrier.fields[at].off], i);
    }
    sds_annotation_fini(&annotation);
    sds_blob_unref(payload);
    sds_buf_fini(&line);
    end(&m);
}

#define ROW "{\"ordinal\":0,\"status\":\"success\","
#define FIELD(rest) ROW "\"fields\":{\"m\":{\"npy\":\"a.npy\"," rest "}}}"

static void refusals(void **state) {
    (void)state;
    static const uint64_t three[] = {3};
    struct maker m;
    begin(&m, 1 << 20);
    scratch_npy(&m.scratch, "a.npy", SDS_U8, three, 1, sds_span("abc", 3));
    static const struct {
        const char *line, *check;
    } cases[] = {
        {ROW "\"values\":{\"x\":1e999}}", "infinite"},
        {ROW "\"provenance\":{\"x\":[-1e999]}}", "infinite"},
        {ROW "\"values\":{\"x\":\"\\ud800\"}}", "surrogate"},
        {ROW "\"values\":{\"\\udc00\":1}}", "surrogate"},
        {ROW "\"detail_status\":\"\\ud800\"}", "surrogate"},
        {ROW "\"fields\":{\"\":{\"npy\":\"a.npy\",\"axes\":[{\"name\":\"t\"}]}}}", "field_name"},
        {ROW "\"fields\":{\"m\":{\"npy\":\"b.npy\",\"axes\":[{\"name\":\"t\"}]}}}", "npy"},
        {ROW "\"fields\":{\"m\":{\"npy\":\"a.npy\\u0000\",\"axes\":[{\"name\":\"t\"}]}}}", "npy"},
        {FIELD("\"axes\":[]"), "axes"},
        {FIELD("\"axes\":[{\"name\":\"t\"},{\"name\":\"u\"}]"), "axes"},
        {FIELD("\"axes\":[{\"name\":\"t\",\"length\":4}]"), "axis_length"},
        {FIELD("\"axes\":[{\"name\":\"\"}]"), "axis_name"},
        {FIELD("\"axes\":[{\"name\":\"t\",\"coordinate\":{\"start\":1}}]"), "coordinate"},
        {FIELD("\"axes\":[{\"name\":\"t\",\"coordinate\":{\"values\":[1,2]}}]"),
         "coordinate_values"},
        {FIELD("\"axes\":[{\"name\":\"t\",\"coordinate\":{\"values\":[1,2,{}]}}]"),
         "coordinate_values"},
        {FIELD("\"axes\":[{\"name\":\"t\",\"coordinate\":{\"reference\":\"none\"}}]"), "reference"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_refused(&m, cases[i].line, cases[i].check);
    }
    end(&m);
}

// What is deep in a row is deeper in its carrier, and no reader would take that.
static void too_deep_for_a_carrier(void **state) {
    (void)state;
    struct maker m;
    char line[512] = ROW "\"values\":{\"x\":";
    size_t len = strlen(line), depth = 126;
    memset(line + len, '[', depth);
    memset(line + len + depth, ']', depth);
    strcpy(line + len + 2 * depth, "}}");
    begin(&m, 1 << 20);
    expect_refused(&m, line, "json_depth");
    end(&m);
}

static void too_large(void **state) {
    (void)state;
    static const uint64_t shape[] = {4096};
    static const uint8_t data[4096] = {0};
    struct maker m;
    begin(&m, 4096);
    scratch_npy(&m.scratch, "a.npy", SDS_U8, shape, 1, sds_span(data, sizeof data));
    expect_refused(&m, FIELD("\"axes\":[{\"name\":\"t\"}]"), "record_size");
    end(&m);
}

// A file that shrinks between its header and its data, and leaves no descriptor behind.
static void a_tensor_that_goes_away(void **state) {
    (void)state;
    static const uint64_t shape[] = {3};
    struct maker m;
    struct input_row row;
    struct sds_blob *payload = NULL;
    struct sds_err err;
    begin(&m, 1 << 20);
    scratch_npy(&m.scratch, "a.npy", SDS_U8, shape, 1, sds_span("abc", 3));
    assert_int_equal(
        input_row_parse(sds_span_str(FIELD("\"axes\":[{\"name\":\"t\"}]")), &row, &err), SDS_OK);
    assert_int_equal(carrier_check(&m.maker, &row, 0, sds_span_str("\"r\""), &err), SDS_OK);
    assert_int_equal(unlinkat(m.scratch.fd, "a.npy", 0), 0);
    int next = dup(0);
    close(next);
    assert_int_equal(carrier_make(&m.maker, &row, 0, sds_span_str("\"r\""), &payload, &err),
                     SDS_ERR_INVALID);
    assert_null(payload);
    int after = dup(0);
    close(after);
    assert_int_equal(next, after);
    input_row_fini(&row);
    end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_without_fields),    cmocka_unit_test(a_row_with_tensors),
        cmocka_unit_test(a_row_with_many_tensors), cmocka_unit_test(refusals),
        cmocka_unit_test(too_deep_for_a_carrier),  cmocka_unit_test(too_large),
        cmocka_unit_test(a_tensor_that_goes_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
