// SPDX-License-Identifier: Apache-2.0
// Numbers of a document, doubles as text, and equality.
#include <inttypes.h>
#include <math.h>

#include "json_cases.h"

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void reads_u64(void **state) {
    (void)state;
    static const struct {
        const char *json;
        bool fits;
        uint64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"1", true, 1},
        {"9223372036854775808", true, 1ULL << 63},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"18446744073709551620", false, 0},
        {"28446744073709551615", false, 0},
        {"100000000000000000000000000000000000000000", false, 0},
        {"-1", false, 0},
        {"-18446744073709551615", false, 0},
        {"6.0", false, 0},
        {"1e3", false, 0},
        {"true", false, 0},
        {"\"1\"", false, 0},
        {"null", false, 0},
        {"[1]", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = must_parse(sds_span_str(cases[i].json));
        uint64_t value = 42;
        assert_int_equal(sds_value_u64(sds_json_top(doc), &value), cases[i].fits);
        assert_int_equal(value, cases[i].fits ? cases[i].value : 42); // written on success only
        sds_json_free(doc);
    }
}

static void tells_negative_integers(void **state) {
    (void)state;
    static const struct {
        const char *json;
        bool negative;
    } cases[] = {{"-1", true},      {"-100000000000000000000000", true},
                 {"0", false},      {"-0", false},
                 {"1", false},      {"-1.0", false},
                 {"\"-1\"", false}, {"true", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = must_parse(sds_span_str(cases[i].json));
        assert_int_equal(sds_value_is_negative(sds_json_top(doc)), cases[i].negative);
        sds_json_free(doc);
    }
}

// Ties and near ties of all sizes among them, in up to several thousand digits.
static void rounds_correctly(void **state) {
    (void)state;
    struct table table = read_table("reals.txt");
    for (size_t i = 0; i < table.count; i++) {
        const struct line *line = &table.lines[i];
        struct sds_json *doc = must_parse(sds_span_str(line->column[0]));
        uint64_t bits = bits_of(sds_value_double(sds_json_top(doc)));
        uint64_t expected = strtoull(line->column[1], NULL, 16);
        if (bits != expected) {
            fail_msg("line %zu: %.60s: %016" PRIx64 ", not %016" PRIx64, i + 1, line->column[0],
                     bits, expected);
        }
        sds_json_free(doc);
    }
    free_table(&table);
}

static void reads_integers_as_doubles(void **state) {
    (void)state;
    static const struct {
        const char *json;
        double value;
    } cases[] = {{"0", 0.0},
                 {"-0", 0.0},
                 {"-7", -7.0},
                 {"9007199254740993", 9007199254740992.0},
                 {"18446744073709551616", 18446744073709551616.0},
                 {"-100000000000000000000000", -1e23}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = must_parse(sds_span_str(cases[i].json));
        assert_int_equal(bits_of(sds_value_double(sds_json_top(doc))), bits_of(cases[i].value));
        sds_json_free(doc);
    }
    struct sds_json *doc = must_parse(BYTES("true"));
    assert_true(isnan(sds_value_double(sds_json_top(doc))));
    sds_json_free(doc);
}

static void finds_infinity(void **state) {
    (void)state;
    static const struct {
        const char *json;
        bool has;
    } cases[] = {
        {"1e999", true},
        {"-1e999", true},
        {"1.7976931348623157e308", false},
        {"1.7976931348623158e308", false},
        {"1.7976931348623159e308", true},
        {"17976931348623159.0e292", true},
        {"0.00000000000000000000017976931348623159e330", true},
        {"0.00000000000000000000017976931348623157e330", false},
        {"0e999999", false},
        {"1e-999", false},
        {"[1,{\"a\":[-2e400]},3]", true},
        {"[1,{\"2e400\":[\"1e999\"]},3.5]", false},
        {"[]", false},
        {"1e99999999999999999999", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = must_parse(sds_span_str(cases[i].json));
        assert_int_equal(sds_value_has_infinity(sds_json_top(doc)), cases[i].has);
        sds_json_free(doc);
    }
}

// An integer is never infinite, of whatever size: only as a double it would be.
static void an_integer_is_never_infinite(void **state) {
    (void)state;
    char text[4301];
    memset(text, '9', 4300);
    text[4300] = '\0';
    struct sds_json *doc = must_parse(sds_span_str(text));
    assert_false(sds_value_has_infinity(sds_json_top(doc)));
    assert_true(isinf(sds_value_double(sds_json_top(doc))));
    sds_json_free(doc);
}

static void looks_for_infinity_inside_the_value_only(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("{\"a\":[1.5],\"b\":1e999}"));
    assert_false(sds_value_has_infinity(sds_value_get(sds_json_top(doc), "a")));
    assert_true(sds_value_has_infinity(sds_value_get(sds_json_top(doc), "b")));
    sds_json_free(doc);
}

static void writes_doubles_as_repr_does(void **state) {
    (void)state;
    struct table table = read_table("float_text.txt");
    for (size_t i = 0; i < table.count; i++) {
        uint64_t bits = strtoull(table.lines[i].column[0], NULL, 16);
        double value;
        memcpy(&value, &bits, sizeof value);
        char text[32];
        memset(text, 'x', sizeof text);
        size_t len = sds_double_text(value, text);
        assert_string_equal(text, table.lines[i].column[1]);
        assert_int_equal(len, strlen(text));
    }
    free_table(&table);
}

// Powers of two are where the nearest decimal of 16 digits can miss and its neighbour not.
static void writes_powers_of_two_back_and_forth(void **state) {
    (void)state;
    for (int exponent = -1074; exponent <= 1023; exponent++) {
        for (int step = -1; step <= 1; step++) {
            double value = ldexp(1.0, exponent);
            value = step == 0 ? value : nextafter(value, step * HUGE_VAL);
            char text[32];
            size_t len = sds_double_text(value, text);
            assert_int_equal(bits_of(strtod(text, NULL)), bits_of(value));
            assert_true(len <= 24);
        }
    }
    char text[32];
    sds_double_text(ldexp(1.0, -44), text);
    assert_string_equal(text, "5.684341886080802e-14");
}

static bool equal(struct sds_value a, struct sds_value b) {
    bool out;
    assert_int_equal(sds_value_equal(a, b, &out), SDS_OK);
    return out;
}

static void compares_as_the_reference_does(void **state) {
    (void)state;
    struct table table = read_table("equal.txt");
    for (size_t i = 0; i < table.count; i++) {
        const struct line *line = &table.lines[i];
        struct sds_json *left = must_parse(from_hex(line->column[0]));
        struct sds_json *right = must_parse(from_hex(line->column[1]));
        struct sds_value a = sds_json_top(left);
        struct sds_value b = sds_json_top(right);
        bool expected = strcmp(line->column[2], "1") == 0;
        if (equal(a, b) != expected || equal(b, a) != expected || !equal(a, a) || !equal(b, b)) {
            fail_msg("line %zu", i + 1);
        }
        sds_json_free(left);
        sds_json_free(right);
    }
    free_table(&table);
}

// {"<i * stride modulo members>": <i * stride modulo members>, ...}
static char *object_in_order(size_t members, size_t stride) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (size_t i = 0; i < members; i++) {
        size_t n = i * stride % members;
        fprintf(out, "%s\"%zu\":%zu", i == 0 ? "{" : ",", n, n);
    }
    fprintf(out, "}");
    fclose(out);
    return text;
}

static void compares_many_members_in_any_order(void **state) {
    (void)state;
    const size_t members = 100003; // a prime, so that each stride goes through all
    char *forward = object_in_order(members, 1);
    char *mixed = object_in_order(members, 7919);
    struct sds_json *left = must_parse(sds_span_str(forward));
    struct sds_json *right = must_parse(sds_span_str(mixed));
    assert_true(equal(sds_json_top(left), sds_json_top(right)));
    sds_json_free(right);
    mixed[strlen(mixed) - 2] ^= 1; // the last value
    right = must_parse(sds_span_str(mixed));
    assert_false(equal(sds_json_top(left), sds_json_top(right)));
    sds_json_free(left);
    sds_json_free(right);
    free(forward);
    free(mixed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_u64),
        cmocka_unit_test(tells_negative_integers),
        cmocka_unit_test(rounds_correctly),
        cmocka_unit_test(reads_integers_as_doubles),
        cmocka_unit_test(finds_infinity),
        cmocka_unit_test(an_integer_is_never_infinite),
        cmocka_unit_test(looks_for_infinity_inside_the_value_only),
        cmocka_unit_test(writes_doubles_as_repr_does),
        cmocka_unit_test(writes_powers_of_two_back_and_forth),
        cmocka_unit_test(compares_as_the_reference_does),
        cmocka_unit_test(compares_many_members_in_any_order),
    };
    return cmocka_run_group_tests_name("json_number", tests, NULL, NULL);
}
