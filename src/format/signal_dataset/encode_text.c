// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/encode_text.h"

#include "format/signal_dataset/axis.h"
#include "format/signal_dataset/encode.h"

static void note(struct text *text, enum sds_kind kind) {
    if (kind != SDS_OK) {
        text->kind = sds_buf_failed(text->out, kind, text->err);
    }
}

void text_add_span(struct text *text, struct sds_span span) {
    if (text->kind == SDS_OK) {
        note(text, sds_buf_add_span(text->out, span));
    }
}

void text_add(struct text *text, const char *literal) {
    text_add_span(text, sds_span_str(literal));
}

void text_add_number(struct text *text, uint64_t n) {
    if (text->kind == SDS_OK) {
        note(text, sds_buf_add_u64(text->out, n));
    }
}

void text_add_string(struct text *text, struct sds_span string) {
    if (text->kind != SDS_OK) {
        return;
    }
    enum sds_kind kind = sds_json_write_string(string, text->out);
    if (kind == SDS_ERR_INVALID) {
        text->kind = sds_fail(text->err, kind, "surrogate", "%s is not UTF-8",
                              SDS_QUOTE(string.at, string.len));
    } else {
        note(text, kind);
    }
}

void text_add_value(struct text *text, struct sds_value v) {
    if (text->kind == SDS_OK) {
        text->kind = sds_json_write(v, SDS_JSON_COMPACT, text->out, text->err);
    }
}

void text_add_metadata(struct text *text, struct sds_value metadata) {
    if (text->kind == SDS_OK) {
        text->kind = text_fail_as_invalid(sds_metadata_check(metadata, text->err), text->err);
    }
    if (sds_value_is_falsy(metadata)) {
        text_add(text, "{}");
    } else {
        text_add_value(text, metadata);
    }
}

enum sds_kind text_fail_as_invalid(enum sds_kind kind, struct sds_err *err) {
    if (kind != SDS_ERR_CORRUPT) {
        return kind;
    }
    if (err != NULL) {
        err->kind = SDS_ERR_INVALID;
    }
    return SDS_ERR_INVALID;
}

enum sds_kind sds_metadata_write(struct sds_value metadata, struct sds_buf *out,
                                 struct sds_err *err) {
    struct text text = {.out = out, .err = err};
    text_add_metadata(&text, metadata);
    return text.kind;
}
