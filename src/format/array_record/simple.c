// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/simple.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "format/array_record/cursor.h"

#define VARINT_MAX 10

static enum sds_kind wrong_sizes(struct sds_err *err, const char *what) {
    return sds_fail(err, SDS_ERR_CORRUPT, "sizes", "%s", what);
}

enum sds_kind sds_ar_simple_open(struct sds_span data, uint64_t num_records, uint64_t decoded_size,
                                 struct sds_ar_simple *out, struct sds_err *err) {
    struct sds_cursor in = sds_cursor(data);
    uint8_t byte;
    if (!sds_cursor_u8(&in, &byte)) {
        return wrong_sizes(err, "the chunk has no compression type");
    }
    enum sds_ar_compression compression;
    enum sds_kind kind = sds_ar_compression_check(byte, &compression, err);
    if (kind != SDS_OK) {
        return kind;
    }
    uint64_t sizes_len;
    struct sds_span sizes;
    if (!sds_cursor_varint64(&in, &sizes_len)) {
        return wrong_sizes(err, "the length of the sizes block is no varint");
    }
    if (!sds_cursor_take(&in, sizes_len, &sizes)) {
        return wrong_sizes(err, "the sizes block is larger than the chunk");
    }
    struct sds_span values = sds_span(in.at, sds_cursor_left(&in));
    out->num_records = num_records;
    kind = sds_ar_packed_open(compression, sizes, VARINT_MAX * num_records, "record sizes",
                              &out->sizes, err);
    if (kind == SDS_OK) {
        kind = sds_ar_packed_open(compression, values, decoded_size, "values", &out->values, err);
    }
    if (kind == SDS_OK && out->values.plain_size != decoded_size) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "sizes",
                        "the values are %" PRIu64 " bytes, the chunk header says %" PRIu64,
                        out->values.plain_size, decoded_size);
    }
    return kind;
}

static enum sds_kind parse_sizes(struct sds_span plain, const struct sds_ar_simple *simple,
                                 uint64_t *ends, struct sds_err *err) {
    struct sds_cursor in = sds_cursor(plain);
    uint64_t total = simple->values.plain_size, sum = 0;
    for (uint64_t i = 0; i < simple->num_records; i++) {
        uint64_t size;
        if (!sds_cursor_varint64(&in, &size)) {
            return wrong_sizes(err, "a record size is no varint");
        }
        if (size > total - sum) {
            return wrong_sizes(err, "the record sizes exceed the size of the chunk");
        }
        sum += size;
        ends[i] = sum;
    }
    if (sds_cursor_left(&in) > 0) {
        return wrong_sizes(err, "bytes follow the record sizes");
    }
    if (sum != total) {
        return sds_fail(err, SDS_ERR_CORRUPT, "sizes",
                        "the record sizes sum to %" PRIu64 ", the chunk header says %" PRIu64, sum,
                        total);
    }
    return SDS_OK;
}

enum sds_kind sds_ar_simple_ends(const struct sds_ar_simple *simple, uint64_t *ends,
                                 struct sds_err *err) {
    sds_autofree uint8_t *owned = NULL;
    struct sds_span plain;
    enum sds_kind kind = sds_ar_unpack_view(&simple->sizes, &owned, &plain, err);
    return kind == SDS_OK ? parse_sizes(plain, simple, ends, err) : kind;
}
