// SPDX-License-Identifier: Apache-2.0
//
// Transposed chunks (docs/formats/array-record.md, section 7): records that were protobuf messages,
// taken apart into buffers and put together again by a state machine.
// Kinds: CORRUPT, check "transposed", "sizes" or "compression"; LIMIT; NO_MEMORY.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_TRANSPOSED_H
#define SDSFS_FORMAT_ARRAY_RECORD_TRANSPOSED_H

#include "base/bytes.h"
#include "base/err.h"

// Where decoded records go: exactly len bytes and count ends, all of which the decoder has to fill.
struct sds_ar_records {
    uint8_t *bytes;
    uint64_t len;
    uint64_t *ends;
    uint64_t count;
};

SDS_MUST_CHECK enum sds_kind sds_ar_transposed_decode(struct sds_span data,
                                                      const struct sds_ar_records *out,
                                                      struct sds_err *err);

#endif
