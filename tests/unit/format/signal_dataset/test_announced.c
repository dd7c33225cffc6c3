// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "format/signal_dataset/announced.h"

static void expect_next(struct announced *a, size_t most, uint64_t now, uint64_t expected) {
    uint64_t found = UINT64_MAX;
    assert_int_equal(announced_next(a, most, now, &found), expected != UINT64_MAX);
    assert_int_equal(found, expected);
}

static void a_window_moves_with_the_reader(void **state) {
    (void)state;
    struct announced a = {0};
    const uint64_t first[] = {5, 3, 9, 1}, second[] = {7};
    expect_next(&a, 2, 0, UINT64_MAX);
    announced_add(&a, first, 4);
    announced_add(&a, second, 1);
    expect_next(&a, 2, 0, 5);
    expect_next(&a, 2, 0, 3);
    expect_next(&a, 2, 0, UINT64_MAX);
    announced_read(&a, 42); // something else
    expect_next(&a, 2, 0, UINT64_MAX);
    announced_read(&a, 3); // out of order
    expect_next(&a, 2, 0, 9);
    announced_read(&a, 5);
    announced_read(&a, 9);
    expect_next(&a, 2, 0, 1);
    expect_next(&a, 2, 0, 7);
    announced_read(&a, 1);
    expect_next(&a, 2, 0, UINT64_MAX);
    announced_fini(&a);
}

static void what_is_not_read_is_not_waited_for(void **state) {
    (void)state;
    struct announced a = {0};
    uint64_t ordinals[200];
    for (uint64_t i = 0; i < 200; i++) {
        ordinals[i] = i;
    }
    announced_add(&a, ordinals, 200);
    for (uint64_t i = 0; i < ANNOUNCED_WINDOW; i++) {
        expect_next(&a, SIZE_MAX, 1000, i);
    }
    expect_next(&a, SIZE_MAX, 1000, UINT64_MAX);
    announced_read(&a, 100); // who is here has passed the first 68
    assert_int_equal(a.begun_count, ANNOUNCED_WINDOW - 1 - (100 - ANNOUNCED_PASSED));
    assert_int_equal(a.begun[0].ordinal, 100 - ANNOUNCED_PASSED);
    expect_next(&a, SIZE_MAX, 2000, ANNOUNCED_WINDOW);
    announced_expire(&a, 1000 + ANNOUNCED_UNREAD - 1);
    assert_int_not_equal(a.begun[0].ordinal, ANNOUNCED_WINDOW);
    announced_expire(&a, 1000 + ANNOUNCED_UNREAD);
    assert_int_equal(a.begun_count, 1);
    assert_int_equal(a.begun[0].ordinal, ANNOUNCED_WINDOW);
    announced_fini(&a);
}

static void memory_is_bounded(void **state) {
    (void)state;
    struct announced a = {0};
    static uint64_t many[ANNOUNCED_MAX + 100];
    for (uint64_t i = 0; i < ANNOUNCED_MAX + 100; i++) {
        many[i] = i;
    }
    announced_add(&a, many, 1000);
    expect_next(&a, 1, 0, 0);
    for (int i = 0; i < 3; i++) {
        announced_add(&a, many, ANNOUNCED_MAX + 100);
    }
    assert_int_equal(a.count, ANNOUNCED_MAX);
    assert_int_equal(a.room, ANNOUNCED_MAX);
    announced_read(&a, 0);
    for (uint64_t i = 1; i < 1000; i++) { // in order, the ring grown and turned around
        expect_next(&a, 1, 0, i);
        announced_read(&a, i);
    }
    expect_next(&a, 1, 0, 0);
    announced_fini(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_moves_with_the_reader),
        cmocka_unit_test(what_is_not_read_is_not_waited_for),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
