// SPDX-License-Identifier: Apache-2.0
//
// Compressed blocks inside chunks (docs/formats/array-record.md, section 5). Opening one tells how
// many bytes it declares, so that the caller can make room; unpacking insists on exactly that many.
// Kinds: CORRUPT, check "compression" (the stream itself) or "sizes" (it holds more or less than it
// may); NO_MEMORY.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_COMPRESS_H
#define SDSFS_FORMAT_ARRAY_RECORD_COMPRESS_H

#include "base/bytes.h"
#include "base/err.h"

enum sds_ar_compression {
    SDS_AR_PLAIN = 0,
    SDS_AR_BROTLI = 'b',
    SDS_AR_SNAPPY = 's',
    SDS_AR_ZSTD = 'z',
};

struct sds_ar_packed {
    enum sds_ar_compression compression;
    struct sds_span stream;
    uint64_t plain_size; // at most the cap it was opened with
};

// Checks the byte that rules a chunk.
SDS_MUST_CHECK enum sds_kind sds_ar_compression_check(uint8_t byte, enum sds_ar_compression *out,
                                                      struct sds_err *err);

// what names the block in messages ("values"); it is kept nowhere.
SDS_MUST_CHECK enum sds_kind sds_ar_packed_open(enum sds_ar_compression compression,
                                                struct sds_span block, uint64_t cap,
                                                const char *what, struct sds_ar_packed *out,
                                                struct sds_err *err);

// Fills all plain_size bytes of plain, or fails.
SDS_MUST_CHECK enum sds_kind sds_ar_unpack(const struct sds_ar_packed *packed, uint8_t *plain,
                                           struct sds_err *err);

// For blocks that are only looked at: *plain is the stream itself when nothing is compressed, else
// memory in *owned, which the caller frees after success and failure alike.
SDS_MUST_CHECK enum sds_kind sds_ar_unpack_view(const struct sds_ar_packed *packed, uint8_t **owned,
                                                struct sds_span *plain, struct sds_err *err);

#endif
