// SPDX-License-Identifier: Apache-2.0
//
// Simple chunks (docs/formats/array-record.md, section 6): the sizes of the records in one block,
// their bytes run together in another.
// Kinds: CORRUPT, check "sizes" or "compression"; NO_MEMORY.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_SIMPLE_H
#define SDSFS_FORMAT_ARRAY_RECORD_SIMPLE_H

#include "format/array_record/compress.h"

struct sds_ar_simple {
    uint64_t num_records;
    struct sds_ar_packed sizes;  // plain: at most ten bytes a record
    struct sds_ar_packed values; // plain: as many bytes as the chunk declares
};

// Splits the data of a chunk. num_records and decoded_size are what its header says.
SDS_MUST_CHECK enum sds_kind sds_ar_simple_open(struct sds_span data, uint64_t num_records,
                                                uint64_t decoded_size, struct sds_ar_simple *out,
                                                struct sds_err *err);

// Where each record ends among the values: num_records entries, of which the last is the size of
// all.
SDS_MUST_CHECK enum sds_kind sds_ar_simple_ends(const struct sds_ar_simple *simple, uint64_t *ends,
                                                struct sds_err *err);

#endif
