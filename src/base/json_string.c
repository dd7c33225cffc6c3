// SPDX-License-Identifier: Apache-2.0
//
// Strings of a document: escapes, the bytes they stand for, and comparison after unescaping.
#include "base/json_internal.h"

static int hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The unit of a \uXXXX at the start of text, -1 when there is none.
static int32_t unicode_escape(struct sds_span text) {
    if (text.len < 6 || text.at[0] != '\\' || text.at[1] != 'u') {
        return -1;
    }
    int32_t unit = 0;
    for (size_t i = 2; i < 6; i++) {
        int digit = hex_digit(text.at[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit << 4 | digit;
    }
    return unit;
}

static const char short_letters[] = "\"\\/bfnrt";
static const char short_codes[] = "\"\\/\b\f\n\r\t"; // that these letters stand for

static size_t short_escape(uint8_t letter, uint32_t *code) {
    const char *found = memchr(short_letters, letter, sizeof short_letters - 1);
    if (found == NULL) {
        return 0;
    }
    *code = (uint8_t)short_codes[found - short_letters];
    return 2;
}

size_t sds_escape_step(struct sds_span text, uint32_t *code) {
    if (text.len < 2) {
        return 0;
    }
    if (text.at[1] != 'u') {
        return short_escape(text.at[1], code);
    }
    int32_t unit = unicode_escape(text);
    if (unit < 0) {
        return 0;
    }
    *code = (uint32_t)unit;
    if (!sds_is_high_surrogate(*code)) {
        return 6;
    }
    int32_t low = unicode_escape(sds_span(text.at + 6, text.len - 6));
    if (low < 0 || !sds_is_low_surrogate((uint32_t)low)) {
        return 6;
    }
    *code = sds_join_surrogates(*code, (uint32_t)low);
    return 12;
}

size_t sds_dump_code(uint32_t code, uint8_t out[SDS_DUMPED_CODE]) {
    static const char digits[] = "0123456789abcdef";
    if (code >= 0x20 && code != '"' && code != '\\') {
        return sds_utf8_put(code, out);
    }
    out[0] = '\\';
    const char *found = memchr(short_codes, (int)code, sizeof short_codes - 1);
    if (found != NULL) {
        out[1] = (uint8_t)short_letters[found - short_codes];
        return 2;
    }
    memcpy(out + 1, "u00", 3);
    out[4] = (uint8_t)digits[code >> 4];
    out[5] = (uint8_t)digits[code & 15];
    return SDS_DUMPED_CODE;
}

int sds_unescaped_escape(struct sds_unescaped *u) {
    uint32_t code = 0;
    size_t step = sds_escape_step(u->left, &code); // never 0: the parser checked it
    u->left = sds_span(u->left.at + step, u->left.len - step);
    u->held_len = sds_utf8_put(code, u->held);
    u->held_pos = 1;
    return u->held[0];
}

bool sds_string_next_part(struct sds_span *body, struct sds_string_part *out) {
    if (body->len == 0) {
        return false;
    }
    const uint8_t *escape = memchr(body->at, '\\', body->len);
    size_t len = escape == NULL ? body->len : (size_t)(escape - body->at);
    out->plain = sds_span(body->at, len);
    out->escaped = escape != NULL;
    *body = sds_span(body->at + len, body->len - len);
    if (out->escaped) {
        size_t step = sds_escape_step(*body, &out->code);
        *body = sds_span(body->at + step, body->len - step);
    }
    return true;
}

size_t sds_value_string_len(struct sds_value string) {
    struct sds_span body = sds_string_body(string);
    struct sds_string_part part;
    size_t len = 0;
    while (sds_string_next_part(&body, &part)) {
        uint8_t utf8[4];
        len += part.plain.len + (part.escaped ? sds_utf8_put(part.code, utf8) : 0);
    }
    return len;
}

enum sds_kind sds_value_string_add(struct sds_value string, struct sds_buf *buf) {
    enum sds_kind kind = sds_buf_reserve(buf, sds_value_string_len(string)); // all or nothing
    struct sds_span body = sds_string_body(string);
    struct sds_string_part part;
    while (kind == SDS_OK && sds_string_next_part(&body, &part)) {
        kind = sds_buf_add_span(buf, part.plain);
        if (kind == SDS_OK && part.escaped) {
            uint8_t utf8[4];
            kind = sds_buf_add(buf, utf8, sds_utf8_put(part.code, utf8));
        }
    }
    return kind;
}

enum sds_kind sds_value_string(struct sds_value string, struct sds_buf *scratch,
                               struct sds_span *out) {
    struct sds_span body = sds_string_body(string);
    if (body.len == 0 || !sds_is_escaped(string)) {
        *out = body;
        return SDS_OK;
    }
    size_t start = scratch->len;
    enum sds_kind kind = sds_value_string_add(string, scratch);
    if (kind == SDS_OK) {
        *out = sds_span(scratch->at + start, scratch->len - start);
    }
    return kind;
}

bool sds_value_is(struct sds_value v, const char *text) {
    if (!sds_value_there(v) || sds_value_type(v) != SDS_JSON_STRING) {
        return false;
    }
    struct sds_span wanted = sds_span_str(text);
    if (!sds_is_escaped(v)) {
        return sds_span_eq(sds_string_body(v), wanted);
    }
    struct sds_unescaped u = sds_unescape(v);
    for (size_t i = 0; i < wanted.len; i++) {
        if (sds_unescaped_next(&u) != wanted.at[i]) {
            return false;
        }
    }
    return sds_unescaped_next(&u) < 0;
}

int sds_string_cmp(struct sds_value a, struct sds_value b) {
    if (!sds_is_escaped(a) && !sds_is_escaped(b)) {
        return sds_span_cmp(sds_string_body(a), sds_string_body(b));
    }
    struct sds_unescaped left = sds_unescape(a);
    struct sds_unescaped right = sds_unescape(b);
    for (;;) {
        int x = sds_unescaped_next(&left);
        int y = sds_unescaped_next(&right);
        if (x != y) {
            return x < y ? -1 : 1;
        }
        if (x < 0) {
            return 0;
        }
    }
}

bool sds_string_eq(struct sds_value a, struct sds_value b) {
    if (!sds_is_escaped(a) && !sds_is_escaped(b)) {
        return sds_span_eq(sds_string_body(a), sds_string_body(b));
    }
    return sds_string_cmp(a, b) == 0;
}

bool sds_value_has_surrogate(struct sds_value v) {
    return sds_value_there(v) && (sds_token_of(v)->info & SDS_TOKEN_SURROGATE) != 0;
}
