// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "format/tensor/dtype.h"

static const struct {
    enum sds_dtype dtype;
    const char *numpy, *safetensors;
    uint32_t bytes;
} table[] = {
    {SDS_BOOL, "|b1", "BOOL", 1}, {SDS_I8, "|i1", "I8", 1},   {SDS_U8, "|u1", "U8", 1},
    {SDS_I16, "<i2", "I16", 2},   {SDS_U16, "<u2", "U16", 2}, {SDS_F16, "<f2", "F16", 2},
    {SDS_I32, "<i4", "I32", 4},   {SDS_U32, "<u4", "U32", 4}, {SDS_F32, "<f4", "F32", 4},
    {SDS_I64, "<i8", "I64", 8},   {SDS_U64, "<u8", "U64", 8}, {SDS_F64, "<f8", "F64", 8},
    {SDS_C64, "<c8", "C64", 8},
};

static void test_each(void **state) {
    (void)state;
    assert_int_equal(sizeof table / sizeof *table, SDS_DTYPES);
    for (size_t i = 0; i < SDS_DTYPES; i++) {
        enum sds_dtype dtype = table[i].dtype, found;
        assert_string_equal(sds_dtype_numpy(dtype), table[i].numpy);
        assert_string_equal(sds_dtype_safetensors(dtype), table[i].safetensors);
        assert_int_equal(sds_dtype_bytes(dtype), table[i].bytes);
        assert_true(sds_dtype_from_numpy(sds_span_str(table[i].numpy), &found));
        assert_int_equal(found, dtype);
        assert_true(sds_dtype_from_safetensors(sds_span_str(table[i].safetensors), &found));
        assert_int_equal(found, dtype);
    }
}

static void test_others(void **state) {
    (void)state;
    static const char *const numpy[] = {"",    "f4",  ">f4",  "=f4", "<f4 ", "<f",  "float32",
                                        "|f4", "<i1", "|b1x", "<U4", "O",    "<c16"};
    static const char *const safetensors[] = {"",     "f32",     "F3",   "F32 ", "BF16",
                                              "C128", "F8_E4M3", "bool", "U",    "BOOLS"};
    enum sds_dtype found;
    for (size_t i = 0; i < sizeof numpy / sizeof *numpy; i++) {
        assert_false(sds_dtype_from_numpy(sds_span_str(numpy[i]), &found));
    }
    for (size_t i = 0; i < sizeof safetensors / sizeof *safetensors; i++) {
        assert_false(sds_dtype_from_safetensors(sds_span_str(safetensors[i]), &found));
    }
    assert_false(sds_dtype_from_numpy(sds_span("<f4\0", 4), &found));
}

static void test_array_bytes(void **state) {
    (void)state;
    static const struct {
        enum sds_dtype dtype;
        uint32_t rank;
        uint64_t shape[3];
        uint64_t bytes;
        bool possible;
    } cases[] = {
        {SDS_F64, 0, {0}, 8, true},
        {SDS_U8, 1, {7}, 7, true},
        {SDS_F32, 3, {2, 3, 4}, 96, true},
        {SDS_F32, 2, {0, 5}, 0, true},
        {SDS_I8, 1, {INT64_MAX}, INT64_MAX, true},
        {SDS_I8, 1, {1ULL << 63}, 1ULL << 63, false},
        {SDS_C64, 2, {1ULL << 32, 1ULL << 32}, UINT64_MAX, false},
        {SDS_U8, 3, {1ULL << 63, 2, 0}, 0, false},
        {SDS_I16, 2, {0, 1ULL << 62}, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = sds_array_bytes(cases[i].dtype, cases[i].shape, cases[i].rank);
        bool possible = sds_array_possible(cases[i].dtype, cases[i].shape, cases[i].rank);
        assert_true(bytes == cases[i].bytes);
        assert_int_equal(possible, cases[i].possible);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_array_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
