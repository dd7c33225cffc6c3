// SPDX-License-Identifier: Apache-2.0
// Directory entries of names from data: a kept table (tests/data/names/names.json), and bytes that
// no table of text can hold.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json.h"
#include "format/name.h"

static uint8_t *read_table(size_t *len) {
    FILE *f = fopen(SDSFS_TEST_DATA "/names/names.json", "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *text = malloc(*len);
    assert_int_equal(fread(text, 1, *len, f), *len);
    fclose(f);
    return text;
}

static struct sds_buf string_of(struct sds_value value) {
    struct sds_buf bytes = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_value_string_add(value, &bytes), SDS_OK);
    assert_int_equal(sds_buf_reserve(&bytes, 1), SDS_OK);
    bytes.at[bytes.len] = '\0';
    return bytes;
}

static void check_row(struct sds_value row) {
    struct sds_buf cells[3];
    size_t count = 0;
    for (struct sds_iter it = sds_value_iter(row); sds_iter_next(&it);) {
        cells[count++] = string_of(it.value);
    }
    assert_int_equal(count, 3);
    char entry[SDS_NAME_MAX + 1];
    size_t len = sds_name_encode(sds_buf_span(&cells[0]), (char *)cells[1].at, entry);
    assert_int_equal(len, strlen(entry));
    assert_string_equal(entry, (char *)cells[2].at);
    for (size_t i = 0; i < count; i++) {
        sds_buf_fini(&cells[i]);
    }
}

static void names_are_encoded_as_in_the_table(void **state) {
    (void)state;
    size_t len;
    uint8_t *text = read_table(&len);
    const struct sds_json_limits limits = {4 << 20, 8, 10000};
    struct sds_json *doc;
    assert_int_equal(sds_json_parse(sds_span(text, len), &limits, &doc, NULL), SDS_OK);
    assert_true(sds_value_count(sds_json_top(doc)) > 500);
    for (struct sds_iter it = sds_value_iter(sds_json_top(doc)); sds_iter_next(&it);) {
        check_row(it.value);
    }
    sds_json_free(doc);
    free(text);
}

static void broken_characters_hide_nothing(void **state) {
    (void)state;
    static const struct {
        const char *name, *entry;
    } rows[] = {
        {"\xC3/", "\xC3%2F"},     {"\xF0\x9F/", "\xF0\x9F%2F"},
        {"\x80/", "\x80%2F"},     {"\xF0\x80\x80\x80\x80/", "\xF0\x80\x80\x80\x80%2F"},
        {"\xE2\x82", "\xE2\x82"}, {"\xFF.", "\xFF."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char entry[SDS_NAME_MAX + 1];
        size_t len = sds_name_encode(sds_span_str(rows[i].name), "", entry);
        assert_string_equal(entry, rows[i].entry);
        assert_int_equal(len, strlen(entry));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_encoded_as_in_the_table),
        cmocka_unit_test(broken_characters_hide_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
