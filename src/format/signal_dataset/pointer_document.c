// SPDX-License-Identifier: Apache-2.0
//
// The pointer by which a worker reports its annotation shard, section 8.
#include "format/signal_dataset/document_reader.h"
#include "format/signal_dataset/documents.h"

static struct sds_value read_nonempty(const struct sds_item *top, const char *key) {
    struct sds_item item = sds_item_member(top, key);
    if (!sds_item_is(&item, SDS_JSON_STRING) || sds_value_is(item.value, "")) {
        sds_item_unexpected(&item, "a string that is not empty");
    }
    return item.value;
}

static bool is_status(struct sds_value v) {
    return sds_value_is(v, "success") || sds_value_is(v, "skipped") || sds_value_is(v, "failed");
}

static bool is_nonempty(struct sds_value v) {
    return sds_value_type(v) == SDS_JSON_STRING && !sds_value_is(v, "");
}

// An array with a string for every row; rows 0: the first array, which says how many there are.
static struct sds_value read_strings(const struct sds_item *top, const char *key, uint64_t rows,
                                     bool (*accepts)(struct sds_value v), const char *wanted) {
    struct sds_item array = sds_item_member(top, key);
    uint64_t count = sds_value_count(array.value);
    if (!sds_item_is(&array, SDS_JSON_ARRAY) || count == 0) {
        sds_item_unexpected(&array, "an array that is not empty");
    } else if (rows > 0 && count != rows) {
        sds_item_refuse(&array, "%llu elements for %llu record ids", (unsigned long long)count,
                        (unsigned long long)rows);
    }
    uint64_t i = 0;
    struct sds_iter it = sds_value_iter(array.value);
    while (top->doc->kind == SDS_OK && sds_iter_next(&it)) {
        struct sds_item item = sds_item_element(&array, i++, it.value);
        if (!accepts(it.value)) {
            sds_item_unexpected(&item, wanted);
        }
    }
    return array.value;
}

// null or any integer.
static bool read_pin(const struct sds_item *top) {
    struct sds_item item = sds_item_member(top, "generation");
    bool null = sds_item_is(&item, SDS_JSON_NULL);
    if (!null && !sds_item_is(&item, SDS_JSON_INTEGER)) {
        sds_item_unexpected(&item, "an integer or null");
    }
    return !null;
}

static void read_pointer(const struct sds_item *top, struct sds_pointer_doc *pointer) {
    static const char *const keys[] = {"name",
                                       "publication_id",
                                       "source_snapshot_id",
                                       "logical_shard_id",
                                       "first_ordinal",
                                       "record_ids",
                                       "uri",
                                       "stored_bytes",
                                       "generation",
                                       "statuses",
                                       "terminal_statuses",
                                       NULL};
    sds_check_keys(top, keys);
    pointer->name = read_nonempty(top, "name");
    pointer->publication_id = read_nonempty(top, "publication_id");
    pointer->source_snapshot_id = read_nonempty(top, "source_snapshot_id");
    pointer->logical_shard_id = read_nonempty(top, "logical_shard_id");
    pointer->uri = read_nonempty(top, "uri");
    struct sds_item first = sds_item_member(top, "first_ordinal");
    pointer->first_ordinal = sds_read_saturated(&first);
    struct sds_item bytes = sds_item_member(top, "stored_bytes");
    pointer->stored_bytes = sds_read_saturated(&bytes);
    pointer->pinned = read_pin(top);
    pointer->record_ids =
        read_strings(top, "record_ids", 0, is_nonempty, "a string that is not empty");
    pointer->record_count = sds_value_count(pointer->record_ids);
    read_strings(top, "statuses", pointer->record_count, is_status, "success, skipped or failed");
    read_strings(top, "terminal_statuses", pointer->record_count, is_nonempty,
                 "a string that is not empty");
}

enum sds_kind sds_pointer_parse(struct sds_span text, struct sds_pointer_doc *out,
                                struct sds_err *err) {
    struct sds_document doc;
    struct sds_item top = sds_document_open(&doc, text, err);
    struct sds_pointer_doc pointer = {0};
    if (doc.kind == SDS_OK) {
        read_pointer(&top, &pointer);
    }
    if (doc.kind == SDS_OK) {
        pointer.json = doc.json; // which the values point into
        doc.json = NULL;
        *out = pointer;
    }
    sds_document_close(&doc);
    return doc.kind;
}

void sds_pointer_doc_fini(struct sds_pointer_doc *pointer) {
    sds_json_free(pointer->json);
    *pointer = (struct sds_pointer_doc){0};
}
