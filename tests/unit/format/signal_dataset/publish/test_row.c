// SPDX-License-Identifier: Apache-2.0
//
// Rows of rows.jsonl: what is taken, and what is refused under which name.
#include "unit.h"

#include "format/signal_dataset/publish/row.h"

static void expect_refused(const char *line, const char *check) {
    struct input_row row;
    struct sds_err err;
    assert_int_equal(input_row_parse(sds_span_str(line), &row, &err), SDS_ERR_INVALID);
    assert_int_equal(err.kind, SDS_ERR_INVALID);
    if (strcmp(err.check, check) != 0) {
        fail_msg("%s: refused as \"%s\" (%s), not as \"%s\"", line, err.check, err.message, check);
    }
}

static void a_whole_row(void **state) {
    (void)state;
    static const char line[] =
        " {\"ordinal\": 7, \"source_record_id\": \"a\\u0062\", \"status\": \"skipped\", "
        "\"values\": {\"x\": 1}, \"provenance\": {}, \"detail_status\": \"why\", \"fields\": "
        "{\"m\": {\"npy\": \"m.npy\", \"axes\": [{\"name\": \"t\", \"coordinate\": null}]}}} \r";
    struct input_row row;
    assert_int_equal(input_row_parse(sds_span_str(line), &row, NULL), SDS_OK);
    assert_true(row.has_ordinal);
    assert_int_equal(row.ordinal, 7);
    assert_true(sds_value_is(row.source_record_id, "ab"));
    assert_true(sds_value_is(row.status, "skipped"));
    assert_int_equal(sds_value_count(row.values), 1);
    assert_int_equal(sds_value_count(row.provenance), 0);
    assert_true(sds_value_is(row.detail_status, "why"));
    assert_int_equal(sds_value_count(row.fields), 1);
    input_row_fini(&row);
    assert_null(row.doc);
    input_row_fini(&row); // as often as one likes
}

static void the_least_row(void **state) {
    (void)state;
    struct input_row row;
    assert_int_equal(
        input_row_parse(sds_span_str("{\"source_record_id\":\"\",\"status\":\"failed\"}"), &row,
                        NULL),
        SDS_OK);
    assert_false(row.has_ordinal);
    assert_true(sds_value_there(row.source_record_id));
    assert_false(sds_value_there(row.values));
    assert_false(sds_value_there(row.fields));
    input_row_fini(&row);
    assert_int_equal(input_row_parse(sds_span_str("{\"ordinal\":18446744073709551615,\"status\":"
                                                  "\"success\",\"detail_status\":null}"),
                                     &row, NULL),
                     SDS_OK);
    assert_true(row.ordinal == UINT64_MAX);
    input_row_fini(&row);
}

// As for the reference, null says no more than nothing; what "fields" are has to be said.
static void null_for_an_object(void **state) {
    (void)state;
    struct input_row row;
    assert_int_equal(
        input_row_parse(
            sds_span_str("{\"ordinal\":0,\"status\":\"failed\",\"values\":null,\"provenance\":null,"
                         "\"fields\":{\"m\":{\"npy\":\"m\",\"axes\":[],\"metadata\":null}}}"),
            &row, NULL),
        SDS_OK);
    assert_false(sds_value_there(row.values));
    assert_false(sds_value_there(row.provenance));
    input_row_fini(&row);
}

static void values_as_they_were_typed(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"{\"ordinal\":\"3\",\"status\":\"failed\"}",
         "ordinal is \"3\", expected the ordinal of a record"},
        {"{\"ordinal\":-3.5,\"status\":\"failed\"}",
         "ordinal is -3.5, expected the ordinal of a record"},
        {"{\"ordinal\":3,\"status\":null}", "status is null, expected success, skipped or failed"},
        {"{\"ordinal\":3,\"status\":\"failed\",\"values\":[\"\x7f\"]}",
         "values is [\"\\x7F\"], expected an object"},
        {"{\"ordinal\":3,\"x\":0}", "unknown key \"x\""},
        {"{\"ordinal\":3}", "status is missing, expected success, skipped or failed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct input_row row;
        struct sds_err err;
        assert_int_equal(input_row_parse(sds_span_str(cases[i].line), &row, &err), SDS_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
    }
}

#define OK "\"ordinal\":0,\"status\":\"success\""
#define FIELD(spec) "{" OK ",\"fields\":{\"m\":" spec "}}"
#define AXIS(axis) FIELD("{\"npy\":\"m\",\"axes\":[" axis "]}")

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *line, *check;
    } cases[] = {
        {"", "json"},
        {"{", "json"},
        {"{" OK "} x", "json"},
        {"{" OK ",\"ordinal\":1}", "json"}, // repeated
        {"{" OK ",\"values\":{\"n\":NaN}}", "json"},
        {"\xEF\xBB\xBF{" OK "}", "encoding"},
        {"[]", "row"},
        {"null", "row"},
        {"{" OK ",\"Status\":1}", "keys"},
        {"{" OK ",\"source_index\":0}", "keys"},
        {"{\"status\":\"success\"}", "ordinal"},
        {"{\"ordinal\":-1,\"status\":\"success\"}", "ordinal"},
        {"{\"ordinal\":1.0,\"status\":\"success\"}", "ordinal"},
        {"{\"ordinal\":true,\"status\":\"success\"}", "ordinal"},
        {"{\"ordinal\":\"0\",\"status\":\"success\"}", "ordinal"},
        {"{\"ordinal\":null,\"status\":\"success\"}", "ordinal"},
        {"{\"ordinal\":18446744073709551616,\"status\":\"success\"}", "ordinal"},
        {"{" OK ",\"source_record_id\":1}", "source_record_id"},
        {"{" OK ",\"source_record_id\":null}", "source_record_id"},
        {"{\"ordinal\":0}", "status"},
        {"{\"ordinal\":0,\"status\":null}", "status"},
        {"{\"ordinal\":0,\"status\":\"Success\"}", "status"},
        {"{" OK ",\"detail_status\":\"\"}", "detail_status"},
        {"{" OK ",\"detail_status\":1}", "detail_status"},
        {"{" OK ",\"values\":0}", "values"},
        {"{" OK ",\"values\":[]}", "values"},
        {"{" OK ",\"provenance\":\"x\"}", "provenance"},
        {"{" OK ",\"fields\":null}", "fields"},
        {"{" OK ",\"fields\":[]}", "fields"},
        {FIELD("1"), "fields"},
        {FIELD("{}"), "npy"},
        {FIELD("{\"npy\":\"\",\"axes\":[]}"), "npy"},
        {FIELD("{\"npy\":1,\"axes\":[]}"), "npy"},
        {FIELD("{\"npy\":\"m\"}"), "axes"},
        {FIELD("{\"npy\":\"m\",\"axes\":{}}"), "axes"},
        {FIELD("{\"npy\":\"m\",\"axes\":null}"), "axes"},
        {FIELD("{\"npy\":\"m\",\"axes\":[],\"metadata\":[]}"), "metadata"},
        {FIELD("{\"npy\":\"m\",\"axes\":[],\"dtype\":\"<f4\"}"), "keys"},
        {AXIS("\"t\""), "axes"},
        {AXIS("{\"name\":\"t\",\"size\":1}"), "keys"},
        {AXIS("{\"name\":\"t\",\"coordinate\":[]}"), "coordinate"},
        {AXIS("{\"name\":\"t\",\"coordinate\":{\"value\":[]}}"), "keys"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_refused(cases[i].line, cases[i].check);
    }
}

// No beginning of a row is a row.
static void cut_at_every_byte(void **state) {
    (void)state;
    static const char line[] = AXIS("{\"name\":\"t\",\"coordinate\":{\"start\":0,\"step\":1}}");
    struct input_row row;
    struct sds_err err;
    assert_int_equal(input_row_parse(sds_span_str(line), &row, &err), SDS_OK);
    input_row_fini(&row);
    for (size_t len = 0; len < sizeof line - 1; len++) {
        assert_int_equal(input_row_parse(sds_span(line, len), &row, &err), SDS_ERR_INVALID);
    }
}

static void depth_and_nodes_are_bounded(void **state) {
    (void)state;
    char line[512] = "{" OK ",\"values\":{\"x\":";
    size_t len = strlen(line), depth = 127; // behind the row and its values
    memset(line + len, '[', depth);
    memset(line + len + depth, ']', depth);
    strcpy(line + len + 2 * depth, "}}");
    expect_refused(line, "json_depth");
}

static void kinds_become_the_callers(void **state) {
    (void)state;
    static const enum sds_kind verdicts[] = {SDS_ERR_CORRUPT, SDS_ERR_LIMIT, SDS_ERR_UNSUPPORTED};
    static const enum sds_kind others[] = {SDS_OK, SDS_ERR_STORAGE, SDS_ERR_NO_MEMORY,
                                           SDS_ERR_INVALID};
    for (size_t i = 0; i < 3; i++) {
        struct sds_err err = {.kind = verdicts[i]};
        assert_int_equal(as_input_error(verdicts[i], &err), SDS_ERR_INVALID);
        assert_int_equal(err.kind, SDS_ERR_INVALID);
        assert_int_equal(as_input_error(verdicts[i], NULL), SDS_ERR_INVALID);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(as_input_error(others[i], NULL), others[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_row),
        cmocka_unit_test(the_least_row),
        cmocka_unit_test(null_for_an_object),
        cmocka_unit_test(values_as_they_were_typed),
        cmocka_unit_test(refusals),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(depth_and_nodes_are_bounded),
        cmocka_unit_test(kinds_become_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
