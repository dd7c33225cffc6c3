// SPDX-License-Identifier: Apache-2.0
//
// The block layer (docs/formats/array-record.md, section 3): every multiple of 64 KiB holds a
// header of 24 bytes that interrupts the chunk being written there. All positions are file offsets.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_BLOCK_H
#define SDSFS_FORMAT_ARRAY_RECORD_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define SDS_AR_BLOCK 65536
#define SDS_AR_BLOCK_HEADER 24
#define SDS_AR_CHUNK_HEADER 40

// A chunk begins and ends anywhere but inside a block header or right after one.
static inline bool sds_ar_is_boundary(uint64_t pos) {
    return pos % SDS_AR_BLOCK == 0 || pos % SDS_AR_BLOCK > SDS_AR_BLOCK_HEADER;
}

// Where len bytes of payload end that begin at a chunk boundary. Does not overflow when begin and
// len are both within a file.
uint64_t sds_ar_payload_end(uint64_t begin, uint64_t len);

// Where a chunk ends: behind its payload, and at least a byte of file for each record behind begin.
uint64_t sds_ar_chunk_end(uint64_t begin, uint64_t data_size, uint64_t num_records);

// Makes the block header of a chunk that begins previous bytes before it and ends next bytes behind
// its begin.
void sds_ar_block_make(uint8_t raw[SDS_AR_BLOCK_HEADER], uint64_t previous, uint64_t next);

// Checks the block header that raw holds against its hash and against the chunk around it, in two
// steps since the end of the chunk may not be known yet. pos: where the header is; begin, end: of
// the chunk. *next: where the header says that the chunk ends, counted from pos. Kind: CORRUPT,
// check "block_header".
SDS_MUST_CHECK enum sds_kind sds_ar_block_check(const uint8_t *raw, uint64_t pos, uint64_t begin,
                                                uint64_t *next, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_ar_block_check_next(uint64_t next, uint64_t pos, uint64_t end,
                                                     struct sds_err *err);

// Both steps.
SDS_MUST_CHECK enum sds_kind sds_ar_block_check_end(const uint8_t *raw, uint64_t pos,
                                                    uint64_t begin, uint64_t end,
                                                    struct sds_err *err);

#endif
