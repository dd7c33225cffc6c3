// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/files.h"

#include <stdlib.h>

#include "format/signal_dataset/ahead.h"
#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"
#include "format/signal_dataset/raw_tree.h"
#include "format/signal_dataset/records.h"
#include "format/signal_dataset/shard.h"
#include "format/signal_dataset/texts.h"
#include "format/tensor/npy.h"

// ---- pieces

static void release_ref(void *owner) {
    sds_cache_release(owner);
}

static void release_blob(void *owner) {
    sds_blob_unref(owner);
}

static void add_piece(struct sds_pieces *out, const uint8_t *at, size_t len) {
    if (len > 0) {
        // The pieces are only ever read; iovec has no const form.
        out->iov[out->count++] = (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = len};
    }
}

// The part of bytes that a read at *off of *len asks for; moves both on past it.
static struct sds_span take(struct sds_span bytes, uint64_t *off, size_t *len) {
    if (*off >= bytes.len) {
        *off -= bytes.len;
        return sds_span(NULL, 0);
    }
    size_t n = bytes.len - (size_t)*off < *len ? bytes.len - (size_t)*off : *len;
    struct sds_span part = sds_span(bytes.at + *off, n);
    *off = 0;
    *len -= n;
    return part;
}

// A range of bytes that a cache reference keeps alive. Takes over ref.
static void give_cached(struct signal_dataset *ds, struct sds_pieces *out,
                        struct sds_cache_ref *ref, struct sds_span bytes, uint64_t off,
                        size_t len) {
    reading_touch(&ds->reading, ref, off + len >= bytes.len);
    struct sds_span part = take(bytes, &off, &len);
    *out = (struct sds_pieces){.release = release_ref, .owner = ref};
    add_piece(out, part.at, part.len);
}

// ---- payloads

static enum sds_kind read_payload(struct signal_dataset *ds, uint64_t ordinal, uint64_t off,
                                  size_t len, struct sds_pieces *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *payload = NULL;
    enum sds_kind kind = record_payload(ds, ordinal, &ref, &payload, err);
    if (kind == SDS_OK) {
        if (off == 0) {
            ahead_note(ds->ahead, ordinal, payload->blob->cap);
        }
        give_cached(ds, out, ref, payload->bytes, off, len);
    }
    return kind;
}

static enum sds_kind payload_attr(struct signal_dataset *ds, uint64_t ordinal, struct sds_attr *out,
                                  struct sds_err *err) {
    enum sds_kind kind = record_payload_size(ds, ordinal, &out->size, err);
    if (kind == SDS_OK && out->size == 0) {
        // Nobody reads a file of size 0, so nobody would hear that it is not a record.
        kind = sds_fail(err, SDS_ERR_CORRUPT, "payload", "the record's payload is empty");
    }
    return kind;
}

// ---- fields: a .npy header and a slice of the payload

struct npy_owner {
    struct sds_cache_ref *ref;
    struct sds_buf header;
};

static void release_npy(void *owner) {
    struct npy_owner *npy = owner;
    sds_cache_release(npy->ref);
    sds_buf_fini(&npy->header);
    free(npy);
}

// Takes over ref, also on failure.
static enum sds_kind give_npy(struct signal_dataset *ds, struct sds_pieces *out,
                              struct sds_cache_ref *ref, const struct sds_field *field,
                              struct sds_span payload, uint64_t off, size_t len,
                              struct sds_err *err) {
    struct npy_owner *npy = calloc(1, sizeof *npy);
    enum sds_kind kind = npy != NULL ? SDS_OK : SDS_ERR_NO_MEMORY;
    if (kind == SDS_OK) {
        npy->header = SDS_BUF_INIT(1 << 20);
        kind = sds_npy_header(field->dtype, field->shape, field->rank, &npy->header);
    }
    if (kind != SDS_OK) {
        free(npy);
        sds_cache_release(ref);
        return sds_fail(err, kind, "memory", "no memory for a header");
    }
    npy->ref = ref;
    reading_touch(&ds->reading, ref, off + len >= npy->header.len + field->len);
    struct sds_span head = take(sds_buf_span(&npy->header), &off, &len);
    struct sds_span data = take(sds_span(payload.at + field->off, field->len), &off, &len);
    *out = (struct sds_pieces){.release = release_npy, .owner = npy};
    add_piece(out, head.at, head.len);
    add_piece(out, data.at, data.len);
    return SDS_OK;
}

static enum sds_kind no_such_field(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the record has no such field");
}

static enum sds_kind read_field(struct signal_dataset *ds, uint64_t ordinal, uint32_t number,
                                uint64_t off, size_t len, struct sds_pieces *out,
                                struct sds_err *err) {
    struct record_fields fields;
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *payload = NULL;
    const struct sds_field *field = NULL;
    enum sds_kind kind = record_fields(ds, ordinal, &fields, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (number >= fields.record->field_count) {
        kind = no_such_field(err);
    } else {
        kind = record_payload(ds, ordinal, &ref, &payload, err);
    }
    if (kind == SDS_OK) {
        kind = field_in_payload(payload, &fields.record->fields[number], &field, err);
        if (kind != SDS_OK) {
            sds_err_object(err, "record %llu", (unsigned long long)ordinal);
            sds_cache_release(ref);
        }
    }
    record_fields_fini(&fields);
    if (kind == SDS_OK) {
        if (off == 0) {
            ahead_note(ds->ahead, ordinal, payload->blob->cap);
        }
        kind = give_npy(ds, out, ref, field, payload->bytes, off, len, err);
    }
    return kind;
}

static uint64_t npy_size(const struct sds_field *field) {
    return sds_npy_header_len(field->dtype, field->shape, field->rank) + field->len;
}

static enum sds_kind field_attr(struct signal_dataset *ds, uint64_t ordinal, uint32_t number,
                                struct sds_attr *out, struct sds_err *err) {
    struct record_fields fields;
    enum sds_kind kind = record_fields(ds, ordinal, &fields, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (number >= fields.record->field_count) {
        kind = no_such_field(err);
    } else {
        out->size = npy_size(&fields.record->fields[number]);
    }
    record_fields_fini(&fields);
    return kind;
}

// ---- annotation rows

static enum sds_kind row_field(struct signal_dataset *ds, struct sds_node node,
                               struct sds_cache_ref **ref, const struct row **row,
                               const struct sds_field **out, struct sds_err *err) {
    uint32_t number;
    uint64_t ordinal = node_ordinal(ds, node, &number);
    enum sds_kind kind = annotation_row(ds, node_set(ds, node), ordinal, ref, row, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (number >= (*row)->annotation.carrier.field_count) {
        sds_cache_release(*ref);
        return no_such_field(err);
    }
    *out = &(*row)->annotation.carrier.fields[number];
    return SDS_OK;
}

static enum sds_kind read_row_field(struct signal_dataset *ds, struct sds_node node, uint64_t off,
                                    size_t len, struct sds_pieces *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    const struct sds_field *field = NULL;
    enum sds_kind kind = row_field(ds, node, &ref, &row, &field, err);
    return kind == SDS_OK ? give_npy(ds, out, ref, field, row->bytes, off, len, err) : kind;
}

static enum sds_kind row_field_attr(struct signal_dataset *ds, struct sds_node node,
                                    struct sds_attr *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    const struct sds_field *field = NULL;
    enum sds_kind kind = row_field(ds, node, &ref, &row, &field, err);
    if (kind == SDS_OK) {
        out->size = npy_size(field);
        sds_cache_release(ref);
    }
    return kind;
}

// ---- texts

static enum sds_kind read_text(struct signal_dataset *ds, struct sds_node node, uint64_t off,
                               size_t len, struct sds_pieces *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    struct sds_span text;
    enum sds_kind kind = text_get(ds, node, &ref, &text, err);
    if (kind == SDS_OK) {
        give_cached(ds, out, ref, text, off, len);
    }
    return kind;
}

static enum sds_kind text_attr(struct signal_dataset *ds, struct sds_node node,
                               struct sds_attr *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    struct sds_span text;
    enum sds_kind kind = text_get(ds, node, &ref, &text, err);
    if (kind == SDS_OK) {
        out->size = text.len;
        sds_cache_release(ref);
    }
    return kind;
}

// ---- objects, byte for byte

static enum sds_kind read_object(struct signal_dataset *ds, const struct sds_reference *reference,
                                 uint64_t off, size_t len, struct sds_pieces *out,
                                 struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    struct sds_object *object = NULL;
    enum sds_kind kind = shard_object(ds, reference, &ref, &object, err);
    if (kind != SDS_OK) {
        return kind;
    }
    uint64_t size = sds_object_info(object)->size;
    uint64_t left = off < size ? size - off : 0;
    size_t n = left < len ? (size_t)left : len;
    struct sds_blob *blob = sds_blob_new(n);
    kind =
        blob == NULL ? sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a read") : SDS_OK;
    if (kind == SDS_OK && n > 0) {
        kind = in_chain(sds_object_read(object, off, blob->at, n, err), err);
    }
    sds_cache_release(ref);
    if (kind != SDS_OK) {
        sds_blob_unref(blob);
        return kind;
    }
    *out = (struct sds_pieces){.release = release_blob, .owner = blob};
    add_piece(out, blob->at, n);
    return SDS_OK;
}

static enum sds_kind object_attr(struct signal_dataset *ds, const struct sds_reference *reference,
                                 struct sds_attr *out, struct sds_err *err) {
    out->size = reference->stored_bytes;
    if (!reference->absolute && reference->stored_bytes > 0) {
        return SDS_OK; // reading compares it with the object
    }
    struct sds_cache_ref *ref = NULL;
    struct sds_object *object = NULL;
    enum sds_kind kind = shard_object(ds, reference, &ref, &object, err);
    if (kind == SDS_OK) {
        out->size = sds_object_info(object)->size;
        sds_cache_release(ref);
    }
    return kind;
}

// A raw page is shown when it passes its checks, like everything else in the chain.
static enum sds_kind check_raw(struct signal_dataset *ds, const struct raw_file *file,
                               struct sds_err *err) {
    if (file->what != RAW_PAGE) {
        return SDS_OK;
    }
    struct sds_cache_ref *ref = NULL;
    const struct sds_manifest_doc *page = NULL;
    enum sds_kind kind = chain_page(ds, file->page, &ref, &page, err);
    if (kind == SDS_OK) {
        sds_cache_release(ref);
    }
    return kind;
}

static enum sds_kind read_raw(struct signal_dataset *ds, uint64_t key, uint64_t off, size_t len,
                              struct sds_pieces *out, struct sds_err *err) {
    struct raw_file file;
    enum sds_kind kind = raw_get(ds, key, &file, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (file.what == RAW_CATALOG) {
        // The pointer as it was verified; the object itself may be replaced at any time.
        struct sds_blob *blob = sds_blob_ref(file.catalog->pointer);
        struct sds_span part = take(sds_span(blob->at, blob->len), &off, &len);
        *out = (struct sds_pieces){.release = release_blob, .owner = blob};
        add_piece(out, part.at, part.len);
    } else {
        kind = check_raw(ds, &file, err);
        if (kind == SDS_OK) {
            kind = read_object(ds, &file.reference, off, len, out, err);
        }
    }
    raw_file_fini(&file);
    return kind;
}

static enum sds_kind raw_attr(struct signal_dataset *ds, uint64_t key, struct sds_attr *out,
                              struct sds_err *err) {
    struct raw_file file;
    enum sds_kind kind = raw_get(ds, key, &file, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (file.what == RAW_CATALOG) {
        out->size = file.reference.stored_bytes;
        out->changing = true;
        out->mtime = file.catalog->pointer_mtime;
    } else {
        kind = check_raw(ds, &file, err);
        if (kind == SDS_OK) {
            kind = object_attr(ds, &file.reference, out, err);
        }
    }
    raw_file_fini(&file);
    return kind;
}

// ---- shards/<index>/{data,metadata}.arrayrecord

static const struct sds_reference *shard_reference(const struct location *at,
                                                   struct sds_node node) {
    return node.kind == NODE_SHARD_DATA ? &at->shard->data : &at->shard->metadata;
}

// A file from outside the root is shown only after it opened as what it should be.
static enum sds_kind check_external(struct signal_dataset *ds,
                                    const struct sds_reference *reference, struct sds_err *err) {
    uint64_t count;
    return reference->absolute ? shard_count(ds, reference, &count, err) : SDS_OK;
}

static enum sds_kind read_shard_file(struct signal_dataset *ds, struct sds_node node, uint64_t off,
                                     size_t len, struct sds_pieces *out, struct sds_err *err) {
    struct location at;
    enum sds_kind kind = chain_shard(ds, node.key, &at, err);
    if (kind == SDS_OK) {
        const struct sds_reference *reference = shard_reference(&at, node);
        kind = check_external(ds, reference, err);
        if (kind == SDS_OK) {
            kind = read_object(ds, reference, off, len, out, err);
        }
        location_fini(&at);
    }
    return kind;
}

static size_t link_len(const struct sds_reference *reference) {
    return sizeof "../../" - 1 + reference->path_len;
}

static enum sds_kind shard_file_attr(struct signal_dataset *ds, struct sds_node node,
                                     struct sds_attr *out, struct sds_err *err) {
    struct location at;
    enum sds_kind kind = chain_shard(ds, node.key, &at, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct sds_reference *reference = shard_reference(&at, node);
    if (raw_is_shown(reference)) {
        out->type = SDS_LINK;
        out->size = link_len(reference);
    } else {
        kind = check_external(ds, reference, err);
        if (kind == SDS_OK) {
            kind = object_attr(ds, reference, out, err);
        }
    }
    location_fini(&at);
    return kind;
}

// ---- by kind

enum sds_kind file_attr(struct signal_dataset *ds, struct sds_node node, struct sds_attr *out,
                        struct sds_err *err) {
    uint32_t field;
    *out = (struct sds_attr){.type = SDS_FILE};
    switch (node.kind) {
    case NODE_PAYLOAD:
        return payload_attr(ds, node.key, out, err);
    case NODE_FIELD: {
        uint64_t ordinal = node_ordinal(ds, node, &field);
        return field_attr(ds, ordinal, field, out, err);
    }
    case NODE_ROW_FIELD:
        return row_field_attr(ds, node, out, err);
    case NODE_ENTRY:
    case NODE_ROW_TEXT:
    case NODE_SHARD_TEXT:
        return text_attr(ds, node, out, err);
    case NODE_SHARD_DATA:
    case NODE_SHARD_METADATA:
        return shard_file_attr(ds, node, out, err);
    case NODE_SHARD_RECORD:
        out->type = SDS_LINK;
        out->size = sizeof "../../../records/" - 1 + ds->ordinal_width;
        return SDS_OK;
    case NODE_RAW_FILE:
        return raw_attr(ds, node.key, out, err);
    default:
        return sds_fail(err, SDS_ERR_INTERNAL, "node", "no file has kind %u", node.kind);
    }
}

enum sds_kind file_read(struct signal_dataset *ds, struct sds_node node, uint64_t off, size_t len,
                        struct sds_pieces *out, struct sds_err *err) {
    uint32_t field;
    switch (node.kind) {
    case NODE_PAYLOAD:
        return read_payload(ds, node.key, off, len, out, err);
    case NODE_FIELD: {
        uint64_t ordinal = node_ordinal(ds, node, &field);
        return read_field(ds, ordinal, field, off, len, out, err);
    }
    case NODE_ROW_FIELD:
        return read_row_field(ds, node, off, len, out, err);
    case NODE_ENTRY:
    case NODE_ROW_TEXT:
    case NODE_SHARD_TEXT:
        return read_text(ds, node, off, len, out, err);
    case NODE_SHARD_DATA:
    case NODE_SHARD_METADATA:
        return read_shard_file(ds, node, off, len, out, err);
    case NODE_RAW_FILE:
        return read_raw(ds, node.key, off, len, out, err);
    default:
        return sds_fail(err, SDS_ERR_INTERNAL, "node", "kind %u cannot be read", node.kind);
    }
}

static enum sds_kind not_a_link(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_INVALID, "node", "it is not a link");
}

static enum sds_kind shard_file_link(struct signal_dataset *ds, struct sds_node node,
                                     struct sds_buf *out, struct sds_err *err) {
    struct location at;
    enum sds_kind kind = chain_shard(ds, node.key, &at, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct sds_reference *reference = shard_reference(&at, node);
    if (!raw_is_shown(reference)) {
        kind = not_a_link(err);
    } else {
        kind = sds_buf_add_str(out, "../../");
        if (kind == SDS_OK) {
            kind = sds_buf_add(out, reference->path, reference->path_len);
        }
    }
    location_fini(&at);
    return kind;
}

enum sds_kind file_link(struct signal_dataset *ds, struct sds_node node, struct sds_buf *out,
                        struct sds_err *err) {
    switch (node.kind) {
    case NODE_SHARD_RECORD:
        return sds_buf_printf(out, "../../../records/%0*llu", (int)ds->ordinal_width,
                              (unsigned long long)node.key);
    case NODE_SHARD_DATA:
    case NODE_SHARD_METADATA:
        return shard_file_link(ds, node, out, err);
    default:
        return not_a_link(err);
    }
}
