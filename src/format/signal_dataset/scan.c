// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/scan.h"

#include <stdlib.h>
#include <string.h>

#include "format/array_record/array_record.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/record.h"
#include "format/signal_dataset/shard.h"

#define WINDOW_BYTES ((size_t)4 << 20)
#define NO_CHUNK UINT64_MAX

// A part of a shard file in memory: the next reads are most likely just behind the last one.
struct window {
    struct sds_object *object;
    uint8_t *bytes;
    uint64_t start;
    size_t len;
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
    sds_scan_fn emit;
    void *ctx;
    bool stopped;
};

static enum sds_kind load_window(struct window *window, uint64_t off, struct sds_err *err) {
    uint64_t left = sds_object_info(window->object)->size - off;
    size_t len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    window->len = 0;
    enum sds_kind kind = sds_object_read(window->object, off, window->bytes, len, err);
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
        return sds_object_read(window->object, off, buf, len, err);
    }
    if (off < window->start || off + len > window->start + window->len) {
        kind = load_window(window, off, err);
    }
    if (kind == SDS_OK && len > 0) {
        memcpy(buf, window->bytes + (off - window->start), len);
    }
    return kind;
}

// Small files come into the window whole, so that their footer is in it, too.
static enum sds_kind open_index(struct shard_scan *s, struct sds_err *err) {
    uint64_t size = sds_object_info(s->window.object)->size;
    enum sds_kind kind = SDS_OK;
    if (size > 0 && size <= WINDOW_BYTES) {
        kind = load_window(&s->window, 0, err);
    }
    s->source = (struct sds_ar_source){.read_at = read_at, .ctx = &s->window, .size = size};
    struct sds_ar_limits limits = {.chunk_bytes = shard_chunk_limit(s->ds)};
    return kind != SDS_OK ? kind : sds_ar_open(&s->source, &limits, &s->index, err);
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
        kind = sds_ar_read_chunk(s->index, &s->source, chunk, &s->chunk, err);
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
    } else if (is_verdict(kind)) {
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

static enum sds_kind scan_entries(struct shard_scan *s, uint64_t offset, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (; kind == SDS_OK && !s->stopped && offset < s->shard->record_count; offset++) {
        kind = scan_entry(s, offset, err);
    }
    return kind;
}

// A shard that is bad as a whole: each of its entries is.
static void emit_all_bad(struct shard_scan *s, uint64_t offset, const struct sds_err *why) {
    for (; !s->stopped && offset < s->shard->record_count; offset++) {
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
    } else if (is_verdict(kind)) {
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

// Scans from an ordinal to the end of its shard; *next is the ordinal after it.
static enum sds_kind scan_from(struct signal_dataset *ds, uint64_t ordinal, uint8_t *bytes,
                               sds_scan_fn emit, void *ctx, uint64_t *next, bool *stopped,
                               struct sds_err *err) {
    struct location location;
    enum sds_kind kind = chain_locate(ds, ordinal, &location, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct shard_scan s = {
        .ds = ds,
        .shard = location.shard,
        .shard_index = location.shard_index,
        .window = {.bytes = bytes},
        .chunk_number = NO_CHUNK,
        .emit = emit,
        .ctx = ctx,
    };
    kind = scan_shard(&s, ordinal - location.shard->first_ordinal, err);
    *next = location.shard->first_ordinal + location.shard->record_count;
    *stopped = s.stopped;
    location_fini(&location);
    return kind;
}

// The page of an ordinal is bad: each record that it holds is told with that.
static bool emit_bad_page(struct signal_dataset *ds, uint64_t ordinal, const struct sds_err *why,
                          sds_scan_fn emit, void *ctx, uint64_t *next) {
    const struct sds_page_ref *page = chain_page_of(ds, ordinal);
    *next = page->first_ordinal + page->record_count;
    for (; ordinal < *next; ordinal++) {
        struct sds_scanned bad = {.ordinal = ordinal, .problem = why};
        if (!emit(ctx, &bad)) {
            return false;
        }
    }
    return true;
}

enum sds_kind scan(struct signal_dataset *ds, uint64_t first, sds_scan_fn emit, void *ctx,
                   struct sds_err *err) {
    uint64_t count = ds->chain.snapshot.record_count;
    uint8_t *bytes = malloc(WINDOW_BYTES);
    enum sds_kind kind =
        bytes != NULL ? SDS_OK : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a scan");
    bool stopped = false;
    struct sds_err why;
    for (uint64_t ordinal = first; kind == SDS_OK && !stopped && ordinal < count;) {
        uint64_t next = count;
        kind = scan_from(ds, ordinal, bytes, emit, ctx, &next, &stopped, &why);
        if (is_verdict(kind)) {
            stopped = !emit_bad_page(ds, ordinal, &why, emit, ctx, &next);
            kind = SDS_OK;
        }
        ordinal = next;
    }
    free(bytes);
    if (kind != SDS_OK && bytes != NULL && err != NULL) {
        *err = why;
    }
    return kind;
}
