// SPDX-License-Identifier: Apache-2.0
// Values on one line, tokens as they were written.
#include "json_cases.h"

static void assert_compacts(const char *json, const char *expected) {
    struct sds_json *doc = must_parse(sds_span_str(json));
    struct sds_buf buf = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_value_compact(sds_json_top(doc), &buf), SDS_OK);
    assert_int_equal(sds_buf_add(&buf, "", 1), SDS_OK);
    assert_string_equal((const char *)buf.at, expected);
    sds_buf_fini(&buf);
    sds_json_free(doc);
}

static void white_space_between_tokens_goes(void **state) {
    (void)state;
    assert_compacts(" { \"a b\" :\t[ 1.50 ,\r\n-0 , [ ] ] , \"c\" : \"d  e\" } \n",
                    "{\"a b\":[1.50,-0,[]],\"c\":\"d  e\"}");
    assert_compacts("{\"a\":1 }", "{\"a\":1}");
    assert_compacts("[1, 2]", "[1,2]");
}

static void what_has_none_stays_as_it_is(void **state) {
    (void)state;
    static const char *const texts[] = {"{\"a b\":[1,{}],\"c\":\" \\\" \\\\\"}", "\" x \"", "[]",
                                        "1e5", "null"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_compacts(texts[i], texts[i]);
    }
}

static void strings_are_left_alone(void **state) {
    (void)state;
    assert_compacts("[ \"\\\" , \\\\\" , \" : { \", \"\\\\\" , 1 ]",
                    "[\"\\\" , \\\\\",\" : { \",\"\\\\\",1]");
}

static void a_value_inside_a_document(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{ \"a\" : [ 1 , 2 ], \"b\": 3 }"));
    struct sds_buf buf = SDS_BUF_INIT(100);
    assert_int_equal(sds_value_compact(sds_value_get(sds_json_top(doc), "a"), &buf), SDS_OK);
    assert_true(sds_span_eq(sds_buf_span(&buf), sds_span_str("[1,2]")));
    assert_int_equal(sds_value_compact((struct sds_value){0}, &buf), SDS_OK);
    assert_int_equal(buf.len, 5);
    sds_buf_fini(&buf);
    sds_json_free(doc);
}

static void a_full_buffer_is_told(void **state) {
    (void)state;
    static const char *const texts[] = {"[1,2]", "[1, 2]"};
    for (size_t i = 0; i < 2; i++) {
        struct sds_json *doc = must_parse(sds_span_str(texts[i]));
        struct sds_buf buf = SDS_BUF_INIT(4);
        assert_int_equal(sds_value_compact(sds_json_top(doc), &buf), SDS_ERR_LIMIT);
        assert_int_equal(buf.len, 0);
        sds_buf_fini(&buf);
        sds_json_free(doc);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_between_tokens_goes),
        cmocka_unit_test(what_has_none_stays_as_it_is),
        cmocka_unit_test(strings_are_left_alone),
        cmocka_unit_test(a_value_inside_a_document),
        cmocka_unit_test(a_full_buffer_is_told),
    };
    return cmocka_run_group_tests_name("json_compact", tests, NULL, NULL);
}
