// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "format/tensor/named.h"

static void test_sort_and_find(void **state) {
    (void)state;
    static const char *const names[] = {"b", "", "a", "ab", "b", "a", "\xC3\xA9", "B"};
    static const uint32_t sorted[] = {1, 7, 2, 5, 3, 0, 4, 6};
    const size_t count = sizeof names / sizeof *names;
    struct sds_named items[sizeof names / sizeof *names];
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct sds_named){.name = sds_span_str(names[i]), .at = i};
    }
    sds_named_sort(items, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].at, sorted[i]);
        const struct sds_named *found = sds_named_find(items, count, items[i].name);
        assert_non_null(found);
        assert_string_equal(names[found->at], names[items[i].at]);
        // The first of several.
        assert_true(found == items || !sds_span_eq(found[-1].name, found->name));
    }
    assert_null(sds_named_find(items, count, sds_span_str("c")));
    assert_null(sds_named_find(items, count, sds_span_str("aba")));
    assert_null(sds_named_find(items, count, sds_span("b\0", 2)));
    assert_null(sds_named_find(items, 0, sds_span_str("a")));
}

// Spans taken after the reservation stay good to the last key.
static void test_reserve(void **state) {
    (void)state;
    static const char text[] =
        "{\"\\u0061\":0,\"plain\":0,\"\\n\\n\":0,\"\\ud83d\\ude00\":0,\"\\ud800\":0,\"\":0}";
    static const char *const expected[] = {"a", "plain", "\n\n", "\xF0\x9F\x98\x80", "\xED\xA0\x80",
                                           ""};
    const struct sds_json_limits limits = {.bytes = 1000, .depth = 10, .nodes = 100};
    sds_autojson struct sds_json *doc = NULL;
    assert_int_equal(sds_json_parse(sds_span_str(text), &limits, &doc, NULL), SDS_OK);
    struct sds_buf names = SDS_BUF_INIT(1 + 2 + 4 + 3);
    assert_int_equal(sds_named_reserve(sds_json_top(doc), &names), SDS_OK);
    struct sds_span spans[6];
    size_t count = 0;
    for (struct sds_iter it = sds_value_iter(sds_json_top(doc)); sds_iter_next(&it); count++) {
        assert_int_equal(sds_value_string(it.key, &names, &spans[count]), SDS_OK);
    }
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_true(sds_span_eq(spans[i], sds_span_str(expected[i])));
    }
    sds_buf_fini(&names);

    struct sds_buf small = SDS_BUF_INIT(1 + 2 + 4 + 3 - 1);
    assert_int_equal(sds_named_reserve(sds_json_top(doc), &small), SDS_ERR_LIMIT);
    sds_buf_fini(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort_and_find),
        cmocka_unit_test(test_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
