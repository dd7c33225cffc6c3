// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/annotations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"
#include "format/signal_dataset/records.h"
#include "format/signal_dataset/shard.h"

static void catalog_free(struct annotation_catalog *catalog) {
    if (catalog != NULL) {
        for (size_t i = 0; i < catalog->count; i++) {
            free(catalog->sets[i].name);
            free(catalog->sets[i].publication_id);
        }
        free(catalog->sets);
        sds_revision_doc_fini(&catalog->revision);
        sds_blob_unref(catalog->pointer);
        free(catalog);
    }
}

void annotations_close(struct signal_dataset *ds) {
    catalog_free(ds->catalog);
    ds->catalog = NULL;
}

// ---- set roots

struct set_load {
    struct signal_dataset *ds;
    const char *name;
    const struct sds_reference *root;
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
    if (strcmp(set->name, load->name) != 0) {
        return mismatch(err, "name", "the set's name is not the one in the catalog");
    }
    if (!sds_span_eq(sds_span(set->source_snapshot_id, set->source_snapshot_id_len),
                     sds_span(snapshot->snapshot_id, snapshot->snapshot_id_len))) {
        return mismatch(err, "source_snapshot_id", "the set belongs to another snapshot");
    }
    return SDS_OK;
}

static enum sds_kind load_set_doc(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct set_load *load = ctx;
    struct sds_blob *text = NULL;
    struct sds_set_doc *set = calloc(1, sizeof *set);
    gate_enter_document(&load->ds->gate, load->ds->cache, load->root->stored_bytes);
    enum sds_kind kind =
        set == NULL ? sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a set")
                    : reference_read(load->ds->store, load->root->path, load->root, &text, err);
    if (kind == SDS_OK) {
        kind = sds_set_parse(sds_span(text->at, text->len), set, err);
        sds_blob_unref(text);
    }
    gate_leave_document(&load->ds->gate, load->root->stored_bytes);
    if (kind == SDS_OK) {
        kind = compare_set(load, set, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", load->root->path);
        if (set != NULL) {
            free_set_doc(set);
        }
        return in_chain(kind, err);
    }
    *value = set;
    *cost = set->memory;
    return SDS_OK;
}

static enum sds_kind get_set_doc(struct signal_dataset *ds, const char *name,
                                 const struct sds_reference *root, struct sds_cache_ref **ref,
                                 const struct sds_set_doc **out, struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_set_doc, .free = free_set_doc};
    struct set_load load = {.ds = ds, .name = name, .root = root};
    struct sds_cache_key key = cached_key(CACHED_SET, 0, root->path_hash);
    void *value = NULL;
    enum sds_kind kind = sds_cache_get(ds->cache, key, &class, &load, ref, &value, err);
    *out = value;
    return kind;
}

enum sds_kind annotation_set_doc(struct signal_dataset *ds, const struct annotation_set *set,
                                 struct sds_cache_ref **ref, const struct sds_set_doc **out,
                                 struct sds_err *err) {
    return get_set_doc(ds, set->name, &set->root, ref, out, err);
}

// ---- catalog

static uint64_t identity(const char *name, const char *publication_id) {
    char both[300];
    int n = snprintf(both, sizeof both, "%s/%s", name, publication_id);
    uint64_t hash = sds_hash_stable(sds_span(both, (size_t)n));
    return hash != 0 ? hash : 1;
}

// Two sets with one short hash: the later one in the catalog takes the next free slot.
static uint32_t free_slot(const struct annotation_catalog *catalog, uint64_t hash,
                          uint32_t slot_mask) {
    uint32_t slot = (uint32_t)hash & slot_mask;
    for (size_t i = 0; i < catalog->count; i++) {
        if (catalog->sets[i].slot == slot) {
            slot = (slot + 1) & slot_mask;
            i = SIZE_MAX; // from the first again
        }
    }
    return slot;
}

static enum sds_kind open_set(struct signal_dataset *ds, struct annotation_catalog *catalog,
                              const struct sds_set_ref *listed, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct sds_set_doc *doc = NULL;
    enum sds_kind kind = get_set_doc(ds, listed->name, &listed->object, &ref, &doc, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct annotation_set set = {
        .name = strdup(doc->name),
        .publication_id = strdup(doc->publication_id),
        .root = listed->object,
        .record_count = doc->record_count,
        .shard_count = doc->shard_count,
        .hash = identity(doc->name, doc->publication_id),
    };
    sds_cache_release(ref);
    if (set.name == NULL || set.publication_id == NULL) {
        free(set.name);
        free(set.publication_id);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an annotation set");
    }
    set.slot = free_slot(catalog, set.hash, nodes_slot_mask(ds));
    catalog->sets[catalog->count++] = set;
    return SDS_OK;
}

static enum sds_kind open_sets(struct signal_dataset *ds, struct annotation_catalog *catalog,
                               struct sds_err *err) {
    size_t count = catalog->revision.count;
    if (count > MAX_ANNOTATION_SETS) {
        return sds_fail(err, SDS_ERR_LIMIT, "sets", "%zu annotation sets are more than %d", count,
                        MAX_ANNOTATION_SETS);
    }
    catalog->sets = calloc(count + 1, sizeof *catalog->sets);
    if (catalog->sets == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %zu sets", count);
    }
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < count; i++) {
        kind = open_set(ds, catalog, &catalog->revision.sets[i], err);
    }
    return kind;
}

// The revision's name is the hash of its bytes: compared before anything is parsed.
static enum sds_kind open_revision(struct signal_dataset *ds, struct annotation_catalog *catalog,
                                   struct sds_err *err) {
    const char *path = catalog->document.revision_path;
    struct sds_blob *text = NULL;
    enum sds_kind kind =
        reference_check_pin(catalog->document.pinned, catalog->document.generation, err);
    if (kind == SDS_OK) {
        kind =
            sds_store_read_all(ds->store, path, SDS_MAX_DOCUMENT_BYTES, SDS_IMMUTABLE, &text, err);
    }
    if (kind == SDS_OK) {
        char hash[SDS_SHA256_HEX];
        sds_sha256_hex(sds_span(text->at, text->len), hash);
        catalog->revision_bytes = text->len;
        if (strcmp(hash, catalog->document.revision_hash) != 0) {
            kind = sds_fail(err, SDS_ERR_CORRUPT, "sha256", "the SHA-256 of its bytes is %s", hash);
        }
    }
    if (kind == SDS_OK) {
        kind = sds_revision_parse(sds_span(text->at, text->len), &catalog->revision, err);
    }
    sds_blob_unref(text);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
    }
    return in_chain(kind, err);
}

static enum sds_kind open_pointer(struct signal_dataset *ds, struct annotation_catalog *catalog,
                                  struct sds_err *err) {
    enum sds_kind kind = sds_store_read_all(ds->store, CATALOG_PATH, SDS_MAX_DOCUMENT_BYTES,
                                            SDS_REPLACEABLE, &catalog->pointer, err);
    if (kind == SDS_OK) {
        kind = sds_catalog_parse(sds_span(catalog->pointer->at, catalog->pointer->len),
                                 &catalog->document, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, CATALOG_PATH);
    }
    return kind;
}

static enum sds_kind load_catalog(struct signal_dataset *ds, struct annotation_catalog **out,
                                  struct sds_err *err) {
    struct annotation_catalog *catalog = calloc(1, sizeof *catalog);
    if (catalog == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a catalog");
    }
    enum sds_kind kind = open_pointer(ds, catalog, err);
    bool absent = kind == SDS_ERR_NOT_FOUND;
    if (kind == SDS_OK) {
        kind = open_revision(ds, catalog, err);
    }
    if (kind == SDS_OK) {
        kind = open_sets(ds, catalog, err);
    }
    if (kind != SDS_OK && !absent) {
        catalog_free(catalog);
        return kind;
    }
    *out = catalog;
    return SDS_OK;
}

enum sds_kind annotations_open(struct signal_dataset *ds, struct sds_err *err) {
    struct sds_err why;
    enum sds_kind kind = load_catalog(ds, &ds->catalog, &why);
    if (kind != SDS_OK && ds->options.tolerate_annotations) {
        if (ds->options.warn != NULL) {
            ds->options.warn(ds->options.ctx, &why);
        }
        ds->catalog = calloc(1, sizeof *ds->catalog);
        kind = ds->catalog != NULL ? SDS_OK : SDS_ERR_NO_MEMORY;
    }
    if (kind != SDS_OK) {
        sds_err_hint(&why, "option tolerate=annotations mounts without annotations");
        if (err != NULL) {
            *err = why;
        }
    }
    return kind;
}

const struct annotation_set *annotations_find(const struct signal_dataset *ds,
                                              struct sds_span name) {
    for (size_t i = 0; i < ds->catalog->count; i++) {
        if (sds_span_eq(name, sds_span_str(ds->catalog->sets[i].name))) {
            return &ds->catalog->sets[i];
        }
    }
    return NULL;
}

const struct annotation_set *annotations_by_slot(const struct signal_dataset *ds, uint32_t slot) {
    for (size_t i = 0; i < ds->catalog->count; i++) {
        if (ds->catalog->sets[i].slot == slot) {
            return &ds->catalog->sets[i];
        }
    }
    return NULL;
}

const struct annotation_set *annotations_by_hash(const struct signal_dataset *ds, uint64_t hash) {
    for (size_t i = 0; i < ds->catalog->count; i++) {
        if (ds->catalog->sets[i].hash == hash) {
            return &ds->catalog->sets[i];
        }
    }
    return NULL;
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
