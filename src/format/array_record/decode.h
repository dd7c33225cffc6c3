// SPDX-License-Identifier: Apache-2.0
//
// From a chunk with records to the records: which sizes are believed, and which of the two
// encodings it is.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_DECODE_H
#define SDSFS_FORMAT_ARRAY_RECORD_DECODE_H

#include "format/array_record/chunk.h"

// Ceilings on what a chunk header may declare.
struct sds_ar_caps {
    uint64_t decoded_size;
    uint64_t num_records; // at most 2^32 - 1
};

#define SDS_AR_MAX_CHUNK_RECORDS (1U << 24)

// May the chunk be read and decoded? To be asked before its data are loaded. Kinds: CORRUPT, check
// "chunk_type"; LIMIT, check "limit".
SDS_MUST_CHECK enum sds_kind sds_ar_check_caps(const struct sds_ar_header *header,
                                               const struct sds_ar_caps *caps, struct sds_err *err);

// Decodes loaded data. out shares load->raw when the values are not compressed. Kinds: CORRUPT,
// check "compression", "sizes" or "transposed"; LIMIT; NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_ar_decode(const struct sds_ar_load *load, struct sds_span data,
                                           struct sds_ar_chunk *out, struct sds_err *err);

// Only the sizes, num_records of them; decodes no more than they take.
SDS_MUST_CHECK enum sds_kind sds_ar_decode_sizes(const struct sds_ar_load *load,
                                                 struct sds_span data, uint64_t *sizes,
                                                 struct sds_err *err);

// Loads the data behind a header and decodes them, with the checks above.
SDS_MUST_CHECK enum sds_kind sds_ar_load_records(struct sds_ar_load *load,
                                                 const struct sds_ar_caps *caps,
                                                 struct sds_ar_chunk *out, struct sds_err *err);

#endif
