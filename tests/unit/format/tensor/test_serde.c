// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "format/tensor/serde.h"

static const struct sds_json_limits limits = {.bytes = 1 << 20, .depth = 128, .nodes = 1000};

static enum sds_kind check(struct sds_span text, struct sds_err *err) {
    sds_autojson struct sds_json *doc = NULL;
    assert_int_equal(sds_json_parse(text, &limits, &doc, err), SDS_OK);
    return sds_serde_check(doc, err);
}

static void accepts(const char *text) {
    struct sds_err err;
    if (check(sds_span_str(text), &err) != SDS_OK) {
        fail_msg("%.100s: %s", text, err.message);
    }
}

static void refuses(const char *text, const char *why) {
    struct sds_err err;
    if (check(sds_span_str(text), &err) != SDS_ERR_CORRUPT) {
        fail_msg("%.100s: accepted", text);
    }
    assert_string_equal(err.check, "header");
    assert_non_null(strstr(err.message, why));
}

// 10^n or 9...9, as digits: "1000" or "9999".
static const char *digits(char first, char rest, size_t len) {
    static char text[5000];
    text[0] = first;
    memset(text + 1, rest, len - 1);
    text[len] = '\0';
    return text;
}

// Verdicts of safetensors 0.8.0. Near the largest double serde_json multiplies a rounded
// significand with a rounded power of ten, and what comes out above it is out of range.
static void test_numbers(void **state) {
    (void)state;
    static const char *const good[] = {
        "0",
        "-0",
        "-0.0",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "1.7976931348623157e308",
        "17976931348623157e292",
        "-1.7976931348623157e+308",
        "0e999",
        "0.0e99999999999",
        "0e99999999999",
        "1e-400",
        "1e-99999999999",
        "0.00001e313",
        "1000000000000000000000000000000e278",
        "123456789.125E-7",
        "1e-2147483648",
    };
    static const char *const bad[] = {
        "1e309",
        "-1e309",
        "1.7976931348623158e308",
        "179769313486231570000e288",
        "1e99999999999",
        "1e2147483648",
        "1000000000000000000000000000000e279",
        "18446744073709551616.3e289",
        "1844674407370955161.63e290",
        "1.79769313486231580793728971405301e308",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        accepts(good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refuses(bad[i], "out of range");
    }
    accepts(digits('1', '0', 309));
    accepts(digits('1', '7', 309));
    refuses(digits('1', '0', 310), "out of range");
    refuses(digits('9', '9', 309), "out of range");
    refuses("[0,{\"a\":[1e309]}]", "out of range");
}

static void test_nesting(void **state) {
    (void)state;
    char text[300];
    for (int depth = 1; depth <= 128; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        text[2 * depth] = '\0';
        if (depth <= 127) {
            accepts(text);
        } else {
            refuses(text, "containers");
        }
    }
}

static void test_text(void **state) {
    (void)state;
    accepts(" {\"\\ud83d\\ude00\": \"\\ud83d\\ude00\"} \n");
    refuses("\"\\ud800\"", "surrogate");
    refuses("{\"a\\udc00\":0}", "surrogate");
    refuses("\"\xED\xA0\x80\"", "surrogate");
    refuses("\xEF\xBB\xBF{}", "UTF-8");
    struct sds_err err;
    assert_int_equal(check(sds_span("{\0}\0", 4), &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "header");
}

static void test_usize(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } cases[] = {
        {"0", true, 0},     {"7", true, 7},     {"18446744073709551615", true, UINT64_MAX},
        {"-0", false, 0},   {"-1", false, 0},   {"18446744073709551616", false, 0},
        {"1.0", false, 0},  {"1e0", false, 0},  {"\"1\"", false, 0},
        {"true", false, 0}, {"null", false, 0}, {"[1]", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sds_autojson struct sds_json *doc = NULL;
        assert_int_equal(sds_json_parse(sds_span_str(cases[i].text), &limits, &doc, NULL), SDS_OK);
        uint64_t value = 0;
        assert_int_equal(sds_serde_usize(sds_json_top(doc), &value), cases[i].good);
        assert_true(!cases[i].good || value == cases[i].value);
    }
    uint64_t value;
    assert_false(sds_serde_usize((struct sds_value){0}, &value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_usize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
