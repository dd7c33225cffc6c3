// SPDX-License-Identifier: Apache-2.0
//
// Lines of rows: in order and by their place, at the edges of what is read at a time.
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/driver.h"
#include "format/signal_dataset/publish/rows_file.h"

static int file_of(const char *text, size_t len) {
    int fd = memfd_create("rows", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    return fd;
}

struct expected {
    const char *text;
    uint64_t line;
};

static void expect_lines(const char *text, const struct expected *lines, size_t count) {
    int fd = file_of(text, strlen(text));
    struct rows_file file;
    uint64_t number = 0;
    assert_int_equal(rows_file_open(fd, &file, NULL), SDS_OK);
    for (size_t i = 0; i <= count; i++) {
        struct sds_span line;
        uint64_t off, skipped;
        bool found;
        assert_int_equal(rows_file_next(&file, &found, &line, &off, &skipped, NULL), SDS_OK);
        assert_int_equal(found, i < count);
        if (!found) {
            break;
        }
        number += skipped + 1;
        assert_int_equal(number, lines[i].line);
        assert_true(sds_span_eq(line, sds_span_str(lines[i].text)));
        assert_int_equal(memcmp(text + off, lines[i].text, line.len), 0);
    }
    rows_file_fini(&file);
    close(fd);
}

static void lines_and_blank_ones(void **state) {
    (void)state;
    expect_lines("", NULL, 0);
    expect_lines("\n \t\r\n\n", NULL, 0);
    const struct expected one[] = {{"a", 1}};
    expect_lines("a", one, 1);
    expect_lines("a\n", one, 1);
    expect_lines("a\n   ", one, 1);
    const struct expected some[] = {{" a\r", 2}, {"b", 5}, {"\v", 6}};
    expect_lines("\n a\r\n\n  \nb\n\v\n\n", some, 3);
}

// A file of lines of all lengths around the size of a step, some of them more than one.
enum { LINES = 200, LONG = 3 << 20 };

static size_t length_of(unsigned i) {
    return i == 60 ? LONG : i == 61 ? (1 << 20) - 1 : i == 62 ? 1 << 20 : (i * 7919) % 60000 + 1;
}

static char *many_lines(size_t *len) {
    char *text = malloc((size_t)LINES * 60002 + LONG + (2 << 20)), *p = text;
    assert_non_null(text);
    for (unsigned i = 0; i < LINES; i++) {
        memset(p, 'a' + (char)(i % 26), length_of(i));
        p += length_of(i);
        *p++ = '\n';
    }
    *len = (size_t)(p - text);
    return text;
}

static void expect_line(struct rows_file *file, const char *text, uint64_t off, unsigned i) {
    struct sds_span line;
    assert_int_equal(rows_file_line(file, off, length_of(i), &line, NULL), SDS_OK);
    assert_int_equal(line.len, length_of(i));
    assert_memory_equal(line.at, text + off, line.len);
}

static void lines_by_their_place(void **state) {
    (void)state;
    size_t len;
    char *text = many_lines(&len);
    int fd = file_of(text, len);
    struct rows_file file;
    uint64_t offs[LINES], off = 0;
    assert_int_equal(rows_file_open(fd, &file, NULL), SDS_OK);
    for (unsigned i = 0; i < LINES; i++) {
        struct sds_span line;
        uint64_t skipped;
        bool found;
        assert_int_equal(rows_file_next(&file, &found, &line, &offs[i], &skipped, NULL), SDS_OK);
        assert_true(found);
        assert_int_equal(offs[i], off);
        assert_int_equal(line.len, length_of(i));
        assert_memory_equal(line.at, text + off, line.len);
        off += length_of(i) + 1;
    }
    for (unsigned i = 0; i < LINES; i++) {
        expect_line(&file, text, offs[i], i);
    }
    for (unsigned i = LINES; i-- > 0;) {
        expect_line(&file, text, offs[i], i);
    }
    for (unsigned i = 0; i < LINES * 3; i++) {
        expect_line(&file, text, offs[i * 77 % LINES], i * 77 % LINES);
    }
    rows_file_fini(&file);
    close(fd);
    free(text);
}

static void a_line_may_have_64_mib_and_no_more(void **state) {
    (void)state;
    int fd = memfd_create("rows", MFD_CLOEXEC);
    struct rows_file file;
    struct sds_span line;
    struct sds_err err;
    uint64_t off, skipped;
    bool found;
    assert_int_equal(ftruncate(fd, SDS_ANNOTATE_MAX_ROW), 0);
    assert_int_equal(pwrite(fd, "\n", 1, SDS_ANNOTATE_MAX_ROW), 1);
    assert_int_equal(rows_file_open(fd, &file, NULL), SDS_OK);
    assert_int_equal(rows_file_next(&file, &found, &line, &off, &skipped, &err), SDS_OK);
    assert_int_equal(line.len, SDS_ANNOTATE_MAX_ROW);
    rows_file_fini(&file);
    assert_int_equal(pwrite(fd, "x\n", 2, SDS_ANNOTATE_MAX_ROW), 2);
    assert_int_equal(rows_file_open(fd, &file, NULL), SDS_OK);
    assert_int_equal(rows_file_next(&file, &found, &line, &off, &skipped, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "row_size");
    rows_file_fini(&file);
    close(fd);
}

static void a_file_that_changes(void **state) {
    (void)state;
    int fd = file_of("aaa\nbbb\n", 8);
    struct rows_file file;
    struct sds_span line;
    struct sds_err err;
    assert_int_equal(rows_file_open(fd, &file, NULL), SDS_OK);
    assert_int_equal(rows_file_unchanged(&file, &err), SDS_OK);
    assert_int_equal(ftruncate(fd, 5), 0);
    assert_int_equal(rows_file_unchanged(&file, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "changed");
    assert_int_equal(rows_file_line(&file, 4, 3, &line, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "changed");
    bool found;
    uint64_t off, skipped;
    assert_int_equal(rows_file_next(&file, &found, &line, &off, &skipped, &err), SDS_OK);
    assert_int_equal(rows_file_next(&file, &found, &line, &off, &skipped, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "changed");
    rows_file_fini(&file);
    close(fd);
}

static void only_regular_files(void **state) {
    (void)state;
    int ends[2];
    struct rows_file file;
    struct sds_err err;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(rows_file_open(ends[0], &file, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "rows");
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(rows_file_open(ends[0], &file, &err), SDS_ERR_STORAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_blank_ones),
        cmocka_unit_test(lines_by_their_place),
        cmocka_unit_test(a_line_may_have_64_mib_and_no_more),
        cmocka_unit_test(a_file_that_changes),
        cmocka_unit_test(only_regular_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
