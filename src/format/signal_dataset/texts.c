// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/texts.h"

#include <stdlib.h>

#include "base/json.h"
#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"
#include "format/signal_dataset/records.h"

static enum sds_kind render_entry(struct signal_dataset *ds, struct sds_node node,
                                  struct sds_buf *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *entry = NULL;
    enum sds_kind kind = record_entry(ds, node.key, &ref, &entry, err);
    if (kind == SDS_OK) {
        kind = entry_render(entry, out);
        sds_cache_release(ref);
    }
    return kind;
}

static enum sds_kind render_row(struct signal_dataset *ds, struct sds_node node,
                                struct sds_buf *out, struct sds_err *err) {
    uint32_t field;
    uint64_t ordinal = node_ordinal(ds, node, &field);
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    enum sds_kind kind = annotation_row(ds, node_set(ds, node), ordinal, &ref, &row, err);
    if (kind == SDS_OK) {
        kind = sds_annotation_render(&row->annotation, out);
        sds_cache_release(ref);
    }
    return kind;
}

static struct json_object *reference_json(const struct sds_reference *reference) {
    struct json_object *object = json_object_new_object();
    if (reference->pinned) {
        json_object_object_add(object, "generation", json_object_new_uint64(reference->generation));
    }
    json_object_object_add(object, "path",
                           json_object_new_string_len(reference->path, (int)reference->path_len));
    json_object_object_add(object, "stored_bytes", json_object_new_uint64(reference->stored_bytes));
    return object;
}

static struct json_object *shard_json(const struct sds_shard_entry *shard) {
    struct json_object *object = json_object_new_object();
    json_object_object_add(object, "first_ordinal", json_object_new_uint64(shard->first_ordinal));
    json_object_object_add(object, "record_count", json_object_new_uint64(shard->record_count));
    json_object_object_add(object, "data", reference_json(&shard->data));
    json_object_object_add(object, "metadata", reference_json(&shard->metadata));
    if (shard->record_indices != NULL) {
        struct json_object *indices = json_object_new_array();
        for (uint64_t i = 0; i < shard->record_count; i++) {
            json_object_array_add(indices, json_object_new_uint64(shard->record_indices[i]));
        }
        json_object_object_add(object, "record_indices", indices);
    }
    return object;
}

// Our own JSON takes the same way to its indented form as everybody else's.
static enum sds_kind render_json(struct json_object *object, struct sds_buf *out,
                                 struct sds_err *err) {
    static const struct sds_json_limits limits = {
        .bytes = SDS_MAX_DOCUMENT_BYTES, .depth = 8, .nodes = SDS_JSON_NODES};
    size_t len = 0;
    const char *text = json_object_to_json_string_length(
        object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
    struct sds_json *doc = NULL;
    enum sds_kind kind = sds_json_parse(sds_span(text, len), &limits, &doc, err);
    if (kind == SDS_OK) {
        kind = sds_value_render(sds_json_top(doc), 0, out);
        sds_json_free(doc);
    }
    return kind == SDS_OK ? sds_buf_add(out, "\n", 1) : kind;
}

static enum sds_kind render_shard(struct signal_dataset *ds, struct sds_node node,
                                  struct sds_buf *out, struct sds_err *err) {
    struct location at;
    enum sds_kind kind = chain_shard(ds, node.key, &at, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct json_object *object = shard_json(at.shard);
    kind = render_json(object, out, err);
    json_object_put(object);
    location_fini(&at);
    return kind;
}

// NOT_FOUND for a file that the record does not have.
static enum sds_kind render_view(struct signal_dataset *ds, struct sds_node node,
                                 struct sds_buf *out, struct sds_err *err) {
    struct view_file file = node_file(ds, node);
    struct record_fields fields;
    uint32_t number;
    uint64_t ordinal = node_ordinal(ds, node, &number);
    enum sds_kind kind = record_fields(ds, ordinal, &fields, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (view_file_is_shown(fields.record, ds->views, &file)) {
        struct view_subject subject = {.record = fields.record,
                                       .field = &fields.record->fields[file.field],
                                       .ordinal = ordinal,
                                       .part = file.part};
        kind = views[file.view]->head(&subject, out);
    } else {
        kind = sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the record has no such file");
    }
    record_fields_fini(&fields);
    return kind;
}

typedef enum sds_kind (*render_fn)(struct signal_dataset *ds, struct sds_node node,
                                   struct sds_buf *out, struct sds_err *err);

static render_fn renderer_of(struct sds_node node) {
    switch (node.kind) {
    case NODE_ENTRY:
        return render_entry;
    case NODE_ROW_TEXT:
        return render_row;
    case NODE_SHARD_TEXT:
        return render_shard;
    default:
        return render_view;
    }
}

struct text_load {
    struct signal_dataset *ds;
    struct sds_node node;
};

// Indentation can make a small document large.
#define MAX_TEXT_BYTES ((size_t)64 << 20)

struct text {
    struct sds_buf buf;
};

static void free_text(void *value) {
    struct text *text = value;
    sds_buf_fini(&text->buf);
    free(text);
}

// The buffer itself failed, and buffers do not say why.
static enum sds_kind no_room(enum sds_kind kind, struct sds_err *err) {
    return sds_fail(err, kind, kind == SDS_ERR_LIMIT ? "limit" : "memory",
                    "the indented text passes %zu bytes, or what memory there is", MAX_TEXT_BYTES);
}

static enum sds_kind copy_error(const struct sds_err *why, struct sds_err *err) {
    if (err != NULL) {
        *err = *why;
    }
    return why->kind;
}

static enum sds_kind load_text(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct text_load *load = ctx;
    struct text *text = calloc(1, sizeof *text);
    if (text == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a text");
    }
    text->buf = SDS_BUF_INIT(MAX_TEXT_BYTES);
    struct sds_err why = {.kind = SDS_OK};
    enum sds_kind kind = renderer_of(load->node)(load->ds, load->node, &text->buf, &why);
    if (kind != SDS_OK) {
        free_text(text);
        return why.kind != SDS_OK ? copy_error(&why, err) : no_room(kind, err);
    }
    *value = text;
    *cost = text->buf.cap + sizeof *text;
    return SDS_OK;
}

enum sds_kind text_get(struct signal_dataset *ds, struct sds_node node, struct sds_cache_ref **ref,
                       struct sds_span *out, struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_text, .free = free_text};
    struct text_load load = {.ds = ds, .node = node};
    struct sds_cache_key key = cached_key(CACHED_TEXT, node.wide << 8 | node.kind, node.key);
    void *value = NULL;
    enum sds_kind kind = sds_cache_get(ds->cache, key, &class, &load, ref, &value, err);
    if (kind == SDS_OK) {
        *out = sds_buf_span(&((struct text *)value)->buf);
    }
    return kind;
}
