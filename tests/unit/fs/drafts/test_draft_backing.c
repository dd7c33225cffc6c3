// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

struct fixture {
    char dir[40];
    struct sds_backing *backing;
};

static int setup(void **state) {
    static struct fixture fixture;
    snprintf(fixture.dir, sizeof fixture.dir, "/tmp/draft-backing-XXXXXX");
    if (mkdtemp(fixture.dir) == NULL) {
        return -1;
    }
    fixture.backing = sds_backing_new(fixture.dir, "s3://bucket/root");
    *state = &fixture;
    return fixture.backing == NULL;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    char command[64];
    sds_backing_free(fixture->backing);
    snprintf(command, sizeof command, "rm -rf %s", fixture->dir);
    return system(command);
}

static void open_it(struct sds_backing *backing) {
    bool first;
    struct sds_err err;
    assert_int_equal(sds_backing_open(backing, true, &first, &err), 0);
    assert_true(first);
}

static void nothing_is_made_before_it_is_wanted(void **state) {
    struct fixture *fixture = *state;
    bool first;
    struct sds_err err;
    assert_int_equal(sds_backing_open(fixture->backing, false, &first, &err), ENOENT);
    assert_int_equal(rmdir(fixture->dir), 0);
    assert_int_equal(mkdir(fixture->dir, 0700), 0);
    open_it(fixture->backing);
    assert_int_equal(sds_backing_open(fixture->backing, false, &first, &err), 0);
    assert_false(first);
    struct stat st;
    assert_int_equal(fstat(sds_backing_sets(fixture->backing), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void a_state_directory_that_cannot_be(void **state) {
    (void)state;
    struct sds_backing *backing = sds_backing_new("/proc/none/state", "/");
    bool first;
    struct sds_err err;
    assert_int_equal(sds_backing_open(backing, false, &first, &err), ENOENT);
    assert_int_equal(sds_backing_open(backing, true, &first, &err), EPERM);
    assert_string_equal(err.check, "state_dir");
    sds_backing_free(backing);
}

static void roots_have_drafts_of_their_own(void **state) {
    struct fixture *fixture = *state;
    struct sds_backing *same = sds_backing_new(fixture->dir, "s3://bucket/root");
    struct sds_backing *other = sds_backing_new(fixture->dir, "s3://bucket/root2");
    open_it(fixture->backing);
    open_it(same);
    open_it(other);
    struct stat a, b, c;
    fstat(sds_backing_sets(fixture->backing), &a);
    fstat(sds_backing_sets(same), &b);
    fstat(sds_backing_sets(other), &c);
    assert_int_equal(a.st_ino, b.st_ino);
    assert_int_not_equal(a.st_ino, c.st_ino);
    sds_backing_free(same);
    sds_backing_free(other);
}

// A local root at the same path that is another directory is another root.
static void a_root_that_was_replaced_is_another(void **state) {
    struct fixture *fixture = *state;
    char root[64], moved[64];
    snprintf(root, sizeof root, "%s/root", fixture->dir);
    snprintf(moved, sizeof moved, "%s/moved", fixture->dir);
    assert_int_equal(mkdir(root, 0700), 0);
    struct sds_backing *first = sds_backing_new(fixture->dir, root);
    open_it(first);
    assert_int_equal(rename(root, moved), 0);
    assert_int_equal(mkdir(root, 0700), 0);
    struct sds_backing *second = sds_backing_new(fixture->dir, root);
    open_it(second);
    struct stat a, b;
    fstat(sds_backing_sets(first), &a);
    fstat(sds_backing_sets(second), &b);
    assert_int_not_equal(a.st_ino, b.st_ino);
    sds_backing_free(first);
    sds_backing_free(second);
}

static void a_deep_tree_goes_away_whole(void **state) {
    struct fixture *fixture = *state;
    open_it(fixture->backing);
    int sets = sds_backing_sets(fixture->backing);
    char name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    int dir = dup(sets);
    for (int i = 0; i < 50; i++) { // a path that is longer than a call takes
        assert_int_equal(mkdirat(dir, name, 0700), 0);
        int next = openat(dir, name, O_RDONLY | O_DIRECTORY);
        close(dir);
        dir = next;
    }
    close(dir);
    char hidden[SDS_TMP_NAME];
    assert_int_equal(sds_backing_hide(fixture->backing, sets, name, hidden), 0);
    assert_int_equal(sds_backing_remove(fixture->backing, hidden), 0);
    assert_int_equal(faccessat(sds_backing_tmp(fixture->backing), hidden, F_OK, 0), -1);
}

static void replace(struct sds_backing *backing, int dir, const char *name, const char *text,
                    bool durable) {
    char staged[SDS_TMP_NAME];
    assert_int_equal(sds_backing_stage(backing, dir, name, sds_span_str(text), durable, staged), 0);
    assert_int_equal(sds_backing_put(backing, staged, dir, name), 0);
    assert_int_equal(faccessat(sds_backing_tmp(backing), staged, F_OK, 0), -1);
}

static void replaced_files_are_whole_and_newer(void **state) {
    struct fixture *fixture = *state;
    open_it(fixture->backing);
    int sets = sds_backing_sets(fixture->backing);
    struct stat before = {0}, after;
    for (int i = 0; i < 50; i++) {
        char text[8];
        snprintf(text, sizeof text, "%02d", i);
        replace(fixture->backing, sets, "f", text, i == 0);
        assert_int_equal(fstatat(sets, "f", &after, 0), 0);
        assert_int_equal(after.st_size, 2);
        assert_true(after.st_mtim.tv_sec > before.st_mtim.tv_sec ||
                    (after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                     after.st_mtim.tv_nsec > before.st_mtim.tv_nsec));
        before = after;
    }
    // Also behind one whose time lies ahead.
    struct timespec ahead[] = {{.tv_nsec = UTIME_OMIT},
                               {.tv_sec = 4000000000, .tv_nsec = 999999999}};
    assert_int_equal(utimensat(sets, "f", ahead, 0), 0);
    replace(fixture->backing, sets, "f", "x", false);
    assert_int_equal(fstatat(sets, "f", &after, 0), 0);
    assert_int_equal(after.st_mtim.tv_sec, 4000000001);
    assert_int_equal(after.st_mode & 07777, 0600);
    // What cannot be put there does not stay in tmp/.
    char staged[SDS_TMP_NAME];
    assert_int_equal(mkdirat(sets, "d", 0700), 0);
    assert_int_equal(
        sds_backing_stage(fixture->backing, sets, "d", sds_span_str("x"), false, staged), 0);
    assert_int_equal(sds_backing_put(fixture->backing, staged, sets, "d"), EISDIR);
    assert_int_equal(faccessat(sds_backing_tmp(fixture->backing), staged, F_OK, 0), -1);
}

static void the_first_of_all_clears_up(void **state) {
    struct fixture *fixture = *state;
    open_it(fixture->backing);
    int tmp = sds_backing_tmp(fixture->backing);
    char name[SDS_TMP_NAME];
    int dir;
    assert_int_equal(sds_backing_prepare(fixture->backing, name, &dir), 0);
    assert_int_equal(mkdirat(dir, "below", 0700), 0);
    close(dir);
    int file = openat(tmp, "left", O_WRONLY | O_CREAT, 0600);
    close(file);
    struct sds_backing *second = sds_backing_new(fixture->dir, "s3://bucket/root");
    open_it(second);
    assert_int_equal(faccessat(tmp, "left", F_OK, 0), 0); // the first one may be using it
    sds_backing_free(second);
    sds_backing_free(fixture->backing);
    fixture->backing = sds_backing_new(fixture->dir, "s3://bucket/root");
    open_it(fixture->backing);
    tmp = sds_backing_tmp(fixture->backing);
    assert_int_equal(faccessat(tmp, "left", F_OK, 0), -1);
    assert_int_equal(faccessat(tmp, name, F_OK, 0), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_made_before_it_is_wanted), TEST(a_state_directory_that_cannot_be),
        TEST(roots_have_drafts_of_their_own),      TEST(a_root_that_was_replaced_is_another),
        TEST(a_deep_tree_goes_away_whole),         TEST(replaced_files_are_whole_and_newer),
        TEST(the_first_of_all_clears_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
