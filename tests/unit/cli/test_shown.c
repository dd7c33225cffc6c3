// SPDX-License-Identifier: Apache-2.0
#include "cli/shown.h"

#include "unit.h"

static void ages_have_two_units_at_most(void **state) {
    (void)state;
    static const struct {
        uint64_t seconds;
        const char *shown;
    } cases[] = {
        {0, "just now"},
        {1, "1 s"},
        {59, "59 s"},
        {60, "1 min"},
        {125, "2 min 5 s"},
        {3600, "1 h"},
        {3659, "1 h"},
        {7800, "2 h 10 min"},
        {86399, "23 h 59 min"},
        {86400, "1 d"},
        {90000, "1 d 1 h"},
        {8640000, "100 d"},
        {UINT64_MAX, "213503982334601 d 7 h"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[SDS_SHOWN_MAX];
        assert_string_equal(sds_age_shown(cases[i].seconds, out), cases[i].shown);
    }
}

static void bytes_have_one_decimal(void **state) {
    (void)state;
    char out[SDS_SHOWN_MAX];
    assert_string_equal(sds_bytes_shown(0, out), "0 bytes");
    assert_string_equal(sds_bytes_shown(1023, out), "1023 bytes");
    assert_string_equal(sds_bytes_shown(1536, out), "1.5 KiB");
    assert_string_equal(sds_bytes_shown(655360, out), "640.0 KiB");
    assert_string_equal(sds_bytes_shown(UINT64_MAX, out), "16.0 EiB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_have_two_units_at_most),
        cmocka_unit_test(bytes_have_one_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
