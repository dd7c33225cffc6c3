// SPDX-License-Identifier: Apache-2.0
//
// Chunks as the program emits them, held against those that the tests lay out on their own.
#include "format/array_record/emit.h"

#include <stdlib.h>

#include "unit.h"

#include "ar_file.h"
#include "format/array_record/highway_hash.h"

#define MAX_LEN (3 * SDS_AR_BLOCK)

static uint8_t bytes[MAX_LEN];

// One chunk behind a first one that makes it begin at some place, and padding.
static void assert_same(size_t before, size_t len, uint64_t num_records) {
    struct ar_file expected, emitted = {0};
    ar_file_begin(&expected);
    ar_file_chunk(&expected, 'r', sds_span(bytes, before), 1, 7);
    ar_file_chunk(&expected, 't', sds_span(bytes, len), num_records, 1ULL << 60);
    ar_file_pad(&expected);

    struct sds_ar_emitter *out = malloc(sizeof *out);
    assert_non_null(out);
    out->sink = ar_file_sink(&emitted);
    out->pos = 0;
    struct sds_err err;
    struct sds_ar_header first = {.type = SDS_AR_SIMPLE,
                                  .data_size = before,
                                  .data_hash = sds_highway_hash(bytes, before),
                                  .num_records = 1,
                                  .decoded_size = 7};
    struct sds_ar_header second = {.type = SDS_AR_TRANSPOSED,
                                   .data_size = len,
                                   .data_hash = sds_highway_hash(bytes, len),
                                   .num_records = num_records,
                                   .decoded_size = 1ULL << 60};
    assert_int_equal(sds_ar_emit_signature(out, &err), SDS_OK);
    assert_int_equal(sds_ar_emit(out, &first, sds_span(bytes, before), &err), SDS_OK);
    assert_int_equal(sds_ar_emit(out, &second, sds_span(bytes, len), &err), SDS_OK);
    assert_int_equal(sds_ar_emit_padding(out, &err), SDS_OK);
    assert_int_equal(out->pos, expected.len);
    free(out);

    assert_int_equal(emitted.len, expected.len);
    assert_memory_equal(emitted.at, expected.at, expected.len);
    ar_file_fini(&emitted);
    ar_file_fini(&expected);
}

// Every place in a block that a chunk can begin or end at near a block header.
static void test_block_edges(void **state) {
    (void)state;
    for (size_t before = 65272; before < 65440; before++) {
        assert_same(before, 0, 1);
        assert_same(before, 30, 1);
        assert_same(before, 65512 - 40, 1);
        assert_same(before, 2 * 65512 - 40, 1);
    }
}

// More records than bytes: zeros behind the data, with block headers among them.
static void test_more_records_than_bytes(void **state) {
    (void)state;
    for (uint64_t records = 65300; records < 65500; records++) {
        assert_same(0, 5, records);
        assert_same(0, 5, records + SDS_AR_BLOCK);
    }
    assert_same(65390, 5, 1000);
}

static int fill(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 31 + (i >> 8));
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_edges),
        cmocka_unit_test(test_more_records_than_bytes),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
