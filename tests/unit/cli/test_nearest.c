// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest.h"

#include "unit.h"

static void only_what_is_near_is_shown(void **state) {
    (void)state;
    static const char *const names[] = {"mount", "umount", "cat",        "status",    "shard",
                                        "uid",   "gid",    "cache_size", "cache_dir", "timeout"};
    static const struct {
        const char *typed, *shown;
    } cases[] = {
        {"moutn", " (did you mean mount?)"}, // one mistake: two letters have changed places
        {"unmount", " (did you mean umount?)"},
        {"stat", " (did you mean status?)"}, // not typed to its end
        {"cache", " (did you mean cache_size, cache_dir?)"},
        {"cachsize", " (did you mean cache_size?)"},
        {"xid", " (did you mean uid, gid?)"},
        {"tiemout", " (did you mean timeout?)"},
        {"ta", ""},
        {"list", ""}, // as far from "cat" as from itself
        {"mt", ""},
        {"", ""},
        {"timeouttimeout", ""},
        {"a name that is longer than any that there is here", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[80];
        sds_nearest(cases[i].typed, names, sizeof names / sizeof names[0], out, sizeof out);
        assert_string_equal(out, cases[i].shown);
    }
}

static void there_is_an_end_to_it(void **state) {
    (void)state;
    static const char *const names[] = {"aaa1", "aaa2", "aaa3", "aaa4"};
    char out[80], little[20];
    sds_nearest("aaa", names, 4, out, sizeof out);
    assert_string_equal(out, " (did you mean aaa1, aaa2, aaa3?)");
    sds_nearest("aaa", names, 4, little, sizeof little);
    assert_string_equal(little, " (did you mean aaa1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_near_is_shown),
        cmocka_unit_test(there_is_an_end_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
