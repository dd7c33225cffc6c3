// SPDX-License-Identifier: Apache-2.0
//
// Each allocation fails once: nothing leaks, nothing crashes, and the error says what it is. The
// linker sends every allocation of the code under test here.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ar_file.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static unsigned until_failure; // 1: the next one fails; 0: none does

static bool fails(void) {
    return until_failure > 0 && --until_failure == 0;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size) {
    return fails() ? NULL : __real_realloc(at, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

// Opens, reads everything and walks.
static enum sds_kind use(const struct sds_ar_source *source, struct sds_err *err) {
    static const struct sds_ar_limits limits = {.chunk_bytes = 1 << 30};
    struct sds_ar_index *index;
    enum sds_kind kind = sds_ar_open(source, &limits, &index, err);
    if (kind != SDS_OK) {
        return kind;
    }
    static uint64_t sizes[1000];
    assert_true(sds_ar_group_size(index) <= 1000);
    for (uint64_t i = 0; i < sds_ar_chunk_count(index) && kind == SDS_OK; i++) {
        struct sds_ar_chunk chunk;
        kind = sds_ar_read_chunk(index, source, i, &chunk, err);
        if (kind == SDS_OK) {
            sds_ar_chunk_fini(&chunk);
            kind = sds_ar_record_sizes(index, source, i, sizes, err);
        }
    }
    if (kind == SDS_OK) {
        kind = sds_ar_walk(index, source, err);
    }
    sds_ar_close(index);
    return kind;
}

static void test_each_allocation(void **state) {
    struct ar_file file;
    ar_file_unpack(&file, *state);
    struct sds_ar_source source = ar_file_source(&file);
    unsigned n = 0;
    enum sds_kind kind;
    struct sds_err err;
    do {
        sds_blob_trim(); // else some blocks need no allocation
        until_failure = ++n;
        kind = use(&source, &err);
        if (kind != SDS_OK) {
            assert_int_equal(until_failure, 0);
            assert_int_equal(kind, SDS_ERR_NO_MEMORY);
            assert_string_equal(err.check, "memory");
        }
    } while (kind != SDS_OK);
    until_failure = 0;
    assert_true(n > 10);
    ar_file_fini(&file);
}

// Writes records that make each of the writer's buffers grow.
static enum sds_kind write_some(struct ar_file *file, struct sds_err *err) {
    static const uint8_t bytes[100000];
    struct sds_ar_sink sink = ar_file_sink(file);
    struct sds_ar_writer *writer;
    enum sds_kind kind = sds_ar_writer_open(&sink, &writer, err);
    if (kind != SDS_OK) {
        return kind;
    }
    for (size_t len = 0; len < sizeof bytes && kind == SDS_OK; len += 1000) {
        kind = sds_ar_writer_add(writer, sds_span(bytes, len), err);
    }
    uint64_t size;
    if (kind == SDS_OK) {
        kind = sds_ar_writer_finish(writer, &size, err);
    }
    sds_ar_writer_close(writer);
    return kind;
}

static void test_each_allocation_of_a_writer(void **state) {
    (void)state;
    struct ar_file file = {.cap = 1 << 20};
    file.at = malloc(file.cap); // so that the sink needs none
    unsigned n = 0;
    enum sds_kind kind;
    struct sds_err err;
    do {
        file.len = 0;
        until_failure = ++n;
        kind = write_some(&file, &err);
        if (kind != SDS_OK) {
            assert_int_equal(until_failure, 0);
            assert_int_equal(kind, SDS_ERR_NO_MEMORY);
            assert_string_equal(err.check, "memory");
        }
    } while (kind != SDS_OK);
    until_failure = 0;
    assert_true(n > 10);
    ar_file_fini(&file);
}

#define WITH(file) cmocka_unit_test_prestate(test_each_allocation, file)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH("gs2-default-7.array_record"),
        WITH("gs64-brotli-130.array_record"),
        WITH("gs1-uncompressed-boundaries.array_record"),
        WITH("transpose-mixed-zstd.array_record"),
        WITH("transpose-deep-zstd.array_record"),
        WITH("prototype-metadata-chunk.array_record"),
        cmocka_unit_test(test_each_allocation_of_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
