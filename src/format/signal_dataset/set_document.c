// SPDX-License-Identifier: Apache-2.0
//
// The root.json of an annotation set, section 7.
#include "format/signal_dataset/documents.h"

#include <stdlib.h>

#include "format/signal_dataset/document_reader.h"

static void read_shard(const struct sds_item *entry, struct sds_carrier_shard *shard) {
    shard->first_ordinal = sds_read_count(entry, "first_ordinal", SDS_MAX_RECORDS);
    shard->record_count = sds_read_count(entry, "record_count", SDS_MAX_RECORDS);
    if (shard->record_count == 0) {
        struct sds_item item = sds_item_member(entry, "record_count");
        sds_item_unexpected(&item, "a positive integer");
    }
    shard->object = sds_read_reference(entry, "object");
}

static void read_shards(const struct sds_item *shards, struct sds_set_doc *set) {
    set->shards =
        sds_document_array(shards->doc, sds_value_count(shards->value), sizeof *set->shards);
    uint64_t end = 0;
    struct sds_iter it = sds_value_iter(shards->value);
    while (shards->doc->kind == SDS_OK && sds_iter_next(&it)) {
        struct sds_item entry = sds_item_element(shards, set->shard_count, it.value);
        struct sds_carrier_shard *shard = &set->shards[set->shard_count++];
        read_shard(&entry, shard);
        sds_check_first(&entry, shard->first_ordinal, end);
        end += shard->record_count; // at most 10^6 entries of 2^40
    }
    sds_check_total(shards->outer, "record_count", set->record_count, end);
}

static size_t string_room(const struct sds_item *top, const struct sds_item *shards) {
    size_t room = sds_string_room(sds_value_get(top->value, "name")) +
                  sds_string_room(sds_value_get(top->value, "publication_id")) +
                  sds_string_room(sds_value_get(top->value, "source_snapshot_id"));
    for (struct sds_iter it = sds_value_iter(shards->value); sds_iter_next(&it);) {
        room += sds_reference_room(sds_value_get(it.value, "object"));
    }
    return room;
}

static void read_set(const struct sds_item *top, struct sds_set_doc *set) {
    static const char *const keys[] = {
        "name", "publication_id", "source_snapshot_id", "record_count", "metadata", "shards", NULL};
    sds_check_keys(top, keys);
    struct sds_item shards = sds_item_member(top, "shards");
    if (!sds_item_is(&shards, SDS_JSON_ARRAY)) {
        sds_item_unexpected(&shards, "an array");
        return;
    }
    sds_document_reserve(top->doc, string_room(top, &shards));
    set->name = sds_read_portable(top, "name");
    set->publication_id = sds_read_portable(top, "publication_id");
    set->source_snapshot_id =
        sds_read_nonempty(top, "source_snapshot_id", &set->source_snapshot_id_len);
    set->record_count = sds_read_count(top, "record_count", SDS_MAX_RECORDS);
    struct sds_item metadata = sds_item_member(top, "metadata");
    if (!sds_value_there(metadata.value)) {
        sds_item_unexpected(&metadata, "an object");
    }
    sds_read_metadata(top);
    read_shards(&shards, set);
}

enum sds_kind sds_set_parse(struct sds_span text, struct sds_set_doc *out, struct sds_err *err) {
    struct sds_document doc;
    struct sds_item top = sds_document_open(&doc, text, err);
    struct sds_set_doc set = {0};
    if (doc.kind == SDS_OK) {
        read_set(&top, &set);
        set.strings = sds_document_strings(&doc);
        set.memory = doc.memory;
    }
    if (doc.kind == SDS_OK) {
        *out = set;
    } else {
        sds_set_doc_fini(&set);
    }
    sds_document_close(&doc);
    return doc.kind;
}

void sds_set_doc_fini(struct sds_set_doc *set) {
    free(set->shards);
    free(set->strings);
    *set = (struct sds_set_doc){0};
}
