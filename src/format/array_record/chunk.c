// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/chunk.h"

#include <inttypes.h>

#include "base/ckd.h"
#include "format/array_record/highway_hash.h"

// A chunk header takes no more of the file than this: one block header can interrupt it.
#define HEADER_EXTENT (SDS_AR_CHUNK_HEADER + SDS_AR_BLOCK_HEADER)

static enum sds_kind no_memory(struct sds_err *err, uint64_t len) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %" PRIu64 " bytes of a chunk",
                    len);
}

static enum sds_kind out_of_bounds(const struct sds_ar_load *load, struct sds_err *err) {
    return sds_fail(err, SDS_ERR_CORRUPT, "chunk_bounds",
                    "no chunk fits between byte %" PRIu64 " and its limit %" PRIu64, load->begin,
                    load->limit);
}

// The 40 bytes of a chunk header, and the block header that interrupted them if there was one: what
// that says of the chunk's end can be checked only when the chunk header is known.
struct raw_header {
    uint8_t bytes[SDS_AR_CHUNK_HEADER];
    bool interrupted;
    uint64_t block; // position of the block header
    uint64_t next;  // what it says
};

static enum sds_kind collect_header(struct sds_ar_load *load, struct raw_header *out,
                                    struct sds_err *err) {
    uint64_t at = 0, have = 0; // at counts from begin
    const struct sds_blob *raw = load->raw;
    while (have < SDS_AR_CHUNK_HEADER) {
        uint64_t pos = load->begin + at;
        if (pos % SDS_AR_BLOCK == 0) {
            if (raw->len - at < SDS_AR_BLOCK_HEADER) {
                return out_of_bounds(load, err);
            }
            out->interrupted = true;
            out->block = pos;
            enum sds_kind kind =
                sds_ar_block_check(raw->at + at, pos, load->begin, &out->next, err);
            if (kind != SDS_OK) {
                return kind;
            }
            at += SDS_AR_BLOCK_HEADER;
            pos += SDS_AR_BLOCK_HEADER;
        }
        uint64_t n = sds_min(SDS_AR_CHUNK_HEADER - have, SDS_AR_BLOCK - pos % SDS_AR_BLOCK);
        if (raw->len - at < n) {
            return out_of_bounds(load, err);
        }
        memcpy(out->bytes + have, raw->at + at, n);
        have += n;
        at += n;
    }
    load->data_begin = load->begin + at;
    return SDS_OK;
}

void sds_ar_header_make(uint8_t raw[SDS_AR_CHUNK_HEADER], const struct sds_ar_header *header) {
    sds_put_le64(raw + 8, header->data_size);
    sds_put_le64(raw + 16, header->data_hash);
    sds_put_le64(raw + 24, header->num_records << 8 | header->type);
    sds_put_le64(raw + 32, header->decoded_size);
    sds_put_le64(raw, sds_highway_hash(raw + 8, SDS_AR_CHUNK_HEADER - 8));
}

static enum sds_kind parse_header(const uint8_t *bytes, struct sds_ar_header *out,
                                  struct sds_err *err) {
    if (sds_highway_hash(bytes + 8, SDS_AR_CHUNK_HEADER - 8) != sds_le64(bytes)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "chunk_header",
                        "the chunk header does not match its hash");
    }
    *out = (struct sds_ar_header){
        .data_size = sds_le64(bytes + 8),
        .data_hash = sds_le64(bytes + 16),
        .type = bytes[24],
        .num_records = sds_le64(bytes + 24) >> 8,
        .decoded_size = sds_le64(bytes + 32),
    };
    return SDS_OK;
}

// Fixes where the chunk ends. Sizes are held against the limit before they are computed with.
static enum sds_kind place(struct sds_ar_load *load, const struct raw_header *raw,
                           struct sds_err *err) {
    const struct sds_ar_header *h = &load->header;
    uint64_t room = load->limit - load->begin;
    if (h->data_size > room || h->num_records > room) {
        return sds_fail(err, SDS_ERR_CORRUPT, "chunk_bounds",
                        "%" PRIu64 " bytes of data and %" PRIu64 " records, in a place of %" PRIu64
                        " bytes",
                        h->data_size, h->num_records, room);
    }
    load->payload_end = sds_ar_payload_end(load->begin, SDS_AR_CHUNK_HEADER + h->data_size);
    load->end = sds_ar_chunk_end(load->begin, h->data_size, h->num_records);
    if (load->end > load->limit) {
        return sds_fail(err, SDS_ERR_CORRUPT, "chunk_bounds",
                        "the chunk ends at byte %" PRIu64 ", beyond its limit %" PRIu64, load->end,
                        load->limit);
    }
    return raw->interrupted ? sds_ar_block_check_next(raw->next, raw->block, load->end, err)
                            : SDS_OK;
}

enum sds_kind sds_ar_load_header(struct sds_ar_load *load, uint64_t expected, struct sds_err *err) {
    if (load->begin >= load->limit || !sds_ar_is_boundary(load->begin)) {
        return out_of_bounds(load, err);
    }
    if (expected < HEADER_EXTENT) {
        expected = HEADER_EXTENT;
    }
    size_t len = (size_t)sds_min(expected, load->limit - load->begin);
    load->raw = sds_blob_new(len);
    if (load->raw == NULL) {
        return no_memory(err, len);
    }
    const struct sds_ar_source *source = load->source;
    enum sds_kind kind = source->read_at(source->ctx, load->begin, load->raw->at, len, err);
    struct raw_header raw = {.interrupted = false};
    if (kind == SDS_OK) {
        kind = collect_header(load, &raw, err);
    }
    if (kind == SDS_OK) {
        kind = parse_header(raw.bytes, &load->header, err);
    }
    return kind == SDS_OK ? place(load, &raw, err) : kind;
}

enum sds_kind sds_ar_load_rest(struct sds_ar_load *load, struct sds_err *err) {
    size_t need = (size_t)(load->payload_end - load->begin);
    size_t have = load->raw->len;
    if (need <= have) {
        return SDS_OK;
    }
    struct sds_blob *whole = sds_blob_new(need);
    if (whole == NULL) {
        return no_memory(err, need);
    }
    memcpy(whole->at, load->raw->at, have);
    sds_blob_unref(load->raw);
    load->raw = whole;
    const struct sds_ar_source *source = load->source;
    return source->read_at(source->ctx, load->begin + have, whole->at + have, need - have, err);
}

enum sds_kind sds_ar_load_data(struct sds_ar_load *load, struct sds_span *data,
                               struct sds_err *err) {
    enum sds_kind kind = sds_ar_load_rest(load, err);
    if (kind != SDS_OK) {
        return kind;
    }
    // Closes the gaps that block headers leave, and hashes each piece while it is in the cache.
    struct sds_highway hash;
    sds_highway_init(&hash);
    uint8_t *raw = load->raw->at;
    uint8_t *begin = raw + (load->data_begin - load->begin), *to = begin;
    for (uint64_t pos = load->data_begin; pos < load->payload_end;) {
        if (pos % SDS_AR_BLOCK == 0) {
            const uint8_t *header = raw + (pos - load->begin);
            kind = sds_ar_block_check_end(header, pos, load->begin, load->end, err);
            if (kind != SDS_OK) {
                return kind;
            }
            pos += SDS_AR_BLOCK_HEADER;
        }
        size_t n = (size_t)sds_min(load->payload_end - pos, SDS_AR_BLOCK - pos % SDS_AR_BLOCK);
        const uint8_t *from = raw + (pos - load->begin);
        if (to != from) {
            memmove(to, from, n);
        }
        sds_highway_update(&hash, to, n);
        to += n;
        pos += n;
    }
    if (sds_highway_final(&hash) != load->header.data_hash) {
        return sds_fail(err, SDS_ERR_CORRUPT, "chunk_hash",
                        "%" PRIu64 " bytes of chunk data do not match their hash",
                        load->header.data_size);
    }
    *data = sds_span(begin, (size_t)(to - begin));
    return SDS_OK;
}

void sds_ar_load_fini(struct sds_ar_load *load) {
    sds_blob_unref(load->raw);
    load->raw = NULL;
}
