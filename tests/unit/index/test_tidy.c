// SPDX-License-Identifier: Apache-2.0
#include "index/tidy.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "temp_dir.h"
#include "unit.h"

#define OLD "0123456789abcdef0123456789abcdef"
#define BUILT "11111111111111111111111111111111"
#define USED "22222222222222222222222222222222"

static void tidy(struct temp_dir *dir) {
    sds_index_tidy(&(struct sds_index_place){.directory = dir->path});
}

static int make(const struct temp_dir *dir, const char *name, int days) {
    int fd = openat(dir->fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    time_t then = time(NULL) - (time_t)days * 24 * 60 * 60;
    assert_int_equal(futimens(fd, (struct timespec[2]){{.tv_sec = then}, {.tv_sec = then}}), 0);
    return fd;
}

static bool is_there(const struct temp_dir *dir, const char *name) {
    return faccessat(dir->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void what_nobody_opened_for_a_month_goes(void **state) {
    struct temp_dir *dir = *state;
    close(make(dir, OLD ".sqlite", 31));
    close(make(dir, OLD ".jsonl", 400));
    close(make(dir, OLD ".building-journal", 31));
    close(make(dir, OLD ".lock", 31));
    close(make(dir, USED ".sqlite", 29));
    tidy(dir);
    assert_false(is_there(dir, OLD ".sqlite"));
    assert_false(is_there(dir, OLD ".jsonl"));
    assert_false(is_there(dir, OLD ".building-journal"));
    assert_true(is_there(dir, OLD ".lock"));
    assert_true(is_there(dir, USED ".sqlite"));
}

static void what_is_being_built_stays(void **state) {
    struct temp_dir *dir = *state;
    close(make(dir, BUILT ".building", 31));
    int lock = make(dir, BUILT ".lock", 31);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    tidy(dir);
    assert_true(is_there(dir, BUILT ".building"));
    close(lock);
    tidy(dir);
    assert_false(is_there(dir, BUILT ".building"));
}

static void what_is_not_ours_stays(void **state) {
    struct temp_dir *dir = *state;
    static const char *const others[] = {"notes.txt", "0123.sqlite", OLD, OLD "0.sqlite",
                                         "Z123456789abcdef0123456789abcdef.sqlite"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        close(make(dir, others[i], 400));
    }
    assert_int_equal(mkdirat(dir->fd, OLD ".sqlite", 0700), 0);
    assert_int_equal(symlinkat("notes.txt", dir->fd, USED ".sqlite"), 0);
    struct timespec then[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(dir->fd, OLD ".sqlite", then, 0), 0);
    assert_int_equal(utimensat(dir->fd, USED ".sqlite", then, AT_SYMLINK_NOFOLLOW), 0);
    tidy(dir);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_true(is_there(dir, others[i]));
    }
    assert_true(is_there(dir, OLD ".sqlite"));
    assert_true(is_there(dir, USED ".sqlite"));
}

static void what_is_opened_lives_on(void **state) {
    struct temp_dir *dir = *state;
    int fd = make(dir, USED ".sqlite", 31);
    sds_index_note_use(fd);
    close(fd);
    tidy(dir);
    assert_true(is_there(dir, USED ".sqlite"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_IN_TEMP_DIR(what_nobody_opened_for_a_month_goes),
        TEST_IN_TEMP_DIR(what_is_being_built_stays),
        TEST_IN_TEMP_DIR(what_is_not_ours_stays),
        TEST_IN_TEMP_DIR(what_is_opened_lives_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
