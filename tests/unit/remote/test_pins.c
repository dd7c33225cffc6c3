// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "remote/pins.h"

static void the_first_version_holds(void **state) {
    (void)state;
    struct sds_pins *pins = sds_pins_new();
    for (uint64_t object = 1; object < 10000; object++) {
        assert_true(sds_pins_check(pins, object, object * 3));
    }
    for (uint64_t object = 1; object < 10000; object++) {
        assert_true(sds_pins_check(pins, object, object * 3));
        assert_false(sds_pins_check(pins, object, object * 3 + 1));
        assert_true(sds_pins_check(pins, object, object * 3));
    }
    sds_pins_free(pins);
    sds_pins_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_version_holds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
