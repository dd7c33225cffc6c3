// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/records.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/shard.h"

// Both kinds of record are had alike, and differ in how they are decoded.
struct record_load {
    struct signal_dataset *ds;
    const struct sds_reference *reference;
    uint64_t index;
    enum sds_kind (*decode)(struct sds_span bytes, struct sds_record *out, struct sds_err *err);
};

static void free_record(void *value) {
    struct stored_record *stored = value;
    sds_record_fini(&stored->record);
    sds_blob_unref(stored->blob);
    free(stored);
}

static enum sds_kind load_record(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct record_load *load = ctx;
    struct stored_record *stored = calloc(1, sizeof *stored);
    if (stored == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a record");
    }
    enum sds_kind kind =
        shard_record(load->ds, load->reference, load->index, &stored->blob, &stored->bytes, err);
    if (kind == SDS_OK) {
        // An entry is JSON throughout; a payload is mostly tensors.
        uint64_t json = load->decode == sds_metadata_decode ? stored->bytes.len : 0;
        kind = gate_enter_document(&load->ds->gate, load->ds->cache, json, err);
        if (kind == SDS_OK) {
            uint64_t began = sds_clock_ns();
            kind = load->decode(stored->bytes, &stored->record, err);
            atomic_fetch_add_explicit(&load->ds->decode_ns, sds_clock_ns() - began,
                                      memory_order_relaxed);
            gate_leave_document(&load->ds->gate, json);
        }
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s record %llu", load->reference->path,
                       (unsigned long long)load->index);
        free_record(stored);
        return kind;
    }
    *value = stored;
    *cost = stored->blob->cap + sds_record_memory(&stored->record) + sizeof *stored;
    return SDS_OK;
}

static enum sds_kind get_record(enum cached_kind what, struct record_load *load,
                                struct sds_cache_ref **ref, const struct stored_record **out,
                                struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_record, .free = free_record};
    struct sds_cache_key key = cached_key(what, reference_key(load->reference), load->index);
    void *value = NULL;
    enum sds_kind kind = sds_cache_get(load->ds->cache, key, &class, load, ref, &value, err);
    *out = value;
    return kind;
}

enum sds_kind record_payload(struct signal_dataset *ds, uint64_t ordinal,
                             struct sds_cache_ref **ref, const struct stored_record **out,
                             struct sds_err *err) {
    struct location at;
    enum sds_kind kind = chain_locate(ds, ordinal, &at, err);
    if (kind == SDS_OK) {
        struct record_load load = {.ds = ds,
                                   .reference = &at.shard->data,
                                   .index = at.physical,
                                   .decode = sds_record_decode};
        kind = get_record(CACHED_PAYLOAD, &load, ref, out, err);
        location_fini(&at);
    }
    return kind;
}

enum sds_kind record_entry(struct signal_dataset *ds, uint64_t ordinal, struct sds_cache_ref **ref,
                           const struct stored_record **out, struct sds_err *err) {
    struct location at;
    enum sds_kind kind = chain_locate(ds, ordinal, &at, err);
    if (kind == SDS_OK) {
        struct record_load load = {.ds = ds,
                                   .reference = &at.shard->metadata,
                                   .index = at.physical,
                                   .decode = sds_metadata_decode};
        kind = get_record(CACHED_ENTRY, &load, ref, out, err);
        location_fini(&at);
    }
    return kind;
}

enum sds_kind record_payload_size(struct signal_dataset *ds, uint64_t ordinal, uint64_t *out,
                                  struct sds_err *err) {
    struct location at;
    enum sds_kind kind = chain_locate(ds, ordinal, &at, err);
    if (kind == SDS_OK) {
        kind = shard_record_size(ds, &at.shard->data, at.physical, out, err);
        location_fini(&at);
    }
    return kind;
}

enum sds_kind record_fields(struct signal_dataset *ds, uint64_t ordinal, struct record_fields *out,
                            struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *entry = NULL;
    struct sds_err why;
    enum sds_kind kind = record_entry(ds, ordinal, &ref, &entry, &why);
    if (kind == SDS_OK) {
        *out = (struct record_fields){.ref = ref, .record = &entry->record};
        return SDS_OK;
    }
    const struct stored_record *payload = NULL;
    struct sds_err also;
    enum sds_kind second =
        sds_kind_is_verdict(kind) ? record_payload(ds, ordinal, &ref, &payload, &also) : kind;
    if (second == SDS_OK) {
        *out = (struct record_fields){.ref = ref, .record = &payload->record};
        return SDS_OK;
    }
    // The entry's error is what should have told, unless the payload still may.
    bool open = sds_kind_is_verdict(kind) && !sds_kind_is_verdict(second);
    if (err != NULL) {
        *err = open ? also : why;
    }
    return open ? second : kind;
}

// The value under a record's key in one of its shards, if it is there.
static struct sds_cache_ref *peek_record(struct signal_dataset *ds, enum cached_kind what,
                                         const struct sds_reference *reference, uint64_t index,
                                         const struct stored_record **out) {
    void *value = NULL;
    struct sds_cache_ref *ref =
        sds_cache_peek(ds->cache, cached_key(what, reference_key(reference), index), &value);
    *out = value;
    return ref;
}

bool record_fields_at_hand(struct signal_dataset *ds, uint64_t ordinal, struct record_fields *out) {
    struct location at;
    const struct stored_record *found = NULL;
    *out = (struct record_fields){0};
    if (!chain_locate_at_hand(ds, ordinal, &at)) {
        return false;
    }
    out->ref = peek_record(ds, CACHED_ENTRY, &at.shard->metadata, at.physical, &found);
    if (out->ref == NULL) {
        out->ref = peek_record(ds, CACHED_PAYLOAD, &at.shard->data, at.physical, &found);
    }
    location_fini(&at);
    out->record = out->ref != NULL ? &found->record : NULL;
    return out->ref != NULL;
}

void record_fields_fini(struct record_fields *fields) {
    sds_cache_release(fields->ref);
    fields->ref = NULL;
}

enum sds_kind entry_render(const struct stored_record *entry, struct sds_buf *out) {
    struct sds_value top = sds_json_top(entry->record.doc);
    enum sds_kind kind = sds_value_render(top, 0, out);
    if (kind == SDS_ERR_LIMIT) { // a million values, each behind 250 spaces
        out->len = 0;
        kind = sds_buf_add_span(out, sds_value_text(top));
    }
    return kind == SDS_OK ? sds_buf_add(out, "\n", 1) : kind;
}

static bool same_shape(const struct sds_field *a, const struct sds_field *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

enum sds_kind field_in_payload(const struct stored_record *payload, const struct sds_field *wanted,
                               const struct sds_field **out, struct sds_err *err) {
    int32_t i = sds_record_find(&payload->record, wanted->name);
    if (i < 0) {
        return sds_fail(err, SDS_ERR_CORRUPT, "field",
                        "the metadata entry has field %s, the record's payload has not",
                        SDS_QUOTE(wanted->name.at, wanted->name.len));
    }
    const struct sds_field *found = &payload->record.fields[i];
    if (found->dtype != wanted->dtype || !same_shape(found, wanted)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "field",
                        "field %s has another dtype or shape in the payload (%s, rank %u) than in "
                        "the metadata entry (%s, rank %u)",
                        SDS_QUOTE(wanted->name.at, wanted->name.len), sds_dtype_numpy(found->dtype),
                        found->rank, sds_dtype_numpy(wanted->dtype), wanted->rank);
    }
    *out = found;
    return SDS_OK;
}
