// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/files.h"
#include "base/hash.h"

#include <stdlib.h>

#include "format/signal_dataset/ahead.h"
#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"
#include "format/signal_dataset/raw_tree.h"
#include "format/signal_dataset/records.h"
#include "format/signal_dataset/shard.h"
#include "format/signal_dataset/texts.h"

// ---- pieces

static void release_ref(void *owner) {
    sds_cache_release(owner);
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

// ---- files of fields: a head and a slice of the payload (views/views.h)

struct head_owner {
    struct sds_cache_ref *ref;
    struct sds_buf head;
};

static void release_head(void *owner) {
    struct head_owner *head = owner;
    sds_cache_release(head->ref);
    sds_buf_fini(&head->head);
    free(head);
}

// The slice of a field's bytes that a view shows, and whether it ends where they do.
static struct sds_span slice_of(const struct view *view, const struct sds_field *field,
                                uint32_t part, struct sds_span bytes, bool *last) {
    uint64_t off, len;
    view->slice(field, part, &off, &len);
    *last = off + len == bytes.len;
    return sds_span(bytes.at + off, (size_t)len);
}

// Without a head: the slice is all. Takes over ref.
static void give_slice(struct signal_dataset *ds, struct sds_pieces *out, struct sds_cache_ref *ref,
                       struct sds_span slice, bool last, uint64_t off, size_t len) {
    reading_touch(&ds->reading, ref, last && off + len >= slice.len);
    struct sds_span part = take(slice, &off, &len);
    *out = (struct sds_pieces){.release = release_ref, .owner = ref};
    add_piece(out, part.at, part.len);
}

// What a view shows of a field whose bytes are these. Takes over ref, also on failure.
static enum sds_kind give_view(struct signal_dataset *ds, struct sds_pieces *out,
                               struct sds_cache_ref *ref, const struct view_subject *subject,
                               const struct view *view, struct sds_span bytes, uint64_t off,
                               size_t len, struct sds_err *err) {
    bool last;
    struct sds_span slice = slice_of(view, subject->field, subject->part, bytes, &last);
    if (view->head == NULL) {
        give_slice(ds, out, ref, slice, last, off, len);
        return SDS_OK;
    }
    struct head_owner *owner = calloc(1, sizeof *owner);
    enum sds_kind kind = owner != NULL ? SDS_OK : SDS_ERR_NO_MEMORY;
    if (kind == SDS_OK) {
        owner->head = SDS_BUF_INIT(1 << 20);
        kind = view->head(subject, &owner->head);
    }
    if (kind != SDS_OK) {
        free(owner);
        sds_cache_release(ref);
        return sds_fail(err, kind, "memory", "no memory for a header");
    }
    owner->ref = ref;
    reading_touch(&ds->reading, ref, last && off + len >= owner->head.len + slice.len);
    struct sds_span head = take(sds_buf_span(&owner->head), &off, &len);
    struct sds_span data = take(slice, &off, &len);
    *out = (struct sds_pieces){.release = release_head, .owner = owner};
    add_piece(out, head.at, head.len);
    add_piece(out, data.at, data.len);
    return SDS_OK;
}

static enum sds_kind no_such_file(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the record has no such file");
}

static struct sds_span bytes_of(const struct sds_field *field, struct sds_span payload) {
    return sds_span(payload.at + field->off, (size_t)field->len);
}

// The payload has the field with the dtype and shape of the entry; which axes it has, and so where
// a part lies, is told by the entry, like the sizes of the files.
static enum sds_kind read_file(struct signal_dataset *ds, const struct view_subject *subject,
                               const struct view *view, uint64_t off, size_t len,
                               struct sds_pieces *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *payload = NULL;
    const struct sds_field *field = NULL;
    enum sds_kind kind = record_payload(ds, subject->ordinal, &ref, &payload, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = field_in_payload(payload, subject->field, &field, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "record %llu", (unsigned long long)subject->ordinal);
        sds_cache_release(ref);
        return kind;
    }
    if (off == 0) {
        ahead_note(ds->ahead, subject->ordinal, payload->blob->cap);
    }
    return give_view(ds, out, ref, subject, view, bytes_of(field, payload->bytes), off, len, err);
}

static enum sds_kind read_field(struct signal_dataset *ds, struct sds_node node, uint64_t off,
                                size_t len, struct sds_pieces *out, struct sds_err *err) {
    struct view_file file = node_file(ds, node);
    struct view_subject subject = {.part = file.part};
    struct record_fields fields;
    uint32_t number;
    subject.ordinal = node_ordinal(ds, node, &number);
    enum sds_kind kind = record_fields(ds, subject.ordinal, &fields, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (view_file_is_shown(fields.record, ds->views, &file)) {
        subject.record = fields.record;
        subject.field = &fields.record->fields[file.field];
        kind = read_file(ds, &subject, views[file.view], off, len, out, err);
    } else {
        kind = no_such_file(err);
    }
    record_fields_fini(&fields);
    return kind;
}

static enum sds_kind field_attr(struct signal_dataset *ds, struct sds_node node,
                                struct sds_attr *out, struct sds_err *err) {
    struct view_file file = node_file(ds, node);
    struct record_fields fields;
    uint32_t number;
    uint64_t ordinal = node_ordinal(ds, node, &number);
    enum sds_kind kind = record_fields(ds, ordinal, &fields, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (view_file_is_shown(fields.record, ds->views, &file)) {
        out->size = view_size(views[file.view], &fields.record->fields[file.field], file.part);
    } else {
        kind = no_such_file(err);
    }
    record_fields_fini(&fields);
    return kind;
}

// ---- annotation rows

static enum sds_kind row_field(struct signal_dataset *ds, struct sds_node node,
                               struct sds_cache_ref **ref, const struct row **row,
                               const struct sds_field **out, struct sds_err *err) {
    struct view_file file = node_file(ds, node);
    uint64_t ordinal = node_ordinal(ds, node, &file.field);
    enum sds_kind kind = annotation_row(ds, node_set(ds, node), ordinal, ref, row, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (!view_file_is_shown(&(*row)->annotation.carrier, views_of_rows(ds->views), &file)) {
        sds_cache_release(*ref);
        return no_such_file(err);
    }
    *out = &(*row)->annotation.carrier.fields[file.field];
    return SDS_OK;
}

static enum sds_kind read_row_field(struct signal_dataset *ds, struct sds_node node, uint64_t off,
                                    size_t len, struct sds_pieces *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    struct view_subject subject = {0};
    enum sds_kind kind = row_field(ds, node, &ref, &row, &subject.field, err);
    if (kind != SDS_OK) {
        return kind;
    }
    subject.record = &row->annotation.carrier;
    return give_view(ds, out, ref, &subject, views[node_file(ds, node).view],
                     bytes_of(subject.field, row->bytes), off, len, err);
}

static enum sds_kind row_field_attr(struct signal_dataset *ds, struct sds_node node,
                                    struct sds_attr *out, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    const struct sds_field *field = NULL;
    enum sds_kind kind = row_field(ds, node, &ref, &row, &field, err);
    if (kind == SDS_OK) {
        out->size = view_size(views[node_file(ds, node).view], field, 0);
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
    if (sds_store_is_remote(ds->store)) {
        uint64_t what = sds_mix64(reference_key(reference) ^ sds_mix64(off));
        kind = admission_enter(&ds->admission, what, n, err);
    }
    struct sds_blob *blob = kind == SDS_OK ? sds_blob_new(n) : NULL;
    if (kind == SDS_OK && blob == NULL) {
        kind = sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a read");
    }
    if (kind == SDS_OK && n > 0) {
        kind = in_chain(sds_object_read(object, off, blob->at, n, err), err);
    }
    sds_cache_release(ref);
    if (kind != SDS_OK) {
        sds_blob_unref(blob);
        return kind;
    }
    *out = (struct sds_pieces){.release = sds_blob_release, .owner = blob};
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
        *out = (struct sds_pieces){.release = sds_blob_release, .owner = blob};
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

static bool is_text_of_field(struct signal_dataset *ds, struct sds_node node) {
    return node_is_field(node) && view_is_text(views[node_file(ds, node).view]);
}

enum sds_kind file_attr(struct signal_dataset *ds, struct sds_node node, struct sds_attr *out,
                        struct sds_err *err) {
    *out = (struct sds_attr){.type = SDS_FILE};
    if (is_text_of_field(ds, node)) {
        return text_attr(ds, node, out, err);
    }
    if (node_is_field(node)) {
        return field_attr(ds, node, out, err);
    }
    if (node_is_row_field(node)) {
        return row_field_attr(ds, node, out, err);
    }
    switch (node.kind) {
    case NODE_PAYLOAD:
        return payload_attr(ds, node.key, out, err);
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
    if (is_text_of_field(ds, node)) {
        return read_text(ds, node, off, len, out, err);
    }
    if (node_is_field(node)) {
        return read_field(ds, node, off, len, out, err);
    }
    if (node_is_row_field(node)) {
        return read_row_field(ds, node, off, len, out, err);
    }
    switch (node.kind) {
    case NODE_PAYLOAD:
        return read_payload(ds, node.key, off, len, out, err);
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
