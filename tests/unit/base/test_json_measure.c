// SPDX-License-Identifier: Apache-2.0
// How long json.dumps would write values, and the bound on it.
#include "json_cases.h"

// The exact lengths are checked against the reference in test_json.c.
static void bounds_are_close(void **state) {
    (void)state;
    static const struct {
        const char *json;
        uint64_t len, bound;
    } cases[] = {
        {"[]", 2, 2},
        {"{\"a\":[1,2],\"b\":null}", strlen("{\"a\": [1, 2], \"b\": null}"), 24},
        {"-0", 1, 2},
        {"1e15", strlen("1000000000000000.0"), 24},
        {"-2.2250738585072014e-308", 24, 24},
        {"\"\\u0061\\/\"", strlen("\"a/\""), 10},
        {"1e999", strlen("Infinity"), 24},
        {"-1e999", strlen("-Infinity"), 24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = must_parse(sds_span_str(cases[i].json));
        assert_int_equal(sds_value_dumped_len(sds_json_top(doc)), cases[i].len);
        assert_int_equal(sds_value_dumped_bound(sds_json_top(doc)), cases[i].bound);
        sds_json_free(doc);
    }
}

static void measures_inside_a_document(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{\"a\":1,\"b\":[true,\"x\"],\"c\":2}"));
    struct sds_value inner = sds_value_get(sds_json_top(doc), "b");
    assert_int_equal(sds_value_dumped_len(inner), strlen("[true, \"x\"]"));
    sds_json_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_close),
        cmocka_unit_test(measures_inside_a_document),
    };
    return cmocka_run_group_tests_name("json_measure", tests, NULL, NULL);
}
