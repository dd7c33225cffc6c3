// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/compress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#define TEXT "hello hello hello hello"
#define TEXT_LEN (sizeof TEXT - 1)

// The same 23 bytes under each codec, without the size in front. zstd: a frame without content
// size, as the reference streams it, of a raw block; brotli: quality 6.
static const uint8_t zstd_stream[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50, 0xb9, 0x00, 0x00, 'h', 'e', 'l', 'l', 'o', ' ', 'h',
    'e',  'l',  'l',  'o',  ' ',  'h',  'e',  'l',  'l',  'o', ' ', 'h', 'e', 'l', 'l', 'o'};
static const uint8_t snappy_stream[] = {23, 5 << 2, 'h', 'e', 'l', 'l', 'o', ' ', 0x42, 6, 0};
static const uint8_t brotli_stream[] = {0x1b, 0x16, 0x00, 0x00, 0x24, 0x40, 0x6a,
                                        0x10, 0x65, 0xea, 0xf0, 0x9c, 0x3e};

struct codec {
    enum sds_ar_compression compression;
    struct sds_span stream;
};

static const struct codec codecs[] = {
    {SDS_AR_PLAIN, {(const uint8_t *)TEXT, TEXT_LEN}},
    {SDS_AR_ZSTD, {zstd_stream, sizeof zstd_stream}},
    {SDS_AR_SNAPPY, {snappy_stream, sizeof snappy_stream}},
    {SDS_AR_BROTLI, {brotli_stream, sizeof brotli_stream}},
};

// Runs a block that declares size bytes, in memory of exactly its length; plain has room for size.
static enum sds_kind unpack(const struct codec *codec, uint8_t size, struct sds_span stream,
                            uint8_t *plain, struct sds_err *err) {
    size_t prefix = codec->compression == SDS_AR_PLAIN ? 0 : 1;
    size_t len = prefix + stream.len;
    uint8_t *block = malloc(len > 0 ? len : 1);
    assert_non_null(block);
    block[0] = size;
    memcpy(block + prefix, stream.at, stream.len);
    struct sds_ar_packed packed;
    enum sds_kind kind =
        sds_ar_packed_open(codec->compression, sds_span(block, len), size, "test", &packed, err);
    if (kind == SDS_OK) {
        kind = sds_ar_unpack(&packed, plain, err);
    }
    free(block);
    return kind;
}

static void test_each_codec(void **state) {
    const struct codec *codec = *state;
    uint8_t plain[TEXT_LEN];
    struct sds_err err;
    assert_int_equal(unpack(codec, TEXT_LEN, codec->stream, plain, &err), SDS_OK);
    assert_memory_equal(plain, TEXT, TEXT_LEN);
}

static void test_size_is_exact(void **state) {
    const struct codec *codec = *state;
    for (uint8_t size = 0; size < 64; size++) {
        struct sds_err err;
        uint8_t *plain = malloc(size > 0 ? size : 1);
        assert_non_null(plain);
        enum sds_kind kind = unpack(codec, size, codec->stream, plain, &err);
        if (codec->compression == SDS_AR_PLAIN) {
            // Plain bytes have no size but their own; size is the cap here.
            assert_int_equal(kind, size < TEXT_LEN ? SDS_ERR_CORRUPT : SDS_OK);
            free(plain);
            break;
        }
        assert_int_equal(kind, size == TEXT_LEN ? SDS_OK : SDS_ERR_CORRUPT);
        if (kind != SDS_OK && codec->compression != SDS_AR_SNAPPY) {
            assert_string_equal(err.check, "sizes");
        }
        free(plain);
    }
}

static void test_cut_anywhere(void **state) {
    const struct codec *codec = *state;
    if (codec->compression == SDS_AR_PLAIN) {
        return; // any length is right
    }
    uint8_t plain[TEXT_LEN];
    for (size_t len = 0; len < codec->stream.len; len++) {
        struct sds_err err;
        struct sds_span cut = sds_span(codec->stream.at, len);
        assert_int_equal(unpack(codec, TEXT_LEN, cut, plain, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "compression");
    }
}

static void test_nothing_may_follow(void **state) {
    const struct codec *codec = *state;
    if (codec->compression == SDS_AR_PLAIN) {
        return;
    }
    uint8_t longer[128], plain[TEXT_LEN];
    memcpy(longer, codec->stream.at, codec->stream.len);
    longer[codec->stream.len] = 0;
    struct sds_err err;
    struct sds_span stream = sds_span(longer, codec->stream.len + 1);
    assert_int_equal(unpack(codec, TEXT_LEN, stream, plain, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "compression");
    // Two streams are no stream either.
    memcpy(longer + codec->stream.len, codec->stream.at, codec->stream.len);
    stream.len = 2 * codec->stream.len;
    assert_int_equal(unpack(codec, TEXT_LEN, stream, plain, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "compression");
}

static void test_empty_streams(void **state) {
    (void)state;
    static const uint8_t empty_zstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00};
    const struct codec empty[] = {
        {SDS_AR_PLAIN, sds_span("", 0)},
        {SDS_AR_ZSTD, sds_span(empty_zstd, sizeof empty_zstd)},
        {SDS_AR_SNAPPY, sds_span("\0", 1)},
        {SDS_AR_BROTLI, sds_span("\x3b", 1)},
    };
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        uint8_t plain[1];
        struct sds_err err;
        assert_int_equal(unpack(&empty[i], 0, empty[i].stream, plain, &err), SDS_OK);
    }
}

static void test_zstd_is_one_ordinary_frame(void **state) {
    (void)state;
    const struct codec zstd = codecs[1];
    uint8_t bytes[128] = {0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 'x'}; // a skippable frame
    memcpy(bytes + 9, zstd_stream, sizeof zstd_stream);
    uint8_t plain[TEXT_LEN];
    struct sds_err err;
    struct sds_span stream = sds_span(bytes, 9 + sizeof zstd_stream);
    assert_int_equal(unpack(&zstd, TEXT_LEN, stream, plain, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "compression");
    // Alone it would decode to nothing.
    assert_int_equal(unpack(&zstd, 0, sds_span(bytes, 9), plain, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "compression");
}

// A decoder has to serve again after a stream that it choked on, and one stream after another.
static void test_decoders_are_reused(void **state) {
    (void)state;
    uint8_t plain[TEXT_LEN], broken[sizeof zstd_stream];
    memcpy(broken, zstd_stream, sizeof broken);
    broken[6] |= 6; // a reserved block type
    for (int i = 0; i < 100; i++) {
        assert_int_equal(unpack(&codecs[1], TEXT_LEN, sds_span(broken, sizeof broken), plain, NULL),
                         SDS_ERR_CORRUPT);
        memset(plain, 0, sizeof plain);
        assert_int_equal(unpack(&codecs[1], TEXT_LEN, codecs[1].stream, plain, NULL), SDS_OK);
        assert_memory_equal(plain, TEXT, TEXT_LEN);
    }
}

static void test_declared_size(void **state) {
    (void)state;
    struct sds_ar_packed packed;
    struct sds_err err;
    static const uint8_t no_varint[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    assert_int_equal(sds_ar_packed_open(SDS_AR_ZSTD, sds_span(no_varint, sizeof no_varint),
                                        UINT64_MAX, "test", &packed, &err),
                     SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "compression");
    assert_int_equal(
        sds_ar_packed_open(SDS_AR_ZSTD, sds_span("", 0), UINT64_MAX, "test", &packed, &err),
        SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "compression");
    assert_int_equal(
        sds_ar_packed_open(SDS_AR_ZSTD, sds_span("\x10", 1), 16, "test", &packed, &err), SDS_OK);
    assert_int_equal(packed.plain_size, 16);
    assert_int_equal(packed.stream.len, 0);
    assert_int_equal(
        sds_ar_packed_open(SDS_AR_ZSTD, sds_span("\x11", 1), 16, "test", &packed, &err),
        SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "sizes");
}

static void test_types(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        enum sds_ar_compression compression;
        struct sds_err err;
        bool known = byte == 0 || byte == 'b' || byte == 's' || byte == 'z';
        enum sds_kind kind = sds_ar_compression_check((uint8_t)byte, &compression, &err);
        assert_int_equal(kind, known ? SDS_OK : SDS_ERR_CORRUPT);
        if (!known) {
            assert_string_equal(err.check, "compression");
        }
    }
}

// Large streams of every kind of block, made by libzstd; window logs up to the largest.
static void test_large_zstd(void **state) {
    (void)state;
    size_t len = 300000;
    uint8_t *plain = malloc(len), *got = malloc(len);
    size_t cap = ZSTD_compressBound(len);
    uint8_t *stream = malloc(cap);
    assert_true(plain != NULL && got != NULL && stream != NULL);
    unsigned seed = 3;
    for (size_t i = 0; i < len; i++) {
        plain[i] = (uint8_t)(i % 1000 < 500 ? rand_r(&seed) : "abcdef"[rand_r(&seed) % 6]);
    }
    for (int window_log = 10; window_log <= 31; window_log += 7) {
        ZSTD_CCtx *encoder = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(encoder, ZSTD_c_windowLog, window_log);
        size_t n = ZSTD_compress2(encoder, stream, cap, plain, len);
        ZSTD_freeCCtx(encoder);
        assert_false(ZSTD_isError(n));
        struct sds_ar_packed packed = {SDS_AR_ZSTD, sds_span(stream, n), len};
        memset(got, 0, len);
        assert_int_equal(sds_ar_unpack(&packed, got, NULL), SDS_OK);
        assert_memory_equal(got, plain, len);
    }
    free(plain);
    free(got);
    free(stream);
}

#define EACH_CODEC(test)                                                                           \
    cmocka_unit_test_prestate(test, (void *)(uintptr_t)&codecs[0]),                                \
        cmocka_unit_test_prestate(test, (void *)(uintptr_t)&codecs[1]),                            \
        cmocka_unit_test_prestate(test, (void *)(uintptr_t)&codecs[2]),                            \
        cmocka_unit_test_prestate(test, (void *)(uintptr_t)&codecs[3])

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH_CODEC(test_each_codec),
        EACH_CODEC(test_size_is_exact),
        EACH_CODEC(test_cut_anywhere),
        EACH_CODEC(test_nothing_may_follow),
        cmocka_unit_test(test_empty_streams),
        cmocka_unit_test(test_zstd_is_one_ordinary_frame),
        cmocka_unit_test(test_decoders_are_reused),
        cmocka_unit_test(test_declared_size),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_large_zstd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
