// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/annotations.h"

#include <stdlib.h>
#include <string.h>

#include "format/signal_dataset/again.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/records.h"
#include "format/signal_dataset/shard.h"

// ---- set roots

struct set_load {
    struct signal_dataset *ds;
    const struct annotation_set *set;
};

static void free_set_doc(void *value) {
    sds_set_doc_fini(value);
    free(value);
}

static enum sds_kind mismatch(struct sds_err *err, const char *check, const char *what) {
    return sds_fail(err, SDS_ERR_CORRUPT, check, "%s", what);
}

// What a set root must have in common with the catalog and the dataset.
static enum sds_kind compare_set(const struct set_load *load, const struct sds_set_doc *set,
                                 struct sds_err *err) {
    const struct sds_snapshot_doc *snapshot = &load->ds->chain.snapshot;
    if (set->record_count != snapshot->record_count) {
        return sds_fail(
            err, SDS_ERR_CORRUPT, "record_count", "the set has %llu rows for %llu records",
            (unsigned long long)set->record_count, (unsigned long long)snapshot->record_count);
    }
    if (strcmp(set->name, load->set->name) != 0) {
        return mismatch(err, "name", "the set's name is not the one in the catalog");
    }
    if (!sds_span_eq(sds_span(set->source_snapshot_id, set->source_snapshot_id_len),
                     sds_span(snapshot->snapshot_id, snapshot->snapshot_id_len))) {
        return mismatch(err, "source_snapshot_id", "the set belongs to another snapshot");
    }
    return SDS_OK;
}

static enum sds_kind parse_set(const struct set_load *load, struct sds_set_doc *set,
                               struct sds_err *err) {
    const struct sds_reference *root = &load->set->root;
    struct gate *gate = &load->ds->gate;
    struct sds_blob *text = NULL;
    enum sds_kind kind = gate_enter_document(gate, load->ds->cache, root->stored_bytes, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = reference_read(load->ds->store, root->path, root, &text, err);
    if (kind == SDS_OK) {
        kind = sds_set_parse(sds_span(text->at, text->len), set, err);
        sds_blob_unref(text);
    }
    gate_leave_document(gate, root->stored_bytes);
    return kind;
}

static enum sds_kind read_set(const struct set_load *load, struct sds_set_doc *set,
                              struct sds_err *err) {
    const struct sds_reference *root = &load->set->root;
    for (;;) {
        uint64_t since = sds_store_doubts(load->ds->store);
        enum sds_kind kind = parse_set(load, set, err);
        if (kind == SDS_OK) {
            kind = compare_set(load, set, err);
        }
        if (!document_again(load->ds->store, root->path, root, since, kind)) {
            return kind;
        }
        sds_set_doc_fini(set);
    }
}

static enum sds_kind load_set_doc(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct set_load *load = ctx;
    const struct sds_reference *root = &load->set->root;
    struct sds_set_doc *set = calloc(1, sizeof *set);
    enum sds_kind kind = set == NULL
                             ? sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a set")
                             : read_set(load, set, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", root->path);
        if (set != NULL) {
            free_set_doc(set);
        }
        return in_chain(kind, err);
    }
    *value = set;
    *cost = set->memory;
    return SDS_OK;
}

enum sds_kind annotation_set_doc(struct signal_dataset *ds, const struct annotation_set *set,
                                 struct sds_cache_ref **ref, const struct sds_set_doc **out,
                                 struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_set_doc, .free = free_set_doc};
    struct set_load load = {.ds = ds, .set = set};
    struct sds_cache_key key = cached_key(CACHED_SET, 0, set->root.path_hash);
    void *value = NULL;
    enum sds_kind kind = sds_cache_get(ds->cache, key, &class, &load, ref, &value, err);
    *out = value;
    return kind;
}

// ---- rows

struct row_load {
    struct signal_dataset *ds;
    const struct annotation_set *set;
    uint64_t ordinal;
};

static void free_row(void *value) {
    struct row *row = value;
    sds_annotation_fini(&row->annotation);
    sds_blob_unref(row->blob);
    free(row);
}

// The shard of a set that holds a row; ordinal < record_count.
static const struct sds_carrier_shard *find_carrier(const struct sds_set_doc *set,
                                                    uint64_t ordinal) {
    size_t low = 0, high = set->shard_count;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        *(set->shards[mid].first_ordinal <= ordinal ? &low : &high) = mid;
    }
    return &set->shards[low];
}

static enum sds_kind read_carrier(const struct row_load *load, struct row *row,
                                  struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct sds_set_doc *set = NULL;
    enum sds_kind kind = annotation_set_doc(load->ds, load->set, &ref, &set, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct sds_carrier_shard *shard = find_carrier(set, load->ordinal);
    if (shard->object.absolute) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "path", "a carrier shard must lie below the root");
        sds_err_object(err, "%s", shard->object.path);
    } else {
        kind = shard_record(load->ds, &shard->object, load->ordinal - shard->first_ordinal,
                            &row->blob, &row->bytes, err);
    }
    if (kind == SDS_OK) {
        kind = sds_annotation_decode(row->bytes, &row->annotation, err);
        if (kind != SDS_OK) {
            sds_err_object(err, "%s record %llu", shard->object.path,
                           (unsigned long long)(load->ordinal - shard->first_ordinal));
        }
    }
    sds_cache_release(ref);
    return kind;
}

// A row belongs to the record whose ordinal and id it names.
static enum sds_kind check_identity(const struct row_load *load, const struct row *row,
                                    struct sds_err *err) {
    if (row->annotation.source_index != load->ordinal) {
        return sds_fail(err, SDS_ERR_CORRUPT, "source_index", "the row is for ordinal %llu",
                        (unsigned long long)row->annotation.source_index);
    }
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *entry = NULL;
    enum sds_kind kind = record_entry(load->ds, load->ordinal, &ref, &entry, err);
    if (kind != SDS_OK) {
        sds_err_context(err, "the record's id cannot be told");
        return kind;
    }
    struct sds_value id = entry->record.id;
    if (sds_value_type(id) != SDS_JSON_STRING ||
        !sds_string_eq(id, row->annotation.source_record_id)) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "source_record_id",
                        "the row names a record id that is not the record's");
    }
    sds_cache_release(ref);
    return kind;
}

static enum sds_kind load_row(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct row_load *load = ctx;
    struct row *row = calloc(1, sizeof *row);
    if (row == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a row");
    }
    enum sds_kind kind = read_carrier(load, row, err);
    if (kind == SDS_OK) {
        kind = check_identity(load, row, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "annotation set %s row %llu", load->set->name,
                       (unsigned long long)load->ordinal);
        free_row(row);
        return kind;
    }
    *value = row;
    *cost = row->blob->cap + sds_record_memory(&row->annotation.carrier) + sizeof *row;
    return SDS_OK;
}

enum sds_kind annotation_row(struct signal_dataset *ds, const struct annotation_set *set,
                             uint64_t ordinal, struct sds_cache_ref **ref, const struct row **out,
                             struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_row, .free = free_row};
    struct row_load load = {.ds = ds, .set = set, .ordinal = ordinal};
    void *value = NULL;
    enum sds_kind kind = sds_cache_get(ds->cache, cached_key(CACHED_ROW, set->hash, ordinal),
                                       &class, &load, ref, &value, err);
    *out = value;
    return kind;
}

bool annotation_row_at_hand(struct signal_dataset *ds, const struct annotation_set *set,
                            uint64_t ordinal, struct sds_cache_ref **ref, const struct row **out) {
    void *value = NULL;
    *ref = sds_cache_peek(ds->cache, cached_key(CACHED_ROW, set->hash, ordinal), &value);
    *out = value;
    return *ref != NULL;
}
