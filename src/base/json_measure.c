// SPDX-License-Identifier: Apache-2.0
//
// How long json.dumps would write values.
#include "base/json_internal.h"

static uint64_t dumped_string_len(struct sds_value string) {
    struct sds_span body = sds_string_body(string);
    struct sds_string_part part;
    uint64_t len = strlen("\"\"");
    uint8_t dumped[SDS_DUMPED_CODE];
    while (sds_string_next_part(&body, &part)) {
        len += part.plain.len + (part.escaped ? sds_dump_code(part.code, dumped) : 0);
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
    case SDS_JSON_REAL: {
        char room[SDS_DUMPED_DOUBLE];
        return sds_number_dump(v, room).len;
    }
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
