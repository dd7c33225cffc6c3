// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/decode.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/array_record/simple.h"
#include "format/array_record/transposed.h"

// What the data of a chunk may take beyond twice its decoded size: nothing honest comes near, and a
// sparse file may not make us allocate its whole length.
#define STORED_SLACK (16ULL << 20)

static enum sds_kind no_memory(struct sds_err *err, uint64_t len) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %" PRIu64 " bytes of records",
                    len);
}

static enum sds_kind above_limit(struct sds_err *err, const char *what, uint64_t is,
                                 uint64_t limit) {
    return sds_fail(err, SDS_ERR_LIMIT, "limit",
                    "%" PRIu64 " %s in one chunk, the limit is %" PRIu64, is, what, limit);
}

enum sds_kind sds_ar_check_caps(const struct sds_ar_header *header, const struct sds_ar_caps *caps,
                                struct sds_err *err) {
    if (header->type != SDS_AR_SIMPLE && header->type != SDS_AR_TRANSPOSED) {
        return sds_fail(err, SDS_ERR_CORRUPT, "chunk_type",
                        "unknown chunk type 0x%02x with %" PRIu64 " records", header->type,
                        header->num_records);
    }
    if (header->decoded_size > caps->decoded_size) {
        return above_limit(err, "decoded bytes", header->decoded_size, caps->decoded_size);
    }
    if (header->num_records > caps->num_records) {
        return above_limit(err, "records", header->num_records, caps->num_records);
    }
    // A size takes at most ten bytes.
    uint64_t plain = header->decoded_size + 10 * header->num_records;
    if (header->data_size > STORED_SLACK && (header->data_size - STORED_SLACK) / 2 > plain) {
        return above_limit(err, "stored bytes", header->data_size, 2 * plain + STORED_SLACK);
    }
    return SDS_OK;
}

// Values and ends of a simple chunk.
static enum sds_kind decode_simple(const struct sds_ar_load *load, struct sds_span data,
                                   struct sds_ar_chunk *out, uint64_t *ends, struct sds_err *err) {
    const struct sds_ar_header *header = &load->header;
    struct sds_ar_simple simple;
    enum sds_kind kind =
        sds_ar_simple_open(data, header->num_records, header->decoded_size, &simple, err);
    if (kind == SDS_OK) {
        kind = sds_ar_simple_ends(&simple, ends, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    if (simple.values.compression == SDS_AR_PLAIN) {
        out->blob = sds_blob_ref(load->raw);
        out->start = (size_t)(simple.values.stream.at - load->raw->at);
        return SDS_OK;
    }
    out->blob = sds_blob_new(header->decoded_size);
    return out->blob != NULL ? sds_ar_unpack(&simple.values, out->blob->at, err)
                             : no_memory(err, header->decoded_size);
}

static enum sds_kind decode_transposed(const struct sds_ar_load *load, struct sds_span data,
                                       struct sds_ar_chunk *out, uint64_t *ends,
                                       struct sds_err *err) {
    const struct sds_ar_header *header = &load->header;
    out->blob = sds_blob_new(header->decoded_size);
    if (out->blob == NULL) {
        return no_memory(err, header->decoded_size);
    }
    struct sds_ar_records records = {.bytes = out->blob->at,
                                     .len = header->decoded_size,
                                     .ends = ends,
                                     .count = header->num_records};
    return sds_ar_transposed_decode(data, &records, err);
}

enum sds_kind sds_ar_decode(const struct sds_ar_load *load, struct sds_span data,
                            struct sds_ar_chunk *out, struct sds_err *err) {
    const struct sds_ar_header *header = &load->header;
    struct sds_ar_chunk chunk = {.count = (uint32_t)header->num_records,
                                 .bytes = header->decoded_size};
    uint64_t only_end;
    if (chunk.count > 1) {
        chunk.ends = malloc(chunk.count * sizeof *chunk.ends);
        if (chunk.ends == NULL) {
            return no_memory(err, chunk.count * sizeof *chunk.ends);
        }
    }
    uint64_t *ends = chunk.ends != NULL ? chunk.ends : &only_end;
    enum sds_kind kind = header->type == SDS_AR_SIMPLE
                             ? decode_simple(load, data, &chunk, ends, err)
                             : decode_transposed(load, data, &chunk, ends, err);
    if (kind != SDS_OK) {
        sds_ar_chunk_fini(&chunk);
        return kind;
    }
    *out = chunk;
    return SDS_OK;
}

static void ends_to_sizes(uint64_t *ends, uint64_t count) {
    for (uint64_t i = count; i-- > 1;) {
        ends[i] -= ends[i - 1];
    }
}

enum sds_kind sds_ar_decode_sizes(const struct sds_ar_load *load, struct sds_span data,
                                  uint64_t *sizes, struct sds_err *err) {
    const struct sds_ar_header *header = &load->header;
    enum sds_kind kind;
    if (header->type == SDS_AR_SIMPLE) {
        struct sds_ar_simple simple;
        kind = sds_ar_simple_open(data, header->num_records, header->decoded_size, &simple, err);
        if (kind == SDS_OK) {
            kind = sds_ar_simple_ends(&simple, sizes, err);
        }
    } else {
        struct sds_ar_chunk chunk = {0};
        kind = decode_transposed(load, data, &chunk, sizes, err);
        sds_ar_chunk_fini(&chunk);
    }
    if (kind == SDS_OK) {
        ends_to_sizes(sizes, header->num_records);
    }
    return kind;
}

enum sds_kind sds_ar_load_records(struct sds_ar_load *load, const struct sds_ar_caps *caps,
                                  struct sds_ar_chunk *out, struct sds_err *err) {
    struct sds_span data;
    enum sds_kind kind = sds_ar_check_caps(&load->header, caps, err);
    if (kind == SDS_OK) {
        kind = sds_ar_load_data(load, &data, err);
    }
    return kind == SDS_OK ? sds_ar_decode(load, data, out, err) : kind;
}

void sds_ar_chunk_fini(struct sds_ar_chunk *chunk) {
    sds_blob_unref(chunk->blob);
    free(chunk->ends);
    *chunk = (struct sds_ar_chunk){0};
}

struct sds_span sds_ar_chunk_record(const struct sds_ar_chunk *chunk, uint32_t place) {
    if (chunk->ends == NULL) {
        return sds_span(chunk->blob->at + chunk->start, (size_t)chunk->bytes);
    }
    uint64_t begin = place > 0 ? chunk->ends[place - 1] : 0;
    return sds_span(chunk->blob->at + chunk->start + begin, (size_t)(chunk->ends[place] - begin));
}
