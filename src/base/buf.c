// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sds_buf_fini(struct sds_buf *buf) {
    free(buf->at);
    *buf = SDS_BUF_INIT(buf->max);
}

enum sds_kind sds_buf_reserve(struct sds_buf *buf, size_t len) {
    if (len > buf->max - buf->len) {
        return SDS_ERR_LIMIT;
    }
    size_t need = buf->len + len;
    if (need <= buf->cap) {
        return SDS_OK;
    }
    size_t cap = buf->cap < 64 ? 64 : buf->cap;
    while (cap < need) {
        cap = cap > buf->max / 2 ? buf->max : cap * 2;
    }
    uint8_t *at = realloc(buf->at, cap);
    if (at == NULL) {
        return SDS_ERR_NO_MEMORY;
    }
    buf->at = at;
    buf->cap = cap;
    return SDS_OK;
}

enum sds_kind sds_buf_add(struct sds_buf *buf, const void *bytes, size_t len) {
    if (len == 0) {
        return SDS_OK;
    }
    enum sds_kind kind = sds_buf_reserve(buf, len);
    if (kind == SDS_OK) {
        memcpy(buf->at + buf->len, bytes, len);
        buf->len += len;
    }
    return kind;
}

enum sds_kind sds_buf_add_span(struct sds_buf *buf, struct sds_span span) {
    return sds_buf_add(buf, span.at, span.len);
}

enum sds_kind sds_buf_add_str(struct sds_buf *buf, const char *text) {
    return sds_buf_add(buf, text, strlen(text));
}

enum sds_kind sds_buf_add_u64(struct sds_buf *buf, uint64_t n) {
    char text[20]; // 2^64 has as many digits
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return sds_buf_add(buf, text + at, sizeof text - at);
}

enum sds_kind sds_buf_failed(const struct sds_buf *buf, enum sds_kind kind, struct sds_err *err) {
    if (kind == SDS_ERR_LIMIT) {
        return sds_fail(err, kind, "limit", "more than %zu bytes", buf->max);
    }
    return sds_fail(err, kind, "memory", "no memory for more than %zu bytes", buf->len);
}

enum sds_kind sds_buf_printf(struct sds_buf *buf, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    enum sds_kind kind = n < 0 ? SDS_ERR_INTERNAL : sds_buf_reserve(buf, (size_t)n + 1);
    if (kind == SDS_OK) {
        vsnprintf((char *)buf->at + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
    return kind;
}
