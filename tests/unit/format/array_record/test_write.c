// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/write.h"

#include <stdlib.h>

#include "unit.h"

#include <zstd.h>

#include "ar_file.h"
#include "format/array_record/block.h"

static const struct sds_ar_limits limits = {.chunk_bytes = 1 << 30};

static struct sds_ar_writer *open_writer(struct ar_file *file) {
    struct sds_ar_sink sink = ar_file_sink(file);
    struct sds_ar_writer *writer;
    struct sds_err err;
    assert_int_equal(sds_ar_writer_open(&sink, &writer, &err), SDS_OK);
    return writer;
}

static void add(struct sds_ar_writer *writer, struct sds_span record) {
    struct sds_err err;
    assert_int_equal(sds_ar_writer_add(writer, record, &err), SDS_OK);
}

static void finish(struct sds_ar_writer *writer, const struct ar_file *file) {
    uint64_t size;
    struct sds_err err;
    assert_int_equal(sds_ar_writer_finish(writer, &size, &err), SDS_OK);
    assert_int_equal(size, file->len);
    sds_ar_writer_close(writer);
}

static struct sds_ar_index *open_index(const struct sds_ar_source *source) {
    struct sds_ar_index *index;
    struct sds_err err;
    if (sds_ar_open(source, &limits, &index, &err) != SDS_OK) {
        fail_msg("%s: %s", err.check, err.message);
    }
    return index;
}

static void assert_walks(const struct sds_ar_index *index, const struct sds_ar_source *source) {
    struct sds_err err;
    if (sds_ar_walk(index, source, &err) != SDS_OK) {
        fail_msg("%s: %s", err.check, err.message);
    }
}

// What comes out of the compressor differs a little between versions of zstd: these give what the
// reference has built in.
static bool zstd_is_the_references(void) {
    return ZSTD_versionNumber() >= 10504 && ZSTD_versionNumber() <= 10506;
}

// A file of the reference, read and written again, is the same file.
static void test_rewritten(void **state) {
    if (!zstd_is_the_references()) {
        skip();
    }
    struct ar_file file, written = {0};
    ar_file_unpack(&file, *state);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = open_index(&source);
    struct sds_ar_writer *writer = open_writer(&written);
    for (uint64_t i = 0; i < sds_ar_chunk_count(index); i++) {
        struct sds_ar_chunk chunk;
        struct sds_err err;
        assert_int_equal(sds_ar_read_chunk(index, &source, i, &chunk, &err), SDS_OK);
        for (uint32_t k = 0; k < chunk.count; k++) {
            add(writer, sds_ar_chunk_record(&chunk, k));
        }
        sds_ar_chunk_fini(&chunk);
    }
    finish(writer, &written);
    sds_ar_close(index);
    assert_int_equal(written.len, file.len);
    assert_memory_equal(written.at, file.at, file.len);
    ar_file_fini(&written);
    ar_file_fini(&file);
}

// Bytes that do not compress, the same for a seed.
static void fill(uint8_t *to, size_t len, uint64_t seed) {
    for (size_t i = 0; i < len; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        to[i] = (uint8_t)(seed >> 56);
    }
}

static void assert_holds(const struct ar_file *file, const size_t *sizes, size_t count) {
    static uint8_t expected[200000];
    struct sds_ar_source source = ar_file_source((struct ar_file *)(uintptr_t)file);
    struct sds_ar_index *index = open_index(&source);
    assert_int_equal(sds_ar_record_count(index), count);
    assert_int_equal(sds_ar_chunk_count(index), count);
    assert_walks(index, &source);
    for (size_t i = 0; i < count; i++) {
        struct sds_ar_chunk chunk;
        struct sds_err err;
        assert_int_equal(sds_ar_chunk_decoded_size(index, i), sizes[i]);
        assert_int_equal(sds_ar_read_chunk(index, &source, i, &chunk, &err), SDS_OK);
        struct sds_span record = sds_ar_chunk_record(&chunk, 0);
        fill(expected, sizes[i], i);
        assert_true(sds_span_eq(record, sds_span(expected, sizes[i])));
        sds_ar_chunk_fini(&chunk);
    }
    sds_ar_close(index);
}

static void write_sizes(struct ar_file *file, const size_t *sizes, size_t count) {
    static uint8_t bytes[200000];
    struct sds_ar_writer *writer = open_writer(file);
    for (size_t i = 0; i < count; i++) {
        fill(bytes, sizes[i], i);
        add(writer, sds_span(bytes, sizes[i]));
    }
    finish(writer, file);
}

// A first record of each size that ends its chunk, the footer behind it, or the padding behind that
// somewhere around a block header; the second record then begins there.
static void test_sizes_around_block_edges(void **state) {
    (void)state;
    static const size_t edges[] = {0, 65200, 130800};
    for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++) {
        for (size_t size = edges[e]; size < edges[e] + 400; size++) {
            struct ar_file file = {0};
            const size_t sizes[] = {size, 7};
            write_sizes(&file, sizes, 2);
            assert_holds(&file, sizes, 2);
            file.len = 0;
            write_sizes(&file, sizes, 1);
            assert_holds(&file, sizes, 1);
            ar_file_fini(&file);
        }
    }
}

// On both sides of where the reference begins to stream: records, and the footer's two blocks (see
// also tests/integration/test_writer.py).
static void test_sizes_around_the_buffer(void **state) {
    (void)state;
    for (size_t size = 4090; size < 4100; size++) {
        struct ar_file file = {0};
        const size_t sizes[] = {size, 0, size};
        write_sizes(&file, sizes, 3);
        assert_holds(&file, sizes, 3);
        ar_file_fini(&file);
    }
    static size_t sizes[4100];
    for (size_t count = 330; count <= 4095; count = count < 419 ? count + 1 : count + 735) {
        struct ar_file file = {0};
        write_sizes(&file, sizes, count);
        assert_holds(&file, sizes, count);
        ar_file_fini(&file);
    }
}

static void test_no_records(void **state) {
    (void)state;
    struct ar_file file = {0};
    write_sizes(&file, NULL, 0);
    assert_int_equal(file.len, 2 * SDS_AR_BLOCK);
    assert_int_equal(file.writes, 2);
    assert_holds(&file, NULL, 0);
    ar_file_fini(&file);
}

// What the sink says is what the caller hears, whichever write it is.
static void test_sink_fails(void **state) {
    (void)state;
    static uint8_t bytes[3 * SDS_AR_BLOCK];
    fill(bytes, sizeof bytes, 1);
    unsigned failing = 1;
    for (bool whole = false; !whole; failing++) {
        struct ar_file file = {.failing_write = failing};
        struct sds_ar_writer *writer = open_writer(&file);
        struct sds_err err;
        enum sds_kind kind = sds_ar_writer_add(writer, sds_span(bytes, sizeof bytes), &err);
        uint64_t size = 0;
        if (kind == SDS_OK) {
            kind = sds_ar_writer_finish(writer, &size, &err);
        }
        whole = kind == SDS_OK;
        if (!whole) {
            assert_int_equal(kind, SDS_ERR_STORAGE);
            assert_string_equal(err.check, "io");
            assert_int_equal(file.writes, failing);
        }
        sds_ar_writer_close(writer);
        ar_file_fini(&file);
    }
    assert_int_equal(failing - 2, 5); // three blocks of the record, the footer's, the postscript's
}

static void test_not_finished(void **state) {
    (void)state;
    struct ar_file file = {0};
    struct sds_ar_writer *writer = open_writer(&file);
    static const uint8_t zeros[100];
    add(writer, sds_span(zeros, sizeof zeros));
    sds_ar_writer_close(writer);
    assert_int_equal(file.writes, 0);
    ar_file_fini(&file);
    sds_ar_writer_close(NULL);
}

#define REWRITTEN(file) cmocka_unit_test_prestate(test_rewritten, file ".array_record")

int main(void) {
    const struct CMUnitTest tests[] = {
        REWRITTEN("empty-default"),
        REWRITTEN("gs1-default-text"),
        REWRITTEN("gs1-default-random"),
        REWRITTEN("gs1-default-5mib"),
        REWRITTEN("gs1-default-10000"),
        cmocka_unit_test(test_sizes_around_block_edges),
        cmocka_unit_test(test_sizes_around_the_buffer),
        cmocka_unit_test(test_no_records),
        cmocka_unit_test(test_sink_fails),
        cmocka_unit_test(test_not_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
