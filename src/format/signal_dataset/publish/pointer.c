// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/pointer.h"

#include <stdio.h>

struct object_path pointer_path(const struct publication *pub, const char *shard_id) {
    char hash[SDS_SHA256_HEX];
    struct object_path path;
    sds_sha256_hex(sds_span_str(shard_id), hash);
    snprintf(path.text, sizeof path.text, "%s/shards/%.2s/%s.json", pub->prefix, hash, hash);
    return path;
}

// A pointer may be large: the cache makes room.
static enum sds_kind parse(const struct publication *pub, struct sds_span text,
                           struct sds_pointer_doc *out, struct sds_err *err) {
    struct signal_dataset *ds = pub->ds;
    enum sds_kind kind = gate_enter_document(&ds->gate, ds->cache, text.len, err);
    if (kind == SDS_OK) {
        kind = sds_pointer_parse(text, out, err);
        gate_leave_document(&ds->gate, text.len);
    }
    return kind;
}

// ---- writing

struct pointer_rows pointer_rows_begin(void) {
    return (struct pointer_rows){SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES),
                                 SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES),
                                 SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES)};
}

void pointer_rows_fini(struct pointer_rows *rows) {
    sds_buf_fini(&rows->record_ids);
    sds_buf_fini(&rows->statuses);
    sds_buf_fini(&rows->terminal_statuses);
}

static struct text next_element(struct sds_buf *array, struct sds_err *err) {
    struct text text = {.out = array, .err = err};
    text_add(&text, array->len > 0 ? "," : "");
    return text;
}

enum sds_kind pointer_rows_add(void *ctx, const struct input_row *row, struct sds_span record_id,
                               struct sds_err *err) {
    struct pointer_rows *rows = ctx;
    bool has_detail = sds_value_type(row->detail_status) == SDS_JSON_STRING;
    struct text id = next_element(&rows->record_ids, err);
    text_add_span(&id, record_id);
    struct text status = next_element(&rows->statuses, err);
    text_add_value(&status, row->status);
    struct text terminal = next_element(&rows->terminal_statuses, err);
    text_add_value(&terminal, has_detail ? row->detail_status : row->status);
    enum sds_kind kind = id.kind != SDS_OK       ? id.kind
                         : status.kind != SDS_OK ? status.kind
                                                 : terminal.kind;
    if (kind != SDS_OK) {
        sds_err_context(err, "the worker's pointer");
    }
    return as_input_error(kind, err);
}

static void write_array(struct text *text, const char *key, const struct sds_buf *elements) {
    text_add(text, key);
    text_add(text, ":[");
    text_add_span(text, sds_buf_span(elements));
    text_add(text, "]");
}

static void write_pointer(struct text *text, const struct publication *pub,
                          const struct carrier_shard *shard, const struct pointer_rows *rows) {
    const struct sds_snapshot_doc *snapshot = &pub->ds->chain.snapshot;
    text_add(text, "{\"first_ordinal\":");
    text_add_number(text, shard->first_ordinal);
    text_add(text, ",\"generation\":null,\"logical_shard_id\":\"");
    text_add(text, pub->request->shard_id);
    text_add(text, "\",\"name\":\"");
    text_add(text, pub->request->set);
    text_add(text, "\",\"publication_id\":\"");
    text_add(text, pub->id);
    write_array(text, "\",\"record_ids\"", &rows->record_ids);
    text_add(text, ",\"source_snapshot_id\":");
    text_add_string(text, sds_span(snapshot->snapshot_id, snapshot->snapshot_id_len));
    write_array(text, ",\"statuses\"", &rows->statuses);
    text_add(text, ",\"stored_bytes\":");
    text_add_number(text, shard->stored_bytes);
    write_array(text, ",\"terminal_statuses\"", &rows->terminal_statuses);
    text_add(text, ",\"uri\":");
    struct sds_buf uri = SDS_BUF_INIT(SIZE_MAX);
    enum sds_kind kind = sds_buf_printf(&uri, "%s/%s", sds_store_root(pub->ds->store),
                                        carrier_shard_path(pub, shard).text);
    if (kind == SDS_OK) {
        text_add_string(text, sds_buf_span(&uri));
    } else if (text->kind == SDS_OK) {
        text->kind = sds_buf_failed(&uri, kind, text->err);
    }
    sds_buf_fini(&uri);
    text_add(text, "}");
}

enum sds_kind pointer_write(const struct publication *pub, const struct carrier_shard *shard,
                            const struct pointer_rows *rows, struct sds_buf *out,
                            struct sds_err *err) {
    struct text text = {.out = out, .err = err};
    write_pointer(&text, pub, shard, rows);
    enum sds_kind kind = text.kind;
    if (kind == SDS_OK) {
        struct sds_pointer_doc parsed;
        kind = parse(pub, sds_buf_span(out), &parsed, err);
        if (kind == SDS_OK) {
            sds_pointer_doc_fini(&parsed);
        }
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "the worker's pointer, with %llu rows",
                        (unsigned long long)shard->record_count);
    }
    return as_input_error(kind, err);
}

// ---- reading

enum sds_kind pointer_read(const struct publication *pub, const char *shard_id,
                           struct sds_blob **text, struct sds_pointer_doc *pointer,
                           struct sds_err *err) {
    struct object_path path = pointer_path(pub, shard_id);
    enum sds_kind kind = sds_store_read_all(pub->ds->store, path.text, NULL, SDS_MAX_DOCUMENT_BYTES,
                                            SDS_IMMUTABLE, text, err);
    if (kind == SDS_OK) {
        kind = parse(pub, sds_span((*text)->at, (*text)->len), pointer, err);
        if (kind != SDS_OK) {
            sds_blob_unref(*text);
            *text = NULL;
        }
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path.text);
    }
    return kind;
}
