// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/chunk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ar_file.h"
#include "format/array_record/block.h"
#include "format/array_record/highway_hash.h"

// Loads a chunk, header and data, with a first read of expected bytes.
static enum sds_kind load_chunk(struct ar_file *file, uint64_t begin, uint64_t limit,
                                uint64_t expected, struct sds_err *err) {
    struct sds_ar_source source = ar_file_source(file);
    struct sds_ar_load load = {.source = &source, .begin = begin, .limit = limit};
    struct sds_span data;
    enum sds_kind kind = sds_ar_load_header(&load, expected, err);
    if (kind == SDS_OK) {
        kind = sds_ar_load_data(&load, &data, err);
    }
    if (kind == SDS_OK) {
        assert_int_equal(data.len, load.header.data_size);
        assert_int_equal(sds_highway_hash(data.at, data.len), load.header.data_hash);
    }
    sds_ar_load_fini(&load);
    return kind;
}

static void must_fail(struct ar_file *file, uint64_t begin, uint64_t limit, const char *check) {
    struct sds_err err;
    assert_int_equal(load_chunk(file, begin, limit, 1000, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, check);
}

// A chunk of len bytes that begins at a position.
static void begin_at(struct ar_file *file, uint64_t begin, size_t len) {
    *file = (struct ar_file){0};
    uint8_t *data = malloc(len + 65536);
    assert_non_null(data);
    memset(data, 'a', len + 65536);
    // What is in front need not be a chunk.
    for (uint64_t pos = 0; pos < begin; pos += 65536) {
        file->len = pos;
        ar_file_chunk(file, 'x', sds_span(data, 65000), 0, 0);
    }
    file->len = begin;
    assert_int_equal(ar_file_chunk(file, 'r', sds_span(data, len), 1, 0), begin);
    free(data);
}

static const uint64_t begins[] = {64, 65536, 65561, 65536 - 1, 65536 - 20, 65536 - 39, 65536 - 40};
#define BEGINS (sizeof begins / sizeof begins[0])

static void test_limits(void **state) {
    (void)state;
    for (size_t i = 0; i < BEGINS; i++) {
        struct ar_file file;
        begin_at(&file, begins[i], 200);
        uint64_t end = file.len;
        struct sds_err err;
        assert_int_equal(load_chunk(&file, begins[i], end, 1000, &err), SDS_OK);
        for (uint64_t limit = begins[i]; limit < end; limit++) {
            must_fail(&file, begins[i], limit, "chunk_bounds");
        }
        must_fail(&file, begins[i], begins[i] - 1, "chunk_bounds");
        ar_file_fini(&file);
    }
}

static void test_no_chunk_begins_there(void **state) {
    (void)state;
    struct ar_file file;
    begin_at(&file, 64, 200000);
    for (uint64_t begin = 65537; begin <= 65536 + 24; begin++) {
        must_fail(&file, begin, file.len, "chunk_bounds");
    }
    ar_file_fini(&file);
}

// However little is read first, the rest comes with a second read.
static void test_first_reads(void **state) {
    (void)state;
    for (size_t i = 0; i < BEGINS; i++) {
        struct ar_file file;
        begin_at(&file, begins[i], 70000);
        for (uint64_t expected = 0; expected < 71000; expected += expected < 100 ? 1 : 1009) {
            struct sds_err err;
            file.reads = 0;
            assert_int_equal(load_chunk(&file, begins[i], file.len, expected, &err), SDS_OK);
            assert_true(file.reads <= 2);
        }
        ar_file_fini(&file);
    }
}

static void rehash_header(uint8_t *header) {
    put_le64(header, sds_highway_hash(header + 8, SDS_AR_CHUNK_HEADER - 8));
}

// Sizes that no arithmetic may be done with.
static void test_huge_sizes(void **state) {
    (void)state;
    static const uint64_t sizes[] = {
        201,
        1000,
        (uint64_t)1 << 32,
        (uint64_t)1 << 63,
        UINT64_MAX - 104,
        UINT64_MAX - 64,
        UINT64_MAX - 40,
        UINT64_MAX - 39,
        UINT64_MAX - 38,
        UINT64_MAX,
    };
    struct ar_file file;
    begin_at(&file, 64, 200);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        put_le64(file.at + 64 + 8, sizes[i]);
        rehash_header(file.at + 64);
        must_fail(&file, 64, file.len, "chunk_bounds");
    }
    put_le64(file.at + 64 + 8, 200);
    for (unsigned bits = 9; bits <= 56; bits++) {
        put_le64(file.at + 64 + 24, 'r' | (((uint64_t)1 << bits) - 1) << 8);
        rehash_header(file.at + 64);
        must_fail(&file, 64, file.len, "chunk_bounds");
    }
    ar_file_fini(&file);
}

static void test_each_bit_of_a_header(void **state) {
    (void)state;
    struct ar_file file;
    begin_at(&file, 64, 200);
    for (unsigned bit = 0; bit < 8 * SDS_AR_CHUNK_HEADER; bit++) {
        file.at[64 + bit / 8] ^= (uint8_t)(1 << bit % 8);
        must_fail(&file, 64, file.len, "chunk_header");
        file.at[64 + bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (unsigned bit = 0; bit < 8 * 200; bit++) {
        file.at[104 + bit / 8] ^= (uint8_t)(1 << bit % 8);
        must_fail(&file, 64, file.len, "chunk_hash");
        file.at[104 + bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ar_file_fini(&file);
}

// A block header that says something else of its chunk, under a hash that is right: before the
// chunk header, inside it, right behind it, and in the data.
static void test_block_headers(void **state) {
    (void)state;
    static const uint64_t places[] = {65536, 65536 - 20, 65536 - 40, 65536 - 100};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct ar_file file;
        begin_at(&file, places[i], 200);
        struct sds_err err;
        assert_int_equal(load_chunk(&file, places[i], file.len, 1000, &err), SDS_OK);
        uint8_t *block = file.at + 65536;
        for (size_t field = 8; field <= 16; field += 8) {
            uint64_t value = sds_le64(block + field);
            put_le64(block + field, value + 1);
            put_le64(block, sds_highway_hash(block + 8, 16));
            must_fail(&file, places[i], file.len, "block_header");
            put_le64(block + field, value);
        }
        ar_file_fini(&file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_chunk_begins_there),
        cmocka_unit_test(test_first_reads),
        cmocka_unit_test(test_huge_sizes),
        cmocka_unit_test(test_each_bit_of_a_header),
        cmocka_unit_test(test_block_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
