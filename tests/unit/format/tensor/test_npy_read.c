// SPDX-License-Identifier: Apache-2.0
// Heads of .npy files: those of tests/data/npy/files.txt as numpy reads them, and each refusal with
// its check.
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/tensor/npy.h"
#include "format/tensor/npy_read.h"

// A line of files.txt.
struct file {
    char verdict[8], dtype[4], shape[200];
    unsigned long long data_off, size;
    uint8_t *head; // of its own allocation, so that a sanitizer sees a read past its end
    size_t head_len;
};

static uint8_t *from_hex(const char *hex, size_t *len) {
    *len = strlen(hex) / 2; // "-": nothing
    uint8_t *bytes = malloc(*len + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < *len; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    return realloc(bytes, *len + (*len == 0)); // as large as the head
}

static void print_shape(const struct sds_npy *npy, char *out, size_t size) {
    size_t len = 0;
    for (uint32_t i = 0; i < npy->rank; i++) {
        len += (size_t)snprintf(out + len, size - len, "%s%llu", i == 0 ? "" : "x",
                                (unsigned long long)npy->shape[i]);
    }
}

static void check_file(const struct file *file, unsigned line) {
    struct sds_npy npy;
    struct sds_err err = {0};
    struct sds_span head = sds_span(file->head, file->head_len);
    enum sds_kind kind = sds_npy_read(head, file->size, &npy, &err);
    size_t len = 0;
    enum sds_kind prefix_kind = sds_npy_head_len(
        sds_span(head.at, head.len < SDS_NPY_PREFIX ? head.len : SDS_NPY_PREFIX), &len, &err);
    bool refused = strcmp(file->verdict, "refused") == 0;
    bool odd = strcmp(file->verdict, "odd") == 0;
    if (refused ? kind == SDS_OK : kind != SDS_OK && !odd) {
        fail_msg("line %u: %s, expected %s (%s: %s)", line, sds_kind_name(kind), file->verdict,
                 err.check, err.message);
    }
    if (kind != SDS_OK) {
        assert_int_equal(kind, SDS_ERR_INVALID);
        assert_int_equal(err.kind, SDS_ERR_INVALID);
        assert_true(err.check[0] != '\0' && err.message[0] != '\0');
        return;
    }
    char shape[300];
    print_shape(&npy, shape, sizeof shape);
    assert_string_equal(sds_dtype_numpy(npy.dtype), file->dtype);
    assert_string_equal(shape, file->shape);
    assert_int_equal(npy.data_off, file->data_off);
    assert_int_equal(npy.data_len, file->size - file->data_off);
    assert_int_equal(prefix_kind, SDS_OK);
    assert_int_equal(len, file->data_off);
}

static void reads_as_numpy(void **state) {
    (void)state;
    FILE *table = fopen(SDSFS_TEST_DATA "/npy/files.txt", "r");
    assert_non_null(table);
    unsigned lines = 0;
    struct file file;
    char *hex = NULL;
    while (fscanf(table, "%7s %3s %199s %llu %llu %ms\n", file.verdict, file.dtype, file.shape,
                  &file.data_off, &file.size, &hex) == 6) {
        file.head = from_hex(hex, &file.head_len);
        check_file(&file, ++lines);
        free(file.head);
        free(hex);
    }
    assert_true(feof(table));
    assert_true(lines > 900);
    fclose(table);
}

// Whatever it writes, it reads.
static void reads_what_npy_writes(void **state) {
    (void)state;
    static const uint64_t shapes[][3] = {{7, 0, 0}, {2, 3, 0}, {1000000, 1, 12}};
    for (unsigned dtype = 0; dtype < SDS_DTYPES; dtype++) {
        for (uint32_t rank = 1; rank <= 3; rank++) {
            struct sds_buf out = SDS_BUF_INIT(1 << 20);
            const uint64_t *shape = shapes[rank - 1];
            assert_int_equal(sds_npy_header((enum sds_dtype)dtype, shape, rank, &out), SDS_OK);
            uint64_t bytes = sds_array_bytes((enum sds_dtype)dtype, shape, rank);
            struct sds_npy npy;
            assert_int_equal(sds_npy_read(sds_buf_span(&out), out.len + bytes, &npy, NULL), SDS_OK);
            assert_int_equal(npy.dtype, dtype);
            assert_int_equal(npy.rank, rank);
            assert_memory_equal(npy.shape, shape, rank * sizeof *shape);
            assert_int_equal(npy.data_off, out.len);
            assert_int_equal(npy.data_len, bytes);
            sds_buf_fini(&out);
        }
    }
}

#define HEADER(descr, order, shape)                                                                \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

// A version 1.0 file: the header, then data_len bytes.
static enum sds_kind read_file(const char *header, uint64_t data_len, struct sds_err *err) {
    uint8_t head[1000] = "\x93NUMPY\x01";
    size_t len = strlen(header);
    assert_true(len < sizeof head - 10);
    head[8] = (uint8_t)len;
    head[9] = (uint8_t)(len >> 8);
    memcpy(head + 10, header, len);
    struct sds_npy npy;
    return sds_npy_read(sds_span(head, 10 + len), 10 + len + data_len, &npy, err);
}

#define DTYPES "|b1 |i1 |u1 <i2 <u2 <f2 <i4 <u4 <f4 <i8 <u8 <f8 <c8"

static void refuses(void **state) {
    (void)state;
    static const struct {
        const char *header;
        uint64_t data_len;
        const char *check, *message;
    } cases[] = {
        {HEADER("'>f4'", "False", "(2,)"), 8, "npy_byte_order",
         "dtype \">f4\" is big-endian, records have <f4"},
        {HEADER("'<c16'", "False", "(1,)"), 16, "npy_dtype",
         "dtype \"<c16\" is none of those that records have: " DTYPES},
        {HEADER("'|O'", "False", "(1,)"), 8, "npy_dtype",
         "dtype \"|O\" is none of those that records have: " DTYPES},
        {HEADER("[('a', '<f4')]", "False", "(1,)"), 4, "npy_dtype", "the dtype is structured"},
        {HEADER("'<f4'", "True", "(2, 2)"), 16, "npy_order",
         "the array is in Fortran order; numpy.ascontiguousarray makes it C order"},
        {HEADER("'<f4'", "False", "()"), 4, "npy_shape",
         "the array has no dimension; one of shape (1,) holds a single value"},
        {HEADER("'<f4'", "False", "(0, 4611686018427387904)"), 0, "npy_shape",
         "2 dimensions make the array larger than memory can be"},
        {HEADER("'<f4'", "False", "(2,)"), 7, "npy_size",
         "7 bytes behind the header, where the array has 8"},
        {HEADER("'<f4'", "False", "(2,)"), 9, "npy_size",
         "9 bytes behind the header, where the array has 8"},
        {HEADER("'<f4'", "False", "(4611686018427387904, 2)"), 0, "npy_shape",
         "2 dimensions make the array larger than memory can be"},
        {HEADER("'<f4'", "False", "(2)"), 8, "npy_header",
         "expected a tuple, not an integer in parentheses, before this in the header: \", }\""},
        {HEADER("'<f4'", "None", "(2,)"), 8, "npy_header",
         "expected True or False in the header: \"None, 'shape': (2,), }\""},
        {HEADER("'<f4'", "False", "(18446744073709551616,)"), 8, "npy_header",
         "expected a dimension in the header: \"18446744073709551616,), }\""},
        {"{'descr': '<f4', 'shape': (2,)}", 8, "npy_header",
         "the header lacks descr, fortran_order or shape"},
        {"{'descr': '<f4', 'descr': '<f4'}", 8, "npy_header",
         "key \"descr\" is unknown or repeated"},
        {"{}x", 8, "npy_header", "expected nothing more in the header: \"x\""},
        {"[]", 8, "npy_header", "expected a dictionary in the header: \"[]\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_err err = {.check = "nothing"};
        assert_int_equal(read_file(cases[i].header, cases[i].data_len, &err), SDS_ERR_INVALID);
        assert_string_equal(err.check, cases[i].check);
        assert_string_equal(err.message, cases[i].message);
    }
    assert_int_equal(read_file(HEADER("'<f4'", "True", "(2,)"), 8, NULL), SDS_OK);
}

static void refuses_prefixes(void **state) {
    (void)state;
    static const struct {
        struct sds_span prefix;
        const char *check;
    } cases[] = {
        {{(const uint8_t *)"", 0}, "npy_magic"},
        {{(const uint8_t *)"\x93NUMPX\x01\0\x10\0  ", 12}, "npy_magic"},
        {{(const uint8_t *)"\x93NUMPY\0\0\x10\0  ", 12}, "npy_version"},
        {{(const uint8_t *)"\x93NUMPY\4\0\x10\0\0\0", 12}, "npy_version"},
        {{(const uint8_t *)"\x93NUMPY\1\1\x10\0  ", 12}, "npy_version"},
        {{(const uint8_t *)"\x93NUMPY\1\0\x10", 9}, "npy_header"},
        {{(const uint8_t *)"\x93NUMPY\2\0\x10\0\0", 11}, "npy_header"},
        {{(const uint8_t *)"\x93NUMPY\1\0\x11\x27  ", 12}, "npy_header"}, // 10001
        {{(const uint8_t *)"\x93NUMPY\3\0\0\0\0\x80", 12}, "npy_header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = 1;
        struct sds_err err = {.check = "nothing"};
        assert_int_equal(sds_npy_head_len(cases[i].prefix, &len, &err), SDS_ERR_INVALID);
        assert_string_equal(err.check, cases[i].check);
        assert_int_equal(len, 1);
    }
    size_t len = 0;
    struct sds_span longest = sds_span("\x93NUMPY\2\0\x10\x27\0\0", 12);
    assert_int_equal(sds_npy_head_len(longest, &len, NULL), SDS_OK);
    assert_int_equal(len, SDS_NPY_MAX_HEAD);
}

// Cut at each byte, in its header and in its data.
static void refuses_what_is_cut_off(void **state) {
    (void)state;
    struct sds_buf out = SDS_BUF_INIT(1000);
    const uint64_t shape[] = {5};
    assert_int_equal(sds_npy_header(SDS_F64, shape, 1, &out), SDS_OK);
    const uint64_t whole = out.len + 40;
    for (uint64_t size = 0; size <= whole; size++) {
        size_t head_len = size < out.len ? (size_t)size : out.len;
        uint8_t *head = malloc(head_len + (head_len == 0));
        assert_non_null(head);
        memcpy(head, out.at, head_len);
        struct sds_npy npy;
        assert_int_equal(sds_npy_read(sds_span(head, head_len), size, &npy, NULL),
                         size == whole ? SDS_OK : SDS_ERR_INVALID);
        free(head);
    }
    sds_buf_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_as_numpy),
        cmocka_unit_test(reads_what_npy_writes),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_prefixes),
        cmocka_unit_test(refuses_what_is_cut_off),
    };
    return cmocka_run_group_tests_name("npy_read", tests, NULL, NULL);
}
