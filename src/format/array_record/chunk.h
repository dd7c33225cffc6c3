// SPDX-License-Identifier: Apache-2.0
//
// Chunks (docs/formats/array-record.md, section 4): their headers, and reading one, every hash and
// block header on the way checked, in as few reads as can be.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_CHUNK_H
#define SDSFS_FORMAT_ARRAY_RECORD_CHUNK_H

#include "format/array_record/array_record.h"
#include "format/array_record/block.h"

enum sds_ar_chunk_type {
    SDS_AR_SIGNATURE = 's',
    SDS_AR_METADATA = 'm',
    SDS_AR_PADDING = 'p',
    SDS_AR_SIMPLE = 'r',
    SDS_AR_TRANSPOSED = 't',
};

struct sds_ar_header {
    uint8_t type; // an enum sds_ar_chunk_type, or one we do not know
    uint64_t data_size;
    uint64_t data_hash;
    uint64_t num_records;
    uint64_t decoded_size;
};

// The header as it stands in the file. num_records is below 2^56.
void sds_ar_header_make(uint8_t raw[SDS_AR_CHUNK_HEADER], const struct sds_ar_header *header);

// A chunk on its way from the file. Set source, begin and limit; the rest is filled in.
struct sds_ar_load {
    const struct sds_ar_source *source;
    uint64_t begin; // a position within the file
    uint64_t limit; // where the chunk ends at the latest; within the file
    // From here on known with the header, which then fits between begin and limit.
    struct sds_ar_header header;
    uint64_t data_begin;  // first byte behind the chunk header, maybe of a block header
    uint64_t payload_end; // last byte of the data, and one
    uint64_t end;         // with the padding behind the data
    struct sds_blob *raw; // bytes of the file from begin on, as many as were read
};

// Reads the chunk header and, since that is one read as well, expected bytes of the file in all, as
// far as the limit allows. Kinds: CORRUPT, check "chunk_bounds", "chunk_header" or "block_header";
// NO_MEMORY; the source's.
SDS_MUST_CHECK enum sds_kind sds_ar_load_header(struct sds_ar_load *load, uint64_t expected,
                                                struct sds_err *err);

// Reads what is missing of the data, which the caller has found not too large. Kinds: NO_MEMORY;
// the source's.
SDS_MUST_CHECK enum sds_kind sds_ar_load_rest(struct sds_ar_load *load, struct sds_err *err);

// Reads what is missing of the data, which the caller has found not too large, cuts the block
// headers out of it and checks its hash. *data lies in load->raw. Only once, after the header.
// Kinds: CORRUPT, check "chunk_hash" or "block_header"; NO_MEMORY; the source's.
SDS_MUST_CHECK enum sds_kind sds_ar_load_data(struct sds_ar_load *load, struct sds_span *data,
                                              struct sds_err *err);

void sds_ar_load_fini(struct sds_ar_load *load);

#endif
