// SPDX-License-Identifier: Apache-2.0
//
// snapshot.json, section 5.
#include "format/signal_dataset/documents.h"

#include <stdlib.h>

#include "format/signal_dataset/document_reader.h"

// What the entries read so far add up to. At most 10^6 entries of 2^40 fit the first two.
struct totals {
    uint64_t records, shards, stored_bytes;
};

static void read_page(const struct sds_item *entry, struct sds_page_ref *page,
                      struct totals *totals) {
    page->first_ordinal = sds_read_count(entry, "first_ordinal", SDS_MAX_RECORDS);
    page->record_count = sds_read_count(entry, "record_count", SDS_MAX_RECORDS);
    page->shard_count = sds_read_count(entry, "shard_count", SDS_MAX_RECORDS);
    page->stored_bytes = sds_read_count(entry, "stored_bytes", INT64_MAX);
    page->object = sds_read_reference(entry, "object");
    page->first_shard = totals->shards;
    sds_check_first(entry, page->first_ordinal, totals->records);
    totals->records += page->record_count;
    totals->shards += page->shard_count;
    totals->stored_bytes = sds_add_saturated(totals->stored_bytes, page->stored_bytes);
}

static size_t string_room(const struct sds_item *top, const struct sds_item *manifests) {
    size_t room = sds_string_room(sds_value_get(top->value, "snapshot_id"));
    for (struct sds_iter it = sds_value_iter(manifests->value); sds_iter_next(&it);) {
        room += sds_reference_room(sds_value_get(it.value, "object"));
    }
    return room;
}

static void read_snapshot(const struct sds_item *top, struct sds_snapshot_doc *snapshot) {
    struct sds_document *doc = top->doc;
    sds_check_format(top, "signal-dataset.snapshot");
    struct sds_item manifests = sds_read_sequence(top, "manifests");
    sds_document_reserve(doc, string_room(top, &manifests));
    snapshot->snapshot_id = sds_read_nonempty(top, "snapshot_id", &snapshot->snapshot_id_len);
    snapshot->record_count = sds_read_count(top, "record_count", SDS_MAX_RECORDS);
    snapshot->shard_count = sds_read_count(top, "shard_count", SDS_MAX_RECORDS);
    snapshot->stored_bytes = sds_read_count(top, "stored_bytes", INT64_MAX);
    snapshot->pages =
        sds_document_array(doc, sds_value_count(manifests.value), sizeof *snapshot->pages);
    struct totals totals = {0};
    struct sds_iter it = sds_value_iter(manifests.value);
    while (doc->kind == SDS_OK && sds_iter_next(&it)) {
        struct sds_item entry = sds_item_element(&manifests, snapshot->page_count, it.value);
        read_page(&entry, &snapshot->pages[snapshot->page_count++], &totals);
    }
    sds_check_total(top, "record_count", snapshot->record_count, totals.records);
    sds_check_total(top, "shard_count", snapshot->shard_count, totals.shards);
    sds_check_total(top, "stored_bytes", snapshot->stored_bytes, totals.stored_bytes);
}

enum sds_kind sds_snapshot_parse(struct sds_span text, struct sds_snapshot_doc *out,
                                 struct sds_err *err) {
    struct sds_document doc;
    struct sds_item top = sds_document_open(&doc, text, err);
    struct sds_snapshot_doc snapshot = {0};
    if (doc.kind == SDS_OK) {
        read_snapshot(&top, &snapshot);
        snapshot.strings = sds_document_strings(&doc);
        snapshot.memory = doc.memory;
    }
    if (doc.kind == SDS_OK) {
        *out = snapshot;
    } else {
        sds_snapshot_doc_fini(&snapshot);
    }
    sds_document_close(&doc);
    return doc.kind;
}

void sds_snapshot_doc_fini(struct sds_snapshot_doc *snapshot) {
    free(snapshot->pages);
    free(snapshot->strings);
    *snapshot = (struct sds_snapshot_doc){0};
}
