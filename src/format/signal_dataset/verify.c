// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "format/signal_dataset/ahead.h"
#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/disagree.h"
#include "format/signal_dataset/records.h"
#include "format/signal_dataset/shard.h"

#define SHARDS_AHEAD 8

struct verification {
    struct signal_dataset *ds;
    const struct sds_verify_options *options;
    uint64_t done, total;          // of records and rows, or of shards when records are not decoded
    struct sds_err could_not_look; // the first; kind SDS_OK when there was none
};

static void found(struct verification *v, enum sds_severity severity, const struct sds_err *what,
                  const char *path_fmt, ...) SDS_PRINTF(4, 5);

static void found(struct verification *v, enum sds_severity severity, const struct sds_err *what,
                  const char *path_fmt, ...) {
    char path[512];
    va_list args;
    va_start(args, path_fmt);
    vsnprintf(path, sizeof path, path_fmt, args);
    va_end(args);
    if (!sds_kind_is_verdict(what->kind) && v->could_not_look.kind == SDS_OK) {
        v->could_not_look = *what;
    }
    v->options->found(v->options->ctx, severity, path, what);
}

static void advance(struct verification *v, uint64_t by) {
    v->done += by;
    if (v->options->progress != NULL) {
        v->options->progress(v->options->ctx, v->done, v->total,
                             v->options->records ? "records" : "shards");
    }
}

// ---- records

struct record_place {
    struct verification *v;
    uint64_t ordinal;
};

static void tell_disagreement(void *ctx, const char *what) {
    const struct record_place *place = ctx;
    struct sds_err err;
    (void)!sds_fail(&err, SDS_ERR_CORRUPT, "disagreement", "metadata entry and payload differ: %s",
                    what);
    found(place->v, SDS_WARNING, &err, "records/%0*llu", (int)place->v->ds->ordinal_width,
          (unsigned long long)place->ordinal);
}

static void check_record(struct verification *v, uint64_t ordinal, bool data, bool metadata) {
    struct signal_dataset *ds = v->ds;
    struct sds_cache_ref *data_ref = NULL, *entry_ref = NULL;
    const struct stored_record *payload = NULL;
    const struct stored_record *entry = NULL;
    struct sds_err err;
    int width = (int)ds->ordinal_width;
    if (data && record_payload(ds, ordinal, &data_ref, &payload, &err) != SDS_OK) {
        found(v, SDS_PROBLEM, &err, "records/%0*llu/record.safetensors", width,
              (unsigned long long)ordinal);
    }
    if (metadata && record_entry(ds, ordinal, &entry_ref, &entry, &err) != SDS_OK) {
        found(v, SDS_PROBLEM, &err, "records/%0*llu/metadata.json", width,
              (unsigned long long)ordinal);
    }
    if (data_ref != NULL) {
        ahead_note(ds->ahead, ordinal, payload->blob->cap);
    }
    if (data_ref != NULL && entry_ref != NULL) {
        struct record_place place = {.v = v, .ordinal = ordinal};
        if (disagreements(&payload->record, &entry->record, tell_disagreement, &place) != SDS_OK) {
            (void)!sds_fail(&err, SDS_ERR_NO_MEMORY, "memory", "no memory to compare");
            found(v, SDS_PROBLEM, &err, "records/%0*llu", width, (unsigned long long)ordinal);
        }
    }
    sds_cache_release(data_ref);
    sds_cache_release(entry_ref);
    advance(v, 1);
}

// ---- shards

// How many records a shard file must hold for this entry.
static uint64_t records_needed(const struct sds_shard_entry *shard) {
    uint64_t needed = shard->record_indices == NULL ? shard->record_count : 0;
    for (uint64_t i = 0; shard->record_indices != NULL && i < shard->record_count; i++) {
        if (shard->record_indices[i] >= needed) {
            needed = shard->record_indices[i] + 1; // at most 2^64 - 1: the parser saw to it
        }
    }
    return needed;
}

static enum sds_kind check_shard_file(struct signal_dataset *ds,
                                      const struct sds_reference *reference, uint64_t needed,
                                      struct sds_err *err) {
    uint64_t count = 0;
    enum sds_kind kind = shard_count(ds, reference, &count, err);
    if (kind == SDS_OK && count < needed) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "index",
                        "the shard holds %llu records where its entry needs %llu",
                        (unsigned long long)count, (unsigned long long)needed);
        sds_err_object(err, "%s", reference->path);
    }
    return kind;
}

// An absolute reference is followed whatever its size, as the reference does; a user may still want
// to know.
static void check_absolute_size(struct verification *v, const struct sds_reference *reference,
                                uint64_t shard) {
    struct sds_cache_ref *ref = NULL;
    struct sds_object *object = NULL;
    struct sds_err err;
    if (!reference->absolute) {
        return;
    }
    if (shard_object(v->ds, reference, &ref, &object, &err) != SDS_OK) {
        found(v, SDS_PROBLEM, &err, "shards/%0*llu", (int)v->ds->shard_width,
              (unsigned long long)shard);
        return;
    }
    uint64_t size = sds_object_info(object)->size;
    sds_cache_release(ref);
    if (reference_check_size(reference, size, &err) != SDS_OK) {
        sds_err_object(&err, "%s", reference->path);
        found(v, SDS_WARNING, &err, "shards/%0*llu", (int)v->ds->shard_width,
              (unsigned long long)shard);
    }
}

// A shard file that cannot be opened is reported once, and not again for each of its records.
static bool check_file(struct verification *v, const struct sds_reference *reference,
                       uint64_t needed, uint64_t shard, const char *file) {
    struct sds_err err;
    if (check_shard_file(v->ds, reference, needed, &err) == SDS_OK) {
        check_absolute_size(v, reference, shard);
        return true;
    }
    found(v, SDS_PROBLEM, &err, "shards/%0*llu/%s", (int)v->ds->shard_width,
          (unsigned long long)shard, file);
    return false;
}

static void check_shard(struct verification *v, const struct sds_shard_entry *shard,
                        uint64_t number) {
    uint64_t needed = records_needed(shard);
    bool data = check_file(v, &shard->data, needed, number, "data.arrayrecord");
    bool metadata = check_file(v, &shard->metadata, needed, number, "metadata.arrayrecord");
    if (!v->options->records) {
        advance(v, 1);
        return;
    }
    for (uint64_t i = 0; (data || metadata) && i < shard->record_count; i++) {
        check_record(v, shard->first_ordinal + i, data, metadata);
    }
    if (!data && !metadata) {
        advance(v, shard->record_count);
    }
}

// On a server the shards that come next are on their way while one is checked.
static void prefetch_shards(struct verification *v, const struct sds_manifest_doc *page,
                            size_t number) {
    size_t from = number > 0 ? number + SHARDS_AHEAD : number + 1, to = number + SHARDS_AHEAD + 1;
    if (!sds_store_is_remote(v->ds->store)) {
        return;
    }
    for (size_t i = from; i < to && i < page->shard_count; i++) {
        shard_prefetch(v->ds, &page->shards[i].data);
        shard_prefetch(v->ds, &page->shards[i].metadata);
    }
}

static void check_page(struct verification *v, size_t number) {
    const struct sds_page_ref *reference = &v->ds->chain.snapshot.pages[number];
    struct sds_cache_ref *ref = NULL;
    const struct sds_manifest_doc *page = NULL;
    struct sds_err err;
    if (chain_page(v->ds, number, &ref, &page, &err) != SDS_OK) {
        char name[160];
        found(v, SDS_PROBLEM, &err, "%s",
              sds_quote(name, sizeof name, reference->object.path, reference->object.path_len));
        advance(v, v->options->records ? reference->record_count : reference->shard_count);
        return;
    }
    for (size_t i = 0; i < page->shard_count; i++) {
        prefetch_shards(v, page, i);
        check_shard(v, &page->shards[i], reference->first_shard + i);
    }
    sds_cache_release(ref);
}

// ---- annotations

static void check_row(struct verification *v, const struct annotation_set *set, uint64_t ordinal) {
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    struct sds_err err;
    if (annotation_row(v->ds, set, ordinal, &ref, &row, &err) != SDS_OK) {
        found(v, SDS_PROBLEM, &err, "records/%0*llu/annotations/%s", (int)v->ds->ordinal_width,
              (unsigned long long)ordinal, set->name);
    }
    sds_cache_release(ref);
    advance(v, 1);
}

static enum sds_kind check_carrier(struct signal_dataset *ds, const struct sds_carrier_shard *shard,
                                   struct sds_err *err) {
    if (!shard->object.absolute) {
        return check_shard_file(ds, &shard->object, shard->record_count, err);
    }
    enum sds_kind kind =
        sds_fail(err, SDS_ERR_CORRUPT, "path", "a carrier shard must lie below the root");
    sds_err_object(err, "%s", shard->object.path);
    return kind;
}

static void check_set(struct verification *v, const struct annotation_set *set) {
    struct sds_cache_ref *ref = NULL;
    const struct sds_set_doc *doc = NULL;
    struct sds_err err;
    if (annotation_set_doc(v->ds, set, &ref, &doc, &err) != SDS_OK) {
        found(v, SDS_PROBLEM, &err, "annotations/sets/%s", set->name);
        return;
    }
    for (size_t i = 0; i < doc->shard_count; i++) {
        const struct sds_carrier_shard *shard = &doc->shards[i];
        bool sound = check_carrier(v->ds, shard, &err) == SDS_OK;
        if (!sound) {
            found(v, SDS_PROBLEM, &err, "annotations/sets/%s", set->name);
        }
        for (uint64_t k = 0; sound && v->options->records && k < shard->record_count; k++) {
            check_row(v, set, shard->first_ordinal + k);
        }
        if (!v->options->records) {
            advance(v, 1);
        } else if (!sound) {
            advance(v, shard->record_count);
        }
    }
    sds_cache_release(ref);
}

static uint64_t count_work(const struct signal_dataset *ds,
                           const struct annotation_catalog *catalog, bool records) {
    const struct sds_snapshot_doc *snapshot = &ds->chain.snapshot;
    uint64_t total = records ? snapshot->record_count : snapshot->shard_count;
    for (size_t i = 0; i < catalog->count; i++) {
        const struct annotation_set *set = catalog->sets[i];
        total += records ? set->record_count : set->shard_count;
    }
    return total;
}

enum sds_kind verify(struct signal_dataset *ds, const struct sds_verify_options *options,
                     struct sds_err *err) {
    struct annotation_catalog *catalog = annotations_hold(ds);
    struct verification v = {
        .ds = ds, .options = options, .total = count_work(ds, catalog, options->records)};
    for (size_t i = 0; i < ds->chain.snapshot.page_count; i++) {
        check_page(&v, i);
    }
    for (size_t i = 0; i < catalog->count; i++) {
        check_set(&v, catalog->sets[i]);
    }
    catalog_unref(catalog);
    if (v.could_not_look.kind != SDS_OK && err != NULL) {
        *err = v.could_not_look;
    }
    return v.could_not_look.kind;
}
