// SPDX-License-Identifier: Apache-2.0
//
// Metadata entries: what a record is, without its tensors (docs/formats/signal-dataset.md, section
// 6). The reference hardly validates them; neither does this.
#include <stdlib.h>

#include "format/signal_dataset/axis.h"
#include "format/signal_dataset/record_internal.h"

// An array, or what Python takes for one without elements: "" and {}.
static bool is_sequence(struct sds_value v) {
    switch (sds_value_type(v)) {
    case SDS_JSON_ARRAY:
        return true;
    case SDS_JSON_STRING:
        return sds_value_string_len(v) == 0;
    case SDS_JSON_OBJECT:
        return sds_value_count(v) == 0;
    default:
        return false;
    }
}

static enum sds_kind read_dtype(struct sds_value dtype, struct sds_field *field,
                                struct sds_err *err) {
    if (!sds_value_there(dtype)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "dtype", "has no dtype");
    }
    for (unsigned i = 0; i < SDS_DTYPES; i++) {
        if (sds_value_is(dtype, sds_dtype_numpy((enum sds_dtype)i))) {
            field->dtype = (enum sds_dtype)i;
            return SDS_OK;
        }
    }
    return sds_fail(err, SDS_ERR_UNSUPPORTED, "dtype", "dtype %s", SDS_QUOTE_VALUE(dtype));
}

// A dimension may have any number of digits.
static bool read_dimension(struct sds_value v, uint64_t *out) {
    if (sds_value_type(v) != SDS_JSON_INTEGER || sds_value_is_negative(v)) {
        return false;
    }
    if (!sds_value_u64(v, out)) {
        *out = UINT64_MAX;
    }
    return true;
}

static enum sds_kind read_shape(struct sds_value shape, uint64_t *store, struct sds_field *field,
                                struct sds_err *err) {
    if (!is_sequence(shape)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "shape", "shape is %s, not an array",
                        sds_value_type_name(shape));
    }
    field->rank = (uint32_t)sds_value_count(shape);
    field->shape = store;
    for (struct sds_iter it = sds_value_iter(shape); sds_iter_next(&it); store++) {
        if (!read_dimension(it.value, store)) {
            return sds_fail(err, SDS_ERR_CORRUPT, "shape",
                            "dimension %s is not a nonnegative integer", SDS_QUOTE_VALUE(it.value));
        }
    }
    return SDS_OK;
}

// Lengths may be written in any way that equals the dimension in Python: 3.0, true.
static enum sds_kind check_axis(struct sds_value value, struct sds_value dimension,
                                struct sds_err *err) {
    struct sds_axis axis;
    enum sds_kind kind = sds_axis_read(value, &axis, err);
    if (kind != SDS_OK) {
        return kind;
    }
    bool equal;
    if (sds_value_equal(axis.length, dimension, &equal) != SDS_OK) {
        return sds_record_no_memory(err);
    }
    if (!equal) {
        return sds_fail(err, SDS_ERR_CORRUPT, "axis_length", "length %s for a dimension of %s",
                        SDS_QUOTE_VALUE(axis.length), SDS_QUOTE_VALUE(dimension));
    }
    return SDS_OK;
}

static enum sds_kind check_axes(struct sds_value axes, struct sds_value shape,
                                struct sds_err *err) {
    if (!is_sequence(axes)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "axes", "axes are %s, not an array",
                        sds_value_type_name(axes));
    }
    uint64_t count = sds_value_count(axes);
    if (count != sds_value_count(shape)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "axes", "%llu axes for rank %llu",
                        (unsigned long long)count, (unsigned long long)sds_value_count(shape));
    }
    if (count > SDS_MAX_AXES) {
        return sds_fail(err, SDS_ERR_LIMIT, "axes", "%llu axes", (unsigned long long)count);
    }
    struct sds_iter dimension = sds_value_iter(shape);
    for (struct sds_iter it = sds_value_iter(axes); sds_iter_next(&it);) {
        sds_iter_next(&dimension);
        enum sds_kind kind = check_axis(it.value, dimension.value, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    return SDS_OK;
}

static enum sds_kind read_field(struct sds_value spec, uint64_t *shape_store,
                                struct sds_field *field, struct sds_err *err) {
    if (sds_value_type(spec) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "fields", "is %s, not an object",
                        sds_value_type_name(spec));
    }
    struct sds_value shape = sds_value_get(spec, "shape");
    struct sds_value axes = sds_value_get(spec, "axes");
    enum sds_kind kind = read_shape(shape, shape_store, field, err);
    if (kind == SDS_OK) {
        kind = check_axes(axes, shape, err);
    }
    field->metadata = sds_value_get(spec, "metadata");
    if (kind == SDS_OK) {
        kind = sds_metadata_check(field->metadata, err);
    }
    if (kind == SDS_OK) {
        kind = read_dtype(sds_value_get(spec, "dtype"), field, err);
    }
    if (kind == SDS_OK) {
        field->axes = field->rank > 0 ? axes : (struct sds_value){0};
        field->len = sds_array_bytes(field->dtype, field->shape, field->rank);
    }
    return kind;
}

static enum sds_kind read_fields(struct sds_record *record, struct sds_value fields,
                                 struct sds_err *err) {
    enum sds_kind kind = sds_record_make_fields(record, fields, err);
    if (kind != SDS_OK) {
        return kind;
    }
    for (struct sds_iter it = sds_value_iter(fields); sds_iter_next(&it);) {
        record->shape_count += sds_value_count(sds_value_get(it.value, "shape"));
    }
    record->shapes = calloc(record->shape_count + 1, sizeof *record->shapes);
    if (record->shapes == NULL) {
        return sds_record_no_memory(err);
    }
    struct sds_field *field = record->fields;
    uint64_t *shape = record->shapes;
    for (struct sds_iter it = sds_value_iter(fields); sds_iter_next(&it); field++) {
        kind = read_field(it.value, shape, field, err);
        if (kind != SDS_OK) {
            sds_field_context(field, err);
            return kind;
        }
        shape += field->rank;
    }
    return SDS_OK;
}

static enum sds_kind read_entry(struct sds_record *record, struct sds_err *err) {
    struct sds_value top = sds_json_top(record->doc);
    if (sds_value_type(top) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "entry", "metadata entry is %s, not an object",
                        sds_value_type_name(top));
    }
    record->id = sds_value_get(top, "id");
    record->scene_id = sds_value_get(top, "scene_id");
    record->metadata = sds_value_get(top, "metadata");
    if (!sds_value_there(record->id)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "id", "metadata entry has no id");
    }
    enum sds_kind kind = sds_metadata_check(record->metadata, err);
    return kind != SDS_OK ? kind : read_fields(record, sds_value_get(top, "fields"), err);
}

enum sds_kind sds_metadata_decode(struct sds_span entry, struct sds_record *out,
                                  struct sds_err *err) {
    if (entry.len > SDS_MAX_METADATA_BYTES) {
        return sds_fail(err, SDS_ERR_LIMIT, "metadata_size", "metadata entry of %zu bytes",
                        entry.len);
    }
    const struct sds_json_limits limits = {
        .bytes = SDS_MAX_METADATA_BYTES, .depth = SDS_JSON_DEPTH, .nodes = SDS_JSON_NODES};
    struct sds_record record = {0};
    enum sds_kind kind = sds_json_parse(entry, &limits, &record.doc, err);
    if (kind != SDS_OK) {
        sds_err_context(err, "metadata entry");
        return kind;
    }
    kind = read_entry(&record, err);
    if (kind != SDS_OK) {
        sds_record_fini(&record);
        return kind;
    }
    *out = record;
    return SDS_OK;
}
