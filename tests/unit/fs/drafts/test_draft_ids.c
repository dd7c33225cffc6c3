// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "unit.h"

static int setup(void **state) {
    *state = sds_ids_new();
    return *state == NULL;
}

static int teardown(void **state) {
    sds_ids_free(*state);
    return 0;
}

static struct sds_span span(const char *name) {
    return sds_span_str(name);
}

static uint64_t hold(struct sds_ids *ids, uint64_t dir, const char *name) {
    uint64_t id;
    assert_int_equal(sds_ids_hold(ids, dir, span(name), &id), 0);
    return id;
}

static void assert_path(struct sds_ids *ids, uint64_t id, const char *expected) {
    struct sds_buf path = SDS_BUF_INIT(1024);
    assert_int_equal(sds_ids_path(ids, id, &path), 0);
    assert_int_equal(path.len, strlen(expected));
    assert_memory_equal(path.len > 0 ? (const char *)path.at : "", expected, path.len);
    sds_buf_fini(&path);
}

static int path_error(struct sds_ids *ids, uint64_t id, size_t max) {
    struct sds_buf path = SDS_BUF_INIT(max);
    int e = sds_ids_path(ids, id, &path);
    sds_buf_fini(&path);
    return e;
}

static void a_name_has_one_number_while_it_is_held(void **state) {
    uint64_t a = hold(*state, SDS_IDS_TOP, "a");
    assert_int_equal(hold(*state, SDS_IDS_TOP, "a"), a);
    assert_true(hold(*state, SDS_IDS_TOP, "b") != a);
    uint64_t inner = hold(*state, a, "a");
    assert_true(inner != a);
    assert_path(*state, SDS_IDS_TOP, "");
    assert_path(*state, a, "a");
    assert_path(*state, inner, "a/a");
    assert_int_equal(sds_ids_count(*state), 3);
    sds_ids_drop(*state, a, 1);
    assert_path(*state, a, "a");
    sds_ids_drop(*state, a, 1); // still under the one in it
    assert_path(*state, inner, "a/a");
    sds_ids_drop(*state, inner, 1);
    assert_int_equal(sds_ids_count(*state), 1);
    assert_int_equal(path_error(*state, a, 100), ESTALE);
    assert_true(hold(*state, SDS_IDS_TOP, "a") > inner); // never used again
}

static void what_is_not_held_is_stale(void **state) {
    uint64_t id, parent;
    assert_int_equal(sds_ids_hold(*state, 77, span("x"), &id), ESTALE);
    assert_int_equal(sds_ids_hold_self(*state, 77), ESTALE);
    assert_int_equal(sds_ids_hold_parent(*state, 77, &parent), ESTALE);
    assert_int_equal(sds_ids_hold_parent(*state, SDS_IDS_TOP, &parent), ESTALE);
    assert_int_equal(path_error(*state, 77, 100), ESTALE);
    assert_int_equal(sds_ids_orphan(*state, 77), -1);
    sds_ids_drop(*state, 77, 5);
    sds_ids_drop(*state, SDS_IDS_TOP, 5);
    assert_path(*state, SDS_IDS_TOP, "");
}

static void paths_have_a_ceiling(void **state) {
    uint64_t b = hold(*state, hold(*state, SDS_IDS_TOP, "aaa"), "bbb");
    assert_int_equal(path_error(*state, b, 7), 0);
    assert_int_equal(path_error(*state, b, 6), ENAMETOOLONG);
}

static void numbers_are_held_again(void **state) {
    uint64_t a = hold(*state, SDS_IDS_TOP, "a"), b = hold(*state, a, "b"), parent;
    assert_int_equal(sds_ids_hold_self(*state, b), 0);
    assert_int_equal(sds_ids_hold_parent(*state, b, &parent), 0);
    assert_int_equal(parent, a);
    sds_ids_drop(*state, b, 2);
    sds_ids_drop(*state, a, 2);
    assert_int_equal(sds_ids_count(*state), 0);
}

static void a_move_takes_along_what_is_below(void **state) {
    uint64_t a = hold(*state, SDS_IDS_TOP, "a"), deep = hold(*state, hold(*state, a, "b"), "c");
    uint64_t other = hold(*state, SDS_IDS_TOP, "other");
    sds_ids_move(*state, SDS_IDS_TOP, span("a"), other, span("new name"));
    assert_path(*state, a, "other/new name");
    assert_path(*state, deep, "other/new name/b/c");
    assert_int_equal(hold(*state, other, "new name"), a);
    assert_true(hold(*state, SDS_IDS_TOP, "a") != a);
    // What nobody was told of may move, too.
    sds_ids_move(*state, SDS_IDS_TOP, span("unheard"), other, span("of"));
    assert_false(sds_ids_is_held(*state, other, span("of")));
}

static void a_move_lets_go_of_the_old_directory(void **state) {
    uint64_t a = hold(*state, SDS_IDS_TOP, "a"), file = hold(*state, a, "file");
    sds_ids_drop(*state, a, 1);
    sds_ids_move(*state, a, span("file"), SDS_IDS_TOP, span("file"));
    assert_path(*state, file, "file");
    assert_int_equal(sds_ids_count(*state), 1);
}

static void a_removed_name_leaves_its_number(void **state) {
    uint64_t a = hold(*state, SDS_IDS_TOP, "a"), b = hold(*state, a, "b");
    sds_ids_remove(*state, SDS_IDS_TOP, span("a"), -1);
    assert_int_equal(path_error(*state, a, 100), ESTALE);
    assert_int_equal(path_error(*state, b, 100), ESTALE); // and all below it
    uint64_t again = hold(*state, SDS_IDS_TOP, "a");
    assert_true(again != a);
    assert_path(*state, hold(*state, again, "b"), "a/b");
    sds_ids_remove_path(*state, "a/b", -1);
    assert_path(*state, again, "a");
    assert_false(sds_ids_is_held(*state, again, span("b")));
    sds_ids_remove_path(*state, "a/b/c", -1);
    sds_ids_remove_path(*state, "", -1);
    sds_ids_drop(*state, b, 1);
    sds_ids_drop(*state, a, 1);
    assert_path(*state, again, "a");
}

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

static void numbers_of_their_own(void **state) {
    uint64_t dir = hold(*state, SDS_IDS_TOP, "d"), a, b;
    assert_int_equal(sds_ids_hold_alone(*state, dir, span("x"), &a), 0);
    assert_int_equal(sds_ids_hold_alone(*state, dir, span("x"), &b), 0);
    assert_true(a != b);
    uint64_t x = hold(*state, dir, "x");
    assert_true(x != a && x != b);
    assert_path(*state, a, "d/x");
    sds_ids_remove(*state, dir, span("x"), -1);
    sds_ids_move(*state, SDS_IDS_TOP, span("d"), SDS_IDS_TOP, span("e"));
    assert_path(*state, a, "e/x");
    sds_ids_remove(*state, SDS_IDS_TOP, span("e"), -1);
    assert_int_equal(path_error(*state, a, 100), ESTALE);
    for (int i = 0; i < 200; i++) { // the tables grow and shrink around them
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        hold(*state, SDS_IDS_TOP, name);
    }
    sds_ids_drop(*state, a, 1);
    sds_ids_drop(*state, b, 1);
    sds_ids_drop(*state, x, 1);
    sds_ids_drop(*state, dir, 1);
    assert_int_equal(sds_ids_count(*state), 200);
}

static void assert_below(struct sds_ids *ids, const char *path, const uint64_t *expected,
                         size_t count) {
    struct sds_buf found = SDS_BUF_INIT(SIZE_MAX);
    assert_int_equal(sds_ids_below(ids, path, &found), 0);
    assert_int_equal(found.len, count * sizeof *expected);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = memmem(found.at, found.len, &expected[i], sizeof *expected);
        assert_non_null(at);
    }
    sds_buf_fini(&found);
}

static void all_that_is_below_a_path(void **state) {
    uint64_t a = hold(*state, SDS_IDS_TOP, "a"), b = hold(*state, a, "b"), c = hold(*state, b, "c");
    uint64_t d = hold(*state, SDS_IDS_TOP, "ab"), alone;
    assert_int_equal(sds_ids_hold_alone(*state, b, span("commit"), &alone), 0);
    assert_below(*state, "", (uint64_t[]){a, b, c, d}, 4);
    assert_below(*state, "a", (uint64_t[]){a, b, c}, 3);
    assert_below(*state, "a/b", (uint64_t[]){b, c}, 2);
    assert_below(*state, "a/b/c", (uint64_t[]){c}, 1);
    assert_below(*state, "a/x", NULL, 0);
    sds_ids_move(*state, SDS_IDS_TOP, span("ab"), b, span("d"));
    assert_below(*state, "a", (uint64_t[]){a, b, c, d}, 4);
    sds_ids_remove(*state, a, span("b"), -1);
    assert_below(*state, "a", (uint64_t[]){a}, 1); // what is below a name that is gone is gone
}

static void below_many(void **state) {
    uint64_t dir = hold(*state, SDS_IDS_TOP, "dir");
    struct sds_buf found = SDS_BUF_INIT(SIZE_MAX);
    for (int i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        hold(*state, dir, name);
        hold(*state, SDS_IDS_TOP, name);
    }
    assert_int_equal(sds_ids_below(*state, "dir", &found), 0);
    assert_int_equal(found.len, 5001 * sizeof(uint64_t));
    sds_buf_fini(&found);
    found = SDS_BUF_INIT(5000 * sizeof(uint64_t));
    assert_int_equal(sds_ids_below(*state, "dir", &found), ENOMEM);
    sds_buf_fini(&found);
}

static void orphans_are_there_until_they_are_forgotten(void **state) {
    uint64_t a = hold(*state, SDS_IDS_TOP, "a");
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sds_ids_remove(*state, SDS_IDS_TOP, span("a"), fd);
    int copy = sds_ids_orphan(*state, a);
    assert_true(copy >= 0 && copy != fd);
    close(copy);
    sds_ids_drop(*state, a, 1);
    assert_false(is_open(fd));
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC); // nobody has it open
    sds_ids_remove(*state, SDS_IDS_TOP, span("a"), fd);
    assert_false(is_open(fd));
}

static void there_are_not_too_many_orphans(void **state) {
    uint64_t ids[300];
    size_t with = 0;
    char name[16];
    for (size_t i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "f%zu", i);
        ids[i] = hold(*state, SDS_IDS_TOP, name);
        sds_ids_remove(*state, SDS_IDS_TOP, span(name), open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    for (size_t i = 0; i < 300; i++) {
        int fd = sds_ids_orphan(*state, ids[i]);
        with += fd >= 0;
        if (fd >= 0) {
            close(fd);
        }
    }
    assert_int_equal(with, 256);
}

static void many_names_and_none(void **state) {
    enum { MANY = 5000 };
    static uint64_t ids[MANY];
    char name[16];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "%zu", i);
        ids[i] = hold(*state, i % 7 == 0 ? SDS_IDS_TOP : ids[i / 7 * 7], name);
    }
    assert_int_equal(sds_ids_count(*state), MANY);
    assert_path(*state, ids[4998], "4998");
    assert_path(*state, ids[4999], "4998/4999");
    for (size_t i = 0; i < MANY; i++) {
        sds_ids_drop(*state, ids[i], 1);
    }
    assert_int_equal(sds_ids_count(*state), 0);
}

static void *churn(void *arg) {
    struct sds_ids *ids = arg;
    struct sds_buf path = SDS_BUF_INIT(1024);
    for (int i = 0; i < 3000; i++) {
        uint64_t a = hold(ids, SDS_IDS_TOP, i % 2 == 0 ? "a" : "b"), b;
        if (sds_ids_hold(ids, a, span("x"), &b) == 0) {
            path.len = 0;
            int e = sds_ids_path(ids, b, &path);
            assert_true(e == 0 || e == ESTALE);
            if (i % 5 == 0) {
                sds_ids_move(ids, a, span("x"), SDS_IDS_TOP, span("y"));
                sds_ids_remove(ids, SDS_IDS_TOP, span("y"), -1);
            }
            sds_ids_drop(ids, b, 1);
        }
        sds_ids_drop(ids, a, 1);
    }
    sds_buf_fini(&path);
    return NULL;
}

static void threads_at_the_same_time(void **state) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, churn, *state);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(sds_ids_count(*state), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_name_has_one_number_while_it_is_held),
        TEST(what_is_not_held_is_stale),
        TEST(paths_have_a_ceiling),
        TEST(numbers_are_held_again),
        TEST(a_move_takes_along_what_is_below),
        TEST(a_move_lets_go_of_the_old_directory),
        TEST(a_removed_name_leaves_its_number),
        TEST(numbers_of_their_own),
        TEST(all_that_is_below_a_path),
        TEST(below_many),
        TEST(orphans_are_there_until_they_are_forgotten),
        TEST(there_are_not_too_many_orphans),
        TEST(many_names_and_none),
        TEST(threads_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
