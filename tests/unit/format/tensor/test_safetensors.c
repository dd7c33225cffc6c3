// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../payload.h"
#include "format/tensor/safetensors.h"

#define MAX_TENSORS 3

static struct sds_span make(const char *header, size_t data_len) {
    static const uint8_t data[64];
    return payload_new(sds_span_str(header), sds_span(data, data_len));
}

static enum sds_kind parse(const char *header, size_t data_len, struct sds_err *err) {
    struct sds_span payload = make(header, data_len);
    struct sds_tensors tensors;
    enum sds_kind kind = sds_safetensors_parse(payload, MAX_TENSORS, &tensors, err);
    if (kind == SDS_OK) {
        sds_tensors_fini(&tensors);
    }
    payload_free(payload);
    return kind;
}

static void test_table(void **state) {
    (void)state;
    // Not in the order of the data, one name escaped, an empty tensor between two others.
    static const char header[] =
        " {\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[4,12]},"
        "\"__metadata__\":{\"k\":\"v\"},"
        "\"\\u0061\\n\":{\"shape\":[],\"data_offsets\":[0,4],\"dtype\":{\"I32\":null},\"x\":[1]},"
        "\"\":{\"dtype\":\"C64\",\"shape\":[0,3],\"data_offsets\":[4,4]}}\n";
    struct sds_span payload = make(header, 12);
    struct sds_tensors tensors;
    assert_int_equal(sds_safetensors_parse(payload, 3, &tensors, NULL), SDS_OK);
    assert_int_equal(tensors.count, 3);
    assert_int_equal(tensors.shape_count, 4);

    const struct sds_tensor *b = sds_tensors_find(&tensors, sds_span_str("b"));
    assert_ptr_equal(b, &tensors.items[0]);
    assert_int_equal(b->dtype, SDS_F32);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->shape[1], 1);
    assert_int_equal(b->off, 8 + strlen(header) + 4);
    assert_int_equal(b->len, 8);

    const struct sds_tensor *a = sds_tensors_find(&tensors, sds_span_str("a\n"));
    assert_ptr_equal(a, &tensors.items[1]);
    assert_int_equal(a->dtype, SDS_I32);
    assert_int_equal(a->rank, 0);
    assert_int_equal(a->off, 8 + strlen(header));
    assert_int_equal(a->len, 4);

    const struct sds_tensor *empty = sds_tensors_find(&tensors, sds_span_str(""));
    assert_ptr_equal(empty, &tensors.items[2]);
    assert_int_equal(empty->dtype, SDS_C64);
    assert_int_equal(empty->len, 0);
    assert_int_equal(empty->shape[1], 3);

    assert_null(sds_tensors_find(&tensors, sds_span_str("__metadata__")));
    sds_tensors_fini(&tensors);
    payload_free(payload);
}

#define T(dtype, shape, offsets)                                                                   \
    "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets) "{\"t\":" T(dtype, shape, offsets) "}"
#define U8 "\"U8\""

static void test_accepts(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t data_len;
    } cases[] = {
        {"{}", 0},
        {"{\"__metadata__\":null}", 0},
        {"{\"__metadata__\":{}}", 0},
        {ONE(U8, "[0]", "[0,0]"), 0},
        {ONE(U8, "[2,3]", "[0,6]"), 6},
        {ONE("\"F64\"", "[]", "[0,8]"), 8},
        {ONE("\"BOOL\"", "[7]", "[0,7]"), 7},
        {ONE(U8, "[0,9223372036854775807]", "[0,0]"), 0},
        {ONE("\"F32\"", "[0,2305843009213693951]", "[0,0]"), 0},
        {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"more\":{\"deep\":[1e308]}"
         "}}",
         1},
        // A misaligned tensor.
        {"{\"a\":" T(U8, "[1]", "[0,1]") ",\"b\":" T("\"F64\"", "[1]", "[1,9]") "}", 9},
        {"{\"b\":" T(U8, "[1]", "[1,2]") ",\"a\":" T(U8, "[1]", "[0,1]") "}", 2},
        {"{\"a\":" T(U8, "[1]", "[0,1]") ",\"b\":" T(U8, "[0]", "[1,1]") ",\"c\":" T(U8, "[0]",
                                                                                     "[1,1]") "}",
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_err err;
        if (parse(cases[i].header, cases[i].data_len, &err) != SDS_OK) {
            fail_msg("%s: %s", cases[i].header, err.message);
        }
    }
}

static void test_refuses(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t data_len;
        enum sds_kind kind;
        const char *check;
    } cases[] = {
        {"", 0, SDS_ERR_CORRUPT, "json"},
        {"{", 0, SDS_ERR_CORRUPT, "json"},
        {"{} x", 0, SDS_ERR_CORRUPT, "json"},
        {"{\"a\":" T(U8, "[0]", "[0,0]") ",\"\\u0061\":" T(U8, "[0]", "[0,0]") "}", 0,
         SDS_ERR_CORRUPT, "json"},
        {"[]", 0, SDS_ERR_CORRUPT, "header"},
        {"null", 0, SDS_ERR_CORRUPT, "header"},
        {"\xEF\xBB\xBF{}", 0, SDS_ERR_CORRUPT, "header"},
        {"{\"__metadata__\":[]}", 0, SDS_ERR_CORRUPT, "header"},
        {"{\"__metadata__\":{\"a\":1}}", 0, SDS_ERR_CORRUPT, "header"},
        {"{\"__metadata__\":{\"a\":\"b\",\"c\":null}}", 0, SDS_ERR_CORRUPT, "header"},
        {"{\"__metadata__\":\"s\"}", 0, SDS_ERR_CORRUPT, "header"},
        {"{\"t\":[]}", 0, SDS_ERR_CORRUPT, "tensor"},
        {"{\"t\":null}", 0, SDS_ERR_CORRUPT, "tensor"},
        {"{\"a\":{},\"b\":{},\"c\":{},\"d\":{}}", 0, SDS_ERR_LIMIT, "tensor_count"},
        {"{\"t\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[0]", "null"), 0, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[0]", "[]"), 0, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[0]", "[0]"), 0, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[0]", "{\"a\":0,\"b\":0}"), 0, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[0]", "[0,0,0]"), 0, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[0]", "[0,-0]"), 0, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[0]", "[false,0]"), 0, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[1]", "[0.0,1]"), 1, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[1]", "[-1,0]"), 1, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[1]", "[1,0]"), 1, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[1]", "[0,2]"), 1, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[1]", "[0,18446744073709551616]"), 1, SDS_ERR_CORRUPT, "data_offsets"},
        // A hole before, after and between; an overlap.
        {ONE(U8, "[1]", "[1,2]"), 2, SDS_ERR_CORRUPT, "data_offsets"},
        {ONE(U8, "[1]", "[0,1]"), 2, SDS_ERR_CORRUPT, "data_offsets"},
        {"{}", 1, SDS_ERR_CORRUPT, "data_offsets"},
        {"{\"a\":" T(U8, "[1]", "[0,1]") ",\"b\":" T(U8, "[1]", "[2,3]") "}", 3, SDS_ERR_CORRUPT,
         "data_offsets"},
        {"{\"a\":" T(U8, "[2]", "[0,2]") ",\"b\":" T(U8, "[2]", "[1,3]") "}", 3, SDS_ERR_CORRUPT,
         "data_offsets"},
        {"{\"a\":" T(U8, "[2]", "[0,2]") ",\"b\":" T(U8, "[0]", "[1,1]") "}", 2, SDS_ERR_CORRUPT,
         "data_offsets"},
        {"{\"t\":{\"shape\":[0],\"data_offsets\":[0,0]}}", 0, SDS_ERR_CORRUPT, "dtype"},
        {ONE("null", "[0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "dtype"},
        {ONE("5", "[0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "dtype"},
        {ONE("\"BF16\"", "[0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "dtype"},
        {ONE("\"u8\"", "[0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "dtype"},
        {ONE("{}", "[0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "dtype"},
        {ONE("{\"U8\":0}", "[0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "dtype"},
        {ONE("{\"U8\":null,\"I8\":null}", "[0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "dtype"},
        {"{\"t\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}", 0, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "0", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "{}", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[-0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[0.0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[true]", "[0,1]"), 1, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[0,18446744073709551616]", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[2]", "[0,1]"), 1, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[]", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE("\"F32\"", "[1]", "[0,1]"), 1, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[4294967296,4294967296]", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[9223372036854775808,4,0]", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE(U8, "[0,9223372036854775808]", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
        {ONE("\"F32\"", "[0,2305843009213693952]", "[0,0]"), 0, SDS_ERR_CORRUPT, "shape"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_err err = {.check = "nothing"};
        enum sds_kind kind = parse(cases[i].header, cases[i].data_len, &err);
        if (kind != cases[i].kind || strcmp(err.check, cases[i].check) != 0) {
            fail_msg("%s: %s, %s: %s", cases[i].header, sds_kind_name(kind), err.check,
                     err.message);
        }
        assert_int_equal(err.kind, kind);
    }
}

static void test_rank(void **state) {
    (void)state;
    char shape[300];
    for (int rank = 64; rank <= 65; rank++) {
        char header[400];
        int len = 0;
        for (int i = 0; i < rank; i++) {
            len += snprintf(shape + len, sizeof shape - len, "%s1", i == 0 ? "" : ",");
        }
        snprintf(header, sizeof header,
                 "{\"t\":{\"dtype\":\"U8\",\"shape\":[%s],\"data_offsets\":[0,1]}}", shape);
        struct sds_err err;
        enum sds_kind kind = parse(header, 1, &err);
        assert_int_equal(kind, rank == 64 ? SDS_OK : SDS_ERR_LIMIT);
        assert_true(kind == SDS_OK || strcmp(err.check, "shape") == 0);
    }
}

static void test_framing(void **state) {
    (void)state;
    static const struct {
        uint8_t bytes[10];
        size_t len;
    } cases[] = {
        {{0}, 0},
        {{2, 0, 0, 0, 0, 0, 0}, 7},
        {{1, 0, 0, 0, 0, 0, 0, 0}, 8},
        {{3, 0, 0, 0, 0, 0, 0, 0, '{', '}'}, 10},
        {{2, 0, 0, 0, 0, 0, 0, 1, '{', '}'}, 10},
        {{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, '{', '}'}, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sds_tensors tensors;
        struct sds_err err;
        struct sds_span payload = sds_span(cases[i].bytes, cases[i].len);
        assert_int_equal(sds_safetensors_parse(payload, 3, &tensors, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "header_size");
    }
}

// A header may have 100,000,000 bytes.
static void test_header_limit(void **state) {
    (void)state;
    for (size_t len = SDS_MAX_HEADER_BYTES; len <= SDS_MAX_HEADER_BYTES + 1; len++) {
        uint8_t *text = malloc(len);
        assert_non_null(text);
        memset(text, ' ', len);
        memcpy(text, "{}", 2);
        struct sds_span payload = payload_new(sds_span(text, len), sds_span(NULL, 0));
        free(text);
        struct sds_tensors tensors;
        struct sds_err err;
        enum sds_kind kind = sds_safetensors_parse(payload, 3, &tensors, &err);
        if (len == SDS_MAX_HEADER_BYTES) {
            assert_int_equal(kind, SDS_OK);
            sds_tensors_fini(&tensors);
        } else {
            assert_int_equal(kind, SDS_ERR_LIMIT);
            assert_string_equal(err.check, "header_size");
        }
        payload_free(payload);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),   cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_refuses), cmocka_unit_test(test_rank),
        cmocka_unit_test(test_framing), cmocka_unit_test(test_header_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
