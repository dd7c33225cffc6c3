// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/compress.h"

#include <brotli/decode.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "format/array_record/cursor.h"
#include "format/array_record/snappy.h"

// A zstd decoder takes longer to make than a small record takes to decode. Those not in use wait
// here, one a slot; a thread that finds none makes one, and what finds no free slot is freed.
#define DECODERS 16
static _Atomic(ZSTD_DCtx *) idle_decoders[DECODERS];

static ZSTD_DCtx *take_decoder(void) {
    for (int i = 0; i < DECODERS; i++) {
        if (atomic_load_explicit(&idle_decoders[i], memory_order_relaxed) == NULL) {
            continue;
        }
        ZSTD_DCtx *decoder =
            atomic_exchange_explicit(&idle_decoders[i], NULL, memory_order_acquire);
        if (decoder != NULL) {
            return decoder;
        }
    }
    return ZSTD_createDCtx();
}

static void give_decoder(ZSTD_DCtx *decoder) {
    for (int i = 0; i < DECODERS; i++) {
        ZSTD_DCtx *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&idle_decoders[i], &none, decoder,
                                                    memory_order_release, memory_order_relaxed)) {
            return;
        }
    }
    ZSTD_freeDCtx(decoder);
}

static enum sds_kind no_memory(struct sds_err *err, const char *what) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %s", what);
}

static enum sds_kind broken(struct sds_err *err, const char *codec, const char *what) {
    return sds_fail(err, SDS_ERR_CORRUPT, "compression", "%s: %s", codec, what);
}

static enum sds_kind too_much(struct sds_err *err, const char *codec, uint64_t declared) {
    return sds_fail(err, SDS_ERR_CORRUPT, "sizes",
                    "the %s stream holds more than the declared %" PRIu64 " bytes", codec,
                    declared);
}

static enum sds_kind too_little(struct sds_err *err, const char *codec, uint64_t got,
                                uint64_t declared) {
    return sds_fail(err, SDS_ERR_CORRUPT, "sizes",
                    "the %s stream holds %" PRIu64 " bytes, not the declared %" PRIu64, codec, got,
                    declared);
}

// One ordinary frame and nothing else. Decoding in one call needs no window besides the output, so
// no window is too large.
static enum sds_kind unpack_zstd(const struct sds_ar_packed *packed, uint8_t *plain,
                                 struct sds_err *err) {
    struct sds_span frame = packed->stream;
    if (frame.len < 4 || sds_le32(frame.at) != ZSTD_MAGICNUMBER) {
        return broken(err, "zstd", "no frame");
    }
    size_t frame_size = ZSTD_findFrameCompressedSize(frame.at, frame.len);
    if (ZSTD_isError(frame_size)) {
        return broken(err, "zstd", ZSTD_getErrorName(frame_size));
    }
    if (frame_size != frame.len) {
        return broken(err, "zstd", "bytes follow the frame");
    }
    ZSTD_DCtx *decoder = take_decoder();
    if (decoder == NULL) {
        return no_memory(err, "a zstd decoder");
    }
    size_t got = ZSTD_decompressDCtx(decoder, plain, packed->plain_size, frame.at, frame.len);
    give_decoder(decoder);
    if (ZSTD_isError(got)) {
        return ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall
                   ? too_much(err, "zstd", packed->plain_size)
                   : broken(err, "zstd", ZSTD_getErrorName(got));
    }
    return got == packed->plain_size ? SDS_OK : too_little(err, "zstd", got, packed->plain_size);
}

static enum sds_kind unpack_brotli(const struct sds_ar_packed *packed, uint8_t *plain,
                                   struct sds_err *err) {
    BrotliDecoderState *decoder = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    if (decoder == NULL) {
        return no_memory(err, "a brotli decoder");
    }
    // Writers use the large-window form for window logs above 24.
    BrotliDecoderSetParameter(decoder, BROTLI_DECODER_PARAM_LARGE_WINDOW, 1);
    size_t in_left = packed->stream.len, out_left = packed->plain_size;
    const uint8_t *in = packed->stream.at;
    BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoder, &in_left, &in, &out_left, &plain, NULL);
    BrotliDecoderErrorCode error = BrotliDecoderGetErrorCode(decoder);
    BrotliDecoderDestroyInstance(decoder);
    switch (result) {
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
        return too_much(err, "brotli", packed->plain_size);
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
        return broken(err, "brotli", "the stream is cut short");
    case BROTLI_DECODER_RESULT_ERROR:
        if (error <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
            error >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES) {
            return no_memory(err, "a brotli decoder");
        }
        return broken(err, "brotli", BrotliDecoderErrorString(error));
    case BROTLI_DECODER_RESULT_SUCCESS:
        break;
    }
    if (in_left > 0) {
        return broken(err, "brotli", "bytes follow the stream");
    }
    return out_left == 0
               ? SDS_OK
               : too_little(err, "brotli", packed->plain_size - out_left, packed->plain_size);
}

enum sds_kind sds_ar_compression_check(uint8_t byte, enum sds_ar_compression *out,
                                       struct sds_err *err) {
    switch (byte) {
    case SDS_AR_PLAIN:
    case SDS_AR_BROTLI:
    case SDS_AR_SNAPPY:
    case SDS_AR_ZSTD:
        *out = byte;
        return SDS_OK;
    default:
        return sds_fail(err, SDS_ERR_CORRUPT, "compression", "unknown compression type 0x%02x",
                        byte);
    }
}

enum sds_kind sds_ar_packed_open(enum sds_ar_compression compression, struct sds_span block,
                                 uint64_t cap, const char *what, struct sds_ar_packed *out,
                                 struct sds_err *err) {
    struct sds_cursor in = sds_cursor(block);
    uint64_t plain_size = block.len;
    if (compression != SDS_AR_PLAIN && !sds_cursor_varint64(&in, &plain_size)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "compression", "the size of the %s is no varint",
                        what);
    }
    if (plain_size > cap) {
        return sds_fail(err, SDS_ERR_CORRUPT, "sizes",
                        "%" PRIu64 " bytes of %s, where at most %" PRIu64 " can be right",
                        plain_size, what, cap);
    }
    *out = (struct sds_ar_packed){.compression = compression,
                                  .stream = sds_span(in.at, sds_cursor_left(&in)),
                                  .plain_size = plain_size};
    return SDS_OK;
}

enum sds_kind sds_ar_unpack(const struct sds_ar_packed *packed, uint8_t *plain,
                            struct sds_err *err) {
    switch (packed->compression) {
    case SDS_AR_PLAIN:
        memcpy(plain, packed->stream.at, packed->stream.len);
        return SDS_OK;
    case SDS_AR_BROTLI:
        return unpack_brotli(packed, plain, err);
    case SDS_AR_ZSTD:
        return unpack_zstd(packed, plain, err);
    case SDS_AR_SNAPPY:
        break;
    }
    const char *wrong = sds_snappy_decode(packed->stream, plain, packed->plain_size);
    return wrong == NULL ? SDS_OK : broken(err, "snappy", wrong);
}

enum sds_kind sds_ar_unpack_view(const struct sds_ar_packed *packed, uint8_t **owned,
                                 struct sds_span *plain, struct sds_err *err) {
    *owned = NULL;
    if (packed->compression == SDS_AR_PLAIN) {
        *plain = packed->stream;
        return SDS_OK;
    }
    size_t len = packed->plain_size;
    *owned = malloc(len > 0 ? len : 1);
    if (*owned == NULL) {
        return no_memory(err, "a decompressed block");
    }
    *plain = sds_span(*owned, len);
    return sds_ar_unpack(packed, *owned, err);
}
