// SPDX-License-Identifier: Apache-2.0
//
// root.json, section 5.
#include "format/signal_dataset/documents.h"

#include <stdlib.h>

#include "format/signal_dataset/document_reader.h"

// record_codec and shard_format are objects of exactly one member, their name.
static void check_only_name(const struct sds_item *top, const char *key, const char *name) {
    struct sds_item item = sds_item_member(top, key);
    if (!sds_value_is(sds_value_get(item.value, "name"), name) ||
        sds_value_count(item.value) != 1) {
        sds_item_refuse(&item, "expected {\"name\": \"%s\"} and nothing else", name);
    }
}

static void check_reader_version(const struct sds_item *top) {
    struct sds_item item = sds_item_member(top, "min_reader_version");
    if (sds_item_is_none(&item)) {
        return;
    }
    size_t len;
    const char *version = sds_read_string(&item, &len);
    if (version == NULL) {
        return;
    }
    int accepted = sds_reader_accepts(sds_span(version, len));
    if (accepted < 0) {
        sds_item_unexpected(&item, "a version");
    } else if (accepted == 0) {
        sds_item_refuse(&item, "signal-dataset %s or newer is needed, this program reads like %s",
                        SDS_QUOTE(version, len), SDS_READER_VERSION);
    }
}

static enum sds_kind add_indented(struct sds_value metadata, struct sds_buf *text) {
    enum sds_kind kind = sds_value_there(metadata) ? sds_value_render(metadata, 0, text)
                                                   : sds_buf_add_str(text, "{}");
    return kind == SDS_OK ? sds_buf_add(text, "", 1) : kind;
}

static enum sds_kind add_as_written(struct sds_value metadata, struct sds_buf *text) {
    enum sds_kind kind = sds_buf_add_span(text, sds_value_text(metadata));
    return kind == SDS_OK ? sds_buf_add(text, "", 1) : kind;
}

static char *read_metadata_text(const struct sds_item *top) {
    struct sds_item metadata = sds_read_metadata(top);
    if (top->doc->kind != SDS_OK) {
        return NULL;
    }
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    enum sds_kind kind = add_indented(metadata.value, &text);
    if (kind == SDS_ERR_LIMIT) {
        // Indentation can make deeply nested text several times larger than any document.
        sds_buf_fini(&text);
        text.max = SIZE_MAX;
        kind = add_as_written(metadata.value, &text);
    }
    if (kind != SDS_OK) {
        sds_buf_fini(&text);
        sds_item_fail(&metadata, kind, "memory", "no memory for its text");
    }
    return (char *)text.at;
}

static size_t string_room(const struct sds_item *top) {
    return sds_string_room(sds_value_get(top->value, "dataset_id")) +
           sds_string_room(sds_value_get(top->value, "min_reader_version")) +
           sds_reference_room(sds_value_get(top->value, "snapshot"));
}

static void read_root(const struct sds_item *top, struct sds_root_doc *root) {
    sds_check_format(top, "signal-dataset.dataset");
    check_only_name(top, "record_codec", "safetensors");
    check_only_name(top, "shard_format", "array_record");
    sds_document_reserve(top->doc, string_room(top));
    check_reader_version(top);
    root->dataset_id = sds_read_nonempty(top, "dataset_id", &root->dataset_id_len);
    root->snapshot = sds_read_reference(top, "snapshot");
    root->metadata = read_metadata_text(top);
}

enum sds_kind sds_root_parse(struct sds_span text, struct sds_root_doc *out, struct sds_err *err) {
    struct sds_document doc;
    struct sds_item top = sds_document_open(&doc, text, err);
    struct sds_root_doc root = {0};
    if (doc.kind == SDS_OK) {
        read_root(&top, &root);
        root.strings = sds_document_strings(&doc);
    }
    if (doc.kind == SDS_OK) {
        *out = root;
    } else {
        sds_root_doc_fini(&root);
    }
    sds_document_close(&doc);
    return doc.kind;
}

void sds_root_doc_fini(struct sds_root_doc *root) {
    free(root->metadata);
    free(root->strings);
    *root = (struct sds_root_doc){0};
}
