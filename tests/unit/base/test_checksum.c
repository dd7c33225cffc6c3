// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "base/checksum.h"

// RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
static void known_values(void **state) {
    (void)state;
    uint8_t bytes[32] = {0};
    assert_int_equal(sds_crc32c(0, "", 0), 0);
    assert_int_equal(sds_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(sds_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(sds_crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)i;
    }
    assert_int_equal(sds_crc32c(0, bytes, 32), 0x46dd794e);
    assert_int_equal(sds_crc32c_portable(0, bytes, 32), 0x46dd794e);
}

static void pieces_and_both_ways_agree(void **state) {
    (void)state;
    uint8_t bytes[301];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 151 + 7);
    }
    for (size_t len = 0; len <= sizeof bytes; len++) {
        uint32_t whole = sds_crc32c(0, bytes, len);
        assert_int_equal(sds_crc32c_portable(0, bytes, len), whole);
        size_t cut = len / 3;
        uint32_t first = sds_crc32c(0, bytes, cut);
        assert_int_equal(sds_crc32c(first, bytes + cut, len - cut), whole);
        assert_int_equal(sds_crc32c_portable(first, bytes + cut, len - cut), whole);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(pieces_and_both_ways_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
