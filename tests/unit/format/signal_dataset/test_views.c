// SPDX-License-Identifier: Apache-2.0
//
// The files that fields are shown as: which there are, what they are called, which bytes they hold.
#include <stdio.h>

#include "unit.h"

#include "format/signal_dataset/views/bin.h"
#include "format/signal_dataset/views/npy.h"
#include "format/signal_dataset/views/sigmf.h"

#define ALL "npy,sigmf,bin"

static struct sds_record entry_of(const char *text) {
    struct sds_record record;
    struct sds_err err;
    assert_int_equal(sds_metadata_decode(sds_span_str(text), &record, &err), SDS_OK);
    return record;
}

#define AXIS(name, length) "{\"name\":\"" name "\",\"length\":" #length "}"
#define FIELD(name, dtype, shape, axes)                                                            \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"axes\":[" axes "]}"
#define ENTRY(fields) "{\"id\":\"r\",\"fields\":{" fields "}}"

// --- the option

static void words_make_sets(void **state) {
    (void)state;
    assert_int_equal(views_parse(NULL), views_parse("npy,sigmf"));
    assert_int_equal(views_parse(""), 0);
    assert_int_equal(views_parse("bin:npy"), views_parse("npy,bin"));
    assert_int_equal(views_parse("npy,,what,npyx"), views_parse("npy"));
    assert_int_equal(views_parse(ALL), (1u << view_count) - 1);
    assert_true(views_know(sds_span_str("sigmf")));
    assert_false(views_know(sds_span_str("")));
    assert_false(views_know(sds_span_str("np")));
    // Rows have no recordings.
    assert_int_equal(views_of_rows(views_parse(ALL)), views_parse("npy,bin"));
}

static void suffixes_tell_views_apart(void **state) {
    (void)state;
    for (uint32_t i = 0; i < view_count; i++) {
        for (uint32_t k = 0; k < view_count; k++) {
            const char *a = views[i]->suffix, *b = views[k]->suffix;
            assert_true(i == k || strlen(a) < strlen(b) ||
                        strcmp(a + strlen(a) - strlen(b), b) != 0);
        }
        // Data behind a head need to know how long it is.
        assert_true(view_is_text(views[i]) || views[i]->head == NULL || views[i]->head_len != NULL);
    }
}

// --- which fields are recordings

static void element_types(void **state) {
    (void)state;
    static const char *const expected[SDS_DTYPES] = {
        [SDS_I8] = "ri8",      [SDS_U8] = "ru8",      [SDS_I16] = "ri16_le",
        [SDS_U16] = "ru16_le", [SDS_I32] = "ri32_le", [SDS_U32] = "ru32_le",
        [SDS_F32] = "rf32_le", [SDS_F64] = "rf64_le", [SDS_C64] = "cf32_le"};
    for (unsigned i = 0; i < SDS_DTYPES; i++) {
        char text[256];
        struct sigmf_layout layout;
        snprintf(text, sizeof text,
                 "{\"id\":1,\"fields\":{\"x\":{\"dtype\":\"%s\",\"shape\":[4],\"axes\":[" AXIS(
                     "time", 4) "]}}}",
                 sds_dtype_numpy((enum sds_dtype)i));
        struct sds_record record = entry_of(text);
        assert_int_equal(sigmf_layout(&record.fields[0], &layout), expected[i] != NULL);
        if (expected[i] != NULL) {
            assert_string_equal(layout.datatype, expected[i]);
        }
        sds_record_fini(&record);
    }
}

static const struct layout_case {
    const char *shape, *axes;
    uint32_t recordings, time; // 0 recordings: none
    uint64_t samples, channels;
    const char *datatype; // of int16
} layouts[] = {
    {"[5]", AXIS("time", 5), 1, 0, 5, 1, "ri16_le"},
    {"[5]", AXIS("t", 5), 0, 0, 0, 0, NULL},
    {"[5]", "{\"name\":\"t\",\"length\":5,\"role\":\"time\"}", 1, 0, 5, 1, "ri16_le"},
    {"[5]", "{\"name\":\"Time\",\"length\":5,\"role\":null}", 0, 0, 0, 0, NULL},
    {"[3,5]", AXIS("channel", 3) "," AXIS("time", 5), 3, 1, 5, 1, "ri16_le"},
    {"[1,5]", AXIS("channel", 1) "," AXIS("time", 5), 1, 1, 5, 1, "ri16_le"},
    {"[5,3]", AXIS("time", 5) "," AXIS("channel", 3), 1, 0, 5, 3, "ri16_le"},
    {"[2,3,5,4]", AXIS("a", 2) "," AXIS("b", 3) "," AXIS("time", 5) "," AXIS("c", 4), 6, 2, 5, 4,
     "ri16_le"},
    // The name comes before roles, the last role before others.
    {"[3,5]", "{\"name\":\"time\",\"length\":3},{\"name\":\"fast\",\"role\":\"time\",\"length\":5}",
     1, 0, 3, 5, "ri16_le"},
    {"[3,5]",
     "{\"name\":\"slow\",\"role\":\"time\",\"length\":3},{\"name\":\"fast\",\"role\":\"time\","
     "\"length\":5}",
     3, 1, 5, 1, "ri16_le"},
    // I and Q.
    {"[5,2]", AXIS("time", 5) "," AXIS("iq", 2), 1, 0, 5, 1, "ci16_le"},
    {"[3,5,4,2]", AXIS("c", 3) "," AXIS("time", 5) "," AXIS("d", 4) "," AXIS("iq", 2), 3, 1, 5, 4,
     "ci16_le"},
    {"[5,3]", AXIS("time", 5) "," AXIS("iq", 3), 1, 0, 5, 3, "ri16_le"},
    {"[2,5]", AXIS("iq", 2) "," AXIS("time", 5), 2, 1, 5, 1, "ri16_le"},
    // Nothing to record, or too much.
    {"[0]", AXIS("time", 0), 0, 0, 0, 0, NULL},
    {"[0,5]", AXIS("c", 0) "," AXIS("time", 5), 0, 0, 0, 0, NULL},
    {"[]", "", 0, 0, 0, 0, NULL},
    {"[256,5]", AXIS("c", 256) "," AXIS("time", 5), 256, 1, 5, 1, "ri16_le"},
    {"[257,5]", AXIS("c", 257) "," AXIS("time", 5), 0, 0, 0, 0, NULL},
    {"[5,1000000]", AXIS("time", 5) "," AXIS("c", 1000000), 1, 0, 5, 1000000, "ri16_le"},
    {"[4294967296,4294967296]", AXIS("c", 4294967296) "," AXIS("time", 4294967296), 0, 0, 0, 0,
     NULL},
    {"[18446744073709551616]", AXIS("time", 18446744073709551616), 0, 0, 0, 0, NULL},
};

static void axes_make_recordings(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const struct layout_case *c = &layouts[i];
        char text[1024];
        struct sigmf_layout layout;
        snprintf(text, sizeof text,
                 "{\"id\":1,\"fields\":{\"x\":{\"dtype\":\"<i2\",\"shape\":%s,\"axes\":[%s]}}}",
                 c->shape, c->axes);
        struct sds_record record = entry_of(text);
        assert_int_equal(sigmf_layout(&record.fields[0], &layout), c->recordings > 0);
        if (c->recordings > 0) {
            assert_int_equal(layout.recordings, c->recordings);
            assert_int_equal(layout.time, c->time);
            assert_int_equal(layout.samples, c->samples);
            assert_int_equal(layout.channels, c->channels);
            assert_string_equal(layout.datatype, c->datatype);
        }
        sds_record_fini(&record);
    }
}

static void complex_elements_stay_complex(void **state) {
    (void)state;
    struct sigmf_layout layout;
    struct sds_record record =
        entry_of(ENTRY(FIELD("x", "<c8", "[5,2]", AXIS("time", 5) "," AXIS("iq", 2))));
    assert_true(sigmf_layout(&record.fields[0], &layout));
    assert_string_equal(layout.datatype, "cf32_le");
    assert_int_equal(layout.channels, 2);
    sds_record_fini(&record);
}

static void recordings_are_all_of_the_field(void **state) {
    (void)state;
    struct sds_record record = entry_of(
        ENTRY(FIELD("x", "<f8", "[2,3,5]", AXIS("a", 2) "," AXIS("b", 3) "," AXIS("time", 5))));
    const struct sds_field *field = &record.fields[0];
    uint64_t end = 0;
    for (uint32_t part = 0; part < 6; part++) {
        uint64_t off, len;
        view_sigmf_data.slice(field, part, &off, &len);
        assert_int_equal(off, end);
        assert_int_equal(len, 5 * 8);
        assert_int_equal(view_size(&view_sigmf_data, field, part), len);
        end = off + len;
    }
    assert_int_equal(end, field->len);
    assert_int_equal(view_size(&view_bin, field, 0), field->len);
    assert_int_equal(view_size(&view_npy, field, 0), 128 + field->len);
    sds_record_fini(&record);
}

static void empty_fields_have_no_bin(void **state) {
    (void)state;
    struct sds_record record = entry_of(ENTRY(FIELD("x", "<f8", "[0]", AXIS("a", 0))));
    assert_int_equal(view_parts(&view_bin, &record.fields[0]).count, 0);
    assert_int_equal(view_parts(&view_npy, &record.fields[0]).count, 1);
    sds_record_fini(&record);
}

// --- names

// Every file that is shown has a name of its own, by which it is found.
static unsigned check_names(const struct sds_record *record, view_set shown) {
    unsigned count = 0;
    for (uint32_t i = 0; i < record->field_count; i++) {
        for (uint32_t v = 0; v < view_count; v++) {
            for (uint32_t part = 0; part < VIEW_MAX_PARTS + 2; part++) {
                struct view_file file = {.field = i, .view = v, .part = part}, found;
                char name[SDS_NAME_MAX + 1];
                if (!view_file_is_shown(record, shown, &file)) {
                    continue;
                }
                size_t len = view_file_name(record, &file, name);
                assert_true(len <= SDS_NAME_MAX && len == strlen(name));
                assert_true(view_name_is_possible(shown, sds_span(name, len)));
                assert_true(view_file_find(record, shown, sds_span(name, len), &found));
                assert_int_equal(found.field, i);
                assert_int_equal(found.view, v);
                assert_int_equal(found.part, part);
                count++;
            }
        }
    }
    return count;
}

static void expect_file(const struct sds_record *record, const char *shown, const char *name,
                        int field, unsigned part) {
    struct view_file file = {0};
    bool found = view_file_find(record, views_parse(shown), sds_span_str(name), &file);
    assert_int_equal(found, field >= 0);
    if (found) {
        assert_int_equal(file.field, field);
        assert_int_equal(file.part, part);
    }
}

#define PLAIN(name) FIELD(name, "<f4", "[5]", AXIS("time", 5))
#define CHANNELS(name, n) FIELD(name, "<f4", "[" #n ",5]", AXIS("c", n) "," AXIS("time", 5))

static void numbers_have_as_many_digits_as_the_last(void **state) {
    (void)state;
    struct sds_record record = entry_of(ENTRY(CHANNELS("a", 10) "," CHANNELS("b", 11) "," CHANNELS(
        "c", 100) "," CHANNELS("d", 101) "," PLAIN("e") "," CHANNELS("f", 1)));
    expect_file(&record, ALL, "a.9.sigmf-data", 0, 9);
    expect_file(&record, ALL, "a.09.sigmf-data", -1, 0);
    expect_file(&record, ALL, "a.10.sigmf-data", -1, 0);
    expect_file(&record, ALL, "a.sigmf-data", -1, 0);
    expect_file(&record, ALL, "b.03.sigmf-meta", 1, 3);
    expect_file(&record, ALL, "b.3.sigmf-meta", -1, 0);
    expect_file(&record, ALL, "c.99.sigmf-meta", 2, 99);
    expect_file(&record, ALL, "d.100.sigmf-meta", 3, 100);
    expect_file(&record, ALL, "d.0100.sigmf-meta", -1, 0);
    expect_file(&record, ALL, "e.sigmf-meta", 4, 0);
    expect_file(&record, ALL, "e.0.sigmf-meta", -1, 0);
    expect_file(&record, ALL, "f.0.sigmf-meta", 5, 0);
    expect_file(&record, ALL, "a.npy", 0, 0);
    expect_file(&record, ALL, "a.0.npy", -1, 0);
    expect_file(&record, ALL, ".sigmf-data", -1, 0);
    expect_file(&record, ALL, "0.sigmf-data", -1, 0);
    expect_file(&record, ALL, ".0.sigmf-data", -1, 0);
    expect_file(&record, "npy", "e.sigmf-meta", -1, 0);
    expect_file(&record, "sigmf", "e.npy", -1, 0);
    expect_file(&record, "npy,sigmf", "e.bin", -1, 0);
    assert_int_equal(check_names(&record, views_parse(ALL)),
                     6 * 2 + 2 * (10 + 11 + 100 + 101 + 1 + 1));
    assert_int_equal(check_names(&record, 0), 0);
    sds_record_fini(&record);
}

static void names_that_need_encoding(void **state) {
    (void)state;
    char text[4096], x[300], y[300];
    memset(x, 'x', sizeof x - 1);
    memset(y, 'y', sizeof y - 1);
    x[sizeof x - 1] = '\0';
    y[243] = '\0'; // fits before ".npy", not before ".sigmf-data"
    snprintf(
        text, sizeof text,
        "{\"id\":1,\"fields\":{\"\":{\"dtype\":\"<f4\",\"shape\":[2,5],\"axes\":[" AXIS(
            "c",
            2) "," AXIS("time",
                        5) "]},\"%s\":{\"dtype\":\"<f4\",\"shape\":[12,5],"
                           "\"axes\":[" AXIS("c", 12) "," AXIS(
                               "time",
                               5) "]},\"%s\":{\"dtype\":\"<f4\","
                                  "\"shape\":[5],\"axes\":[" AXIS("time", 5) "]}," PLAIN(
                                      "a/b") "," PLAIN("100%%41") "," PLAIN(".h") "," CHANNELS("~."
                                                                                               "1",
                                                                                               2) "}}",
        x, y);
    struct sds_record record = entry_of(text);
    assert_int_equal(record.field_count, 7);
    expect_file(&record, ALL, "%.1.sigmf-data", 0, 1);
    expect_file(&record, ALL, "a%2Fb.sigmf-data", 3, 0);
    expect_file(&record, ALL, "%2Eh.sigmf-data", 5, 0);
    expect_file(&record, ALL, "~.1.0.sigmf-data", 6, 0);
    assert_int_equal(check_names(&record, views_parse(ALL)), 7 * 2 + 2 * (2 + 12 + 1 + 3 + 2));
    sds_record_fini(&record);
}

// A field that is called like the recording of another one keeps its name.
static void names_that_are_taken(void **state) {
    (void)state;
    struct sds_record record = entry_of(ENTRY(CHANNELS("x", 2) "," PLAIN("x.0") "," CHANNELS(
        "x.1", 2) "," FIELD("y.0", "<f2", "[5]", AXIS("time", 5)) "," CHANNELS("y", 1)));
    expect_file(&record, ALL, "x.0.sigmf-data", 1, 0);
    expect_file(&record, ALL, "x.0.sigmf-meta", 1, 0);
    expect_file(&record, ALL, "x.1.sigmf-data", 0, 1);
    expect_file(&record, ALL, "x.1.0.sigmf-data", 2, 0);
    expect_file(&record, ALL, "y.0.sigmf-data", 4, 0); // y.0 has no recording
    struct view_file hidden = {.field = 0, .view = 1, .part = 0};
    assert_ptr_equal(views[1], &view_sigmf_meta);
    assert_false(view_file_is_shown(&record, views_parse(ALL), &hidden));
    assert_int_equal(check_names(&record, views_parse(ALL)), 5 * 2 + 2 * (1 + 1 + 2 + 1));
    sds_record_fini(&record);
}

static void made_up_files(void **state) {
    (void)state;
    struct sds_record record = entry_of(ENTRY(PLAIN("x")));
    static const struct view_file files[] = {{.field = 1},
                                             {.view = 99},
                                             {.part = 1},
                                             {.view = 31},
                                             {.field = 16383, .part = UINT32_MAX}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        assert_false(view_file_is_shown(&record, UINT32_MAX, &files[i]));
    }
    sds_record_fini(&record);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_make_sets),
        cmocka_unit_test(suffixes_tell_views_apart),
        cmocka_unit_test(element_types),
        cmocka_unit_test(axes_make_recordings),
        cmocka_unit_test(complex_elements_stay_complex),
        cmocka_unit_test(recordings_are_all_of_the_field),
        cmocka_unit_test(empty_fields_have_no_bin),
        cmocka_unit_test(numbers_have_as_many_digits_as_the_last),
        cmocka_unit_test(names_that_need_encoding),
        cmocka_unit_test(names_that_are_taken),
        cmocka_unit_test(made_up_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
