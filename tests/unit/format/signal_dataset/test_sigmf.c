// SPDX-License-Identifier: Apache-2.0
//
// What .sigmf-meta files say: facts from axes and metadata, marks, and values that cannot be taken.
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "format/signal_dataset/views/sigmf_marks.h"

// A record with one float field `x` of 1000 samples.
struct made {
    char *text;
    struct sds_record record;
    struct view_subject subject;
    struct sigmf_layout layout;
    struct sigmf_facts facts;
};

static void make(struct made *m, const char *axis, const char *field, const char *record) {
    assert_true(asprintf(&m->text,
                         "{\"id\":\"r\",\"scene_id\":null,\"metadata\":%s,\"fields\":{\"x\":{"
                         "\"dtype\":\"<f4\",\"shape\":[1000],\"axes\":[{\"name\":\"time\","
                         "\"length\":1000%s}],\"metadata\":%s}}}",
                         record, axis, field) > 0);
    assert_int_equal(sds_metadata_decode(sds_span_str(m->text), &m->record, NULL), SDS_OK);
    m->subject = (struct view_subject){.record = &m->record, .field = m->record.fields};
    assert_true(sigmf_layout(m->subject.field, &m->layout));
    sigmf_facts_find(&m->subject, &m->layout, &m->facts);
}

static void unmake(struct made *m) {
    sds_record_fini(&m->record);
    free(m->text);
}

static const struct {
    const char *axis, *field, *record;
    double rate;
} rates[] = {
    {"", "{}", "{}", 0},
    {",\"coordinate\":{\"start\":0,\"step\":4e-06,\"unit\":\"s\"}", "{}", "{}", 250000},
    {",\"coordinate\":{\"start\":0,\"step\":2.0833333333333333e-05,\"unit\":\"s\"}", "{}", "{}",
     48000},
    {",\"coordinate\":{\"start\":5,\"step\":0.5,\"unit\":\"ms\"}", "{}", "{}", 2000},
    {",\"coordinate\":{\"start\":0,\"step\":3,\"unit\":\"us\"}", "{}", "{}", 1e6 / 3},
    {",\"coordinate\":{\"start\":0,\"step\":2,\"unit\":\"\xC2\xB5s\"}", "{}", "{}", 500000},
    {",\"coordinate\":{\"start\":0,\"step\":2,\"unit\":\"\\u03bcs\"}", "{}", "{}", 500000},
    {",\"coordinate\":{\"start\":0,\"step\":8,\"unit\":\"ns\"}", "{}", "{}", 125000000},
    // The axis first, whatever the metadata say; and if it does not tell, the nearest metadata.
    {",\"coordinate\":{\"start\":0,\"step\":0.001,\"unit\":\"s\"}", "{\"fs\":7}", "{\"fs\":8}",
     1000},
    {",\"coordinate\":{\"start\":0,\"step\":1}", "{}", "{\"rate_hz\":7.5}", 7.5},
    {",\"coordinate\":{\"start\":0,\"step\":1,\"unit\":\"m\"}", "{}", "{\"rate_hz\":7}", 7},
    {",\"coordinate\":{\"start\":0,\"step\":0,\"unit\":\"s\"}", "{}", "{\"fs\":7}", 7},
    {",\"coordinate\":{\"start\":0,\"step\":-1,\"unit\":\"s\"}", "{}", "{\"fs\":7}", 7},
    {",\"coordinate\":{\"start\":0,\"step\":1e-300,\"unit\":\"s\"}", "{}", "{\"fs\":7}", 7},
    {",\"coordinate\":{\"start\":0,\"step\":1e999,\"unit\":\"s\"}", "{}", "{\"fs\":7}", 7},
    {",\"coordinate\":null", "{}", "{\"sample_rate\":44100}", 44100},
    {",\"metadata\":{\"fs_hz\":1}", "{\"fs\":2}", "{\"fs\":3}", 1},
    {"", "{\"fs\":2}", "{\"sample_rate_hz\":3}", 2},
    {"", "{}", "{\"fs\":2,\"sample_rate_hz\":3}", 3},
    // Numbers only, and such as SigMF allows.
    {"", "{}", "{\"fs\":\"48000\"}", 0},
    {"", "{}", "{\"fs\":true,\"rate_hz\":[1],\"sample_rate\":{}}", 0},
    {"", "{}", "{\"fs\":0}", 0},
    {"", "{}", "{\"fs\":-5}", 0},
    {"", "{}", "{\"fs\":1e12}", 1e12},
    {"", "{}", "{\"fs\":1.1e12}", 0},
    {"", "{}", "{\"sample_rate_hz\":null,\"fs\":4}", 4},
    {"", "0", "[]", 0},
};

static void sample_rates(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct made m;
        make(&m, rates[i].axis, rates[i].field, rates[i].record);
        assert_true(m.facts.sample_rate == rates[i].rate);
        unmake(&m);
    }
}

static void frequencies(void **state) {
    (void)state;
    static const struct {
        const char *record;
        bool there;
        double hz;
    } cases[] = {
        {"{\"center_frequency_hz\":433920000}", true, 433920000},
        {"{\"fc\":0}", true, 0},
        {"{\"fc\":-10e3}", true, -10000},
        {"{\"center_frequency_hz\":\"1\",\"fc\":5}", true, 5},
        {"{\"fc\":1e13}", false, 0},
        {"{\"frequency\":5}", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct made m;
        make(&m, "", "{}", cases[i].record);
        assert_int_equal(m.facts.has_frequency, cases[i].there);
        assert_true(!cases[i].there || m.facts.frequency == cases[i].hz);
        unmake(&m);
    }
}

static void dates(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"2026-03-02T09:03:00Z", "2026-03-02T09:03:00Z"},
        {"2026-03-02 09:03:00z", "2026-03-02T09:03:00Z"},
        {"2026-03-02T09:03:00.123456789Z", "2026-03-02T09:03:00.123456789Z"},
        {"2026-03-02T09:03:00+00:00", "2026-03-02T09:03:00Z"},
        {"2026-03-01T00:30:00.5+01:00", "2026-02-28T23:30:00.5Z"},
        {"2024-02-29T23:59:59-0330", "2024-03-01T03:29:59Z"},
        {"1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"},
        {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
        {"2026-03-02T09:03:00", NULL}, // whose clock?
        {"2026-03-02", NULL},
        {"2026-02-29T09:03:00Z", NULL},
        {"2026-13-01T09:03:00Z", NULL},
        {"2026-03-02T24:00:00Z", NULL},
        {"2026-03-02T09:60:00Z", NULL},
        {"2026-12-31T23:59:60Z", NULL},
        {"2026-03-02T09:03:00.Z", NULL},
        {"2026-03-02T09:03:00+1:00", NULL},
        {"2026-03-02T09:03:00+01:00x", NULL},
        {"2026-03-02T09:03:00+25:00", NULL},
        {"9999-12-31T23:59:59-01:00", NULL},
        {"2026-03-02X09:03:00Z", NULL},
        {"+026-03-02T09:03:00Z", NULL},
        {"2026-03-02T09:03:00.1234567890123456789012Z", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[SIGMF_DATETIME_MAX];
        bool ok = sigmf_datetime(sds_span_str(cases[i][0]), out);
        assert_int_equal(ok, cases[i][1] != NULL);
        if (ok) {
            assert_string_equal(out, cases[i][1]);
        }
    }
    struct made m;
    make(&m, "", "{\"start_time\":5,\"timestamp\":\"2026-03-02T09:03:00Z\"}", "{}");
    assert_string_equal(m.facts.datetime, "2026-03-02T09:03:00Z");
    unmake(&m);
}

static void marks(void **state) {
    (void)state;
    struct made m;
    struct sigmf_mark *found;
    size_t count;
    make(&m, "", "{}",
         "{\"fs\":100,\"annotations\":[{\"start_s\":2,\"stop_s\":3.5,\"label\":\"b\"},"
         "{\"sample_start\":5,\"sample_count\":10,\"freq_lower_hz\":1,\"freq_upper_hz\":2},"
         "{\"start_sample\":990,\"sample_count\":50,\"label\":7},{\"start_sample\":1000},"
         "{\"label\":\"nowhere\"},7,{\"start_sample\":5,\"stop_sample\":4,\"low_hz\":3},"
         "{\"start_s\":-1},{\"start_s\":1e300},{\"start_s\":1,\"duration_s\":0.25},"
         "{\"sample_start\":7},{\"sample_start\":7,\"sample_count\":-1},"
         "{\"sample_start\":8,\"sample_stop\":8},{\"start_s\":0.09,\"duration_s\":0.001},"
         "{\"sample_start\":10,\"sample_stop\":123456789012345678901234567890},"
         "{\"sample_start\":11,\"sample_count\":\"3\"}]}");
    assert_int_equal(sigmf_marks_find(&m.subject, &m.layout, &m.facts, &found, &count), SDS_OK);
    // An end before the start is nowhere, an instant one sample, and what is no number tells
    // nothing.
    static const uint64_t places[][2] = {{5, 10}, {7, 0},    {8, 1},     {9, 1},   {10, 990},
                                         {11, 0}, {100, 25}, {200, 150}, {990, 10}};
    assert_int_equal(count, sizeof places / sizeof places[0]);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i].start, places[i][0]);
        assert_int_equal(found[i].count, places[i][1]);
    }
    assert_true(found[0].has_edges && found[0].lower == 1 && found[0].upper == 2);
    assert_false(found[1].has_edges);
    assert_true(sds_value_is(found[7].label, "b"));
    assert_false(sds_value_there(found[8].label));
    free(found);
    unmake(&m);

    // Without a rate seconds are nowhere; the field's list hides the record's.
    make(&m, "", "{\"annotations\":[{\"start_s\":1}]}", "{\"annotations\":[{\"sample_start\":1}]}");
    assert_int_equal(sigmf_marks_find(&m.subject, &m.layout, &m.facts, &found, &count), SDS_OK);
    assert_int_equal(count, 0);
    free(found);
    unmake(&m);
}

static struct sds_json *render(struct made *m, struct sds_buf *text) {
    static const struct sds_json_limits limits = {
        .bytes = 1 << 24, .depth = SDS_JSON_DEPTH, .nodes = SDS_JSON_NODES};
    struct sds_json *doc = NULL;
    *text = SDS_BUF_INIT(1 << 24);
    assert_int_equal(sigmf_render(&m->subject, &m->layout, text), SDS_OK);
    assert_int_equal(sds_json_parse(sds_buf_span(text), &limits, &doc, NULL), SDS_OK);
    return doc;
}

static void what_cannot_be_taken_is_left_out(void **state) {
    (void)state;
    char *big = malloc((80 << 10) + 64);
    int len = sprintf(big, "{\"fs\":5,\"text\":\"");
    memset(big + len, 'x', 80 << 10);
    strcpy(big + len + (80 << 10), "\"}");
    struct made m;
    struct sds_buf text;
    make(&m, "", "{\"unit\":\"\\ud800\",\"fs\":7}", big);
    struct sds_json *doc = render(&m, &text);
    struct sds_value global = sds_value_get(sds_json_top(doc), "global");
    assert_true(sds_value_is(sds_value_get(global, "core:datatype"), "rf32_le"));
    assert_true(sds_value_double(sds_value_get(global, "core:sample_rate")) == 7);
    assert_true(sds_value_is(sds_value_get(global, "sdsfs:id"), "r"));
    assert_false(sds_value_there(sds_value_get(global, "sdsfs:scene_id"))); // null
    assert_false(sds_value_there(sds_value_get(global, "sdsfs:unit")));
    assert_false(sds_value_there(sds_value_get(global, "sdsfs:field_metadata")));
    assert_false(sds_value_there(sds_value_get(global, "sdsfs:metadata")));
    assert_int_equal(sds_value_count(sds_value_get(sds_json_top(doc), "captures")), 1);
    sds_json_free(doc);
    sds_buf_fini(&text);
    unmake(&m);
    free(big);
}

static void a_full_text(void **state) {
    (void)state;
    struct made m;
    struct sds_buf text = SDS_BUF_INIT(1 << 16);
    make(&m, ",\"coordinate\":{\"start\":0,\"step\":0.01,\"unit\":\"s\"}", "{\"unit\":\"V\"}",
         "{\"fc_hz\":0.5,\"annotations\":[{\"sample_start\":3,\"sample_count\":4,\"label\":\"q\"}]"
         "}");
    m.subject.ordinal = 12;
    assert_int_equal(sigmf_render(&m.subject, &m.layout, &text), SDS_OK);
    assert_int_equal(sds_buf_add(&text, "", 1), SDS_OK);
    assert_string_equal(
        (char *)text.at,
        "{\n"
        "  \"global\": {\n"
        "    \"core:datatype\": \"rf32_le\",\n"
        "    \"core:sample_rate\": 100,\n"
        "    \"core:version\": \"1.2.0\",\n"
        "    \"core:extensions\": [{\"name\": \"sdsfs\", \"version\": \"1.0.0\", \"optional\": "
        "true}],\n"
        "    \"sdsfs:id\": \"r\",\n"
        "    \"sdsfs:ordinal\": 12,\n"
        "    \"sdsfs:field\": \"x\",\n"
        "    \"sdsfs:unit\": \"V\",\n"
        "    \"sdsfs:shape\": [1000],\n"
        "    \"sdsfs:axes\": [{\"name\":\"time\",\"length\":1000,\"coordinate\":{\"start\":0,"
        "\"step\":0.01,\"unit\":\"s\"}}],\n"
        "    \"sdsfs:field_metadata\": {\"unit\":\"V\"},\n"
        "    \"sdsfs:metadata\": {\"fc_hz\":0.5,\"annotations\":[{\"sample_start\":3,"
        "\"sample_count\":4,\"label\":\"q\"}]}\n"
        "  },\n"
        "  \"captures\": [\n"
        "    {\n"
        "      \"core:sample_start\": 0,\n"
        "      \"core:frequency\": 0.5\n"
        "    }\n"
        "  ],\n"
        "  \"annotations\": [\n"
        "    {\n"
        "      \"core:sample_start\": 3,\n"
        "      \"core:sample_count\": 4,\n"
        "      \"core:label\": \"q\"\n"
        "    }\n"
        "  ]\n"
        "}\n");
    size_t len = text.len - 1;
    sds_buf_fini(&text);
    // A buffer that is too small is a failure, at any length.
    for (size_t room = 0; room < len; room++) {
        text = SDS_BUF_INIT(room);
        assert_int_equal(sigmf_render(&m.subject, &m.layout, &text), SDS_ERR_LIMIT);
        sds_buf_fini(&text);
    }
    unmake(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_rates),
        cmocka_unit_test(frequencies),
        cmocka_unit_test(dates),
        cmocka_unit_test(marks),
        cmocka_unit_test(what_cannot_be_taken_is_left_out),
        cmocka_unit_test(a_full_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
