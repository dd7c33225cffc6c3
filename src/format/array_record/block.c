// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/block.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "format/array_record/highway_hash.h"

#define USABLE (SDS_AR_BLOCK - SDS_AR_BLOCK_HEADER)

uint64_t sds_ar_payload_end(uint64_t begin, uint64_t len) {
    uint64_t headers = (len + (begin + USABLE - 1) % SDS_AR_BLOCK) / USABLE;
    return begin + len + headers * SDS_AR_BLOCK_HEADER;
}

// The first boundary at pos or behind it.
static uint64_t round_up(uint64_t pos) {
    return sds_ar_is_boundary(pos) ? pos : pos - pos % SDS_AR_BLOCK + SDS_AR_BLOCK_HEADER + 1;
}

uint64_t sds_ar_chunk_end(uint64_t begin, uint64_t data_size, uint64_t num_records) {
    uint64_t payload = sds_ar_payload_end(begin, SDS_AR_CHUNK_HEADER + data_size);
    uint64_t records = round_up(begin + num_records);
    return payload > records ? payload : records;
}

void sds_ar_block_make(uint8_t raw[SDS_AR_BLOCK_HEADER], uint64_t previous, uint64_t next) {
    sds_put_le64(raw + 8, previous);
    sds_put_le64(raw + 16, next);
    sds_put_le64(raw, sds_highway_hash(raw + 8, SDS_AR_BLOCK_HEADER - 8));
}

enum sds_kind sds_ar_block_check(const uint8_t *raw, uint64_t pos, uint64_t begin, uint64_t *next,
                                 struct sds_err *err) {
    if (sds_highway_hash(raw + 8, SDS_AR_BLOCK_HEADER - 8) != sds_le64(raw)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "block_header",
                        "the block header at byte %" PRIu64 " does not match its hash", pos);
    }
    uint64_t previous = sds_le64(raw + 8);
    if (previous != pos - begin) {
        return sds_fail(err, SDS_ERR_CORRUPT, "block_header",
                        "the block header at byte %" PRIu64 " says that its chunk begins %" PRIu64
                        " bytes before it, not %" PRIu64,
                        pos, previous, pos - begin);
    }
    *next = sds_le64(raw + 16);
    return SDS_OK;
}

enum sds_kind sds_ar_block_check_next(uint64_t next, uint64_t pos, uint64_t end,
                                      struct sds_err *err) {
    if (next != end - pos) {
        return sds_fail(err, SDS_ERR_CORRUPT, "block_header",
                        "the block header at byte %" PRIu64 " says that its chunk ends %" PRIu64
                        " bytes behind it, not %" PRIu64,
                        pos, next, end - pos);
    }
    return SDS_OK;
}

enum sds_kind sds_ar_block_check_end(const uint8_t *raw, uint64_t pos, uint64_t begin, uint64_t end,
                                     struct sds_err *err) {
    uint64_t next;
    enum sds_kind kind = sds_ar_block_check(raw, pos, begin, &next, err);
    return kind == SDS_OK ? sds_ar_block_check_next(next, pos, end, err) : kind;
}
