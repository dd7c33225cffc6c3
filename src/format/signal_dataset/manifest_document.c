// SPDX-License-Identifier: Apache-2.0
//
// Manifest pages, section 5.
#include "format/signal_dataset/documents.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/signal_dataset/document_reader.h"

// record_indices, appended at *next, which moves behind them; NULL when null or absent. An index
// beyond 64 bits is like any other behind the last record of its shard.
static const uint64_t *read_indices(const struct sds_item *entry, uint64_t record_count,
                                    uint64_t **next) {
    struct sds_item member = sds_item_member(entry, "record_indices");
    if (sds_item_is_none(&member)) {
        return NULL;
    }
    struct sds_item list = sds_read_sequence(entry, "record_indices");
    uint64_t count = sds_value_count(list.value);
    if (count != record_count) {
        sds_item_refuse(&list, "%" PRIu64 " indices for %" PRIu64 " records", count, record_count);
    }
    const uint64_t *indices = *next;
    struct sds_iter it = sds_value_iter(list.value);
    for (uint64_t i = 0; list.doc->kind == SDS_OK && sds_iter_next(&it); i++) {
        struct sds_item index = sds_item_element(&list, i, it.value);
        *(*next)++ = sds_read_saturated(&index);
    }
    return indices;
}

static void read_shard(const struct sds_item *entry, struct sds_shard_entry *shard,
                       uint64_t **next_index) {
    shard->first_ordinal = sds_read_count(entry, "first_ordinal", SDS_MAX_RECORDS);
    shard->record_count = sds_read_count(entry, "record_count", SDS_MAX_RECORDS);
    shard->data = sds_read_reference(entry, "data");
    shard->metadata = sds_read_reference(entry, "metadata");
    shard->metadata.is_metadata = true;
    shard->record_indices = read_indices(entry, shard->record_count, next_index);
}

// Reserves the memory of a page, each block in one piece: as many strings and indices as there are.
static void reserve(const struct sds_item *shards, struct sds_manifest_doc *manifest) {
    size_t string_room = 0;
    uint64_t index_count = 0;
    for (struct sds_iter it = sds_value_iter(shards->value); sds_iter_next(&it);) {
        string_room += sds_reference_room(sds_value_get(it.value, "data")) +
                       sds_reference_room(sds_value_get(it.value, "metadata"));
        index_count += sds_value_count(sds_value_get(it.value, "record_indices"));
    }
    sds_document_reserve(shards->doc, string_room);
    manifest->indices = sds_document_array(shards->doc, index_count, sizeof *manifest->indices);
    manifest->shards =
        sds_document_array(shards->doc, sds_value_count(shards->value), sizeof *manifest->shards);
}

static void read_shards(const struct sds_item *shards, struct sds_manifest_doc *manifest) {
    uint64_t *next_index = manifest->indices;
    uint64_t end = manifest->first_ordinal;
    struct sds_iter it = sds_value_iter(shards->value);
    while (shards->doc->kind == SDS_OK && sds_iter_next(&it)) {
        struct sds_item entry = sds_item_element(shards, manifest->shard_count, it.value);
        struct sds_shard_entry *shard = &manifest->shards[manifest->shard_count++];
        read_shard(&entry, shard, &next_index);
        sds_check_first(&entry, shard->first_ordinal, end);
        end += shard->record_count; // at most 10^6 entries of 2^40
        manifest->stored_bytes =
            sds_add_saturated(manifest->stored_bytes, shard->data.stored_bytes);
        manifest->stored_bytes =
            sds_add_saturated(manifest->stored_bytes, shard->metadata.stored_bytes);
    }
    sds_check_total(shards->outer, "record_count", manifest->record_count,
                    end - manifest->first_ordinal);
}

static void read_manifest(const struct sds_item *top, struct sds_manifest_doc *manifest) {
    sds_check_format(top, "signal-dataset.manifest");
    manifest->first_ordinal = sds_read_count(top, "first_ordinal", SDS_MAX_RECORDS);
    manifest->record_count = sds_read_count(top, "record_count", SDS_MAX_RECORDS);
    struct sds_item shards = sds_read_sequence(top, "shards");
    reserve(&shards, manifest);
    read_shards(&shards, manifest);
}

enum sds_kind sds_manifest_parse(struct sds_span text, struct sds_manifest_doc *out,
                                 struct sds_err *err) {
    struct sds_document doc;
    struct sds_item top = sds_document_open(&doc, text, err);
    struct sds_manifest_doc manifest = {0};
    if (doc.kind == SDS_OK) {
        read_manifest(&top, &manifest);
        manifest.strings = sds_document_strings(&doc);
        manifest.memory = doc.memory;
    }
    if (doc.kind == SDS_OK) {
        *out = manifest;
    } else {
        sds_manifest_doc_fini(&manifest);
    }
    sds_document_close(&doc);
    return doc.kind;
}

void sds_manifest_doc_fini(struct sds_manifest_doc *manifest) {
    free(manifest->shards);
    free(manifest->indices);
    free(manifest->strings);
    *manifest = (struct sds_manifest_doc){0};
}
