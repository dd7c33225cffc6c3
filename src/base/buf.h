// SPDX-License-Identifier: Apache-2.0
//
// A growing byte buffer with a ceiling that is set at birth. Owned by one thread.
#ifndef SDSFS_BASE_BUF_H
#define SDSFS_BASE_BUF_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

struct sds_buf {
    uint8_t *at;
    size_t len;
    size_t cap;
    size_t max; // an append that would pass it fails with SDS_ERR_LIMIT
};

#define SDS_BUF_INIT(ceiling) ((struct sds_buf){.max = (ceiling)})

void sds_buf_fini(struct sds_buf *buf);

// Appends. On failure the buffer is unchanged. Kinds: LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_buf_add(struct sds_buf *buf, const void *bytes, size_t len);
SDS_MUST_CHECK enum sds_kind sds_buf_add_span(struct sds_buf *buf, struct sds_span span);
SDS_MUST_CHECK enum sds_kind sds_buf_add_str(struct sds_buf *buf, const char *text);
SDS_MUST_CHECK enum sds_kind sds_buf_printf(struct sds_buf *buf, const char *fmt, ...)
    SDS_PRINTF(2, 3);

SDS_MUST_CHECK enum sds_kind sds_buf_add_u64(struct sds_buf *buf, uint64_t n); // in decimal

// Says in err why an append failed, checks "limit" and "memory". Returns kind.
enum sds_kind sds_buf_failed(const struct sds_buf *buf, enum sds_kind kind, struct sds_err *err);

// Room for len more bytes at buf->at + buf->len, not yet counted in len.
SDS_MUST_CHECK enum sds_kind sds_buf_reserve(struct sds_buf *buf, size_t len);

static inline struct sds_span sds_buf_span(const struct sds_buf *buf) {
    return sds_span(buf->at, buf->len);
}

#endif
