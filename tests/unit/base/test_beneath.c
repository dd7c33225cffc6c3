// SPDX-License-Identifier: Apache-2.0
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temp_dir.h"
#include "unit.h"

static void fill(int dir) {
    assert_int_equal(mkdirat(dir, "d", 0700), 0);
    assert_int_equal(mkdirat(dir, "d/e", 0700), 0);
    int fd = openat(dir, "d/e/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
    assert_int_equal(symlinkat("/etc", dir, "out"), 0);
    assert_int_equal(symlinkat("d", dir, "in"), 0);
    assert_int_equal(symlinkat("nothing", dir, "dangling"), 0);
    assert_int_equal(symlinkat("../../out", dir, "d/e/far"), 0);
}

// What an opening came to: 0 and which file, or an errno.
struct outcome {
    int error;
    struct stat st;
};

typedef int opener(int dir, const char *path, int flags, mode_t mode);

static struct outcome outcome_of(opener *open_it, int dir, const char *path, int flags) {
    struct outcome outcome = {0};
    int fd = open_it(dir, path, flags, 0600);
    outcome.error = fd < 0 ? errno : 0;
    if (fd >= 0) {
        assert_int_equal(fstat(fd, &outcome.st), 0);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        close(fd);
    }
    return outcome;
}

// Both ways, which have to agree.
static int error_of(int dir, const char *path, int flags) {
    struct outcome one = outcome_of(sds_open_beneath, dir, path, flags);
    struct outcome other = outcome_of(sds_open_stepwise, dir, path, flags);
    if (one.error != other.error) {
        fail_msg("%s, flags %o: %s in one call, %s in steps", path, flags, strerror(one.error),
                 strerror(other.error));
    }
    assert_int_equal(one.st.st_ino, other.st.st_ino);
    return one.error;
}

static void both_ways_agree(void **state) {
    int dir = ((struct temp_dir *)*state)->fd;
    fill(dir);
    static const struct {
        const char *path;
        int as_file, as_directory, as_path;
    } cases[] = {
        {"", 0, 0, 0},
        {".", 0, 0, 0},
        {"./", 0, 0, 0},
        {"d", 0, 0, 0},
        {"d/", 0, 0, 0},
        {"d//e/./file", 0, ENOTDIR, 0},
        {"d/e/file", 0, ENOTDIR, 0},
        {"d/e/file/", ENOTDIR, ENOTDIR, ENOTDIR},
        {"d/e/file/x", ENOTDIR, ENOTDIR, ENOTDIR},
        {"fifo", 0, ENOTDIR, 0}, // and nobody waits for a writer
        {"nothing", ENOENT, ENOENT, ENOENT},
        {"nothing/x", ENOENT, ENOENT, ENOENT},
        {"out", ELOOP, ELOOP, ELOOP},
        {"out/passwd", ELOOP, ELOOP, ELOOP},
        {"in", ELOOP, ELOOP, ELOOP},
        {"in/", ELOOP, ELOOP, ELOOP},
        {"in/e/file", ELOOP, ELOOP, ELOOP},
        {"dangling", ELOOP, ELOOP, ELOOP},
        {"d/e/far", ELOOP, ELOOP, ELOOP},
        {"d/e/far/passwd", ELOOP, ELOOP, ELOOP},
        {"/etc", EXDEV, EXDEV, EXDEV},
        {"/", EXDEV, EXDEV, EXDEV},
        {"..", EXDEV, EXDEV, EXDEV},
        {"../tmp", EXDEV, EXDEV, EXDEV},
        {"d/../../tmp", EXDEV, EXDEV, EXDEV},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = cases[i].path;
        assert_int_equal(error_of(dir, path, O_RDONLY), cases[i].as_file);
        assert_int_equal(error_of(dir, path, O_RDONLY | O_NOFOLLOW), cases[i].as_file);
        assert_int_equal(error_of(dir, path, O_RDONLY | O_DIRECTORY), cases[i].as_directory);
        assert_int_equal(error_of(dir, path, O_PATH), cases[i].as_path);
        assert_int_equal(error_of(dir, path, O_PATH | O_DIRECTORY), cases[i].as_directory);
    }
}

static void files_are_made(void **state) {
    int dir = ((struct temp_dir *)*state)->fd;
    fill(dir);
    opener *const ways[] = {sds_open_beneath, sds_open_stepwise};
    for (size_t i = 0; i < 2; i++) {
        struct stat st;
        int fd = ways[i](dir, "d/e/new", O_RDWR | O_CREAT | O_EXCL, 0640);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        close(fd);
        assert_int_equal(ways[i](dir, "d/e/new", O_RDWR | O_CREAT | O_EXCL, 0640), -1);
        assert_int_equal(errno, EEXIST);
        assert_int_equal(ways[i](dir, "dangling", O_RDWR | O_CREAT, 0640), -1);
        assert_int_equal(errno, ELOOP);
        assert_int_equal(unlinkat(dir, "d/e/new", 0), 0);
    }
}

static void paths_longer_than_a_call_takes(void **state) {
    int top = ((struct temp_dir *)*state)->fd;
    char path[3 * PATH_MAX] = "", name[NAME_MAX + 2];
    memset(name, 'n', 200);
    name[200] = '\0';
    int dir = dup(top);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(mkdirat(dir, name, 0700), 0);
        int next = openat(dir, name, O_RDONLY | O_DIRECTORY);
        close(dir);
        dir = next;
        strcat(strcat(path, i > 0 ? "/" : ""), name);
    }
    struct stat st;
    struct outcome outcome = outcome_of(sds_open_beneath, top, path, O_PATH | O_DIRECTORY);
    assert_int_equal(outcome.error, 0);
    assert_int_equal(fstat(dir, &st), 0);
    assert_int_equal(outcome.st.st_ino, st.st_ino);
    close(dir);
    path[strlen(path) - 1] = 'x';
    assert_int_equal(error_of(top, path, O_PATH), ENOENT);
    memset(path, 'x', sizeof path - 1);
    assert_int_equal(error_of(top, path, O_PATH), ENAMETOOLONG);
    memset(name, 'x', NAME_MAX + 1);
    name[NAME_MAX + 1] = '\0';
    assert_int_equal(error_of(top, name, O_PATH), ENAMETOOLONG);
    name[NAME_MAX] = '\0';
    assert_int_equal(error_of(top, name, O_PATH), ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_IN_TEMP_DIR(both_ways_agree),
        TEST_IN_TEMP_DIR(files_are_made),
        TEST_IN_TEMP_DIR(paths_longer_than_a_call_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
