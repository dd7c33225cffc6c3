// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a document: exact as long as possible, and doubles with correct rounding both ways.
//
// strtod and snprintf are asked about doubles, and they obey LC_NUMERIC. The program never calls
// setlocale; still, nothing here depends on the radix character: strtod gets digits and an exponent
// without one, and what snprintf puts between two digits is skipped whatever it is.
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_internal.h"

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

bool sds_value_u64(struct sds_value v, uint64_t *out) {
    if (!sds_value_there(v) || sds_value_type(v) != SDS_JSON_INTEGER) {
        return false;
    }
    struct sds_span text = sds_value_text(v);
    bool negative = text.at[0] == '-';
    uint64_t sum = 0;
    for (size_t i = negative; i < text.len; i++) {
        if (__builtin_mul_overflow(sum, 10U, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(text.at[i] - '0'), &sum)) {
            return false;
        }
    }
    if (negative && sum != 0) {
        return false;
    }
    *out = sum;
    return true;
}

// Integers have no leading zeros (the grammar says so), which leaves "-0" as the only one that is
// not written as Python would write it.
static struct sds_span canonical_integer(struct sds_span text) {
    return text.len == 2 && memcmp(text.at, "-0", 2) == 0 ? sds_span_str("0") : text;
}

bool sds_value_is_negative(struct sds_value v) {
    return sds_value_there(v) && sds_value_type(v) == SDS_JSON_INTEGER &&
           canonical_integer(sds_value_text(v)).at[0] == '-';
}

// How many digits can matter when a decimal is rounded to a double: no midpoint of two neighbours
// has more than the 768 of (2^54 - 1) / 2^1075. Behind those it only matters whether all are zero.
#define DECIDING_DIGITS 768

// The digits as one integer, times ten to the power of the exponent. Zero has no digits.
struct decimal {
    bool negative;
    size_t count;
    int64_t exponent;
    char digits[DECIDING_DIGITS + 1];
};

// Of what follows the mantissa: nothing, or "e" and so on. Cut off at +-10^12, which the digits of
// no document could make up for.
static int64_t read_exponent(const uint8_t *at, const uint8_t *end) {
    if (at == end) {
        return 0;
    }
    at++;
    bool negative = *at == '-';
    at += !is_digit(*at);
    const int64_t ceiling = 1000000000000;
    int64_t exponent = 0;
    for (; at < end; at++) {
        exponent = exponent < ceiling / 10 ? exponent * 10 + (*at - '0') : ceiling;
    }
    return negative ? -exponent : exponent;
}

static void read_decimal(struct sds_span text, struct decimal *out) {
    const uint8_t *end = text.at + text.len;
    const uint8_t *at = text.at;
    out->negative = *at == '-';
    out->count = 0;
    out->exponent = 0;
    bool behind_point = false;
    bool more = false; // a digit other than zero was left out
    for (at += out->negative; at < end && (is_digit(*at) || *at == '.'); at++) {
        if (*at == '.') {
            behind_point = true;
            continue;
        }
        out->exponent -= behind_point;
        if (out->count == DECIDING_DIGITS) {
            out->exponent++;
            more |= *at != '0';
        } else if (out->count > 0 || *at != '0') {
            out->digits[out->count++] = (char)*at;
        }
    }
    out->exponent += read_exponent(at, end);
    if (more) {
        out->digits[out->count++] = '1';
        out->exponent--;
    }
}

static double digits_to_double(const char *digits, size_t count, int64_t exponent) {
    char text[DECIDING_DIGITS + 1 + sizeof "e-9223372036854775808"];
    snprintf(text, sizeof text, "%.*se%lld", (int)count, digits, (long long)exponent);
    return strtod(text, NULL);
}

double sds_value_double(struct sds_value v) {
    enum sds_json_type type = sds_value_type(v);
    if (type != SDS_JSON_INTEGER && type != SDS_JSON_REAL) {
        return NAN;
    }
    struct decimal d;
    read_decimal(sds_value_text(v), &d);
    double magnitude = d.count == 0 ? 0 : digits_to_double(d.digits, d.count, d.exponent);
    bool minus_zero_integer = d.count == 0 && type == SDS_JSON_INTEGER; // is zero
    return d.negative && !minus_zero_integer ? -magnitude : magnitude;
}

// Most numbers are seen to be far from the end of the range without rounding them.
static bool is_infinite(struct sds_value real) {
    struct decimal d;
    read_decimal(sds_value_text(real), &d);
    return d.exponent + (int64_t)d.count > DBL_MAX_10_EXP && isinf(sds_value_double(real));
}

bool sds_value_has_infinity(struct sds_value v) {
    if (!sds_value_there(v)) {
        return false;
    }
    for (uint32_t i = v.token; i < sds_token_of(v)->next; i++) {
        struct sds_value inner = {.doc = v.doc, .token = i};
        if (sds_value_type(inner) == SDS_JSON_REAL && is_infinite(inner)) {
            return true;
        }
    }
    return false;
}

// Equality

// An integer, or a boolean as the integer that Python takes it for.
static struct sds_span exact_integer(struct sds_value v) {
    switch (sds_value_type(v)) {
    case SDS_JSON_FALSE:
        return sds_span_str("0");
    case SDS_JSON_TRUE:
        return sds_span_str("1");
    default:
        return canonical_integer(sds_value_text(v));
    }
}

// Exact: every digit of the double is printed and compared.
static bool double_is_integer(double value, struct sds_span integer) {
    if (!isfinite(value) || value != trunc(value)) {
        return false;
    }
    char text[sizeof "-" + DBL_MAX_10_EXP + 1];
    int len = snprintf(text, sizeof text, "%.0f", value == 0 ? 0.0 : value);
    return sds_span_eq(sds_span(text, (size_t)len), integer);
}

bool sds_number_equal(struct sds_value a, struct sds_value b) {
    bool a_is_real = sds_value_type(a) == SDS_JSON_REAL;
    bool b_is_real = sds_value_type(b) == SDS_JSON_REAL;
    if (a_is_real && b_is_real) {
        return sds_span_eq(sds_value_text(a), sds_value_text(b)) ||
               sds_value_double(a) == sds_value_double(b);
    }
    if (a_is_real) {
        return double_is_integer(sds_value_double(a), exact_integer(b));
    }
    if (b_is_real) {
        return double_is_integer(sds_value_double(b), exact_integer(a));
    }
    return sds_span_eq(exact_integer(a), exact_integer(b));
}

// Text

#define MOST_DIGITS DBL_DECIMAL_DIG // 17: enough to tell every double from its neighbours

// <d>.<ddd> times ten to the power of the exponent.
struct shortest {
    char digits[MOST_DIGITS];
    size_t count;
    int exponent;
};

// The decimal of `count` digits nearest to value.
static void nearest(double value, size_t count, struct shortest *out) {
    char text[MOST_DIGITS + sizeof "-.e-308"];
    snprintf(text, sizeof text, "%.*e", (int)count - 1, value);
    const char *at = text;
    out->count = 0;
    for (; *at != 'e'; at++) {
        if (is_digit((uint8_t)*at)) {
            out->digits[out->count++] = *at;
        }
    }
    out->exponent = (int)strtol(at + 1, NULL, 10);
}

static void one_up(struct shortest *s) {
    size_t i = s->count;
    while (i > 0 && s->digits[i - 1] == '9') {
        s->digits[--i] = '0';
    }
    if (i > 0) {
        s->digits[i - 1]++;
    } else {
        s->digits[0] = '1';
        s->exponent++;
    }
}

static bool reads_back(const struct shortest *s, double value) {
    return digits_to_double(s->digits, s->count, s->exponent - (int64_t)s->count + 1) == value;
}

// The shortest decimal that reads back as value (not negative), and of those the nearest.
//
// Up to 15 digits survive a way through a normal double, so such a decimal can only be the nearest
// one of 15 digits without its zeros. With 16 digits, the nearest may lie below a power of two,
// where the doubles are twice as dense as above it, and miss, while its upper neighbour reads back.
static void find_shortest(double value, struct shortest *out) {
    size_t count = value < DBL_MIN ? 1 : DBL_DIG;
    for (;; count++) {
        nearest(value, count, out);
        if (count == MOST_DIGITS || reads_back(out, value)) {
            break;
        }
        if (count == MOST_DIGITS - 1) {
            one_up(out);
            if (reads_back(out, value)) {
                break;
            }
        }
    }
    while (out->count > 1 && out->digits[out->count - 1] == '0') {
        out->count--;
    }
}

// Appends text to out, which has room for it.
static size_t put(char *out, size_t len, const char *text, size_t text_len) {
    memcpy(out + len, text, text_len);
    return len + text_len;
}

static const char zeros[] = "0000000000000000";

static size_t put_positional(const struct shortest *s, char *out, size_t len) {
    if (s->exponent < 0) {
        len = put(out, len, "0.", 2);
        len = put(out, len, zeros, (size_t)-s->exponent - 1);
        return put(out, len, s->digits, s->count);
    }
    size_t whole = (size_t)s->exponent + 1;
    if (s->count <= whole) {
        len = put(out, len, s->digits, s->count);
        len = put(out, len, zeros, whole - s->count);
        return put(out, len, ".0", 2);
    }
    len = put(out, len, s->digits, whole);
    len = put(out, len, ".", 1);
    return put(out, len, s->digits + whole, s->count - whole);
}

static size_t put_scientific(const struct shortest *s, char *out, size_t len) {
    len = put(out, len, s->digits, 1);
    if (s->count > 1) {
        len = put(out, len, ".", 1);
        len = put(out, len, s->digits + 1, s->count - 1);
    }
    return len + (size_t)sprintf(out + len, "e%+03d", s->exponent);
}

// docs/formats/signal-dataset.md, section 6: exponents from -4 to 15 are written positionally.
static size_t put_shortest(bool negative, const struct shortest *s, char *out) {
    size_t len = negative ? put(out, 0, "-", 1) : 0;
    bool positional = s->exponent >= -4 && s->exponent < 16;
    len = positional ? put_positional(s, out, len) : put_scientific(s, out, len);
    out[len] = '\0';
    return len;
}

size_t sds_double_text(double value, char out[32]) {
    assert(isfinite(value));
    struct shortest s;
    find_shortest(fabs(value), &s);
    return put_shortest(signbit(value), &s, out);
}

// A decimal of up to 15 digits, inside the range of normal doubles, is itself the shortest that
// reads back as its double: no other of as few digits shares it. Most numbers are like that and
// need not be rounded.
static bool is_shortest(struct decimal *d, struct shortest *out) {
    while (d->count > 0 && d->digits[d->count - 1] == '0') {
        d->count--;
        d->exponent++;
    }
    int64_t exponent = d->exponent + (int64_t)d->count - 1;
    if (d->count == 0 || d->count > DBL_DIG || exponent <= DBL_MIN_10_EXP ||
        exponent >= DBL_MAX_10_EXP) {
        return false;
    }
    memcpy(out->digits, d->digits, d->count);
    out->count = d->count;
    out->exponent = (int)exponent;
    return true;
}

struct sds_span sds_number_dump(struct sds_value number, char room[SDS_DUMPED_DOUBLE]) {
    if (sds_value_type(number) == SDS_JSON_INTEGER) {
        return canonical_integer(sds_value_text(number));
    }
    struct decimal d;
    struct shortest s;
    read_decimal(sds_value_text(number), &d);
    if (is_shortest(&d, &s)) {
        return sds_span(room, put_shortest(d.negative, &s, room));
    }
    double value = sds_value_double(number);
    if (isinf(value)) {
        return sds_span_str(value < 0 ? "-Infinity" : "Infinity");
    }
    return sds_span(room, sds_double_text(value, room));
}
