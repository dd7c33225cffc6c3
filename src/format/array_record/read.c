// SPDX-License-Identifier: Apache-2.0
//
// Reading chunks that the index names.
#include <inttypes.h>
#include <stdlib.h>

#include "base/ckd.h"
#include "format/array_record/block.h"
#include "format/array_record/index.h"

// How much of the file a chunk should take, so that one read gets it whole: what its records take
// when they do not compress at all. In files without gaps the limit is nearer as a rule; where
// padding follows, this is what keeps most of it unread.
static uint64_t expected_extent(const struct sds_ar_load *load, uint64_t decoded_size,
                                uint64_t num_records) {
    uint64_t room = load->limit - load->begin;
    uint64_t values = sds_min(decoded_size, room);
    uint64_t data = values + values / 64 + 10 * sds_min(num_records, room) + 128;
    return sds_ar_payload_end(load->begin, SDS_AR_CHUNK_HEADER + data) - load->begin;
}

static enum sds_kind check_against_index(const struct sds_ar_header *header, uint64_t decoded_size,
                                         uint64_t num_records, struct sds_err *err) {
    if (header->num_records == 0) {
        return sds_fail(err, SDS_ERR_CORRUPT, "index",
                        "the chunk has no records (type 0x%02x), its index entry says %" PRIu64,
                        header->type, num_records);
    }
    if (header->num_records != num_records || header->decoded_size != decoded_size) {
        return sds_fail(err, SDS_ERR_CORRUPT, "index",
                        "the chunk has %" PRIu64 " records of %" PRIu64
                        " bytes, its index entry says %" PRIu64 " of %" PRIu64,
                        header->num_records, header->decoded_size, num_records, decoded_size);
    }
    return SDS_OK;
}

enum sds_kind sds_ar_load_chunk(const struct sds_ar_index *index,
                                const struct sds_ar_source *source, uint64_t chunk,
                                struct sds_ar_load *load, struct sds_err *err) {
    const struct sds_ar_place *place = &index->chunks[chunk];
    uint64_t num_records = sds_ar_chunk_records(index, chunk);
    *load = (struct sds_ar_load){
        .source = source, .begin = place->begin, .limit = sds_ar_chunk_limit(index, chunk)};
    if (place->decoded_size > index->chunk_bytes) {
        return sds_fail(err, SDS_ERR_LIMIT, "limit",
                        "%" PRIu64 " decoded bytes in one chunk, the limit is %" PRIu64,
                        place->decoded_size, index->chunk_bytes);
    }
    enum sds_kind kind =
        sds_ar_load_header(load, expected_extent(load, place->decoded_size, num_records), err);
    return kind == SDS_OK
               ? check_against_index(&load->header, place->decoded_size, num_records, err)
               : kind;
}

static void add_context(const struct sds_ar_index *index, uint64_t chunk, struct sds_err *err) {
    sds_err_context(err, "chunk %" PRIu64 " at byte %" PRIu64, chunk, index->chunks[chunk].begin);
}

enum sds_kind sds_ar_read_chunk(const struct sds_ar_index *index,
                                const struct sds_ar_source *source, uint64_t chunk,
                                struct sds_ar_chunk *out, struct sds_err *err) {
    const struct sds_ar_caps caps = sds_ar_chunk_caps(index);
    struct sds_ar_load load;
    enum sds_kind kind = sds_ar_load_chunk(index, source, chunk, &load, err);
    if (kind == SDS_OK) {
        kind = sds_ar_load_records(&load, &caps, out, err);
    }
    sds_ar_load_fini(&load);
    if (kind != SDS_OK) {
        add_context(index, chunk, err);
    }
    return kind;
}

enum sds_kind sds_ar_fetch_chunk(const struct sds_ar_index *index,
                                 const struct sds_ar_source *source, uint64_t chunk,
                                 struct sds_ar_load **out, struct sds_err *err) {
    const struct sds_ar_caps caps = sds_ar_chunk_caps(index);
    struct sds_ar_load *load = malloc(sizeof *load);
    if (load == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a chunk");
    }
    enum sds_kind kind = sds_ar_load_chunk(index, source, chunk, load, err);
    if (kind == SDS_OK) {
        kind = sds_ar_check_caps(&load->header, &caps, err);
    }
    if (kind == SDS_OK) {
        kind = sds_ar_load_rest(load, err);
    }
    if (kind != SDS_OK) {
        add_context(index, chunk, err);
        sds_ar_load_fini(load);
        free(load);
        return kind;
    }
    *out = load;
    return SDS_OK;
}

enum sds_kind sds_ar_decode_chunk(const struct sds_ar_index *index, uint64_t chunk,
                                  struct sds_ar_load *fetched, struct sds_ar_chunk *out,
                                  struct sds_err *err) {
    const struct sds_ar_caps caps = sds_ar_chunk_caps(index);
    enum sds_kind kind = sds_ar_load_records(fetched, &caps, out, err);
    if (kind != SDS_OK) {
        add_context(index, chunk, err);
    }
    sds_ar_load_fini(fetched);
    free(fetched);
    return kind;
}

enum sds_kind sds_ar_record_sizes(const struct sds_ar_index *index,
                                  const struct sds_ar_source *source, uint64_t chunk,
                                  uint64_t *sizes, struct sds_err *err) {
    const struct sds_ar_caps caps = sds_ar_chunk_caps(index);
    struct sds_ar_load load;
    struct sds_span data;
    enum sds_kind kind = sds_ar_load_chunk(index, source, chunk, &load, err);
    if (kind == SDS_OK) {
        kind = sds_ar_check_caps(&load.header, &caps, err);
    }
    if (kind == SDS_OK) {
        kind = sds_ar_load_data(&load, &data, err);
    }
    if (kind == SDS_OK) {
        kind = sds_ar_decode_sizes(&load, data, sizes, err);
    }
    sds_ar_load_fini(&load);
    if (kind != SDS_OK) {
        add_context(index, chunk, err);
    }
    return kind;
}
