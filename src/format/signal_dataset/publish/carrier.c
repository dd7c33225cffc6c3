// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/carrier.h"

#include <stdlib.h>

#include "format/signal_dataset/record.h"

// Files that stay open from their header to their data; those of a row with more fields are opened
// twice.
enum { MAX_OPEN_FILES = 32 };

// What a field's source is made of. Texts are places in maker->texts, which may still move.
struct carrier_field {
    const char *path; // of the .npy file, in the row's names
    struct tensor_file file;
    size_t axes, axes_len;
    size_t metadata, metadata_len;
};

void carrier_maker_init(struct carrier_maker *maker, struct tensor_directory directory,
                        uint64_t max_bytes) {
    *maker = (struct carrier_maker){
        .directory = directory,
        .max_bytes = max_bytes < SDS_MAX_RECORD_BYTES ? max_bytes : SDS_MAX_RECORD_BYTES,
        .metadata = SDS_BUF_INIT(SDS_MAX_METADATA_BYTES),
        .texts = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES),
        .names = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES),
    };
}

void carrier_maker_fini(struct carrier_maker *maker) {
    sds_buf_fini(&maker->metadata);
    sds_buf_fini(&maker->texts);
    sds_buf_fini(&maker->names);
    free(maker->parts);
    free(maker->fields);
    free(maker->offsets);
    *maker = (struct carrier_maker){0};
}

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a row");
}

// Room for count fields; at least for the one that stands for none.
static enum sds_kind make_room(struct carrier_maker *maker, size_t count, struct sds_err *err) {
    if (count > SDS_MAX_FIELDS) {
        return sds_fail(err, SDS_ERR_INVALID, "fields", "%zu fields are more than %d", count,
                        SDS_MAX_FIELDS);
    }
    if (count < maker->room) {
        return SDS_OK;
    }
    size_t room = count + 1;
    struct carrier_field *parts = realloc(maker->parts, room * sizeof *parts);
    maker->parts = parts != NULL ? parts : maker->parts;
    struct sds_field_source *fields = realloc(maker->fields, room * sizeof *fields);
    maker->fields = fields != NULL ? fields : maker->fields;
    uint64_t *offsets = realloc(maker->offsets, room * sizeof *offsets);
    maker->offsets = offsets != NULL ? offsets : maker->offsets;
    if (parts == NULL || fields == NULL || offsets == NULL) {
        return no_memory(err);
    }
    maker->room = room;
    return SDS_OK;
}

// ---- the annotation object

static void add_member(struct text *text, const char *before, const char *key,
                       struct sds_value value, const char *absent) {
    text_add(text, before);
    text_add(text, key);
    text_add(text, "\":");
    if (!sds_value_there(value)) {
        text_add(text, absent);
    } else if (text->kind == SDS_OK) {
        text_add_value(text, value);
        if (text->kind != SDS_OK) {
            sds_err_context(text->err, "%s", key);
        }
    }
}

// The six keys, sorted.
static enum sds_kind write_annotation(struct sds_buf *out, const struct input_row *row,
                                      uint64_t ordinal, struct sds_err *err) {
    bool empty = sds_value_count(row->fields) == 0;
    struct text text = {.out = out, .err = err};
    out->len = 0;
    add_member(&text, "{\"annotation\":{\"", "detail_status", row->detail_status, "null");
    text_add(&text, empty ? ",\"empty_fields\":true" : ",\"empty_fields\":false");
    add_member(&text, ",\"", "provenance", row->provenance, "{}");
    text_add(&text, ",\"source_index\":");
    text_add_number(&text, ordinal);
    add_member(&text, ",\"", "status", row->status, "");
    add_member(&text, ",\"", "values", row->values, "{}");
    text_add(&text, "}}");
    return text.kind;
}

// ---- fields

static enum sds_kind take_path(struct carrier_maker *maker, struct sds_value npy, const char **path,
                               struct sds_err *err) {
    size_t start = maker->names.len;
    enum sds_kind kind = sds_value_string_add(npy, &maker->names);
    if (kind == SDS_OK) {
        kind = sds_buf_add(&maker->names, "", 1);
    }
    if (kind != SDS_OK) {
        return sds_buf_failed(&maker->names, kind, err);
    }
    *path = (const char *)maker->names.at + start;
    if (strlen(*path) + 1 != maker->names.len - start) {
        return sds_fail(err, SDS_ERR_INVALID, "npy", "the name of the file holds a NUL");
    }
    return SDS_OK;
}

static enum sds_kind take_texts(struct carrier_maker *maker, struct sds_value spec,
                                struct carrier_field *part, struct sds_err *err) {
    struct sds_buf *texts = &maker->texts;
    const struct sds_npy *npy = &part->file.npy;
    part->axes = texts->len;
    enum sds_kind kind =
        sds_axes_write(sds_value_get(spec, "axes"), npy->shape, npy->rank, texts, err);
    part->axes_len = texts->len - part->axes;
    part->metadata = texts->len;
    if (kind == SDS_OK) {
        kind = sds_metadata_write(sds_value_get(spec, "metadata"), texts, err);
    }
    part->metadata_len = texts->len - part->metadata;
    return kind;
}

static enum sds_kind take_field(struct carrier_maker *maker, const struct sds_iter *it, size_t i,
                                struct sds_err *err) {
    struct carrier_field *part = &maker->parts[i];
    struct sds_field_source *field = &maker->fields[i];
    *part = (struct carrier_field){.file.fd = -1};
    *field = (struct sds_field_source){0};
    enum sds_kind kind = sds_value_string(it->key, &maker->names, &field->name);
    if (kind != SDS_OK) {
        return sds_buf_failed(&maker->names, kind, err);
    }
    kind = take_path(maker, sds_value_get(it->value, "npy"), &part->path, err);
    if (kind == SDS_OK) {
        kind = tensor_file_open(&maker->directory, part->path, &part->file, err);
    }
    if (kind == SDS_OK) {
        kind = take_texts(maker, it->value, part, err);
    }
    if (i >= MAX_OPEN_FILES) {
        tensor_file_close(&part->file);
    }
    return kind;
}

// Room for all names and paths of the row, so that none of them moves.
static enum sds_kind reserve_names(struct carrier_maker *maker, struct sds_value fields,
                                   struct sds_err *err) {
    size_t room = 0;
    for (struct sds_iter it = sds_value_iter(fields); sds_iter_next(&it);) {
        room += sds_value_string_len(it.key);
        room += sds_value_string_len(sds_value_get(it.value, "npy")) + 1;
    }
    maker->names.len = 0;
    enum sds_kind kind = sds_buf_reserve(&maker->names, room);
    return kind == SDS_OK ? kind : sds_buf_failed(&maker->names, kind, err);
}

static void close_files(struct carrier_maker *maker, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tensor_file_close(&maker->parts[i].file);
    }
}

// The one field of a row that has none.
static void take_empty_field(struct carrier_maker *maker) {
    static const uint64_t no_elements[] = {0};
    static const char axes[] = "[{\"coordinate\":null,\"id\":null,\"length\":0,\"metadata\":{},"
                               "\"name\":\"empty\",\"role\":null}]";
    maker->fields[0] = (struct sds_field_source){.name = sds_span_str("__empty__"),
                                                 .dtype = SDS_U8,
                                                 .rank = 1,
                                                 .shape = no_elements,
                                                 .axes = sds_span(axes, sizeof axes - 1),
                                                 .metadata = sds_span_str("{}")};
}

// Fills maker->fields. On success the files of *count fields are open (or known), and have to be
// closed.
static enum sds_kind take_fields(struct carrier_maker *maker, struct sds_value fields,
                                 size_t *count, struct sds_err *err) {
    *count = 0;
    maker->texts.len = 0;
    enum sds_kind kind = make_room(maker, (size_t)sds_value_count(fields), err);
    if (kind == SDS_OK) {
        kind = reserve_names(maker, fields, err);
    }
    for (struct sds_iter it = sds_value_iter(fields); kind == SDS_OK && sds_iter_next(&it);) {
        kind = take_field(maker, &it, *count, err);
        *count += 1;
        if (kind != SDS_OK) {
            sds_err_context(err, "field %s", SDS_QUOTE_VALUE(it.key));
        }
    }
    if (kind != SDS_OK) {
        close_files(maker, *count);
        return kind;
    }
    for (size_t i = 0; i < *count; i++) {
        const struct carrier_field *part = &maker->parts[i];
        struct sds_field_source *field = &maker->fields[i];
        field->dtype = part->file.npy.dtype;
        field->rank = part->file.npy.rank;
        field->shape = part->file.npy.shape;
        field->axes = sds_span(maker->texts.at + part->axes, part->axes_len);
        field->metadata = sds_span(maker->texts.at + part->metadata, part->metadata_len);
    }
    return SDS_OK;
}

static enum sds_kind read_data(struct carrier_maker *maker, size_t i, uint8_t *out,
                               struct sds_err *err) {
    struct carrier_field *part = &maker->parts[i];
    enum sds_kind kind = SDS_OK;
    if (part->file.fd < 0) {
        struct tensor_file again;
        kind = tensor_file_open(&maker->directory, part->path, &again, err);
        if (kind == SDS_OK) {
            part->file.fd = again.fd; // the header stays what it was, and so must the file
        }
    }
    if (kind == SDS_OK) {
        kind = tensor_file_read(&part->file, out, err);
    }
    tensor_file_close(&part->file);
    if (kind != SDS_OK) {
        sds_err_context(err, "%s", SDS_QUOTE(part->path, strlen(part->path)));
    }
    return kind;
}

// ---- the carrier

// The encoder decodes what it made, so that every reader takes it as a record; that it is an
// annotation, too, holds by what input_row_parse let through.
static enum sds_kind encode(struct carrier_maker *maker, const struct input_row *row,
                            uint64_t ordinal, struct sds_span id, size_t *count,
                            struct sds_blob **payload, struct sds_err *err) {
    enum sds_kind kind = write_annotation(&maker->metadata, row, ordinal, err);
    if (kind == SDS_OK) {
        kind = take_fields(maker, row->fields, count, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    if (*count == 0) {
        take_empty_field(maker);
    }
    struct sds_record_source source = {
        .id = id,
        .scene_id = sds_span_str("null"),
        .metadata = sds_buf_span(&maker->metadata),
        .fields = maker->fields,
        .field_count = *count > 0 ? *count : 1,
    };
    kind = sds_record_encode(&source, maker->max_bytes, payload, maker->offsets, err);
    if (kind != SDS_OK) {
        close_files(maker, *count);
    }
    if (kind == SDS_ERR_LIMIT && err != NULL && strcmp(err->check, "record_size") == 0) {
        sds_err_hint(err, "option max_record=");
    }
    return kind;
}

enum sds_kind carrier_check(struct carrier_maker *maker, const struct input_row *row,
                            uint64_t ordinal, struct sds_span id, struct sds_err *err) {
    sds_autoblob struct sds_blob *payload = NULL;
    size_t count = 0;
    enum sds_kind kind = encode(maker, row, ordinal, id, &count, &payload, err);
    if (kind != SDS_OK) {
        return as_input_error(kind, err);
    }
    close_files(maker, count);
    return SDS_OK;
}

enum sds_kind carrier_make(struct carrier_maker *maker, const struct input_row *row,
                           uint64_t ordinal, struct sds_span id, struct sds_blob **payload,
                           struct sds_err *err) {
    size_t count = 0;
    enum sds_kind kind = encode(maker, row, ordinal, id, &count, payload, err);
    if (kind != SDS_OK) {
        return as_input_error(kind, err);
    }
    for (size_t i = 0; kind == SDS_OK && i < count; i++) {
        kind = read_data(maker, i, (*payload)->at + maker->offsets[i], err);
    }
    close_files(maker, count);
    if (kind != SDS_OK) {
        sds_blob_unref(*payload);
        *payload = NULL;
    }
    return kind;
}
