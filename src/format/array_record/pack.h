// SPDX-License-Identifier: Apache-2.0
//
// Compressed blocks as the reference's writer makes them by default (docs/formats/array-record.md,
// sections 5 and 13): zstd level 3, window log 20. compress.h opens them.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_PACK_H
#define SDSFS_FORMAT_ARRAY_RECORD_PACK_H

#include <zstd.h>

#include "base/buf.h"

// A compressor with those parameters, for any number of blocks; ZSTD_freeCCtx frees it. NULL when
// there is no memory.
ZSTD_CCtx *sds_ar_packer_new(void);

// Bytes in two places that run together.
struct sds_ar_pieces {
    struct sds_span head, tail;
};

static inline size_t sds_ar_pieces_len(const struct sds_ar_pieces *pieces) {
    return pieces->head.len + pieces->tail.len;
}

// Appends a block: the plain size and one frame. zstd gets up to whole_max bytes in one call, and
// then notes their number in the frame; more it gets as a stream of unknown size. whole_max is at
// most SDS_AR_PACK_BUFFER. After a failure out may have grown. Kinds: LIMIT, check "limit";
// NO_MEMORY.
#define SDS_AR_PACK_BUFFER 4096
SDS_MUST_CHECK enum sds_kind sds_ar_pack(ZSTD_CCtx *packer, const struct sds_ar_pieces *plain,
                                         size_t whole_max, struct sds_buf *out,
                                         struct sds_err *err);

#endif
