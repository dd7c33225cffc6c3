// SPDX-License-Identifier: Apache-2.0
//
// Values written out again: re-indented as they stand, and how long json.dumps would write them.
#include "base/json_internal.h"

// Length of what json.dumps(..., ensure_ascii=False) writes for a code point inside a string.
static size_t dumped_code_len(uint32_t code) {
    if (code == '"' || code == '\\') {
        return 2;
    }
    if (code < 0x20) {
        return memchr("\b\f\n\r\t", (int)code, 5) != NULL ? 2 : strlen("\\u0000");
    }
    uint8_t utf8[4];
    return sds_utf8_put(code, utf8);
}

// Plain bytes are dumped as they stand: what would need an escape is not allowed among them.
static uint64_t dumped_string_len(struct sds_value string) {
    struct sds_span body = sds_string_body(string);
    struct sds_string_part part;
    uint64_t len = strlen("\"\"");
    while (sds_string_next_part(&body, &part)) {
        len += part.plain.len + (part.escaped ? dumped_code_len(part.code) : 0);
    }
    return len;
}

// Brackets and separators of a container whose contents are counted by themselves.
static uint64_t dumped_frame_len(const struct sds_token *token) {
    uint64_t count = sds_token_count(token);
    uint64_t commas = count > 0 ? (count - 1) * strlen(", ") : 0;
    uint64_t colons = sds_token_type(token) == SDS_JSON_OBJECT ? count * strlen(": ") : 0;
    return strlen("[]") + commas + colons;
}

static uint64_t dumped_token_len(struct sds_value v) {
    const struct sds_token *token = sds_token_of(v);
    switch (sds_token_type(token)) {
    case SDS_JSON_INTEGER:
    case SDS_JSON_REAL:
        return sds_number_dumped_len(v);
    case SDS_JSON_STRING:
        return dumped_string_len(v);
    case SDS_JSON_ARRAY:
    case SDS_JSON_OBJECT:
        return dumped_frame_len(token);
    default:
        return token->len;
    }
}

// No escape and no integer is dumped longer than it was read. No double is longer than this one.
#define LONGEST_DOUBLE strlen("-2.2250738585072014e-308")

static uint64_t dumped_token_bound(struct sds_value v) {
    const struct sds_token *token = sds_token_of(v);
    switch (sds_token_type(token)) {
    case SDS_JSON_REAL:
        return LONGEST_DOUBLE;
    case SDS_JSON_ARRAY:
    case SDS_JSON_OBJECT:
        return dumped_frame_len(token);
    default:
        return token->len;
    }
}

// Tokens stand in document order, so everything inside a value is one run of them.
static uint64_t sum_tokens(struct sds_value v, uint64_t (*len_of)(struct sds_value)) {
    if (!sds_value_there(v)) {
        return 0;
    }
    uint64_t sum = 0;
    for (uint32_t i = v.token; i < sds_token_of(v)->next; i++) {
        sum += len_of((struct sds_value){.doc = v.doc, .token = i});
    }
    return sum;
}

uint64_t sds_value_dumped_len(struct sds_value v) {
    return sum_tokens(v, dumped_token_len);
}

uint64_t sds_value_dumped_bound(struct sds_value v) {
    return sum_tokens(v, dumped_token_bound);
}

static enum sds_kind new_line(unsigned indent, struct sds_buf *buf) {
    enum sds_kind kind = sds_buf_reserve(buf, 1 + 2 * (size_t)indent);
    if (kind == SDS_OK) {
        buf->at[buf->len] = '\n';
        memset(buf->at + buf->len + 1, ' ', 2 * (size_t)indent);
        buf->len += 1 + 2 * (size_t)indent;
    }
    return kind;
}

static enum sds_kind render_member(const struct sds_iter *it, unsigned indent,
                                   struct sds_buf *buf) {
    enum sds_kind kind = new_line(indent, buf);
    if (kind == SDS_OK && it->object) {
        kind = sds_buf_add_span(buf, sds_value_text(it->key));
        if (kind == SDS_OK) {
            kind = sds_buf_add_str(buf, ": ");
        }
    }
    return kind == SDS_OK ? sds_value_render(it->value, indent, buf) : kind;
}

static enum sds_kind render_members(struct sds_value container, unsigned indent,
                                    struct sds_buf *buf) {
    enum sds_kind kind = SDS_OK;
    const char *comma = "";
    for (struct sds_iter it = sds_value_iter(container); kind == SDS_OK && sds_iter_next(&it);) {
        kind = sds_buf_add_str(buf, comma);
        if (kind == SDS_OK) {
            kind = render_member(&it, indent + 1, buf);
        }
        comma = ",";
    }
    return kind == SDS_OK ? new_line(indent, buf) : kind;
}

// Recursive; the depth of a document is bounded.
enum sds_kind sds_value_render(struct sds_value v, unsigned indent, struct sds_buf *buf) {
    enum sds_json_type type = sds_value_type(v);
    if (type != SDS_JSON_ARRAY && type != SDS_JSON_OBJECT) {
        return sds_buf_add_span(buf, sds_value_text(v));
    }
    const char *brackets = type == SDS_JSON_ARRAY ? "[]" : "{}";
    enum sds_kind kind = sds_buf_add(buf, brackets, 1);
    if (kind == SDS_OK && sds_value_count(v) > 0) {
        kind = render_members(v, indent, buf);
    }
    return kind == SDS_OK ? sds_buf_add(buf, brackets + 1, 1) : kind;
}
