// SPDX-License-Identifier: Apache-2.0
//
// Values written out again: as the reference writes them, or as they stand and only re-indented.
// Recursive; the depth of a document is bounded.
#include "base/json_write.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_internal.h"

#define FEW_KEYS 32 // are sorted on the stack

struct writer {
    struct sds_buf *out;
    bool indented;
    bool as_written; // tokens and order of the document, instead of the reference's
};

static enum sds_kind new_line(unsigned indent, struct sds_buf *out) {
    enum sds_kind kind = sds_buf_reserve(out, 1 + 2 * (size_t)indent);
    if (kind == SDS_OK) {
        out->at[out->len] = '\n';
        memset(out->at + out->len + 1, ' ', 2 * (size_t)indent);
        out->len += 1 + 2 * (size_t)indent;
    }
    return kind;
}

// Plain bytes stay: what would need an escape is not allowed among them.
static enum sds_kind write_escaped(struct sds_value string, struct sds_buf *out) {
    struct sds_span body = sds_string_body(string);
    struct sds_string_part part;
    enum sds_kind kind = sds_buf_add(out, "\"", 1);
    while (kind == SDS_OK && sds_string_next_part(&body, &part)) {
        kind = sds_buf_add_span(out, part.plain);
        if (kind == SDS_OK && part.escaped) {
            uint8_t code[SDS_DUMPED_CODE];
            kind = sds_buf_add(out, code, sds_dump_code(part.code, code));
        }
    }
    return kind == SDS_OK ? sds_buf_add(out, "\"", 1) : kind;
}

static enum sds_kind write_scalar(const struct writer *w, struct sds_value v) {
    enum sds_json_type type = sds_value_type(v);
    if (!w->as_written && (type == SDS_JSON_INTEGER || type == SDS_JSON_REAL)) {
        char room[SDS_DUMPED_DOUBLE];
        return sds_buf_add_span(w->out, sds_number_dump(v, room));
    }
    if (!w->as_written && type == SDS_JSON_STRING && sds_is_escaped(v)) {
        return write_escaped(v, w->out);
    }
    return sds_buf_add_span(w->out, sds_value_text(v));
}

static enum sds_kind write_value(const struct writer *w, struct sds_value v, unsigned indent);

// A member, or an element when there is no key, and what separates it from the one before.
static enum sds_kind write_member(const struct writer *w, bool first, struct sds_value key,
                                  struct sds_value value, unsigned indent) {
    enum sds_kind kind = first ? SDS_OK : sds_buf_add(w->out, ",", 1);
    if (kind == SDS_OK && w->indented) {
        kind = new_line(indent, w->out);
    }
    if (kind == SDS_OK && sds_value_there(key)) {
        kind = write_scalar(w, key);
        if (kind == SDS_OK) {
            kind = sds_buf_add(w->out, ": ", w->indented ? 2 : 1);
        }
    }
    return kind == SDS_OK ? write_value(w, value, indent) : kind;
}

static enum sds_kind write_in_order(const struct writer *w, struct sds_value container,
                                    unsigned indent) {
    enum sds_kind kind = SDS_OK;
    bool first = true;
    for (struct sds_iter it = sds_value_iter(container); kind == SDS_OK && sds_iter_next(&it);) {
        kind = write_member(w, first, it.key, it.value, indent);
        first = false;
    }
    return kind;
}

static enum sds_kind write_by_key(const struct writer *w, struct sds_value object,
                                  unsigned indent) {
    uint32_t few[FEW_KEYS];
    uint32_t *keys = few;
    sds_autofree uint32_t *many = NULL;
    size_t count = sds_value_count(object);
    if (count > FEW_KEYS) {
        keys = many = malloc(count * sizeof *many);
        if (many == NULL) {
            return SDS_ERR_NO_MEMORY;
        }
    }
    sds_json_sort_keys(sds_value_iter(object), keys);
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < count; i++) {
        struct sds_value key = {.doc = object.doc, .token = keys[i]};
        struct sds_value value = {.doc = object.doc, .token = keys[i] + 1};
        kind = write_member(w, i == 0, key, value, indent);
    }
    return kind;
}

static enum sds_kind write_value(const struct writer *w, struct sds_value v, unsigned indent) {
    enum sds_json_type type = sds_value_type(v);
    if (type != SDS_JSON_ARRAY && type != SDS_JSON_OBJECT) {
        return write_scalar(w, v);
    }
    const char *brackets = type == SDS_JSON_ARRAY ? "[]" : "{}";
    enum sds_kind kind = sds_buf_add(w->out, brackets, 1);
    if (kind == SDS_OK && sds_value_count(v) > 0) {
        bool sorted = type == SDS_JSON_OBJECT && !w->as_written;
        kind = sorted ? write_by_key(w, v, indent + 1) : write_in_order(w, v, indent + 1);
        if (kind == SDS_OK && w->indented) {
            kind = new_line(indent, w->out);
        }
    }
    return kind == SDS_OK ? sds_buf_add(w->out, brackets + 1, 1) : kind;
}

enum sds_kind sds_value_render(struct sds_value v, unsigned indent, struct sds_buf *buf) {
    struct writer w = {.out = buf, .indented = true, .as_written = true};
    return write_value(&w, v, indent);
}

enum sds_kind sds_json_write(struct sds_value v, enum sds_json_style style, struct sds_buf *out,
                             struct sds_err *err) {
    if (sds_value_has_surrogate(v)) {
        return sds_fail(err, SDS_ERR_INVALID, "surrogate",
                        "a string holds a lone surrogate, which is not UTF-8");
    }
    if (sds_value_has_infinity(v)) {
        return sds_fail(err, SDS_ERR_INVALID, "infinite", "a number is beyond the range of double");
    }
    struct writer w = {.out = out, .indented = style == SDS_JSON_INDENTED};
    enum sds_kind kind = sds_value_there(v) ? write_value(&w, v, 0) : sds_buf_add_str(out, "null");
    return kind == SDS_OK ? kind : sds_buf_failed(out, kind, err);
}

// How many bytes at the start of text can stand in a JSON string as they are. Sets *valid to false
// where UTF-8 ends.
static size_t plain_run(struct sds_span text, bool *valid) {
    size_t len = 0;
    while (len < text.len) {
        uint8_t c = text.at[len];
        if (c < 0x20 || c == '"' || c == '\\') {
            break;
        }
        bool surrogate = false;
        size_t step =
            c < 0x80 ? 1 : sds_utf8_step(sds_span(text.at + len, text.len - len), &surrogate);
        if (step == 0 || surrogate) {
            *valid = false;
            break;
        }
        len += step;
    }
    return len;
}

enum sds_kind sds_json_write_string(struct sds_span text, struct sds_buf *out) {
    enum sds_kind kind = sds_buf_add(out, "\"", 1);
    bool valid = true;
    while (kind == SDS_OK && text.len > 0) {
        size_t run = plain_run(text, &valid);
        if (!valid) {
            return SDS_ERR_INVALID;
        }
        kind = sds_buf_add(out, text.at, run);
        text = sds_span(text.at + run, text.len - run);
        if (kind == SDS_OK && text.len > 0) {
            uint8_t code[SDS_DUMPED_CODE];
            kind = sds_buf_add(out, code, sds_dump_code(text.at[0], code));
            text = sds_span(text.at + 1, text.len - 1);
        }
    }
    return kind == SDS_OK ? sds_buf_add(out, "\"", 1) : kind;
}
