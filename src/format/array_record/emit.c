// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/emit.h"

#include "format/array_record/highway_hash.h"

struct extent {
    uint64_t begin, end;
};

// Writes payload of the chunk that takes this extent, between the block headers; zeros when bytes
// is NULL.
static enum sds_kind put(struct sds_ar_emitter *out, const struct extent *chunk,
                         const uint8_t *bytes, uint64_t len, struct sds_err *err) {
    while (len > 0) {
        size_t at = out->pos % SDS_AR_BLOCK;
        if (at == 0) {
            sds_ar_block_make(out->block, out->pos - chunk->begin, chunk->end - out->pos);
            at = SDS_AR_BLOCK_HEADER;
            out->pos += at;
        }
        size_t n = SDS_AR_BLOCK - at;
        n = n < len ? n : (size_t)len;
        if (bytes != NULL) {
            memcpy(out->block + at, bytes, n);
            bytes += n;
        } else {
            memset(out->block + at, 0, n);
        }
        out->pos += n;
        len -= n;
        if (out->pos % SDS_AR_BLOCK == 0) {
            enum sds_kind kind = out->sink.write(out->sink.ctx, out->block, SDS_AR_BLOCK, err);
            if (kind != SDS_OK) {
                return kind;
            }
        }
    }
    return SDS_OK;
}

// How much payload lies between two positions outside of block headers.
static uint64_t payload_between(uint64_t from, uint64_t to) {
    uint64_t headers =
        (to + SDS_AR_BLOCK - 1) / SDS_AR_BLOCK - (from + SDS_AR_BLOCK - 1) / SDS_AR_BLOCK;
    return to - from - headers * SDS_AR_BLOCK_HEADER;
}

enum sds_kind sds_ar_emit(struct sds_ar_emitter *out, const struct sds_ar_header *header,
                          struct sds_span data, struct sds_err *err) {
    struct extent chunk = {.begin = out->pos};
    chunk.end = sds_ar_chunk_end(out->pos, header->data_size, header->num_records);
    uint8_t raw[SDS_AR_CHUNK_HEADER];
    sds_ar_header_make(raw, header);
    enum sds_kind kind = put(out, &chunk, raw, sizeof raw, err);
    if (kind == SDS_OK) {
        kind = put(out, &chunk, data.at, data.len, err);
    }
    return kind == SDS_OK ? put(out, &chunk, NULL, payload_between(out->pos, chunk.end), err)
                          : kind;
}

static uint64_t hash_zeros(uint64_t len) {
    static const uint8_t zeros[1024];
    struct sds_highway hash;
    sds_highway_init(&hash);
    for (uint64_t n; len > 0; len -= n) {
        n = len < sizeof zeros ? len : sizeof zeros;
        sds_highway_update(&hash, zeros, n);
    }
    return sds_highway_final(&hash);
}

enum sds_kind sds_ar_emit_signature(struct sds_ar_emitter *out, struct sds_err *err) {
    struct sds_ar_header header = {.type = SDS_AR_SIGNATURE, .data_hash = hash_zeros(0)};
    return sds_ar_emit(out, &header, sds_span(NULL, 0), err);
}

enum sds_kind sds_ar_emit_padding(struct sds_ar_emitter *out, struct sds_err *err) {
    uint64_t left = SDS_AR_BLOCK - out->pos % SDS_AR_BLOCK;
    if (left == SDS_AR_BLOCK) {
        return SDS_OK;
    }
    // A header that does not fit here is cut by the next block header, and then takes that block
    // too.
    uint64_t end = out->pos + left + (left < SDS_AR_CHUNK_HEADER ? SDS_AR_BLOCK : 0);
    uint64_t len = payload_between(out->pos, end) - SDS_AR_CHUNK_HEADER;
    struct sds_ar_header header = {
        .type = SDS_AR_PADDING, .data_size = len, .data_hash = hash_zeros(len)};
    return sds_ar_emit(out, &header, sds_span(NULL, 0), err);
}
