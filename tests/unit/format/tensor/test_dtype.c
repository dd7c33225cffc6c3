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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
