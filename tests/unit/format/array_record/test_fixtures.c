// SPDX-License-Identifier: Apache-2.0
//
// Files that the reference wrote, and files made wrong on purpose: what opens, which records read,
// and which check refuses the others.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "ar_file.h"
#include "base/hash.h"
#include "fixtures.h"

static const struct sds_ar_limits limits = {.chunk_bytes = 1 << 30};

static uint64_t records_in(const struct sds_ar_index *index, uint64_t chunk) {
    uint64_t before = chunk * sds_ar_group_size(index);
    uint64_t rest = sds_ar_record_count(index) - before;
    return rest < sds_ar_group_size(index) ? rest : sds_ar_group_size(index);
}

// Reads a chunk both ways, holds the one against the other and adds its records to the digest.
static enum sds_kind read_both_ways(const struct sds_ar_index *index,
                                    const struct sds_ar_source *source, uint64_t number,
                                    EVP_MD_CTX *digest, struct sds_err *err) {
    uint64_t count = records_in(index, number);
    uint64_t *sizes = malloc(count * sizeof *sizes);
    assert_non_null(sizes);
    struct sds_ar_chunk chunk;
    enum sds_kind kind = sds_ar_read_chunk(index, source, number, &chunk, err);
    struct sds_err sizes_err;
    enum sds_kind sizes_kind = sds_ar_record_sizes(index, source, number, sizes, &sizes_err);
    if (kind == SDS_OK) {
        assert_int_equal(sizes_kind, SDS_OK);
        assert_int_equal(chunk.count, count);
        assert_int_equal(chunk.bytes, sds_ar_chunk_decoded_size(index, number));
        for (uint32_t i = 0; i < count; i++) {
            struct sds_span record = sds_ar_chunk_record(&chunk, i);
            assert_int_equal(record.len, sizes[i]);
            uint8_t hash[SDS_SHA256_BYTES];
            sds_sha256(record, hash);
            EVP_DigestUpdate(digest, hash, sizeof hash);
        }
        sds_ar_chunk_fini(&chunk);
    } else if (sizes_kind != SDS_OK) {
        assert_string_equal(sizes_err.check, err->check);
    }
    free(sizes);
    return kind;
}

static void test_good(void **state) {
    const struct good_fixture *expected = *state;
    struct ar_file file;
    ar_file_unpack(&file, expected->file);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index;
    struct sds_err err;
    assert_int_equal(sds_ar_open(&source, &limits, &index, &err), SDS_OK);
    assert_int_equal(sds_ar_record_count(index), expected->records);
    assert_int_equal(sds_ar_group_size(index), expected->group_size);
    assert_int_equal(sds_ar_chunk_count(index), expected->chunks);
    assert_true(sds_ar_memory(index) >= 16 * expected->chunks);

    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
    for (uint64_t i = 0; i < expected->chunks; i++) {
        assert_int_equal(read_both_ways(index, &source, i, digest, &err), SDS_OK);
    }
    uint8_t hash[SDS_SHA256_BYTES];
    char hex[SDS_SHA256_HEX];
    EVP_DigestFinal_ex(digest, hash, NULL);
    EVP_MD_CTX_free(digest);
    sds_hex(hash, sizeof hash, hex);
    assert_string_equal(hex, expected->digest);

    assert_int_equal(sds_ar_walk(index, &source, &err), SDS_OK);
    sds_ar_close(index);
    ar_file_fini(&file);
}

// The check that has to refuse a record; NULL when it has to read.
static const char *expected_check(const struct hostile_fixture *expected, uint64_t record) {
    for (size_t i = 0; i < sizeof expected->bad / sizeof expected->bad[0]; i++) {
        if (expected->bad[i].check != NULL && expected->bad[i].record == record) {
            return expected->bad[i].check;
        }
    }
    return NULL;
}

static enum sds_kind kind_of(const char *check) {
    return strcmp(check, "limit") == 0 ? SDS_ERR_LIMIT : SDS_ERR_CORRUPT;
}

static void test_hostile(void **state) {
    const struct hostile_fixture *expected = *state;
    struct ar_file file;
    ar_file_unpack(&file, expected->file);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index;
    struct sds_err err;
    enum sds_kind kind = sds_ar_open(&source, &limits, &index, &err);
    if (expected->open != NULL) {
        assert_int_equal(kind, SDS_ERR_CORRUPT);
        assert_string_equal(err.check, expected->open);
        ar_file_fini(&file);
        return;
    }
    assert_int_equal(kind, SDS_OK);
    assert_int_equal(sds_ar_record_count(index), expected->records);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
    for (uint64_t record = 0; record < expected->records; record++) {
        uint64_t chunk;
        uint32_t place;
        sds_ar_locate(index, record, &chunk, &place);
        const char *check = expected_check(expected, record);
        kind = read_both_ways(index, &source, chunk, digest, &err);
        assert_int_equal(kind, check != NULL ? kind_of(check) : SDS_OK);
        if (check != NULL) {
            assert_string_equal(err.check, check);
        }
    }
    EVP_MD_CTX_free(digest);
    assert_int_equal(sds_ar_walk(index, &source, &err), kind_of(expected->walk));
    assert_string_equal(err.check, expected->walk);
    sds_ar_close(index);
    ar_file_fini(&file);
}

int main(void) {
    enum {
        GOOD = sizeof good_fixtures / sizeof good_fixtures[0],
        HOSTILE = sizeof hostile_fixtures / sizeof hostile_fixtures[0],
    };
    struct CMUnitTest tests[GOOD + HOSTILE] = {{0}};
    for (size_t i = 0; i < GOOD; i++) {
        tests[i] = (struct CMUnitTest){.name = good_fixtures[i].file,
                                       .test_func = test_good,
                                       .initial_state = (void *)(uintptr_t)&good_fixtures[i]};
    }
    for (size_t i = 0; i < HOSTILE; i++) {
        tests[GOOD + i] =
            (struct CMUnitTest){.name = hostile_fixtures[i].file,
                                .test_func = test_hostile,
                                .initial_state = (void *)(uintptr_t)&hostile_fixtures[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
