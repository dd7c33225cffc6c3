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

static void a_version_can_be_set(void **state) {
    (void)state;
    struct sds_pins *pins = sds_pins_new();
    assert_false(sds_pins_has(pins, 7, 70)); // nothing was seen at all
    sds_pins_set(pins, 7, 70);               // never seen
    assert_true(sds_pins_has(pins, 7, 70));
    assert_false(sds_pins_has(pins, 7, 71));
    assert_false(sds_pins_has(pins, 8, 70));
    assert_true(sds_pins_check(pins, 8, 71)); // which asking did not remember
    assert_true(sds_pins_check(pins, 7, 70));
    assert_false(sds_pins_check(pins, 7, 71));
    sds_pins_set(pins, 7, 71);
    assert_true(sds_pins_check(pins, 7, 71));
    assert_false(sds_pins_check(pins, 7, 70));
    sds_pins_free(pins);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_version_holds),
        cmocka_unit_test(a_version_can_be_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
