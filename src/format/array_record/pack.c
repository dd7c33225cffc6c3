// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/pack.h"

#include <zstd_errors.h>

#include "format/array_record/varint.h"

#define LEVEL 3
#define WINDOW_LOG 20

ZSTD_CCtx *sds_ar_packer_new(void) {
    ZSTD_CCtx *packer = ZSTD_createCCtx();
    if (packer != NULL &&
        (ZSTD_isError(ZSTD_CCtx_setParameter(packer, ZSTD_c_compressionLevel, LEVEL)) ||
         ZSTD_isError(ZSTD_CCtx_setParameter(packer, ZSTD_c_windowLog, WINDOW_LOG)))) {
        ZSTD_freeCCtx(packer);
        return NULL;
    }
    return packer;
}

static enum sds_kind no_room(enum sds_kind kind, size_t len, struct sds_err *err) {
    return sds_fail(err, kind, kind == SDS_ERR_LIMIT ? "limit" : "memory",
                    "no room for a block of %zu bytes", len);
}

static enum sds_kind failed(size_t result, struct sds_err *err) {
    return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation
               ? sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a zstd encoder")
               : sds_fail(err, SDS_ERR_INTERNAL, "zstd", "%s", ZSTD_getErrorName(result));
}

// Gives zstd some bytes until it has taken them and, at the end, has given everything out. out has
// room for all of it, so that a call without progress is a fault.
static enum sds_kind feed(ZSTD_CCtx *packer, struct sds_span bytes, ZSTD_EndDirective directive,
                          ZSTD_outBuffer *out, struct sds_err *err) {
    ZSTD_inBuffer in = {.src = bytes.at, .size = bytes.len};
    for (;;) {
        size_t taken = in.pos, given = out->pos;
        size_t left = ZSTD_compressStream2(packer, out, &in, directive);
        if (ZSTD_isError(left)) {
            return failed(left, err);
        }
        if (in.pos == in.size && (directive != ZSTD_e_end || left == 0)) {
            return SDS_OK;
        }
        if (in.pos == taken && out->pos == given) {
            return sds_fail(err, SDS_ERR_INTERNAL, "zstd", "the encoder makes no progress");
        }
    }
}

static void append(uint8_t *to, size_t *len, struct sds_span bytes) {
    if (bytes.len > 0) {
        memcpy(to + *len, bytes.at, bytes.len);
        *len += bytes.len;
    }
}

static enum sds_kind pack_whole(ZSTD_CCtx *packer, const struct sds_ar_pieces *plain,
                                ZSTD_outBuffer *out, struct sds_err *err) {
    uint8_t whole[SDS_AR_PACK_BUFFER];
    size_t len = 0;
    append(whole, &len, plain->head);
    append(whole, &len, plain->tail);
    return feed(packer, sds_span(whole, len), ZSTD_e_end, out, err);
}

static enum sds_kind pack_stream(ZSTD_CCtx *packer, const struct sds_ar_pieces *plain,
                                 ZSTD_outBuffer *out, struct sds_err *err) {
    enum sds_kind kind = feed(packer, plain->head, ZSTD_e_continue, out, err);
    if (kind == SDS_OK) {
        kind = feed(packer, plain->tail, ZSTD_e_continue, out, err);
    }
    return kind == SDS_OK ? feed(packer, sds_span(NULL, 0), ZSTD_e_end, out, err) : kind;
}

enum sds_kind sds_ar_pack(ZSTD_CCtx *packer, const struct sds_ar_pieces *plain, size_t whole_max,
                          struct sds_buf *out, struct sds_err *err) {
    size_t len = sds_ar_pieces_len(plain), bound = ZSTD_compressBound(len);
    if (bound < len || ZSTD_isError(bound)) {
        return no_room(SDS_ERR_LIMIT, len, err);
    }
    enum sds_kind kind = sds_varint_add(out, len);
    if (kind == SDS_OK) {
        kind = sds_buf_reserve(out, bound);
    }
    if (kind != SDS_OK) {
        return no_room(kind, len, err);
    }
    size_t reset = ZSTD_CCtx_reset(packer, ZSTD_reset_session_only);
    if (ZSTD_isError(reset)) {
        return failed(reset, err);
    }
    ZSTD_outBuffer frame = {.dst = out->at + out->len, .size = bound};
    kind = len <= whole_max ? pack_whole(packer, plain, &frame, err)
                            : pack_stream(packer, plain, &frame, err);
    out->len += frame.pos;
    return kind;
}
