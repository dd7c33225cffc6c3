// SPDX-License-Identifier: Apache-2.0
#include "format/tensor/serde.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_NESTING 127
#define MAX_EXPONENT 308 // of serde_json's table of powers of ten

// A number taken apart as serde_json does it: significand * 10^exponent.
struct decimal {
    uint64_t significand;
    int64_t exponent;
};

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

// Takes digits into the significand for as long as it fits. Returns where the first one stands that
// did not.
static const uint8_t *take_digits(const uint8_t *at, const uint8_t *end, struct decimal *number) {
    uint64_t longer;
    while (at < end && is_digit(*at) && !__builtin_mul_overflow(number->significand, 10, &longer) &&
           !__builtin_add_overflow(longer, (uint64_t)(*at - '0'), &longer)) {
        number->significand = longer;
        at++;
    }
    return at;
}

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end) {
    while (at < end && is_digit(*at)) {
        at++;
    }
    return at;
}

// Reads the mantissa: integer digits beyond the significand raise the exponent, digits of the
// fraction that were taken lower it, and the others are dropped.
static const uint8_t *read_mantissa(const uint8_t *at, const uint8_t *end, struct decimal *number) {
    const uint8_t *full = take_digits(at, end, number);
    at = skip_digits(full, end);
    number->exponent = at - full;
    if (at < end && *at == '.') {
        const uint8_t *fraction = at + 1;
        full = take_digits(fraction, end, number);
        number->exponent -= full - fraction;
        at = skip_digits(full, end);
    }
    return at;
}

// Adds what follows the 'e' to the exponent; beyond 32 bits it only has to be huge.
static void read_exponent(const uint8_t *at, const uint8_t *end, struct decimal *number) {
    bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    int64_t exponent = 0;
    for (; at < end && exponent <= INT_MAX; at++) {
        exponent = exponent * 10 + (*at - '0');
    }
    number->exponent += negative ? -exponent : exponent;
}

static double power_of_ten(int64_t exponent) {
    char text[16];
    snprintf(text, sizeof text, "1e%d", (int)exponent);
    return strtod(text, NULL);
}

// Whether serde_json can make a double of a number token.
static bool number_fits(struct sds_span token) {
    const uint8_t *end = token.at + token.len;
    struct decimal number = {0};
    const uint8_t *at = read_mantissa(token.at + (*token.at == '-'), end, &number);
    if (at < end) {
        read_exponent(at + 1, end, &number);
    }
    if (number.significand == 0 || number.exponent <= 0) {
        return true;
    }
    return number.exponent <= MAX_EXPONENT &&
           !isinf((double)number.significand * power_of_ten(number.exponent));
}

static enum sds_kind check_number(struct sds_value v, struct sds_err *err) {
    struct sds_span token = sds_value_text(v);
    if (number_fits(token)) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_CORRUPT, "header", "number %s is out of range",
                    SDS_QUOTE(token.at, token.len));
}

// Checks numbers and nesting; the depth of the recursion is bounded by MAX_NESTING.
static enum sds_kind check_value(struct sds_value v, unsigned nesting, struct sds_err *err) {
    switch (sds_value_type(v)) {
    case SDS_JSON_INTEGER:
    case SDS_JSON_REAL:
        return check_number(v, err);
    case SDS_JSON_ARRAY:
    case SDS_JSON_OBJECT:
        break;
    default:
        return SDS_OK;
    }
    if (nesting == MAX_NESTING) {
        return sds_fail(err, SDS_ERR_CORRUPT, "header", "more than %d containers inside another",
                        MAX_NESTING);
    }
    enum sds_kind kind = SDS_OK;
    for (struct sds_iter it = sds_value_iter(v); kind == SDS_OK && sds_iter_next(&it);) {
        kind = check_value(it.value, nesting + 1, err);
    }
    return kind;
}

enum sds_kind sds_serde_check(const struct sds_json *document, struct sds_err *err) {
    if (!sds_json_is_plain_utf8(document)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "header", "is not plain UTF-8");
    }
    struct sds_value top = sds_json_top(document);
    if (sds_value_has_surrogate(top)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "header", "holds a lone surrogate");
    }
    return check_value(top, 0, err);
}

bool sds_serde_usize(struct sds_value v, uint64_t *out) {
    return sds_value_u64(v, out) && *sds_value_text(v).at != '-';
}
