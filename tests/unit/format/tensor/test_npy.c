// SPDX-License-Identifier: Apache-2.0
// Every header of tests/data/npy/headers.txt comes out byte for byte as numpy wrote it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "format/tensor/npy.h"

// A shape as headers.txt writes it: "3x4", "-", or "RANK*SIZE".
static uint64_t *parse_shape(const char *text, uint32_t *rank) {
    uint64_t *shape = calloc(strlen(text) + 50000, sizeof *shape);
    char *end;
    assert_non_null(shape);
    *rank = 0;
    if (strchr(text, '*') != NULL) {
        *rank = (uint32_t)strtoul(text, &end, 10);
        assert_true(*rank <= 50000);
        for (uint32_t i = 0; i < *rank; i++) {
            shape[i] = strtoull(end + 1, NULL, 10);
        }
        return shape;
    }
    for (const char *at = text; *at != '-' && *at != '\0'; at = *end == 'x' ? end + 1 : end) {
        shape[(*rank)++] = strtoull(at, &end, 10);
    }
    return shape;
}

static void check_line(const char *dtype_name, const char *shape_text, const char *expected) {
    enum sds_dtype dtype;
    assert_true(sds_dtype_from_numpy(sds_span_str(dtype_name), &dtype));
    uint32_t rank;
    uint64_t *shape = parse_shape(shape_text, &rank);
    struct sds_buf out = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_npy_header(dtype, shape, rank, &out), SDS_OK);
    assert_int_equal(out.len, sds_npy_header_len(dtype, shape, rank));
    assert_int_equal(out.len % 64, 0);
    char *hex = malloc(2 * out.len + 1);
    assert_non_null(hex);
    if (strchr(shape_text, '*') != NULL) {
        sds_sha256_hex(sds_buf_span(&out), hex);
    } else {
        sds_hex(out.at, out.len, hex);
    }
    if (strcmp(hex, expected) != 0) {
        print_message("%s %s\n", dtype_name, shape_text);
    }
    assert_string_equal(hex, expected);
    free(hex);
    free(shape);
    sds_buf_fini(&out);
}

static void test_as_numpy(void **state) {
    (void)state;
    FILE *file = fopen(SDSFS_TEST_DATA "/npy/headers.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t size = 0;
    unsigned lines = 0;
    for (; getline(&line, &size, file) > 0; lines++) {
        char *rest = line;
        char *dtype = strsep(&rest, " ");
        char *shape = strsep(&rest, " ");
        check_line(dtype, shape, strsep(&rest, "\n"));
    }
    free(line);
    fclose(file);
    assert_int_equal(lines, 219);
}

static void test_appends(void **state) {
    (void)state;
    static const uint64_t shape[] = {3};
    struct sds_buf out = SDS_BUF_INIT(256);
    assert_int_equal(sds_buf_add_str(&out, "before"), SDS_OK);
    assert_int_equal(sds_npy_header(SDS_F32, shape, 1, &out), SDS_OK);
    assert_int_equal(out.len, strlen("before") + 128);
    assert_memory_equal(out.at, "before\x93NUMPY\x01", 13);
    assert_int_equal(out.at[out.len - 1], '\n');
    sds_buf_fini(&out);
}

static void test_ceiling(void **state) {
    (void)state;
    static const uint64_t shape[] = {3};
    struct sds_buf out = SDS_BUF_INIT(127);
    assert_int_equal(sds_npy_header(SDS_F32, shape, 1, &out), SDS_ERR_LIMIT);
    assert_int_equal(out.len, 0);
    sds_buf_fini(&out);
    out = SDS_BUF_INIT(128);
    assert_int_equal(sds_npy_header(SDS_F32, shape, 1, &out), SDS_OK);
    sds_buf_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_numpy),
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
