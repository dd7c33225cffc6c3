// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/scan.h"

#include <string.h>

#include "base/blob.h"
#include "format/array_record/array_record.h"
#include "format/signal_dataset/again.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/record.h"
#include "format/signal_dataset/shard.h"

#define WINDOW_BYTES ((size_t)4 << 20)
#define NO_CHUNK UINT64_MAX
#define STRETCH UINT64_C(65536) // records of one shard that are read at a time

// A part of a shard file in memory: the next reads are most likely just behind the last one.
struct window {
    struct sds_object *object;
    uint8_t *bytes; // WINDOW_BYTES
    uint64_t start;
    size_t len;
    uint64_t since;         // how many doubts there were when it was read
    struct attempt attempt; // what is read of it just now
};

struct shard_scan {
    struct signal_dataset *ds;
    const struct sds_shard_entry *shard;
    uint64_t shard_index;
    struct window window;
    struct sds_ar_source source;
    struct sds_ar_index *index;
    struct sds_ar_chunk chunk; // the one that was read last
    uint64_t chunk_number;     // its number, or NO_CHUNK
    uint64_t end;              // the first ordinal that is not asked for
    sds_scan_fn emit;
    void *ctx;
    bool stopped;
};

static enum sds_kind load_window(struct window *window, uint64_t off, struct sds_err *err) {
    uint64_t left = sds_object_info(window->object)->size - off;
    size_t len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    window->len = 0;
    window->since = sds_object_doubts(window->object);
    enum sds_kind kind =
        in_chain(sds_object_read(window->object, off, window->bytes, len, err), err);
    if (kind == SDS_OK) {
        window->start = off;
        window->len = len;
    }
    return kind;
}

static enum sds_kind read_at(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    struct window *window = ctx;
    enum sds_kind kind = SDS_OK;
    if (len > WINDOW_BYTES) {
        kind = in_chain(sds_object_read(window->object, off, buf, len, err), err);
        attempt_note(&window->attempt, off, len, kind);
        return kind;
    }
    if (off < window->start || off + len > window->start + window->len) {
        kind = load_window(window, off, err);
    }
    if (kind == SDS_OK && len > 0) {
        memcpy(buf, window->bytes + (off - window->start), len);
    }
    attempt_note(&window->attempt, off, len, kind);
    return kind;
}

// Small files come into the window whole, so that their footer is in it, too.
static enum sds_kind open_index_once(struct shard_scan *s, struct sds_err *err) {
    uint64_t size = sds_object_info(s->window.object)->size;
    enum sds_kind kind = SDS_OK;
    attempt_begin(&s->window.attempt, s->window.object);
    s->window.len = 0;
    if (size > 0 && size <= WINDOW_BYTES) {
        kind = load_window(&s->window, 0, err);
    }
    s->source = (struct sds_ar_source){.read_at = read_at, .ctx = &s->window, .size = size};
    struct sds_ar_limits limits = {.chunk_bytes = shard_chunk_limit(s->ds)};
    return kind != SDS_OK ? kind : sds_ar_open(&s->source, &limits, &s->index, err);
}

static enum sds_kind open_index(struct shard_scan *s, struct sds_err *err) {
    enum sds_kind kind;
    do {
        kind = open_index_once(s, err);
    } while (attempt_again(&s->window.attempt, kind));
    return kind;
}

static enum sds_kind read_chunk(struct shard_scan *s, uint64_t chunk, struct sds_err *err) {
    struct window *window = &s->window;
    for (;;) {
        attempt_begin(&window->attempt, window->object);
        if (window->len > 0) { // some of it may have been read before
            window->attempt.since = window->since;
        }
        enum sds_kind kind = sds_ar_read_chunk(s->index, &s->source, chunk, &s->chunk, err);
        if (!attempt_again(&window->attempt, kind)) {
            return kind;
        }
        window->len = 0;
    }
}

static enum sds_kind stored_entry(struct shard_scan *s, uint64_t physical, struct sds_span *out,
                                  struct sds_err *err) {
    uint64_t count = sds_ar_record_count(s->index), chunk;
    uint32_t place;
    if (physical >= count) {
        return sds_fail(err, SDS_ERR_CORRUPT, "index",
                        "the shard holds %llu records, so there is none with index %llu",
                        (unsigned long long)count, (unsigned long long)physical);
    }
    sds_ar_locate(s->index, physical, &chunk, &place);
    enum sds_kind kind = SDS_OK;
    if (chunk != s->chunk_number) {
        sds_ar_chunk_fini(&s->chunk);
        s->chunk = (struct sds_ar_chunk){0};
        s->chunk_number = NO_CHUNK;
        kind = read_chunk(s, chunk, err);
        s->chunk_number = kind == SDS_OK ? chunk : NO_CHUNK;
    }
    if (kind == SDS_OK) {
        *out = sds_ar_chunk_record(&s->chunk, place);
    }
    return kind;
}

static void emit_problem(struct shard_scan *s, uint64_t ordinal, struct sds_err *problem) {
    sds_err_object(problem, "%s", s->shard->metadata.path);
    struct sds_scanned bad = {.ordinal = ordinal, .shard = s->shard_index, .problem = problem};
    s->stopped = !s->emit(s->ctx, &bad);
}

static void emit_entry(struct shard_scan *s, uint64_t ordinal, const struct sds_record *record) {
    struct sds_scanned entry = {
        .ordinal = ordinal,
        .shard = s->shard_index,
        .id = record->id,
        .scene_id = record->scene_id,
        .metadata = record->metadata,
        .fields = sds_value_get(sds_json_top(record->doc), "fields"),
    };
    s->stopped = !s->emit(s->ctx, &entry);
}

// What is bad is told as such; only what could not be had ends the scan.
static enum sds_kind scan_entry(struct shard_scan *s, uint64_t offset, struct sds_err *err) {
    const struct sds_shard_entry *shard = s->shard;
    uint64_t ordinal = shard->first_ordinal + offset;
    struct sds_err problem;
    struct sds_span text;
    struct sds_record record;
    uint64_t physical = shard->record_indices != NULL ? shard->record_indices[offset] : offset;
    enum sds_kind kind = stored_entry(s, physical, &text, &problem);
    if (kind == SDS_OK) {
        kind = sds_metadata_decode(text, &record, &problem);
    }
    if (kind == SDS_OK) {
        emit_entry(s, ordinal, &record);
        sds_record_fini(&record);
    } else if (sds_kind_is_verdict(kind)) {
        emit_problem(s, ordinal, &problem);
    } else {
        sds_err_object(&problem, "%s", shard->metadata.path);
        if (err != NULL) {
            *err = problem;
        }
        return kind;
    }
    return SDS_OK;
}

// The first offset in the shard that is not asked for.
static uint64_t end_offset(const struct shard_scan *s) {
    uint64_t left = s->end - s->shard->first_ordinal;
    return left < s->shard->record_count ? left : s->shard->record_count;
}

static enum sds_kind scan_entries(struct shard_scan *s, uint64_t offset, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (; kind == SDS_OK && !s->stopped && offset < end_offset(s); offset++) {
        kind = scan_entry(s, offset, err);
    }
    return kind;
}

// A shard that is bad as a whole: each of its entries is.
static void emit_all_bad(struct shard_scan *s, uint64_t offset, const struct sds_err *why) {
    for (; !s->stopped && offset < end_offset(s); offset++) {
        struct sds_err problem = *why;
        emit_problem(s, s->shard->first_ordinal + offset, &problem);
    }
}

static enum sds_kind scan_shard(struct shard_scan *s, uint64_t offset, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    struct sds_err why;
    enum sds_kind kind = shard_object(s->ds, &s->shard->metadata, &ref, &s->window.object, &why);
    if (kind == SDS_OK) {
        kind = open_index(s, &why);
    }
    if (kind == SDS_OK) {
        kind = scan_entries(s, offset, &why);
    } else if (sds_kind_is_verdict(kind)) {
        emit_all_bad(s, offset, &why);
        kind = SDS_OK;
    }
    sds_ar_chunk_fini(&s->chunk);
    sds_ar_close(s->index);
    sds_cache_release(ref);
    if (kind != SDS_OK) {
        sds_err_object(&why, "%s", s->shard->metadata.path);
        if (err != NULL) {
            *err = why;
        }
    }
    return kind;
}

// A scan over several shards: what stays the same.
struct range_scan {
    struct signal_dataset *ds;
    uint64_t end;
    struct sds_blob *bytes; // of the window
    sds_scan_fn emit;
    void *ctx;
    bool stopped;
};

// Scans from an ordinal to the end of its shard; *next is the ordinal after it.
static enum sds_kind scan_from(struct range_scan *range, uint64_t ordinal, uint64_t *next,
                               struct sds_err *err) {
    struct location location;
    enum sds_kind kind = chain_locate(range->ds, ordinal, &location, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct shard_scan s = {
        .ds = range->ds,
        .shard = location.shard,
        .shard_index = location.shard_index,
        .window = {.bytes = range->bytes->at},
        .chunk_number = NO_CHUNK,
        .end = range->end,
        .emit = range->emit,
        .ctx = range->ctx,
    };
    kind = scan_shard(&s, ordinal - location.shard->first_ordinal, err);
    *next = location.shard->first_ordinal + location.shard->record_count;
    range->stopped = s.stopped;
    location_fini(&location);
    return kind;
}

// The page of an ordinal is bad: each record that it holds is told with that.
static void emit_bad_page(struct range_scan *range, uint64_t ordinal, const struct sds_err *why,
                          uint64_t *next) {
    const struct sds_page_ref *page = chain_page_of(range->ds, ordinal);
    *next = page->first_ordinal + page->record_count;
    for (; !range->stopped && ordinal < *next && ordinal < range->end; ordinal++) {
        struct sds_scanned bad = {.ordinal = ordinal, .problem = why};
        range->stopped = !range->emit(range->ctx, &bad);
    }
}

enum sds_kind scan(struct signal_dataset *ds, uint64_t first, uint64_t end, sds_scan_fn emit,
                   void *ctx, struct sds_err *err) {
    struct range_scan range = {
        .ds = ds, .end = end, .bytes = sds_blob_new(WINDOW_BYTES), .emit = emit, .ctx = ctx};
    struct sds_err why;
    enum sds_kind kind = range.bytes != NULL
                             ? SDS_OK
                             : sds_fail(&why, SDS_ERR_NO_MEMORY, "memory", "no memory for a scan");
    for (uint64_t ordinal = first; kind == SDS_OK && !range.stopped && ordinal < end;) {
        uint64_t next = end;
        kind = scan_from(&range, ordinal, &next, &why);
        if (sds_kind_is_verdict(kind)) {
            emit_bad_page(&range, ordinal, &why, &next);
            kind = SDS_OK;
        }
        ordinal = next;
    }
    sds_blob_unref(range.bytes);
    if (kind != SDS_OK && err != NULL) {
        *err = why;
    }
    return kind;
}

uint64_t scan_end(struct signal_dataset *ds, uint64_t first) {
    uint64_t count = ds->chain.snapshot.record_count;
    uint64_t end = first + STRETCH;
    struct location location;
    if (chain_locate(ds, first, &location, NULL) == SDS_OK) {
        uint64_t shard_end = location.shard->first_ordinal + location.shard->record_count;
        end = shard_end < end ? shard_end : end;
        location_fini(&location);
    }
    return end < count ? end : count;
}
