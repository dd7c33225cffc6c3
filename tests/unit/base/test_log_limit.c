// SPDX-License-Identifier: Apache-2.0
#include "base/log_limit.h"

#include <stdio.h>

#include "unit.h"

static unsigned take(struct sds_log_limit *limit, const char *kind, unsigned lines, uint64_t now) {
    unsigned taken = 0;
    for (unsigned i = 0; i < lines; i++) {
        taken += sds_log_limit_take(limit, kind, now);
    }
    return taken;
}

static void a_kind_has_its_lines(void **state) {
    (void)state;
    struct sds_log_limit limit = {0};
    char name[SDS_LOG_LIMIT_NAME];
    assert_int_equal(take(&limit, "hash", 25, 1000), SDS_LOG_LIMIT_LINES);
    assert_int_equal(take(&limit, "size", 3, 1000), 3);
    assert_int_equal(sds_log_limit_over(&limit, 1000 + SDS_LOG_LIMIT_MS - 1, name), 0);
    assert_int_equal(sds_log_limit_over(&limit, 1000 + SDS_LOG_LIMIT_MS, name), 5);
    assert_string_equal(name, "hash");
    assert_int_equal(sds_log_limit_over(&limit, 1000 + SDS_LOG_LIMIT_MS, name), 0);
    assert_int_equal(take(&limit, "hash", 25, 1000 + SDS_LOG_LIMIT_MS), SDS_LOG_LIMIT_LINES);
}

static void what_was_left_out_is_not_forgotten(void **state) {
    (void)state;
    struct sds_log_limit limit = {0};
    char name[SDS_LOG_LIMIT_NAME];
    take(&limit, "hash", SDS_LOG_LIMIT_LINES + 2, 0);
    take(&limit, "hash", 1, SDS_LOG_LIMIT_MS + 1); // a new while begins before anybody asked
    assert_int_equal(sds_log_limit_over(&limit, 2 * SDS_LOG_LIMIT_MS + 1, name), 2);
}

static void more_kinds_than_there_is_room_for(void **state) {
    (void)state;
    struct sds_log_limit limit = {0};
    char name[SDS_LOG_LIMIT_NAME];
    unsigned taken = 0;
    for (int i = 0; i < SDS_LOG_LIMIT_KINDS + 100; i++) {
        snprintf(name, sizeof name, "kind %d", i);
        taken += take(&limit, name, 1, 5);
    }
    assert_int_equal(taken, SDS_LOG_LIMIT_KINDS + SDS_LOG_LIMIT_LINES - 1);
    // When the while is over there is room again.
    assert_int_equal(take(&limit, "another", 1, 5 + SDS_LOG_LIMIT_MS), 1);
}

static void long_names_are_cut(void **state) {
    (void)state;
    struct sds_log_limit limit = {0};
    char name[2 * SDS_LOG_LIMIT_NAME];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(take(&limit, name, 30, 0), SDS_LOG_LIMIT_LINES);
    assert_int_equal(limit.kinds[1].lines, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_has_its_lines),
        cmocka_unit_test(what_was_left_out_is_not_forgotten),
        cmocka_unit_test(more_kinds_than_there_is_room_for),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
