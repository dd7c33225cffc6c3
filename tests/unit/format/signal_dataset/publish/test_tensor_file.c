// SPDX-License-Identifier: Apache-2.0
//
// .npy files that rows name: which are opened, and what is said of the others.
#include "scratch.h"

#include "format/signal_dataset/publish/tensor_file.h"

static const uint64_t shape[] = {3};
static const uint8_t data[] = {1, 2, 3};

static void make(struct scratch *scratch) {
    scratch_make(scratch);
    scratch_npy(scratch, "a.npy", SDS_U8, shape, 1, sds_span(data, sizeof data));
    assert_int_equal(mkdirat(scratch->fd, "sub", 0700), 0);
    scratch_npy(scratch, "sub/b.npy", SDS_I8, shape, 1, sds_span(data, sizeof data));
    assert_int_equal(symlinkat("a.npy", scratch->fd, "link.npy"), 0);
    assert_int_equal(symlinkat("sub", scratch->fd, "linked"), 0);
    assert_int_equal(mkfifoat(scratch->fd, "fifo", 0600), 0);
    scratch_write(scratch, "text", sds_span_str("no array"));
    scratch_write(scratch, "empty", sds_span("", 0));
}

// A file that was written a while ago is not waited for.
static void let_settle(const struct scratch *scratch, const char *name) {
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(scratch->fd, name, times, 0), 0);
}

static void expect(const struct scratch *scratch, bool confined, const char *name,
                   enum sds_kind kind, const char *check) {
    const struct tensor_directory directory = {.fd = scratch->fd, .confined = confined};
    struct tensor_file file;
    struct sds_err err = {.check = ""};
    enum sds_kind got = tensor_file_open(&directory, name, &file, &err);
    if (got != kind || strcmp(err.check, check) != 0) {
        fail_msg("%s: %s \"%s\" (%s)", name, sds_kind_name(got), err.check, err.message);
    }
    if (got == SDS_OK) {
        uint8_t read[sizeof data];
        assert_int_equal(file.npy.data_len, sizeof data);
        assert_int_equal(tensor_file_read(&file, read, NULL), SDS_OK);
        assert_memory_equal(read, data, sizeof data);
        tensor_file_close(&file);
        assert_int_equal(file.fd, -1);
    }
}

static void what_is_opened(void **state) {
    (void)state;
    struct scratch scratch;
    make(&scratch);
    char absolute[128];
    snprintf(absolute, sizeof absolute, "%s/a.npy", scratch.path);
    const struct {
        const char *name;
        bool free, confined; // whether it is opened
        const char *check;
    } cases[] = {
        {"a.npy", true, true, ""},
        {"./a.npy", true, true, ""},
        {"sub/b.npy", true, true, ""},
        {"sub/../a.npy", true, true, ""},
        {"link.npy", true, false, "npy"},
        {"linked/b.npy", true, false, "npy"},
        {absolute, true, false, "npy"},
        {"../../../etc/passwd", false, false, "npy"},
        {"none.npy", false, false, "npy"},
        {"a.npy/x", false, false, "npy"},
        {"", false, false, "npy"},
        {"sub", false, false, "npy"},
        {"fifo", false, false, "npy"},
        {"text", false, false, "npy_magic"},
        {"empty", false, false, "npy_magic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int confined = 0; confined < 2; confined++) {
            bool opened = confined ? cases[i].confined : cases[i].free;
            const char *check = cases[i].check;
            if (strstr(cases[i].name, "passwd") != NULL) { // a file, and no array
                check = confined ? "npy" : "npy_magic";
            }
            expect(&scratch, confined, cases[i].name, opened ? SDS_OK : SDS_ERR_INVALID,
                   opened ? "" : check);
        }
    }
    scratch_remove(&scratch);
}

// A header that the first read does not hold.
static void a_long_header(void **state) {
    (void)state;
    struct scratch scratch;
    make(&scratch);
    uint8_t file[10 + 1014 + sizeof data] = "\x93NUMPY\x01\x00\xf6\x03";
    memset(file + 10, ' ', 1014);
    static const char dict[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
    memcpy(file + 10, dict, sizeof dict - 1);
    file[10 + 1013] = '\n';
    memcpy(file + 1024, data, sizeof data);
    scratch_write(&scratch, "long.npy", sds_span(file, sizeof file));
    expect(&scratch, true, "long.npy", SDS_OK, "");
    for (size_t len = 0; len < sizeof file; len++) {
        const struct tensor_directory directory = {.fd = scratch.fd, .confined = true};
        struct tensor_file opened;
        scratch_write(&scratch, "cut.npy", sds_span(file, len));
        let_settle(&scratch, "cut.npy");
        assert_int_equal(tensor_file_open(&directory, "cut.npy", &opened, NULL), SDS_ERR_INVALID);
    }
    scratch_remove(&scratch);
}

// What happens to the file that is being read, once, after so many bytes of its data.
static void (*meanwhile)(void);
ssize_t __real_pread64(int fd, void *buf, size_t len, off_t off);
ssize_t __wrap_pread64(int fd, void *buf, size_t len, off_t off);
ssize_t __wrap_pread64(int fd, void *buf, size_t len, off_t off) {
    if (meanwhile == NULL) {
        return __real_pread64(fd, buf, len, off);
    }
    ssize_t n = __real_pread64(fd, buf, len > 1 ? len / 2 : len, off);
    meanwhile();
    meanwhile = NULL;
    return n;
}

static int changing; // the directory of a.npy

// Other data of the same size, a step of the clock later.
static void overwrite(void) {
    struct stat st;
    int fd = openat(changing, "a.npy", O_WRONLY);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pwrite(fd, "xyz", sizeof data, 128), sizeof data);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};
    times[1].tv_nsec = (times[1].tv_nsec + 1) % 1000000000;
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void shorten(void) {
    int fd = openat(changing, "a.npy", O_WRONLY);
    assert_int_equal(ftruncate(fd, 130), 0);
    close(fd);
}

// The name stands for another file, and this one is what it was.
static void replace(void) {
    assert_int_equal(renameat(changing, "sub/b.npy", changing, "a.npy"), 0);
}

static void a_file_that_changes(void **state) {
    (void)state;
    static const struct {
        void (*change)(void);
        bool early; // before the data is read, not while it is
        enum sds_kind kind;
    } cases[] = {
        {overwrite, true, SDS_ERR_INVALID},
        {overwrite, false, SDS_ERR_INVALID},
        {shorten, true, SDS_ERR_INVALID},
        {shorten, false, SDS_ERR_INVALID},
        {replace, true, SDS_OK},
        {replace, false, SDS_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scratch scratch;
        make(&scratch);
        changing = scratch.fd;
        const struct tensor_directory directory = {.fd = scratch.fd};
        struct tensor_file file;
        struct sds_err err = {.check = ""};
        uint8_t read[sizeof data];
        assert_int_equal(tensor_file_open(&directory, "a.npy", &file, &err), SDS_OK);
        if (cases[i].early) {
            cases[i].change();
        } else {
            meanwhile = cases[i].change;
        }
        assert_int_equal(tensor_file_read(&file, read, &err), cases[i].kind);
        assert_string_equal(err.check, cases[i].kind == SDS_OK ? "" : "changed");
        tensor_file_close(&file);
        scratch_remove(&scratch);
    }
}

// A file of a row with many is opened again for its data: it has to be the one of the header.
static void a_file_that_is_opened_again(void **state) {
    (void)state;
    struct scratch scratch;
    make(&scratch);
    changing = scratch.fd;
    const struct tensor_directory directory = {.fd = scratch.fd};
    struct tensor_file file, again;
    struct sds_err err;
    uint8_t read[sizeof data];
    let_settle(&scratch, "a.npy");
    let_settle(&scratch, "sub/b.npy"); // the same size and time
    assert_int_equal(tensor_file_open(&directory, "a.npy", &file, &err), SDS_OK);
    tensor_file_close(&file);
    replace();
    assert_int_equal(tensor_file_open(&directory, "a.npy", &again, &err), SDS_OK);
    file.fd = again.fd;
    assert_int_equal(tensor_file_read(&file, read, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "changed");
    tensor_file_close(&file);
    scratch_remove(&scratch);
}

// What is written in the same step of the clock would not show.
static void a_file_that_was_just_written(void **state) {
    (void)state;
    struct scratch scratch;
    make(&scratch);
    const struct tensor_directory directory = {.fd = scratch.fd};
    struct tensor_file file;
    struct timespec now, mtime;
    assert_int_equal(tensor_file_open(&directory, "a.npy", &file, NULL), SDS_OK);
    clock_gettime(CLOCK_REALTIME, &now);
    mtime = file.state.mtime;
    assert_true((now.tv_sec - mtime.tv_sec) * 1000000000 + now.tv_nsec - mtime.tv_nsec >= 10000000);
    tensor_file_close(&file);
    scratch_remove(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_opened),
        cmocka_unit_test(a_long_header),
        cmocka_unit_test(a_file_that_changes),
        cmocka_unit_test(a_file_that_is_opened_again),
        cmocka_unit_test(a_file_that_was_just_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
