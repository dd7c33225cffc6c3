// SPDX-License-Identifier: Apache-2.0
//
// What records have to obey beyond their shape (docs/formats/signal-dataset.md, section 6), mostly
// in the reference's order.
#include <stdlib.h>

#include "format/signal_dataset/axis.h"
#include "format/signal_dataset/record_internal.h"

// The length and coordinate of an axis that has an id; all axes with that id have to agree.
struct declaration {
    uint64_t length;
    struct sds_value axis;
};

struct validator {
    const struct sds_record *record;
    struct sds_buf text;              // unescaped names and ids, room for all: spans into it stay
    struct declaration *declarations; // in document order
    struct sds_named *ids;            // of the declarations, sorted once all are there
    uint32_t id_count;
    bool has_reference;
    struct sds_err *err;
};

static bool is_text_or_null(struct sds_value v) {
    return sds_value_type(v) == SDS_JSON_STRING || sds_value_type(v) == SDS_JSON_NULL;
}

static bool is_number_or_null(struct sds_value v) {
    enum sds_json_type type = sds_value_type(v);
    return type == SDS_JSON_INTEGER || type == SDS_JSON_REAL || type == SDS_JSON_NULL;
}

static bool is_empty_text(struct sds_value v) {
    return sds_value_type(v) == SDS_JSON_STRING && sds_value_text(v).len == strlen("\"\"");
}

static enum sds_kind wrong(struct validator *v, const char *check, const char *what,
                           struct sds_value found) {
    return sds_fail(v->err, SDS_ERR_CORRUPT, check, "%s, found %s", what, SDS_QUOTE_VALUE(found));
}

static enum sds_kind check_identity(struct validator *v) {
    const struct sds_record *record = v->record;
    if (sds_value_type(record->id) != SDS_JSON_STRING || is_empty_text(record->id)) {
        return wrong(v, "id", "id is not a nonempty string", record->id);
    }
    if (!is_text_or_null(record->scene_id)) {
        return wrong(v, "scene_id", "scene_id is neither a string nor null", record->scene_id);
    }
    if (record->field_count == 0) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "fields", "record has no field");
    }
    return SDS_OK;
}

// Metadata that can be written again: as JSON in UTF-8.
static enum sds_kind check_metadata(struct validator *v, struct sds_value metadata) {
    enum sds_kind kind = sds_metadata_check(metadata, v->err);
    if (kind == SDS_OK && sds_value_has_surrogate(metadata)) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "metadata", "metadata holds a lone surrogate");
    }
    return kind;
}

static enum sds_kind check_record_metadata(struct validator *v) {
    return check_metadata(v, v->record->metadata);
}

static bool values_have_surrogate(struct sds_value values) {
    if (sds_value_type(values) != SDS_JSON_OBJECT) {
        return sds_value_has_surrogate(values);
    }
    bool found = false; // only the keys are values
    for (struct sds_iter it = sds_value_iter(values); !found && sds_iter_next(&it);) {
        found = sds_value_has_surrogate(it.key);
    }
    return found;
}

static enum sds_kind check_coordinate_form(struct validator *v, const struct sds_coordinate *c,
                                           uint64_t length) {
    bool explicit = sds_value_there(c->values);
    bool start = sds_value_there(c->start), step = sds_value_there(c->step);
    bool reference = sds_value_there(c->reference);
    if ((explicit ? 1 : 0) + (start || step ? 1 : 0) + (reference ? 1 : 0) > 1) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "coordinate",
                        "coordinate has more than one of values, start and step, reference");
    }
    if (start != step) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "coordinate", "coordinate has only %s",
                        start ? "start" : "step");
    }
    if (explicit && c->value_count != length) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "coordinate_values",
                        "%llu coordinate values for length %llu",
                        (unsigned long long)c->value_count, (unsigned long long)length);
    }
    if (explicit && c->value_count > SDS_MAX_COORDINATE_VALUES) {
        return sds_fail(v->err, SDS_ERR_LIMIT, "coordinate_values", "%llu coordinate values",
                        (unsigned long long)c->value_count);
    }
    return SDS_OK;
}

static enum sds_kind check_coordinate(struct validator *v, const struct sds_coordinate *c,
                                      uint64_t length) {
    if (!is_text_or_null(c->unit)) {
        return wrong(v, "coordinate", "unit is neither a string nor null", c->unit);
    }
    if (!is_number_or_null(c->start)) {
        return wrong(v, "coordinate", "start is neither a number nor null", c->start);
    }
    if (!is_number_or_null(c->step)) {
        return wrong(v, "coordinate", "step is neither a number nor null", c->step);
    }
    if (!is_text_or_null(c->reference)) {
        return wrong(v, "reference", "reference is neither a string nor null", c->reference);
    }
    enum sds_kind kind = check_coordinate_form(v, c, length);
    if (kind != SDS_OK) {
        return kind;
    }
    if (sds_value_has_infinity(c->start) || sds_value_has_infinity(c->step)) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "coordinate", "start or step is infinite");
    }
    if (values_have_surrogate(c->values) || sds_value_has_surrogate(c->reference) ||
        sds_value_has_surrogate(c->unit)) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "coordinate", "coordinate holds a lone surrogate");
    }
    v->has_reference = v->has_reference || sds_value_there(c->reference);
    return check_metadata(v, c->metadata);
}

// Notes an axis that has an id, for check_declarations.
static enum sds_kind declare(struct validator *v, const struct sds_axis *axis,
                             struct sds_value where, uint64_t length) {
    if (!sds_value_there(axis->id) || is_empty_text(axis->id)) {
        return SDS_OK;
    }
    if (v->ids == NULL) {
        size_t most = 0;
        for (uint32_t i = 0; i < v->record->field_count; i++) {
            most += v->record->fields[i].rank;
        }
        v->ids = calloc(most, sizeof *v->ids);
        v->declarations = calloc(most, sizeof *v->declarations);
        if (v->ids == NULL || v->declarations == NULL) {
            return sds_record_no_memory(v->err);
        }
    }
    struct sds_named *id = &v->ids[v->id_count];
    if (sds_value_string(axis->id, &v->text, &id->name) != SDS_OK) {
        return sds_record_no_memory(v->err);
    }
    id->at = v->id_count;
    v->declarations[v->id_count] = (struct declaration){.length = length, .axis = where};
    v->id_count++;
    return SDS_OK;
}

// Everything about an axis but the uniqueness of its name, which goes to *name.
static enum sds_kind check_axis(struct validator *v, struct sds_value value, uint64_t dimension,
                                struct sds_span *name) {
    struct sds_axis axis;
    enum sds_kind kind = sds_axis_read(value, &axis, v->err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (sds_value_type(axis.name) != SDS_JSON_STRING || is_empty_text(axis.name)) {
        return wrong(v, "axis_name", "name is not a nonempty string", axis.name);
    }
    if (sds_value_string(axis.name, &v->text, name) != SDS_OK) {
        return sds_record_no_memory(v->err);
    }
    if (!is_text_or_null(axis.role) || !is_text_or_null(axis.id)) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "axis", "role or id is neither a string nor null");
    }
    uint64_t length;
    if (!sds_value_u64(axis.length, &length) || length != dimension) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "axis_length", "length %s for a dimension of %llu",
                        SDS_QUOTE_VALUE(axis.length), (unsigned long long)dimension);
    }
    kind = check_metadata(v, axis.metadata);
    if (kind == SDS_OK && axis.has_coordinate) {
        kind = check_coordinate(v, &axis.coordinate, length);
    }
    return kind != SDS_OK ? kind : declare(v, &axis, value, length);
}

static enum sds_kind check_axes(struct validator *v, const struct sds_field *field) {
    struct sds_named names[SDS_MAX_RANK];
    uint32_t count = 0;
    for (struct sds_iter it = sds_value_iter(field->axes); sds_iter_next(&it); count++) {
        names[count].at = count;
        enum sds_kind kind = check_axis(v, it.value, field->shape[count], &names[count].name);
        if (kind != SDS_OK) {
            sds_err_context(v->err, "axis %u", count);
            return kind;
        }
    }
    sds_named_sort(names, count);
    for (uint32_t i = 1; i < count; i++) {
        if (sds_span_eq(names[i - 1].name, names[i].name)) {
            return sds_fail(v->err, SDS_ERR_CORRUPT, "axis_name", "two axes are called %s",
                            SDS_QUOTE(names[i].name.at, names[i].name.len));
        }
    }
    return SDS_OK;
}

static enum sds_kind check_field(struct validator *v, const struct sds_field *field) {
    if (field->name.len == 0) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "field_name", "name is empty");
    }
    if (field->len > SDS_MAX_TENSOR_BYTES) {
        return sds_fail(v->err, SDS_ERR_LIMIT, "tensor_size", "%llu bytes of data",
                        (unsigned long long)field->len);
    }
    enum sds_kind kind = check_metadata(v, field->metadata);
    if (kind != SDS_OK) {
        return kind;
    }
    if (sds_value_type(field->axes) != SDS_JSON_ARRAY) {
        return wrong(v, "axes", "axes are not an array", field->axes);
    }
    if (sds_value_count(field->axes) != field->rank) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "axes", "%llu axes for rank %u",
                        (unsigned long long)sds_value_count(field->axes), field->rank);
    }
    return check_axes(v, field);
}

static enum sds_kind check_fields(struct validator *v) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < v->record->field_count; i++) {
        const struct sds_field *field = &v->record->fields[i];
        enum sds_kind kind = check_field(v, field);
        if (kind != SDS_OK) {
            sds_field_context(field, v->err);
            return kind;
        }
        // At most SDS_MAX_FIELDS times SDS_MAX_TENSOR_BYTES, since fields may share a tensor.
        total += field->len;
    }
    if (total > SDS_MAX_TOTAL_TENSOR_BYTES) {
        return sds_fail(v->err, SDS_ERR_LIMIT, "tensor_size", "%llu bytes of data in all fields",
                        (unsigned long long)total);
    }
    return SDS_OK;
}

static enum sds_kind declarations_agree(struct validator *v, const struct declaration *first,
                                        const struct declaration *other, bool *agree) {
    *agree = first->length == other->length;
    struct sds_axis a, b;
    enum sds_kind kind = *agree ? sds_axis_read(first->axis, &a, v->err) : SDS_OK;
    if (kind == SDS_OK && *agree) {
        kind = sds_axis_read(other->axis, &b, v->err);
    }
    if (kind != SDS_OK || !*agree) {
        return kind;
    }
    *agree = a.has_coordinate == b.has_coordinate;
    if (*agree && a.has_coordinate &&
        sds_coordinate_equal(&a.coordinate, &b.coordinate, agree) != SDS_OK) {
        return sds_record_no_memory(v->err);
    }
    return SDS_OK;
}

// All axes with one id have the length and the coordinate of the first that has it.
static enum sds_kind check_declarations(struct validator *v) {
    sds_named_sort(v->ids, v->id_count);
    const struct sds_named *first = v->ids;
    for (uint32_t i = 1; i < v->id_count; i++) {
        const struct sds_named *id = &v->ids[i];
        if (!sds_span_eq(first->name, id->name)) {
            first = id;
            continue;
        }
        bool agree;
        enum sds_kind kind =
            declarations_agree(v, &v->declarations[first->at], &v->declarations[id->at], &agree);
        if (kind != SDS_OK) {
            return kind;
        }
        if (!agree) {
            return sds_fail(v->err, SDS_ERR_CORRUPT, "shared_axis",
                            "axes with id %s differ in length or coordinate",
                            SDS_QUOTE(id->name.at, id->name.len));
        }
    }
    return SDS_OK;
}

static enum sds_kind check_reference(struct validator *v, struct sds_value axis) {
    struct sds_value reference = sds_value_get(sds_value_get(axis, "coordinate"), "reference");
    if (sds_value_type(reference) != SDS_JSON_STRING || is_empty_text(reference)) {
        return SDS_OK;
    }
    struct sds_span text;
    if (sds_value_string(reference, &v->text, &text) != SDS_OK) {
        return sds_record_no_memory(v->err);
    }
    if (sds_record_find(v->record, text) < 0 && sds_named_find(v->ids, v->id_count, text) == NULL) {
        return sds_fail(v->err, SDS_ERR_CORRUPT, "reference",
                        "reference %s is neither a field nor the id of an axis",
                        SDS_QUOTE(text.at, text.len));
    }
    return SDS_OK;
}

static enum sds_kind check_references(struct validator *v) {
    if (!v->has_reference) {
        return SDS_OK;
    }
    for (uint32_t i = 0; i < v->record->field_count; i++) {
        const struct sds_field *field = &v->record->fields[i];
        for (struct sds_iter it = sds_value_iter(field->axes); sds_iter_next(&it);) {
            enum sds_kind kind = check_reference(v, it.value);
            if (kind != SDS_OK) {
                sds_field_context(field, v->err);
                return kind;
            }
        }
    }
    return SDS_OK;
}

// The JSON sizes that count as metadata: of the record, its fields, axes and coordinates.
static enum sds_kind measure_metadata(struct validator *v, sds_measure measure, uint64_t *total) {
    *total = sds_metadata_size(v->record->metadata, measure);
    for (uint32_t i = 0; i < v->record->field_count; i++) {
        const struct sds_field *field = &v->record->fields[i];
        *total += sds_metadata_size(field->metadata, measure);
        for (struct sds_iter it = sds_value_iter(field->axes); sds_iter_next(&it);) {
            struct sds_axis axis;
            enum sds_kind kind = sds_axis_read(it.value, &axis, v->err);
            if (kind != SDS_OK) {
                return kind;
            }
            *total += sds_metadata_size(axis.metadata, measure);
            if (axis.has_coordinate) {
                *total += sds_coordinate_size(&axis.coordinate, measure) +
                          sds_metadata_size(axis.coordinate.metadata, measure);
            }
        }
    }
    return SDS_OK;
}

// Written out again, no part of a descriptor takes more than five times the bytes it has ("1e15,"
// is at worst four times as long, a string of coordinate values five). So small descriptors need no
// measuring, and the exact sizes are found only where the quick bound does not settle it.
static enum sds_kind check_metadata_size(struct validator *v) {
    if (v->text.max <= SDS_MAX_METADATA_BYTES / 8) {
        return SDS_OK;
    }
    uint64_t total;
    enum sds_kind kind = measure_metadata(v, sds_value_dumped_bound, &total);
    if (kind == SDS_OK && total > SDS_MAX_METADATA_BYTES) {
        kind = measure_metadata(v, sds_value_dumped_len, &total);
    }
    if (kind == SDS_OK && total > SDS_MAX_METADATA_BYTES) {
        return sds_fail(v->err, SDS_ERR_LIMIT, "metadata_size", "%llu bytes of metadata",
                        (unsigned long long)total);
    }
    return kind;
}

enum sds_kind sds_record_validate(const struct sds_record *record, struct sds_err *err) {
    // Each string of the document is unescaped at most once, so its length is room for all of them.
    size_t room = sds_value_text(sds_json_top(record->doc)).len;
    struct validator v = {.record = record, .text = SDS_BUF_INIT(room), .err = err};
    enum sds_kind kind =
        sds_buf_reserve(&v.text, room) == SDS_OK ? SDS_OK : sds_record_no_memory(err);
    static enum sds_kind (*const checks[])(struct validator *) = {
        check_identity,     check_record_metadata, check_fields,
        check_declarations, check_references,      check_metadata_size,
    };
    for (size_t i = 0; kind == SDS_OK && i < sizeof checks / sizeof *checks; i++) {
        kind = checks[i](&v);
    }
    sds_buf_fini(&v.text);
    free(v.declarations);
    free(v.ids);
    return kind;
}
