// SPDX-License-Identifier: Apache-2.0
//
// Axes and coordinates as the reference writes them (docs/formats/signal-dataset.md, section 6).
#include "format/signal_dataset/axis.h"
#include "format/signal_dataset/encode.h"
#include "format/signal_dataset/encode_text.h"

static bool holds_object(struct sds_value v) {
    if (sds_value_type(v) == SDS_JSON_OBJECT) {
        return true;
    }
    bool found = false;
    for (struct sds_iter it = sds_value_iter(v); !found && sds_iter_next(&it);) {
        found = holds_object(it.value);
    }
    return found;
}

// The bytes of the character that text (not empty) begins with.
static size_t character_len(struct sds_span text) {
    size_t len = 1;
    while (len < text.len && (text.at[len] & 0xC0) == 0x80) {
        len++;
    }
    return len;
}

static void add_characters(struct text *text, struct sds_value string) {
    struct sds_buf scratch = SDS_BUF_INIT(SIZE_MAX);
    struct sds_span left = {0};
    if (sds_value_string(string, &scratch, &left) != SDS_OK) {
        text->kind =
            sds_fail(text->err, SDS_ERR_NO_MEMORY, "memory", "no memory for coordinate values");
    }
    const char *comma = "";
    while (text->kind == SDS_OK && left.len > 0) {
        size_t len = character_len(left);
        text_add(text, comma);
        text_add_string(text, sds_span(left.at, len));
        left = sds_span(left.at + len, left.len - len);
        comma = ",";
    }
    sds_buf_fini(&scratch);
}

static void add_keys(struct text *text, struct sds_value object) {
    const char *comma = "";
    for (struct sds_iter it = sds_value_iter(object); sds_iter_next(&it);) {
        text_add(text, comma);
        text_add_value(text, it.key);
        comma = ",";
    }
}

// Whatever they were read from, values are written as an array.
static void add_values(struct text *text, struct sds_value values) {
    enum sds_json_type type = sds_value_type(values);
    if (type == SDS_JSON_STRING || type == SDS_JSON_OBJECT) {
        text_add(text, "[");
        (type == SDS_JSON_STRING ? add_characters : add_keys)(text, values);
        text_add(text, "]");
        return;
    }
    if (text->kind == SDS_OK && holds_object(values)) {
        text->kind = sds_fail(text->err, SDS_ERR_INVALID, "coordinate_values",
                              "coordinate values hold an object");
    }
    text_add_value(text, values);
}

static void add_coordinate(struct text *text, const struct sds_coordinate *coordinate) {
    text_add(text, "{\"metadata\":");
    text_add_metadata(text, coordinate->metadata);
    text_add(text, ",\"reference\":");
    text_add_value(text, coordinate->reference);
    text_add(text, ",\"start\":");
    text_add_value(text, coordinate->start);
    text_add(text, ",\"step\":");
    text_add_value(text, coordinate->step);
    text_add(text, ",\"unit\":");
    text_add_value(text, coordinate->unit);
    text_add(text, ",\"values\":");
    add_values(text, coordinate->values);
    text_add(text, "}");
}

static void check_length(struct text *text, struct sds_value length, uint64_t dimension) {
    uint64_t n = 0;
    if (text->kind == SDS_OK && sds_value_there(length) &&
        (!sds_value_u64(length, &n) || n != dimension)) {
        text->kind =
            sds_fail(text->err, SDS_ERR_INVALID, "axis_length", "length %s for a dimension of %llu",
                     SDS_QUOTE_VALUE(length), (unsigned long long)dimension);
    }
}

static void add_axis(struct text *text, struct sds_value v, uint64_t dimension) {
    struct sds_axis axis;
    if (text->kind == SDS_OK) {
        text->kind = text_fail_as_invalid(sds_axis_read_row(v, &axis, text->err), text->err);
    }
    if (text->kind != SDS_OK) {
        return;
    }
    check_length(text, axis.length, dimension);
    text_add(text, "{\"coordinate\":");
    if (axis.has_coordinate) {
        add_coordinate(text, &axis.coordinate);
    } else {
        text_add(text, "null");
    }
    text_add(text, ",\"id\":");
    text_add_value(text, axis.id);
    text_add(text, ",\"length\":");
    text_add_number(text, dimension);
    text_add(text, ",\"metadata\":");
    text_add_metadata(text, axis.metadata);
    text_add(text, ",\"name\":");
    text_add_value(text, axis.name);
    text_add(text, ",\"role\":");
    text_add_value(text, axis.role);
    text_add(text, "}");
}

// As many axes as dimensions, in an array. No axes at all may also be absent.
static enum sds_kind check_count(struct sds_value axes, uint32_t rank, struct sds_err *err) {
    if (sds_value_there(axes) && sds_value_type(axes) != SDS_JSON_ARRAY) {
        return sds_fail(err, SDS_ERR_INVALID, "axes", "axes are %s, not an array",
                        sds_value_type_name(axes));
    }
    if (sds_value_count(axes) != rank) {
        return sds_fail(err, SDS_ERR_INVALID, "axes", "%llu axes for rank %u",
                        (unsigned long long)sds_value_count(axes), rank);
    }
    return SDS_OK;
}

enum sds_kind sds_axes_write(struct sds_value axes, const uint64_t *shape, uint32_t rank,
                             struct sds_buf *out, struct sds_err *err) {
    enum sds_kind kind = check_count(axes, rank, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct text text = {.out = out, .err = err};
    uint32_t dimension = 0;
    text_add(&text, "[");
    for (struct sds_iter it = sds_value_iter(axes); text.kind == SDS_OK && sds_iter_next(&it);) {
        text_add(&text, dimension == 0 ? "" : ",");
        add_axis(&text, it.value, shape[dimension]);
        if (text.kind != SDS_OK) {
            sds_err_context(err, "axis %u", dimension);
        }
        dimension++;
    }
    text_add(&text, "]");
    return text.kind;
}
