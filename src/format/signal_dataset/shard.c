// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/shard.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "format/array_record/array_record.h"
#include "format/signal_dataset/again.h"
#include "format/signal_dataset/dataset.h"

#define SMALLEST_CHUNK_LIMIT ((uint64_t)1 << 30)

struct shard {
    struct signal_dataset *ds;
    struct sds_object *object;
    struct sds_ar_index *index;
};

struct shard_load {
    struct signal_dataset *ds;
    const struct sds_reference *reference;
};

// Where a record lies in a shard that is kept open.
struct place {
    struct sds_cache_ref *ref;
    const struct shard *shard;
    const struct sds_reference *reference;
    uint64_t chunk;
    uint32_t index; // in the chunk
};

static enum sds_kind open_object(struct signal_dataset *ds, const struct sds_reference *reference,
                                 struct sds_object **out, struct sds_err *err) {
    struct sds_expected expected = reference_expected(reference);
    enum sds_kind kind =
        reference->absolute
            ? sds_store_external(ds->store, reference->path, &expected, out, err)
            : sds_store_object(ds->store, reference->path, SDS_IMMUTABLE, &expected, out, err);
    return in_chain(kind, err);
}

// Where the store has not looked yet it believes the reference, and compares when it reads.
static enum sds_kind check_size(const struct sds_object *object,
                                const struct sds_reference *reference, struct sds_err *err) {
    if (reference->absolute) {
        return SDS_OK;
    }
    enum sds_kind kind = reference_check_size(reference, sds_object_info(object)->size, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", reference->path);
    }
    return kind;
}

static void free_object(void *value) {
    sds_object_close(value);
}

static enum sds_kind load_object(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct shard_load *load = ctx;
    struct sds_object *object = NULL;
    enum sds_kind kind = open_object(load->ds, load->reference, &object, err);
    *value = object;
    *cost = load->ds->descriptor_cost;
    return kind;
}

enum sds_kind shard_object(struct signal_dataset *ds, const struct sds_reference *reference,
                           struct sds_cache_ref **ref, struct sds_object **out,
                           struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_object, .free = free_object};
    struct shard_load load = {.ds = ds, .reference = reference};
    struct sds_cache_key key = cached_key(CACHED_OBJECT, 0, reference_key(reference));
    void *value = NULL;
    enum sds_kind kind = sds_cache_get(ds->cache, key, &class, &load, ref, &value, err);
    if (kind == SDS_OK && (kind = check_size(value, reference, err)) != SDS_OK) {
        sds_cache_release(*ref);
    }
    *out = value;
    return kind;
}

static void free_shard(void *value) {
    struct shard *shard = value;
    sds_ar_close(shard->index);
    sds_object_close(shard->object);
    free(shard);
}

// A chunk may hold many records, so it may be larger than the largest record.
uint64_t shard_chunk_limit(const struct signal_dataset *ds) {
    uint64_t record = ds->options.max_record;
    return record > SMALLEST_CHUNK_LIMIT ? record : SMALLEST_CHUNK_LIMIT;
}

// What opening a shard reads, so that it is all on its way at once: the signature and the end, with
// postscript and footer (33 bytes a chunk at most).
#define INDEX_TAIL ((uint64_t)256 << 10)
#define SIGNATURE_BYTES 64

static void prefetch_index(struct sds_object *object) {
    uint64_t size = sds_object_info(object)->size;
    if (size <= 2 * INDEX_TAIL) {
        sds_object_prefetch(object, 0, size);
    } else {
        sds_object_prefetch(object, 0, SIGNATURE_BYTES);
        sds_object_prefetch(object, size - INDEX_TAIL, INDEX_TAIL);
    }
}

static void prefetch_whole(struct sds_object *object) {
    sds_object_prefetch(object, 0, sds_object_info(object)->size);
}

static void prefetch(struct signal_dataset *ds, const struct sds_reference *reference,
                     void (*what)(struct sds_object *object)) {
    struct sds_object *object = NULL;
    // One that promises no size would have to be asked for.
    if (reference_expected(reference).sized &&
        open_object(ds, reference, &object, NULL) == SDS_OK) {
        what(object);
        sds_object_close(object);
    }
}

void shard_prefetch(struct signal_dataset *ds, const struct sds_reference *reference) {
    prefetch(ds, reference, prefetch_index);
}

void shard_prefetch_whole(struct signal_dataset *ds, const struct sds_reference *reference) {
    prefetch(ds, reference, prefetch_whole);
}

static enum sds_kind open_index(struct shard *shard, struct sds_err *err) {
    struct sds_ar_limits limits = {.chunk_bytes = shard_chunk_limit(shard->ds)};
    struct attempt attempt;
    enum sds_kind kind;
    do {
        attempt_begin(&attempt, shard->object);
        struct sds_ar_source source = attempt_source(&attempt);
        prefetch_index(shard->object);
        kind = sds_ar_open(&source, &limits, &shard->index, err);
    } while (attempt_again(&attempt, kind));
    return kind;
}

static enum sds_kind load_shard(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct shard_load *load = ctx;
    struct shard *shard = calloc(1, sizeof *shard);
    if (shard == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a shard");
    }
    shard->ds = load->ds;
    enum sds_kind kind = open_object(load->ds, load->reference, &shard->object, err);
    if (kind == SDS_OK) {
        kind = check_size(shard->object, load->reference, err); // says more than "no ArrayRecord"
    }
    if (kind == SDS_OK) {
        kind = open_index(shard, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", load->reference->path);
        free_shard(shard);
        return kind;
    }
    *value = shard;
    *cost = sds_ar_memory(shard->index) + load->ds->descriptor_cost;
    return SDS_OK;
}

static enum sds_kind open_shard(struct signal_dataset *ds, const struct sds_reference *reference,
                                struct sds_cache_ref **ref, const struct shard **out,
                                struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_shard, .free = free_shard};
    struct shard_load load = {.ds = ds, .reference = reference};
    struct sds_cache_key key = cached_key(CACHED_SHARD, 0, reference_key(reference));
    void *value = NULL;
    enum sds_kind kind = sds_cache_get(ds->cache, key, &class, &load, ref, &value, err);
    if (kind == SDS_OK) {
        *out = value;
        kind = check_size((*out)->object, reference, err);
        if (kind != SDS_OK) {
            sds_cache_release(*ref);
        }
    }
    return kind;
}

// Opens a shard and finds a record in it; out->ref is to be released.
static enum sds_kind find_record(struct signal_dataset *ds, const struct sds_reference *reference,
                                 uint64_t index, struct place *out, struct sds_err *err) {
    *out = (struct place){.reference = reference};
    enum sds_kind kind = open_shard(ds, reference, &out->ref, &out->shard, err);
    if (kind != SDS_OK) {
        return kind;
    }
    uint64_t count = sds_ar_record_count(out->shard->index);
    if (index >= count) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "index",
                        "the shard holds %llu records, so there is none with index %llu",
                        (unsigned long long)count, (unsigned long long)index);
        sds_err_object(err, "%s", reference->path);
        sds_cache_release(out->ref);
        return kind;
    }
    sds_ar_locate(out->shard->index, index, &out->chunk, &out->index);
    return SDS_OK;
}

// Whether a record has its chunk for itself.
static bool is_single(const struct place *place) {
    return sds_ar_group_size(place->shard->index) == 1;
}

// What is cached of a chunk.
static enum sds_kind of_chunk(struct place *place, enum cached_kind what,
                              const struct sds_cache_class *class, struct sds_cache_ref **ref,
                              void **value, struct sds_err *err) {
    struct sds_cache_key key = cached_key(what, reference_key(place->reference), place->chunk);
    return sds_cache_get(place->shard->ds->cache, key, class, place, ref, value, err);
}

enum sds_kind shard_count(struct signal_dataset *ds, const struct sds_reference *reference,
                          uint64_t *out, struct sds_err *err) {
    const struct shard *shard = NULL;
    struct sds_cache_ref *ref = NULL;
    enum sds_kind kind = open_shard(ds, reference, &ref, &shard, err);
    if (kind == SDS_OK) {
        *out = sds_ar_record_count(shard->index);
        sds_cache_release(ref);
    }
    return kind;
}

struct sizes {
    uint64_t count;
    uint64_t of[];
};

static enum sds_kind read_sizes(const struct place *place, struct sizes *out, struct sds_err *err) {
    struct attempt attempt;
    enum sds_kind kind;
    do {
        attempt_begin(&attempt, place->shard->object);
        struct sds_ar_source source = attempt_source(&attempt);
        kind = sds_ar_record_sizes(place->shard->index, &source, place->chunk, out->of, err);
    } while (attempt_again(&attempt, kind));
    return kind;
}

static enum sds_kind load_sizes(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct place *place = ctx;
    const struct sds_ar_index *index = place->shard->index;
    size_t bytes = sizeof(struct sizes) + sds_ar_group_size(index) * sizeof(uint64_t);
    struct sizes *sizes = malloc(bytes);
    enum sds_kind kind =
        sizes == NULL ? sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for record sizes")
                      : read_sizes(place, sizes, err);
    if (kind != SDS_OK) {
        free(sizes);
        return kind;
    }
    *value = sizes;
    *cost = bytes;
    return SDS_OK;
}

static enum sds_kind size_in_group(struct place *place, uint64_t *out, struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_sizes, .free = free};
    struct sds_cache_ref *ref = NULL;
    void *value = NULL;
    enum sds_kind kind = of_chunk(place, CACHED_SIZES, &class, &ref, &value, err);
    if (kind == SDS_OK) {
        *out = ((const struct sizes *)value)->of[place->index];
        sds_cache_release(ref);
    }
    return kind;
}

// Lets go of a shard; what failed in it is told with its name.
static enum sds_kind leave(struct place *place, enum sds_kind kind, struct sds_err *err) {
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", place->reference->path);
    }
    sds_cache_release(place->ref);
    return kind;
}

enum sds_kind shard_record_size(struct signal_dataset *ds, const struct sds_reference *reference,
                                uint64_t index, uint64_t *out, struct sds_err *err) {
    struct place place;
    enum sds_kind kind = find_record(ds, reference, index, &place, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (is_single(&place)) {
        *out = sds_ar_chunk_decoded_size(place.shard->index, place.chunk);
    } else {
        kind = size_in_group(&place, out, err);
    }
    return leave(&place, kind, err);
}

static void free_chunk(void *value) {
    sds_ar_chunk_fini(value);
    free(value);
}

static void count_decoding(struct signal_dataset *ds, uint64_t began_ns, uint64_t bytes) {
    atomic_fetch_add_explicit(&ds->decode_ns, sds_clock_ns() - began_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&ds->decoded_bytes, bytes, memory_order_relaxed);
}

// The stored bytes go when the decoded ones are there.
static enum sds_kind admit(const struct place *place, uint64_t decoded, struct sds_err *err) {
    uint64_t stored = sds_ar_chunk_stored_size(place->shard->index, place->chunk);
    uint64_t what = sds_mix64(reference_key(place->reference)) ^ place->chunk;
    return admission_enter(&place->shard->ds->admission, what, stored > decoded ? stored : decoded,
                           err);
}

// A network is waited for outside of the gate, in a bounded number of tasks; a disk is quick, and
// what it gives takes memory.
static enum sds_kind fetch_chunk(const struct place *place, const struct sds_ar_source *source,
                                 struct sds_ar_chunk *out, struct sds_err *err) {
    const struct shard *shard = place->shard;
    uint64_t bytes = sds_ar_chunk_decoded_size(shard->index, place->chunk);
    struct sds_ar_load *fetched = NULL;
    enum sds_kind kind = admit(place, bytes, err);
    if (kind == SDS_OK) {
        kind = sds_ar_fetch_chunk(shard->index, source, place->chunk, &fetched, err);
    }
    if (kind == SDS_OK) {
        gate_enter_chunk(&shard->ds->gate, bytes);
        uint64_t began = sds_clock_ns();
        kind = sds_ar_decode_chunk(shard->index, place->chunk, fetched, out, err);
        count_decoding(shard->ds, began, kind == SDS_OK ? bytes : 0);
        gate_leave_chunk(&shard->ds->gate, bytes);
    }
    return kind;
}

static enum sds_kind read_local_chunk(const struct place *place, const struct sds_ar_source *source,
                                      struct sds_ar_chunk *out, struct sds_err *err) {
    const struct shard *shard = place->shard;
    uint64_t bytes = sds_ar_chunk_decoded_size(shard->index, place->chunk);
    gate_enter_chunk(&shard->ds->gate, bytes);
    uint64_t began = sds_clock_ns();
    enum sds_kind kind = sds_ar_read_chunk(shard->index, source, place->chunk, out, err);
    count_decoding(shard->ds, began, kind == SDS_OK ? bytes : 0);
    gate_leave_chunk(&shard->ds->gate, bytes);
    return kind;
}

static enum sds_kind read_chunk(const struct place *place, struct sds_ar_chunk *out,
                                struct sds_err *err) {
    bool remote = sds_store_is_remote(place->shard->ds->store);
    struct attempt attempt;
    enum sds_kind kind;
    do {
        attempt_begin(&attempt, place->shard->object);
        struct sds_ar_source source = attempt_source(&attempt);
        kind = remote ? fetch_chunk(place, &source, out, err)
                      : read_local_chunk(place, &source, out, err);
    } while (attempt_again(&attempt, kind));
    return kind;
}

static enum sds_kind load_chunk(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    struct sds_ar_chunk *chunk = calloc(1, sizeof *chunk);
    enum sds_kind kind = chunk == NULL
                             ? sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a chunk")
                             : read_chunk(ctx, chunk, err);
    if (kind != SDS_OK) {
        free(chunk);
        return kind;
    }
    *value = chunk;
    *cost = chunk->blob->cap + chunk->count * sizeof *chunk->ends + sizeof *chunk;
    return SDS_OK;
}

// A record above the ceiling is a matter of configuration, so the message names the option.
static enum sds_kind check_record_size(const struct signal_dataset *ds, uint64_t bytes,
                                       struct sds_err *err) {
    if (bytes <= ds->options.max_record) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_LIMIT, "limit",
                    "the record has %llu bytes, more than %llu (option max_record=)",
                    (unsigned long long)bytes, (unsigned long long)ds->options.max_record);
}

// A record that shares its chunk with others: the chunk is cached, since its neighbours come next.
static enum sds_kind grouped_record(struct place *place, struct sds_blob **blob,
                                    struct sds_span *out, struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_chunk, .free = free_chunk};
    struct sds_cache_ref *ref = NULL;
    void *value = NULL;
    enum sds_kind kind = of_chunk(place, CACHED_CHUNK, &class, &ref, &value, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct sds_ar_chunk *chunk = value;
    struct sds_span record = sds_ar_chunk_record(chunk, place->index);
    kind = check_record_size(place->shard->ds, record.len, err);
    if (kind == SDS_OK) {
        *out = record;
        *blob = sds_blob_ref(chunk->blob);
    }
    sds_cache_release(ref);
    return kind;
}

static enum sds_kind single_record(const struct place *place, struct sds_blob **blob,
                                   struct sds_span *out, struct sds_err *err) {
    const struct shard *shard = place->shard;
    uint64_t bytes = sds_ar_chunk_decoded_size(shard->index, place->chunk);
    struct sds_ar_chunk chunk;
    enum sds_kind kind = check_record_size(shard->ds, bytes, err);
    if (kind == SDS_OK) {
        kind = read_chunk(place, &chunk, err);
    }
    if (kind == SDS_OK) {
        *out = sds_ar_chunk_record(&chunk, 0);
        *blob = sds_blob_ref(chunk.blob);
        sds_ar_chunk_fini(&chunk);
    }
    return kind;
}

enum sds_kind shard_record(struct signal_dataset *ds, const struct sds_reference *reference,
                           uint64_t index, struct sds_blob **blob, struct sds_span *out,
                           struct sds_err *err) {
    struct place place;
    enum sds_kind kind = find_record(ds, reference, index, &place, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = is_single(&place) ? single_record(&place, blob, out, err)
                             : grouped_record(&place, blob, out, err);
    return leave(&place, kind, err);
}
