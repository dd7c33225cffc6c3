// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "base/hash.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_once),
        cmocka_unit_test(in_pieces_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
