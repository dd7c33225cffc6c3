// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/row.h"

#include "format/driver.h"
#include "format/signal_dataset/record.h"

enum sds_kind as_input_error(enum sds_kind kind, struct sds_err *err) {
    if (kind != SDS_ERR_CORRUPT && kind != SDS_ERR_LIMIT && kind != SDS_ERR_UNSUPPORTED) {
        return kind;
    }
    if (err != NULL) {
        err->kind = SDS_ERR_INVALID;
    }
    return SDS_ERR_INVALID;
}

static enum sds_kind wrong(struct sds_err *err, const char *key, const char *wanted,
                           struct sds_value found) {
    if (!sds_value_there(found)) {
        return sds_fail(err, SDS_ERR_INVALID, key, "%s is missing, expected %s", key, wanted);
    }
    return sds_fail(err, SDS_ERR_INVALID, key, "%s is %s, expected %s", key, SDS_QUOTE_VALUE(found),
                    wanted);
}

// Refuses any key that is not in keys (NULL-terminated).
static enum sds_kind check_keys(struct sds_value object, const char *const keys[],
                                struct sds_err *err) {
    for (struct sds_iter it = sds_value_iter(object); sds_iter_next(&it);) {
        size_t i = 0;
        while (keys[i] != NULL && !sds_value_is(it.key, keys[i])) {
            i++;
        }
        if (keys[i] == NULL) {
            return sds_fail(err, SDS_ERR_INVALID, "keys", "unknown key %s",
                            SDS_QUOTE_VALUE(it.key));
        }
    }
    return SDS_OK;
}

static bool is_type(struct sds_value v, enum sds_json_type type) {
    return sds_value_there(v) && sds_value_type(v) == type;
}

static bool is_nonempty_string(struct sds_value v) {
    return is_type(v, SDS_JSON_STRING) && !sds_value_is(v, "");
}

// A member that is an object, or absent.
static enum sds_kind take_object(struct sds_value object, const char *key, struct sds_value *out,
                                 struct sds_err *err) {
    *out = sds_value_get(object, key);
    if (sds_value_there(*out) && sds_value_type(*out) != SDS_JSON_OBJECT) {
        return wrong(err, key, "an object", *out);
    }
    return SDS_OK;
}

// The same where null says as much as nothing, as for the reference.
static enum sds_kind take_object_or_null(struct sds_value object, const char *key,
                                         struct sds_value *out, struct sds_err *err) {
    struct sds_value found = sds_value_get(object, key);
    if (sds_value_type(found) == SDS_JSON_NULL) { // or absent
        *out = (struct sds_value){0};
        return SDS_OK;
    }
    return take_object(object, key, out, err);
}

// The keys of a coordinate; what they hold is for the encoder to judge.
static enum sds_kind check_coordinate(struct sds_value coordinate, struct sds_err *err) {
    static const char *const keys[] = {"values", "start",    "step", "reference",
                                       "unit",   "metadata", NULL};
    if (sds_value_type(coordinate) == SDS_JSON_NULL) { // or absent
        return SDS_OK;
    }
    if (sds_value_type(coordinate) != SDS_JSON_OBJECT) {
        return wrong(err, "coordinate", "an object or null", coordinate);
    }
    return check_keys(coordinate, keys, err);
}

static enum sds_kind check_axis(struct sds_value axis, struct sds_err *err) {
    static const char *const keys[] = {"name",       "length",   "role", "id",
                                       "coordinate", "metadata", NULL};
    if (sds_value_type(axis) != SDS_JSON_OBJECT) {
        return wrong(err, "axes", "an array of objects", axis);
    }
    enum sds_kind kind = check_keys(axis, keys, err);
    return kind == SDS_OK ? check_coordinate(sds_value_get(axis, "coordinate"), err) : kind;
}

static enum sds_kind check_field(struct sds_value field, struct sds_err *err) {
    static const char *const keys[] = {"npy", "axes", "metadata", NULL};
    if (sds_value_type(field) != SDS_JSON_OBJECT) {
        return wrong(err, "fields", "an object of objects", field);
    }
    struct sds_value metadata;
    enum sds_kind kind = check_keys(field, keys, err);
    if (kind == SDS_OK) {
        kind = take_object_or_null(field, "metadata", &metadata, err);
    }
    struct sds_value npy = sds_value_get(field, "npy");
    if (kind == SDS_OK && !is_nonempty_string(npy)) {
        kind = wrong(err, "npy", "the name of a file", npy);
    }
    struct sds_value axes = sds_value_get(field, "axes");
    if (kind == SDS_OK && !is_type(axes, SDS_JSON_ARRAY)) {
        kind = wrong(err, "axes", "an array", axes);
    }
    for (struct sds_iter it = sds_value_iter(axes); kind == SDS_OK && sds_iter_next(&it);) {
        kind = check_axis(it.value, err);
    }
    return kind;
}

static enum sds_kind take_fields(struct sds_value top, struct sds_value *out, struct sds_err *err) {
    enum sds_kind kind = take_object(top, "fields", out, err);
    for (struct sds_iter it = sds_value_iter(*out); kind == SDS_OK && sds_iter_next(&it);) {
        kind = check_field(it.value, err);
        if (kind != SDS_OK) {
            sds_err_context(err, "field %s", SDS_QUOTE_VALUE(it.key));
        }
    }
    return kind;
}

static enum sds_kind take_identity(struct sds_value top, struct input_row *row,
                                   struct sds_err *err) {
    struct sds_value ordinal = sds_value_get(top, "ordinal");
    row->has_ordinal = sds_value_there(ordinal);
    row->source_record_id = sds_value_get(top, "source_record_id");
    if (row->has_ordinal && !sds_value_u64(ordinal, &row->ordinal)) {
        return wrong(err, "ordinal", "the ordinal of a record", ordinal);
    }
    if (sds_value_there(row->source_record_id) &&
        sds_value_type(row->source_record_id) != SDS_JSON_STRING) {
        return wrong(err, "source_record_id", "a string", row->source_record_id);
    }
    if (!row->has_ordinal && !sds_value_there(row->source_record_id)) {
        return sds_fail(err, SDS_ERR_INVALID, "ordinal",
                        "the row has neither ordinal nor source_record_id");
    }
    return SDS_OK;
}

static enum sds_kind take_status(struct sds_value top, struct input_row *row, struct sds_err *err) {
    row->status = sds_value_get(top, "status");
    if (!sds_value_is(row->status, "success") && !sds_value_is(row->status, "skipped") &&
        !sds_value_is(row->status, "failed")) {
        return wrong(err, "status", "success, skipped or failed", row->status);
    }
    row->detail_status = sds_value_get(top, "detail_status");
    if (sds_value_type(row->detail_status) != SDS_JSON_NULL &&
        !is_nonempty_string(row->detail_status)) {
        return wrong(err, "detail_status", "a nonempty string or null", row->detail_status);
    }
    return SDS_OK;
}

static enum sds_kind take_apart(struct input_row *row, struct sds_err *err) {
    static const char *const keys[] = {"ordinal",    "source_record_id", "status", "values",
                                       "provenance", "detail_status",    "fields", NULL};
    struct sds_value top = sds_json_top(row->doc);
    if (!sds_json_is_plain_utf8(row->doc)) {
        return sds_fail(err, SDS_ERR_INVALID, "encoding",
                        "rows are UTF-8 without a byte order mark");
    }
    if (sds_value_type(top) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_INVALID, "row", "the row is no object but %s",
                        sds_value_type_name(top));
    }
    enum sds_kind kind = check_keys(top, keys, err);
    if (kind == SDS_OK) {
        kind = take_identity(top, row, err);
    }
    if (kind == SDS_OK) {
        kind = take_status(top, row, err);
    }
    if (kind == SDS_OK) {
        kind = take_object_or_null(top, "values", &row->values, err);
    }
    if (kind == SDS_OK) {
        kind = take_object_or_null(top, "provenance", &row->provenance, err);
    }
    return kind == SDS_OK ? take_fields(top, &row->fields, err) : kind;
}

enum sds_kind input_row_parse(struct sds_span line, struct input_row *out, struct sds_err *err) {
    const struct sds_json_limits limits = {
        .bytes = SDS_ANNOTATE_MAX_ROW, .depth = SDS_JSON_DEPTH, .nodes = SDS_JSON_NODES};
    struct input_row row = {0};
    enum sds_kind kind = sds_json_parse(line, &limits, &row.doc, err);
    if (kind == SDS_OK) {
        kind = take_apart(&row, err);
    }
    if (kind != SDS_OK) {
        sds_json_free(row.doc);
        return as_input_error(kind, err);
    }
    *out = row;
    return SDS_OK;
}

void input_row_fini(struct input_row *row) {
    sds_json_free(row->doc);
    *row = (struct input_row){0};
}
