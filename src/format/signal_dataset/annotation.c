// SPDX-License-Identifier: Apache-2.0
//
// Annotation rows: records that carry an "annotation" object in their metadata
// (docs/formats/signal-dataset.md, section 7).
#include "format/signal_dataset/record.h"

static enum sds_kind wrong(struct sds_err *err, const char *check, const char *wanted,
                           struct sds_value found) {
    if (!sds_value_there(found)) {
        return sds_fail(err, SDS_ERR_CORRUPT, check, "%s is missing, it has to be %s", check,
                        wanted);
    }
    return sds_fail(err, SDS_ERR_CORRUPT, check, "%s is %s, not %s", check, SDS_QUOTE_VALUE(found),
                    wanted);
}

static bool is_status(struct sds_value v) {
    return sds_value_is(v, "success") || sds_value_is(v, "skipped") || sds_value_is(v, "failed");
}

static bool is_object_or_absent(struct sds_value v) {
    return !sds_value_there(v) || sds_value_type(v) == SDS_JSON_OBJECT;
}

static bool is_detail(struct sds_value v) {
    return sds_value_type(v) == SDS_JSON_NULL ||
           (sds_value_type(v) == SDS_JSON_STRING && !sds_value_is(v, ""));
}

static enum sds_kind take_apart(struct sds_annotation *annotation, struct sds_err *err) {
    struct sds_record *carrier = &annotation->carrier;
    struct sds_value object = sds_value_get(carrier->metadata, "annotation");
    if (sds_value_type(object) != SDS_JSON_OBJECT) {
        return wrong(err, "annotation", "an object", object);
    }
    // An index beyond 64 bits is the ordinal of no record.
    struct sds_value source_index = sds_value_get(object, "source_index");
    if (!sds_value_u64(source_index, &annotation->source_index)) {
        return wrong(err, "source_index", "the ordinal of a record", source_index);
    }
    annotation->source_record_id = carrier->id;
    annotation->status = sds_value_get(object, "status");
    if (!is_status(annotation->status)) {
        return wrong(err, "status", "success, skipped or failed", annotation->status);
    }
    annotation->values = sds_value_get(object, "values");
    if (!is_object_or_absent(annotation->values)) {
        return wrong(err, "values", "an object", annotation->values);
    }
    annotation->provenance = sds_value_get(object, "provenance");
    if (!is_object_or_absent(annotation->provenance)) {
        return wrong(err, "provenance", "an object", annotation->provenance);
    }
    annotation->detail_status = sds_value_get(object, "detail_status");
    if (!is_detail(annotation->detail_status)) {
        return wrong(err, "detail_status", "a nonempty string or null", annotation->detail_status);
    }
    struct sds_value empty = sds_value_get(object, "empty_fields");
    if (sds_value_type(empty) != SDS_JSON_TRUE && sds_value_type(empty) != SDS_JSON_FALSE) {
        return wrong(err, "empty_fields", "true or false", empty);
    }
    if (sds_value_type(empty) == SDS_JSON_TRUE) {
        carrier->field_count = 0;
    }
    return SDS_OK;
}

enum sds_kind sds_annotation_decode(struct sds_span payload, struct sds_annotation *out,
                                    struct sds_err *err) {
    struct sds_annotation annotation = {0};
    enum sds_kind kind = sds_record_decode(payload, &annotation.carrier, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = take_apart(&annotation, err);
    if (kind != SDS_OK) {
        sds_annotation_fini(&annotation);
        return kind;
    }
    *out = annotation;
    return SDS_OK;
}

void sds_annotation_fini(struct sds_annotation *annotation) {
    sds_record_fini(&annotation->carrier);
    *annotation = (struct sds_annotation){0};
}

// A member of the document; absent ones get the text that stands for them.
static enum sds_kind render_member(const char *key, struct sds_value v, const char *absent,
                                   struct sds_buf *out) {
    enum sds_kind kind = sds_buf_printf(out, ",\n  \"%s\": ", key);
    if (kind != SDS_OK) {
        return kind;
    }
    return sds_value_there(v) ? sds_value_render(v, 1, out) : sds_buf_add_str(out, absent);
}

enum sds_kind sds_annotation_render(const struct sds_annotation *annotation, struct sds_buf *out) {
    enum sds_kind kind = sds_buf_add_str(out, "{\n  \"source_record_id\": ");
    if (kind == SDS_OK) {
        kind = sds_value_render(annotation->source_record_id, 1, out);
    }
    if (kind == SDS_OK) {
        kind = sds_buf_printf(out, ",\n  \"source_index\": %llu",
                              (unsigned long long)annotation->source_index);
    }
    if (kind == SDS_OK) {
        kind = render_member("status", annotation->status, "null", out);
    }
    if (kind == SDS_OK) {
        kind = render_member("values", annotation->values, "{}", out);
    }
    if (kind == SDS_OK) {
        kind = render_member("provenance", annotation->provenance, "{}", out);
    }
    if (kind == SDS_OK) {
        kind = render_member("detail_status", annotation->detail_status, "null", out);
    }
    return kind != SDS_OK ? kind : sds_buf_add_str(out, "\n}\n");
}
