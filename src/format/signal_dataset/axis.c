// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/axis.h"

// The member of an object, absent where it is null.
static struct sds_value optional(struct sds_value object, const char *key) {
    struct sds_value v = sds_value_get(object, key);
    return sds_value_type(v) == SDS_JSON_NULL ? (struct sds_value){0} : v;
}

enum sds_kind sds_metadata_check(struct sds_value metadata, struct sds_err *err) {
    if (sds_value_is_falsy(metadata)) {
        return SDS_OK;
    }
    if (sds_value_type(metadata) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "metadata", "metadata is %s, not an object",
                        sds_value_type_name(metadata));
    }
    if (sds_value_has_infinity(metadata)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "metadata", "metadata holds an infinite number");
    }
    return SDS_OK;
}

// Counts the characters of unescaped text from a byte on.
static uint64_t count_characters(const struct sds_buf *text, size_t from) {
    uint64_t count = 0;
    for (size_t i = from; i < text->len; i++) {
        count += (text->at[i] & 0xC0) != 0x80;
    }
    return count;
}

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for coordinate values");
}

static enum sds_kind count_string(struct sds_value string, uint64_t *count, struct sds_err *err) {
    struct sds_buf text = SDS_BUF_INIT(SIZE_MAX);
    enum sds_kind kind = sds_value_string_add(string, &text);
    *count = count_characters(&text, 0);
    sds_buf_fini(&text);
    return kind == SDS_OK ? kind : no_memory(err);
}

// Values become a tuple: the elements of an array, the characters of a string, the keys of an
// object.
static enum sds_kind read_values(struct sds_coordinate *coordinate, struct sds_err *err) {
    struct sds_value values = coordinate->values;
    if (!sds_value_there(values)) {
        return SDS_OK;
    }
    enum sds_json_type type = sds_value_type(values);
    if (type == SDS_JSON_STRING) {
        return count_string(values, &coordinate->value_count, err);
    }
    if (type != SDS_JSON_ARRAY && type != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "coordinate_values",
                        "coordinate values are %s, not an array", sds_value_type_name(values));
    }
    if (type == SDS_JSON_ARRAY && sds_value_has_infinity(values)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "coordinate_values",
                        "coordinate values hold an infinite number");
    }
    coordinate->value_count = sds_value_count(values);
    return SDS_OK;
}

static enum sds_kind read_coordinate(struct sds_value v, struct sds_coordinate *out,
                                     struct sds_err *err) {
    if (sds_value_type(v) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "coordinate", "coordinate is %s, not an object",
                        sds_value_type_name(v));
    }
    *out = (struct sds_coordinate){
        .values = optional(v, "values"),
        .start = optional(v, "start"),
        .step = optional(v, "step"),
        .reference = optional(v, "reference"),
        .unit = optional(v, "unit"),
        .metadata = optional(v, "metadata"),
    };
    enum sds_kind kind = read_values(out, err);
    return kind != SDS_OK ? kind : sds_metadata_check(out->metadata, err);
}

enum sds_kind sds_axis_read_row(struct sds_value v, struct sds_axis *out, struct sds_err *err) {
    if (sds_value_type(v) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "axis", "axis is %s, not an object",
                        sds_value_type_name(v));
    }
    *out = (struct sds_axis){
        .name = sds_value_get(v, "name"),
        .length = sds_value_get(v, "length"),
        .role = optional(v, "role"),
        .id = optional(v, "id"),
        .metadata = optional(v, "metadata"),
    };
    if (!sds_value_there(out->name)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "axis", "axis has no name");
    }
    struct sds_value coordinate = optional(v, "coordinate");
    enum sds_kind kind = SDS_OK;
    if (sds_value_there(coordinate)) {
        out->has_coordinate = true;
        kind = read_coordinate(coordinate, &out->coordinate, err);
    }
    return kind != SDS_OK ? kind : sds_metadata_check(out->metadata, err);
}

enum sds_kind sds_axis_read(struct sds_value v, struct sds_axis *out, struct sds_err *err) {
    enum sds_kind kind = sds_axis_read_row(v, out, err);
    if (kind == SDS_OK && !sds_value_there(out->length)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "axis", "axis has no length");
    }
    return kind;
}

static enum sds_kind optional_equal(struct sds_value a, struct sds_value b, bool *equal) {
    if (!sds_value_there(a) || !sds_value_there(b)) {
        *equal = sds_value_there(a) == sds_value_there(b);
        return SDS_OK;
    }
    return sds_value_equal(a, b, equal);
}

enum sds_kind sds_metadata_equal(struct sds_value a, struct sds_value b, bool *equal) {
    if (sds_value_is_falsy(a) || sds_value_is_falsy(b)) {
        *equal = sds_value_is_falsy(a) && sds_value_is_falsy(b);
        return SDS_OK;
    }
    return sds_value_equal(a, b, equal);
}

// An element of values that are an array or an object.
static struct sds_value element(const struct sds_iter *it) {
    return it->object ? it->key : it->value;
}

// Whether the elements of a sequence are single characters that make up the string.
static enum sds_kind spells(struct sds_value sequence, struct sds_value string, bool *equal) {
    struct sds_buf letters = SDS_BUF_INIT(SIZE_MAX), text = SDS_BUF_INIT(SIZE_MAX);
    enum sds_kind kind = sds_value_string_add(string, &text);
    *equal = true;
    struct sds_iter it = sds_value_iter(sequence);
    while (kind == SDS_OK && *equal && sds_iter_next(&it)) {
        size_t before = letters.len;
        *equal = sds_value_type(element(&it)) == SDS_JSON_STRING;
        if (*equal) {
            kind = sds_value_string_add(element(&it), &letters);
        }
        if (*equal && kind == SDS_OK) {
            *equal = count_characters(&letters, before) == 1;
        }
    }
    *equal = *equal && sds_span_eq(sds_buf_span(&letters), sds_buf_span(&text));
    sds_buf_fini(&letters);
    sds_buf_fini(&text);
    return kind;
}

// Whether two sequences, not both of them arrays, hold the same strings in the same order.
static bool same_strings(struct sds_value a, struct sds_value b) {
    struct sds_iter left = sds_value_iter(a), right = sds_value_iter(b);
    while (sds_iter_next(&left) && sds_iter_next(&right)) {
        struct sds_value x = element(&left), y = element(&right);
        if (sds_value_type(x) != SDS_JSON_STRING || sds_value_type(y) != SDS_JSON_STRING ||
            !sds_string_eq(x, y)) {
            return false;
        }
    }
    return true;
}

static enum sds_kind values_equal(const struct sds_coordinate *a, const struct sds_coordinate *b,
                                  bool *equal) {
    enum sds_json_type left = sds_value_type(a->values), right = sds_value_type(b->values);
    bool both = sds_value_there(a->values) && sds_value_there(b->values);
    if (!both || (left == right && left != SDS_JSON_OBJECT)) {
        return optional_equal(a->values, b->values, equal);
    }
    if (a->value_count != b->value_count) {
        *equal = false;
        return SDS_OK;
    }
    if (left == SDS_JSON_STRING) {
        return spells(b->values, a->values, equal);
    }
    if (right == SDS_JSON_STRING) {
        return spells(a->values, b->values, equal);
    }
    *equal = same_strings(a->values, b->values);
    return SDS_OK;
}

enum sds_kind sds_coordinate_equal(const struct sds_coordinate *a, const struct sds_coordinate *b,
                                   bool *equal) {
    const struct {
        struct sds_value a, b;
    } scalars[] = {
        {a->start, b->start}, {a->step, b->step}, {a->reference, b->reference}, {a->unit, b->unit}};
    enum sds_kind kind = values_equal(a, b, equal);
    for (size_t i = 0; kind == SDS_OK && *equal && i < sizeof scalars / sizeof *scalars; i++) {
        kind = optional_equal(scalars[i].a, scalars[i].b, equal);
    }
    if (kind == SDS_OK && *equal) {
        kind = sds_metadata_equal(a->metadata, b->metadata, equal);
    }
    return kind;
}

uint64_t sds_metadata_size(struct sds_value metadata, sds_measure measure) {
    return sds_value_is_falsy(metadata) ? strlen("{}") : measure(metadata);
}

static uint64_t optional_size(struct sds_value v, sds_measure measure) {
    return sds_value_there(v) ? measure(v) : strlen("null");
}

// A string or an object counts as the array that it stands for.
static uint64_t values_size(const struct sds_coordinate *coordinate, sds_measure measure) {
    struct sds_value values = coordinate->values;
    uint64_t count = coordinate->value_count;
    uint64_t separators = count > 1 ? (count - 1) * strlen(", ") : 0;
    switch (sds_value_type(values)) {
    case SDS_JSON_STRING: // measured without its quotes: each character gets some
        return strlen("[]") + measure(values) - strlen("\"\"") + count * strlen("\"\"") +
               separators;
    case SDS_JSON_OBJECT: {
        uint64_t size = strlen("[]") + separators;
        for (struct sds_iter it = sds_value_iter(values); sds_iter_next(&it);) {
            size += measure(it.key);
        }
        return size;
    }
    default:
        return optional_size(values, measure);
    }
}

uint64_t sds_coordinate_size(const struct sds_coordinate *coordinate, sds_measure measure) {
    static const char skeleton[] =
        "{\"values\": , \"start\": , \"step\": , \"reference\": , \"unit\": }";
    return strlen(skeleton) + values_size(coordinate, measure) +
           optional_size(coordinate->start, measure) + optional_size(coordinate->step, measure) +
           optional_size(coordinate->reference, measure) + optional_size(coordinate->unit, measure);
}
