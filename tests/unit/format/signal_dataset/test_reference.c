// SPDX-License-Identifier: Apache-2.0
// Path rules, portable identifiers and reader versions, against what the reference package answers
// (tests/data/documents/paths.json and versions.json).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/signal_dataset/documents.h"

// A kept table: an array of objects.
struct table {
    uint8_t *text;
    struct sds_json *doc;
};

static struct table load_table(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/documents/%s", SDSFS_TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    size_t len = (size_t)ftell(f);
    rewind(f);
    struct table table = {.text = malloc(len)};
    assert_int_equal(fread(table.text, 1, len, f), len);
    fclose(f);
    const struct sds_json_limits limits = {1 << 20, 8, 10000};
    struct sds_err err = {0};
    if (sds_json_parse(sds_span(table.text, len), &limits, &table.doc, &err) != SDS_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    return table;
}

static void free_table(struct table *table) {
    sds_json_free(table->doc);
    free(table->text);
}

static struct sds_buf string_of(struct sds_value value) {
    struct sds_buf bytes = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_value_string_add(value, &bytes), SDS_OK);
    return bytes;
}

static void check_path(struct sds_span path, struct sds_value row) {
    struct sds_value normalised = sds_value_get(row, "normalised");
    bool absolute = sds_value_type(sds_value_get(row, "absolute")) == SDS_JSON_TRUE;
    assert_int_equal(sds_path_is_absolute(path), absolute);

    struct sds_buf out = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_buf_add_str(&out, "before"), SDS_OK);
    bool safe = sds_path_normalise(path, &out);
    assert_int_equal(safe, sds_value_type(normalised) == SDS_JSON_STRING);
    if (safe) {
        assert_true(sds_value_is(normalised, (char *)out.at + 6));
        assert_int_equal(out.at[out.len - 1], '\0');
    } else {
        assert_int_equal(out.len, 6);
    }
    sds_buf_fini(&out);
}

static void paths_are_as_the_reference_reads_them(void **state) {
    (void)state;
    struct table table = load_table("paths.json");
    assert_int_equal(sds_value_count(sds_json_top(table.doc)), 41);
    for (struct sds_iter it = sds_value_iter(sds_json_top(table.doc)); sds_iter_next(&it);) {
        struct sds_buf path = string_of(sds_value_get(it.value, "path"));
        check_path(sds_buf_span(&path), it.value);
        sds_buf_fini(&path);
    }
    free_table(&table);
}

static void a_full_buffer_refuses_a_path(void **state) {
    (void)state;
    struct sds_buf out = SDS_BUF_INIT(3);
    assert_false(sds_path_normalise(sds_span_str("abc"), &out)); // no room for the NUL
    assert_true(sds_path_normalise(sds_span_str("ab"), &out));
    assert_string_equal((char *)out.at, "ab");
    sds_buf_fini(&out);
}

static void versions_are_as_the_reference_reads_them(void **state) {
    (void)state;
    struct table table = load_table("versions.json");
    assert_true(sds_value_count(sds_json_top(table.doc)) > 800);
    for (struct sds_iter it = sds_value_iter(sds_json_top(table.doc)); sds_iter_next(&it);) {
        struct sds_buf version = string_of(sds_value_get(it.value, "version"));
        enum sds_json_type accepted = sds_value_type(sds_value_get(it.value, "accepted"));
        int expected = accepted == SDS_JSON_TRUE ? 1 : accepted == SDS_JSON_FALSE ? 0 : -1;
        if (sds_reader_accepts(sds_buf_span(&version)) != expected) {
            fail_msg("%s: not %d", SDS_QUOTE(version.at, version.len), expected);
        }
        sds_buf_fini(&version);
    }
    free_table(&table);
}

static void versions_may_be_cut_anywhere(void **state) {
    (void)state;
    static const char text[] = "0.\xF0\x9D\x9F\x98.\xD9\xA3";
    for (size_t len = 0; len < sizeof text; len++) {
        char *copy = malloc(len);
        memcpy(copy, text, len);
        assert_int_equal(sds_reader_accepts(sds_span(copy, len)), len == 0 ? -1 : 1);
        free(copy);
    }
}

static void portable_identifiers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool portable;
    } rows[] = {
        {"a", true},    {"0", true},         {"A.b_c-9", true}, {"a.", true},   {"", false},
        {".a", false},  {"-a", false},       {"_a", false},     {"a/b", false}, {"a b", false},
        {"a\n", false}, {"\xC3\xA9", false}, {"a\x7F", false},  {"a@", false},  {"a[", false},
        {"a`", false},  {"a{", false},       {"a:", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(sds_is_portable(sds_span_str(rows[i].text)), rows[i].portable);
    }
    char longest[130];
    memset(longest, 'a', sizeof longest);
    assert_true(sds_is_portable(sds_span(longest, 128)));
    assert_false(sds_is_portable(sds_span(longest, 129)));
    assert_false(sds_is_portable(sds_span("a\0b", 3)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_as_the_reference_reads_them),
        cmocka_unit_test(a_full_buffer_refuses_a_path),
        cmocka_unit_test(versions_are_as_the_reference_reads_them),
        cmocka_unit_test(versions_may_be_cut_anywhere),
        cmocka_unit_test(portable_identifiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
