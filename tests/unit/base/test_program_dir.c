// SPDX-License-Identifier: Apache-2.0
#include "base/program_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temp_dir.h"
#include "unit.h"

// A path below the test's own directory; valid until the next call.
static const char *at(void **state, const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", ((const struct temp_dir *)*state)->path, name);
    return path;
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void assert_path(enum sds_program_dir which, const char *option, const char *expected) {
    char *path;
    struct sds_err err;
    assert_int_equal(sds_program_dir_path(which, option, &path, &err), SDS_OK);
    assert_string_equal(path, expected);
    free(path);
}

static void option_and_environment(void **state) {
    (void)state;
    assert_path(SDS_STATE_DIR, "/a/b", "/a/b");
    assert_int_equal(chdir("/usr"), 0);
    assert_path(SDS_STATE_DIR, "x/y", "/usr/x/y");
    setenv("STATE_DIRECTORY", "/run/one:/run/two", 1);
    assert_path(SDS_STATE_DIR, NULL, "/run/one");
    setenv("STATE_DIRECTORY", "relative", 1);
    setenv("XDG_STATE_HOME", "/xdg", 1);
    setenv("HOME", "/home/me", 1);
    bool root = geteuid() == 0;
    assert_path(SDS_STATE_DIR, NULL, root ? "/var/lib/sdsfs" : "/xdg/sdsfs");
    setenv("XDG_STATE_HOME", "", 1);
    assert_path(SDS_STATE_DIR, NULL, root ? "/var/lib/sdsfs" : "/home/me/.local/state/sdsfs");
    setenv("CACHE_DIRECTORY", "/run/three:/run/four", 1);
    assert_path(SDS_CACHE_DIR, NULL, "/run/three");
    unsetenv("CACHE_DIRECTORY");
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    assert_path(SDS_CACHE_DIR, NULL, root ? "/var/cache/sdsfs" : "/xdg/sdsfs");
    unsetenv("XDG_CACHE_HOME");
    assert_path(SDS_CACHE_DIR, NULL, root ? "/var/cache/sdsfs" : "/home/me/.cache/sdsfs");
    assert_path(SDS_CACHE_DIR, "/c", "/c");
    unsetenv("HOME");
    if (!root) {
        char *path;
        struct sds_err err;
        assert_int_equal(sds_program_dir_path(SDS_STATE_DIR, NULL, &path, &err), SDS_ERR_NOT_FOUND);
        assert_string_equal(err.check, "state_dir");
    }
}

static void made_with_its_parents_for_nobody_else(void **state) {
    int fd;
    struct sds_err err;
    assert_int_equal(sds_program_dir_open(SDS_STATE_DIR, at(state, "a/b/c"), false, &fd, &err),
                     SDS_ERR_NOT_FOUND);
    assert_string_equal(err.check, "state_dir");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sds_program_dir_open(SDS_STATE_DIR, at(state, "a/b/c"), true, &fd, &err),
                         SDS_OK);
        assert_int_equal(close(fd), 0);
    }
    assert_int_equal(mode_of(at(state, "a")), 0700);
    assert_int_equal(mode_of(at(state, "a/b/c")), 0700);
}

static void assert_refused(const char *path, enum sds_kind kind) {
    int fd;
    struct sds_err err;
    assert_int_equal(sds_program_dir_open(SDS_STATE_DIR, path, true, &fd, &err), kind);
    assert_string_equal(err.check, "state_dir");
}

static void others_may_not_write_there(void **state) {
    assert_int_equal(mkdir(at(state, "open"), 0700), 0);
    assert_int_equal(chmod(at(state, "open"), 0770), 0);
    assert_refused(at(state, "open"), SDS_ERR_DENIED);
    assert_int_equal(chmod(at(state, "open"), 0755), 0);
    int fd;
    struct sds_err err;
    assert_int_equal(sds_program_dir_open(SDS_STATE_DIR, at(state, "open"), true, &fd, &err),
                     SDS_OK);
    close(fd);
    if (geteuid() == 0) {
        assert_int_equal(chown(at(state, "open"), 65534, 65534), 0);
        assert_refused(at(state, "open"), SDS_ERR_DENIED);
        assert_int_equal(sds_program_dir_open(SDS_CACHE_DIR, at(state, "open"), true, &fd, &err),
                         SDS_ERR_DENIED);
        assert_string_equal(err.check, "cache_dir");
    }
}

static void links_and_files_are_no_directories(void **state) {
    assert_int_equal(symlink("/", at(state, "link")), 0);
    assert_refused(at(state, "link"), SDS_ERR_STORAGE);
    int file = creat(at(state, "file"), 0600);
    assert_true(file >= 0);
    close(file);
    assert_refused(at(state, "file"), SDS_ERR_STORAGE);
    assert_refused(at(state, "file/below"), SDS_ERR_STORAGE);
}

static void assert_check(const char *path, enum sds_kind kind) {
    struct sds_err err;
    assert_int_equal(sds_program_dir_check(SDS_STATE_DIR, path, &err), kind);
    if (kind != SDS_OK) {
        assert_string_equal(err.check, "state_dir");
    }
}

static void looking_makes_nothing(void **state) {
    assert_check(at(state, ""), SDS_OK);
    assert_check(at(state, "a/b/c"), SDS_OK);
    assert_int_equal(access(at(state, "a"), F_OK), -1);
    assert_int_equal(mkdir(at(state, "open"), 0700), 0);
    assert_check(at(state, "open"), SDS_OK);
    assert_int_equal(chmod(at(state, "open"), 0777), 0);
    assert_check(at(state, "open"), SDS_ERR_DENIED);
    assert_int_equal(chmod(at(state, "open"), 0500), 0);
    assert_check(at(state, "open/new"), geteuid() == 0 ? SDS_OK : SDS_ERR_DENIED);
    assert_int_equal(symlink("nowhere", at(state, "link")), 0);
    assert_check(at(state, "link"), SDS_ERR_STORAGE);
    close(creat(at(state, "file"), 0600));
    assert_check(at(state, "file"), SDS_ERR_STORAGE);
    assert_check(at(state, "file/below"), SDS_ERR_STORAGE);
}

static void what_cannot_be_made(void **state) {
    (void)state;
    assert_refused("/proc/self/fd/state", SDS_ERR_NOT_FOUND);
    if (geteuid() != 0) {
        assert_refused("/usr/state/sdsfs", SDS_ERR_DENIED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option_and_environment),
        TEST_IN_TEMP_DIR(made_with_its_parents_for_nobody_else),
        TEST_IN_TEMP_DIR(others_may_not_write_there),
        TEST_IN_TEMP_DIR(links_and_files_are_no_directories),
        TEST_IN_TEMP_DIR(looking_makes_nothing),
        cmocka_unit_test(what_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
