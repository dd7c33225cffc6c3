// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_boundaries(void **state) {
    (void)state;
    for (uint64_t pos = 0; pos < 3 * SDS_AR_BLOCK; pos++) {
        uint64_t at = pos % 65536;
        assert_int_equal(sds_ar_is_boundary(pos), at == 0 || at >= 25);
    }
}

static void test_payload_end(void **state) {
    (void)state;
    static const struct {
        uint64_t begin, len, end;
    } cases[] = {
        {0, 40, 64},          {64, 54, 118},           {64, 65472, 65536},
        {64, 65473, 65561},   {65500, 40, 65564},      {65536, 109, 65669},
        {64, 130000, 130088}, {131072, 65512, 196608}, {131072, 65513, 196633},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sds_ar_payload_end(cases[i].begin, cases[i].len), cases[i].end);
    }
}

// Against counting bytes one by one.
static void test_payload_end_by_steps(void **state) {
    (void)state;
    static const uint64_t begins[] = {0, 25, 64, 65535, 65536, 65561, 131071};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        uint64_t pos = begins[i];
        for (uint64_t len = 0; len < 140000; len++) {
            assert_int_equal(sds_ar_payload_end(begins[i], len), pos);
            pos += pos % SDS_AR_BLOCK == 0 ? SDS_AR_BLOCK_HEADER + 1 : 1;
        }
    }
}

static void test_chunk_end(void **state) {
    (void)state;
    assert_int_equal(sds_ar_chunk_end(64, 35, 1), 139);
    assert_int_equal(sds_ar_chunk_end(64, 35, 10000), 10064);
    assert_int_equal(sds_ar_chunk_end(64, 35, 65472), 65536);
    assert_int_equal(sds_ar_chunk_end(64, 35, 65473), 65561); // else inside a block header
    assert_int_equal(sds_ar_chunk_end(64, 35, 65480), 65561);
    assert_int_equal(sds_ar_chunk_end(64, 35, 65497), 65561);
    assert_int_equal(sds_ar_chunk_end(64, 35, 65498), 65562);
}

static void test_header(void **state) {
    (void)state;
    uint8_t raw[24];
    struct sds_err err;
    sds_ar_block_make(raw, 10, 20);
    assert_int_equal(sds_ar_block_check_end(raw, 65536, 65526, 65556, &err), SDS_OK);
    // Wrong in previous_chunk, in next_chunk, and in any of its bits.
    assert_int_equal(sds_ar_block_check_end(raw, 65536, 65525, 65556, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "block_header");
    assert_int_equal(sds_ar_block_check_end(raw, 65536, 65526, 65557, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "block_header");
    for (unsigned bit = 0; bit < 8 * sizeof raw; bit++) {
        raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(sds_ar_block_check_end(raw, 65536, 65526, 65556, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "block_header");
        raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_payload_end),
        cmocka_unit_test(test_payload_end_by_steps),
        cmocka_unit_test(test_chunk_end),
        cmocka_unit_test(test_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
