// SPDX-License-Identifier: Apache-2.0
#include "base/json_internal.h"

static bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

// The text was parsed, so white space is all that can stand between tokens, and a backslash in a
// string is followed by something.
enum sds_kind sds_value_compact(struct sds_value v, struct sds_buf *buf) {
    struct sds_span text = sds_value_text(v);
    if (!sds_value_there(v) || !v.doc->spaced) {
        return sds_buf_add_span(buf, text);
    }
    enum sds_kind kind = sds_buf_reserve(buf, text.len);
    if (kind != SDS_OK) {
        return kind;
    }
    bool in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.at[i];
        if (!in_string && is_space(byte)) {
            continue;
        }
        buf->at[buf->len++] = byte;
        if (in_string && byte == '\\') {
            buf->at[buf->len++] = text.at[++i];
        } else if (byte == '"') {
            in_string = !in_string;
        }
    }
    return SDS_OK;
}
