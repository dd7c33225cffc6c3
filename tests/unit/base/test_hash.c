// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "base/hash.h"

#include <stdlib.h>

// Of FIPS 180-2, and of nothing.
static const struct {
    const char *text, *hex;
} known[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void at_once(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char hex[SDS_SHA256_HEX];
        sds_sha256_hex(sds_span_str(known[i].text), hex);
        assert_string_equal(hex, known[i].hex);
    }
}

static void in_pieces_of_any_size(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(known[i].text);
        for (size_t step = 1; step <= len + 1; step++) {
            char hex[SDS_SHA256_HEX];
            struct sds_digest *digest = sds_digest_new();
            assert_non_null(digest);
            for (size_t at = 0; at < len; at += step) {
                sds_digest_add(digest, known[i].text + at, len - at < step ? len - at : step);
            }
            sds_digest_hex(digest, hex);
            assert_string_equal(hex, known[i].hex);
            sds_digest_free(digest);
        }
    }
    sds_digest_free(NULL);
}

static void the_fast_one_sees_every_bit(void **state) {
    (void)state;
    uint8_t bytes[200] = {0};
    for (size_t len = 0; len <= sizeof bytes; len++) {
        uint64_t before = sds_hash_fast(sds_span(bytes, len), 7);
        assert_true(before != sds_hash_fast(sds_span(bytes, len), 8));
        assert_true(len == 0 || before != sds_hash_fast(sds_span(bytes, len - 1), 7));
        for (size_t bit = 0; bit < 8 * len; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_true(before != sds_hash_fast(sds_span(bytes, len), 7));
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        if (len < sizeof bytes) {
            bytes[len] = (uint8_t)(31 * len);
        }
    }
}

static int by_value(const void *a, const void *b) {
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void the_fast_one_has_no_collisions(void **state) {
    (void)state;
    enum { COUNT = 200000 };
    uint64_t *hashes = malloc(COUNT * sizeof *hashes);
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t words[4] = {i % 100, 0, i / 100 % 100, i / 10000};
        hashes[i] = sds_hash_fast(sds_span(words, sizeof words), 0);
    }
    qsort(hashes, COUNT, sizeof *hashes, by_value);
    for (size_t i = 1; i < COUNT; i++) {
        assert_true(hashes[i] != hashes[i - 1]);
    }
    free(hashes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fast_one_sees_every_bit),
        cmocka_unit_test(the_fast_one_has_no_collisions),
        cmocka_unit_test(at_once),
        cmocka_unit_test(in_pieces_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
