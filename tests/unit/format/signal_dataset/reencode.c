// SPDX-License-Identifier: Apache-2.0
#include "reencode.h"

#include <stdlib.h>

#include "base/json_write.h"
#include "format/signal_dataset/encode.h"

// A source and the texts that it points into, one buffer each, so that none moves.
struct parts {
    struct sds_record_source source;
    struct sds_buf *texts;
    size_t text_count;
    struct sds_field_source *fields;
    uint64_t *offsets;
    struct sds_err *err;
};

static struct sds_buf *new_text(struct parts *parts) {
    struct sds_buf *text = &parts->texts[parts->text_count++];
    *text = SDS_BUF_INIT(SIZE_MAX);
    return text;
}

static enum sds_kind write_field(struct parts *parts, const struct sds_field *field,
                                 struct sds_field_source *out) {
    struct sds_buf *axes = new_text(parts), *metadata = new_text(parts);
    enum sds_kind kind = sds_axes_write(field->axes, field->shape, field->rank, axes, parts->err);
    if (kind == SDS_OK) {
        kind = sds_metadata_write(field->metadata, metadata, parts->err);
    }
    *out = (struct sds_field_source){
        .name = field->name,
        .dtype = field->dtype,
        .rank = field->rank,
        .shape = field->shape,
        .axes = sds_buf_span(axes),
        .metadata = sds_buf_span(metadata),
    };
    return kind;
}

static enum sds_kind write_parts(struct parts *parts, const struct sds_record *record) {
    struct sds_buf *id = new_text(parts), *scene_id = new_text(parts), *metadata = new_text(parts);
    enum sds_kind kind = sds_json_write(record->id, SDS_JSON_COMPACT, id, parts->err);
    if (kind == SDS_OK) {
        kind = sds_json_write(record->scene_id, SDS_JSON_COMPACT, scene_id, parts->err);
    }
    if (kind == SDS_OK) {
        kind = sds_metadata_write(record->metadata, metadata, parts->err);
    }
    for (uint32_t i = 0; kind == SDS_OK && i < record->field_count; i++) {
        kind = write_field(parts, &record->fields[i], &parts->fields[i]);
    }
    parts->source = (struct sds_record_source){
        .id = sds_buf_span(id),
        .scene_id = sds_buf_span(scene_id),
        .metadata = sds_buf_span(metadata),
        .fields = parts->fields,
        .field_count = record->field_count,
    };
    return kind;
}

static enum sds_kind make_parts(const struct sds_record *record, struct parts *parts,
                                struct sds_err *err) {
    size_t count = record->field_count;
    *parts = (struct parts){
        .texts = calloc(3 + 2 * count, sizeof *parts->texts),
        .fields = calloc(count + 1, sizeof *parts->fields),
        .offsets = calloc(count + 1, sizeof *parts->offsets),
        .err = err,
    };
    if (parts->texts == NULL || parts->fields == NULL || parts->offsets == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory to encode");
    }
    return write_parts(parts, record);
}

static void parts_fini(struct parts *parts) {
    for (size_t i = 0; i < parts->text_count; i++) {
        sds_buf_fini(&parts->texts[i]);
    }
    free(parts->texts);
    free(parts->fields);
    free(parts->offsets);
}

enum sds_kind reencode_record(const struct sds_record *record, struct sds_span payload,
                              struct sds_buf *out, struct sds_err *err) {
    struct parts parts;
    sds_autoblob struct sds_blob *blob = NULL;
    enum sds_kind kind = make_parts(record, &parts, err);
    if (kind == SDS_OK) {
        kind = sds_record_encode(&parts.source, out->max, &blob, parts.offsets, err);
    }
    if (kind == SDS_OK) {
        for (uint32_t i = 0; i < record->field_count; i++) {
            const struct sds_field *field = &record->fields[i];
            memcpy(blob->at + parts.offsets[i], payload.at + field->off, (size_t)field->len);
        }
        kind = sds_buf_add(out, blob->at, blob->len);
        if (kind != SDS_OK) {
            sds_buf_failed(out, kind, err);
        }
    }
    parts_fini(&parts);
    return kind;
}

enum sds_kind reencode_entry(const struct sds_record *entry, struct sds_buf *out,
                             struct sds_err *err) {
    struct parts parts;
    enum sds_kind kind = make_parts(entry, &parts, err);
    if (kind == SDS_OK) {
        kind = sds_metadata_encode(&parts.source, out, err);
    }
    parts_fini(&parts);
    return kind;
}
