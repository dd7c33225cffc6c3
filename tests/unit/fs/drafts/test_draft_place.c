// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/place.h"

#include "unit.h"

static void paths_and_what_they_are(void **state) {
    (void)state;
    static const struct {
        const char *path;
        enum sds_role role;
        size_t parent_len, set_len, shard_len;
    } cases[] = {
        {"", SDS_ROLE_TOP, 0, 0, 0},
        {"set", SDS_ROLE_SET, 0, 0, 0},
        {"set/rows.jsonl", SDS_ROLE_USERS, 3, 3, 0},
        {"set/commit", SDS_ROLE_COMMIT, 3, 3, 0},
        {"set/status.json", SDS_ROLE_OURS, 3, 3, 0},
        {"set/receipt.json", SDS_ROLE_OURS, 3, 3, 0},
        {"set/pointer.json", SDS_ROLE_OURS, 3, 3, 0},
        {"set/commit2", SDS_ROLE_USERS, 3, 3, 0},
        {"set/commi", SDS_ROLE_USERS, 3, 3, 0},
        {"commit", SDS_ROLE_SET, 0, 0, 0},
        {"set/dir/commit", SDS_ROLE_USERS, 7, 3, 0},
        {"set/shards", SDS_ROLE_SHARDS, 3, 3, 0},
        {"set/shards/east", SDS_ROLE_SHARD, 10, 3, 0},
        {"set/shards/commit", SDS_ROLE_SHARD, 10, 3, 0},
        {"set/shards/east/commit", SDS_ROLE_COMMIT, 15, 3, 15},
        {"set/shards/east/status.json", SDS_ROLE_OURS, 15, 3, 15},
        {"set/shards/east/a/b/c", SDS_ROLE_USERS, 19, 3, 15},
        {"set/shards/east/shards/x", SDS_ROLE_USERS, 22, 3, 15},
        {"set/fields/shards/x/commit", SDS_ROLE_USERS, 19, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_place place = sds_place_of(cases[i].path);
        assert_int_equal(place.role, cases[i].role);
        assert_int_equal(place.parent_len, cases[i].parent_len);
        assert_int_equal(place.set_len, cases[i].set_len);
        assert_int_equal(place.shard_len, cases[i].shard_len);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths_and_what_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
