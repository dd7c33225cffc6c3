// SPDX-License-Identifier: Apache-2.0
#include "index/tidy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#define OLD "0123456789abcdef0123456789abcdef"
#define BUILT "11111111111111111111111111111111"
#define USED "22222222222222222222222222222222"

struct fixture {
    char path[40];
    int dir;
    struct sds_index_place place;
};

static int setup(void **state) {
    static struct fixture fixture;
    snprintf(fixture.path, sizeof fixture.path, "/tmp/tidy-XXXXXX");
    if (mkdtemp(fixture.path) == NULL) {
        return -1;
    }
    fixture.place.directory = fixture.path;
    fixture.dir = open(fixture.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &fixture;
    return fixture.dir < 0;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    char command[64];
    close(fixture->dir);
    snprintf(command, sizeof command, "rm -rf %s", fixture->path);
    return system(command);
}

static int make(const struct fixture *fixture, const char *name, int days) {
    int fd = openat(fixture->dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    time_t then = time(NULL) - (time_t)days * 24 * 60 * 60;
    assert_int_equal(futimens(fd, (struct timespec[2]){{.tv_sec = then}, {.tv_sec = then}}), 0);
    return fd;
}

static bool is_there(const struct fixture *fixture, const char *name) {
    return faccessat(fixture->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void what_nobody_opened_for_a_month_goes(void **state) {
    const struct fixture *fixture = *state;
    close(make(fixture, OLD ".sqlite", 31));
    close(make(fixture, OLD ".jsonl", 400));
    close(make(fixture, OLD ".building-journal", 31));
    close(make(fixture, OLD ".lock", 31));
    close(make(fixture, USED ".sqlite", 29));
    sds_index_tidy(&fixture->place);
    assert_false(is_there(fixture, OLD ".sqlite"));
    assert_false(is_there(fixture, OLD ".jsonl"));
    assert_false(is_there(fixture, OLD ".building-journal"));
    assert_true(is_there(fixture, OLD ".lock"));
    assert_true(is_there(fixture, USED ".sqlite"));
}

static void what_is_being_built_stays(void **state) {
    const struct fixture *fixture = *state;
    close(make(fixture, BUILT ".building", 31));
    int lock = make(fixture, BUILT ".lock", 31);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    sds_index_tidy(&fixture->place);
    assert_true(is_there(fixture, BUILT ".building"));
    close(lock);
    sds_index_tidy(&fixture->place);
    assert_false(is_there(fixture, BUILT ".building"));
}

static void what_is_not_ours_stays(void **state) {
    const struct fixture *fixture = *state;
    static const char *const others[] = {"notes.txt", "0123.sqlite", OLD, OLD "0.sqlite",
                                         "Z123456789abcdef0123456789abcdef.sqlite"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        close(make(fixture, others[i], 400));
    }
    assert_int_equal(mkdirat(fixture->dir, OLD ".sqlite", 0700), 0);
    assert_int_equal(symlinkat("notes.txt", fixture->dir, USED ".sqlite"), 0);
    struct timespec then[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(fixture->dir, OLD ".sqlite", then, 0), 0);
    assert_int_equal(utimensat(fixture->dir, USED ".sqlite", then, AT_SYMLINK_NOFOLLOW), 0);
    sds_index_tidy(&fixture->place);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_true(is_there(fixture, others[i]));
    }
    assert_true(is_there(fixture, OLD ".sqlite"));
    assert_true(is_there(fixture, USED ".sqlite"));
}

static void what_is_opened_lives_on(void **state) {
    const struct fixture *fixture = *state;
    int fd = make(fixture, USED ".sqlite", 31);
    sds_index_note_use(fd);
    close(fd);
    sds_index_tidy(&fixture->place);
    assert_true(is_there(fixture, USED ".sqlite"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_nobody_opened_for_a_month_goes),
        TEST(what_is_being_built_stays),
        TEST(what_is_not_ours_stays),
        TEST(what_is_opened_lives_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
