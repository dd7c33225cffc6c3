// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "format/signal_dataset/raw_paths.h"

static void add(struct raw_paths *paths, const char *path, enum raw_what what, uint64_t item) {
    struct sds_reference reference = {.path = path, .path_len = (uint32_t)strlen(path)};
    struct raw_origin origin = {.what = what, .group = 7, .item = item};
    assert_int_equal(raw_paths_add(paths, &reference, origin, NULL), SDS_OK);
}

static uint64_t key_of(const char *path) {
    uint64_t key = RAW_TOP;
    for (unsigned depth = 0; raw_component(path, depth).len > 0; depth++) {
        key = raw_child_key(key, raw_component(path, depth));
    }
    return key;
}

static const struct raw_entry *find(const struct raw_paths *paths, const char *path) {
    return raw_paths_find(paths, key_of(path));
}

static void an_empty_table(void **state) {
    (void)state;
    struct raw_paths *paths = raw_paths_new();
    assert_int_equal(raw_paths_seal(paths, NULL), SDS_OK);
    assert_null(find(paths, "a"));
    assert_int_equal(raw_paths_child_count(paths, RAW_TOP), 0);
    struct raw_paths *copy = raw_paths_copy(paths);
    add(copy, "a", RAW_ROOT, 0);
    assert_non_null(find(copy, "a"));
    raw_paths_free(copy);
    raw_paths_free(paths);
}

static void directories_come_with_their_files(void **state) {
    (void)state;
    struct raw_paths *paths = raw_paths_new();
    add(paths, "a/b/c", RAW_DATA, 3);
    add(paths, "a/d", RAW_PAGE, 4);
    add(paths, "a/b", RAW_PAGE, 5);      // is a directory already
    add(paths, "a/d/e", RAW_PAGE, 6);    // through a file
    add(paths, "a/b/c", RAW_CARRIER, 7); // the first to name it decides
    assert_int_equal(raw_paths_seal(paths, NULL), SDS_OK);
    const struct raw_entry *c = find(paths, "a/b/c");
    assert_int_equal(c->what, RAW_DATA);
    assert_int_equal(c->item, 3);
    assert_int_equal(c->group, 7);
    assert_int_equal(c->depth, 2);
    assert_int_equal(c->parent, key_of("a/b"));
    assert_int_equal(find(paths, "a/b")->what, RAW_DIRECTORY);
    assert_int_equal(find(paths, "a")->named_by, RAW_DATA);
    assert_null(find(paths, "a/d/e"));
    assert_null(find(paths, "b"));
    assert_int_equal(raw_paths_child_count(paths, key_of("a")), 2);
    assert_int_equal(raw_paths_child(paths, key_of("a"), 1)->key, key_of("a/d"));
    raw_paths_free(paths);
}

static void paths_that_are_not_shown(void **state) {
    (void)state;
    static const char *const paths[] = {"records",   "records/0", "shards/x", "index",
                                        "control/x", ".",         "/abs"};
    char component[300], deep[600];
    memset(component, 'x', 256);
    component[256] = '\0';
    for (size_t i = 0; i < 257; i++) {
        memcpy(deep + 2 * i, "d/", 2);
    }
    deep[513] = '\0';
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct sds_reference reference = {.path = paths[i],
                                          .path_len = (uint32_t)strlen(paths[i]),
                                          .absolute = paths[i][0] == '/'};
        assert_false(raw_is_shown(&reference));
    }
    struct raw_paths *table = raw_paths_new();
    add(table, component, RAW_DATA, 0);
    add(table, deep, RAW_DATA, 0);
    assert_int_equal(raw_paths_seal(table, NULL), SDS_OK);
    assert_int_equal(raw_paths_child_count(table, RAW_TOP), 0);
    raw_paths_free(table);
    // One less of each is.
    table = raw_paths_new();
    add(table, component + 1, RAW_DATA, 0);
    add(table, deep + 2, RAW_DATA, 0);
    assert_int_equal(raw_paths_seal(table, NULL), SDS_OK);
    assert_int_equal(raw_paths_child_count(table, RAW_TOP), 2);
    raw_paths_free(table);
}

// What is added to a copy comes behind, in every directory, and leaves the first table alone.
static void a_copy_grows_at_its_ends(void **state) {
    (void)state;
    char path[32];
    struct raw_paths *paths = raw_paths_new();
    for (unsigned i = 0; i < 300; i++) {
        snprintf(path, sizeof path, "d%u/f%u", i % 7, i);
        add(paths, path, RAW_DATA, i);
    }
    assert_int_equal(raw_paths_seal(paths, NULL), SDS_OK);
    struct raw_paths *more = raw_paths_copy(paths);
    for (unsigned i = 300; i < 900; i++) {
        snprintf(path, sizeof path, "d%u/f%u", i % 7, i);
        add(more, path, RAW_DATA, i);
    }
    assert_int_equal(raw_paths_seal(more, NULL), SDS_OK);
    for (unsigned d = 0; d < 7; d++) {
        snprintf(path, sizeof path, "d%u", d);
        uint64_t key = key_of(path);
        size_t before = raw_paths_child_count(paths, key), after = raw_paths_child_count(more, key);
        assert_true(after > before);
        for (size_t i = 0; i < after; i++) {
            const struct raw_entry *entry = raw_paths_child(more, key, i);
            assert_int_equal(entry->item, i * 7 + d);
            if (i < before) {
                assert_int_equal(raw_paths_child(paths, key, i)->key, entry->key);
            }
        }
    }
    assert_null(find(paths, "d6/f300"));
    raw_paths_free(paths);
    raw_paths_free(more);
}

static void a_table_that_is_full_says_so(void **state) {
    (void)state;
    char path[32];
    struct sds_err err;
    struct raw_paths *paths = raw_paths_new();
    for (unsigned i = 0; i < RAW_MAX_ENTRIES; i++) {
        snprintf(path, sizeof path, "%u", i);
        add(paths, path, RAW_DATA, i);
    }
    assert_int_equal(raw_paths_check(paths, &err), SDS_OK);
    add(paths, "7", RAW_DATA, 0); // nothing new
    assert_int_equal(raw_paths_check(paths, &err), SDS_OK);
    add(paths, "one/more", RAW_DATA, 0);
    assert_int_equal(raw_paths_check(paths, &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "raw");
    assert_int_equal(raw_paths_seal(paths, NULL), SDS_OK);
    assert_null(find(paths, "one/more"));
    assert_non_null(find(paths, "2097151"));
    raw_paths_free(paths);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table),
        cmocka_unit_test(directories_come_with_their_files),
        cmocka_unit_test(paths_that_are_not_shown),
        cmocka_unit_test(a_copy_grows_at_its_ends),
        cmocka_unit_test(a_table_that_is_full_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
