// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <fcntl.h>

#include "local_root.h"

static int make_objects(void **state) {
    make_root(state);
    mkdir(at("d"), 0755);
    write_file("root.json", "{}");
    write_file("d/object", "0123456789");
    write_file("file", "x");
    return symlink("object", at("d/link")) != 0 || symlink("d", at("dirlink")) != 0 ||
           mkfifo(at("fifo"), 0644) != 0;
}

static void expect_root(const char *root, enum sds_kind kind, const char *check) {
    struct sds_external_policy policy = {.mode = SDS_EXTERNAL_SAME};
    struct sds_store *store = NULL;
    struct sds_err err;
    assert_int_equal(
        sds_store_open(root, &(struct sds_store_options){.external = policy}, &store, &err), kind);
    assert_string_equal(err.check, check);
}

static void roots(void **state) {
    (void)state;
    expect_root("", SDS_ERR_INVALID, "root");
    expect_root("/", SDS_ERR_INVALID, "root");
    expect_root("/./", SDS_ERR_INVALID, "root");
    expect_root("ftp://bucket/x", SDS_ERR_UNSUPPORTED, "scheme");
    expect_root(at("nothing"), SDS_ERR_NOT_FOUND, "root");
    expect_root(at("file"), SDS_ERR_INVALID, "root");
    expect_root(at("dirlink"), SDS_ERR_INVALID, "root");
    assert_int_equal(chdir(top), 0);
    struct sds_store *store = open_store("./d/.//", "same");
    assert_string_equal(sds_store_root(store), at("d"));
    sds_store_close(store);
    assert_int_equal(chdir("/"), 0);
}

static void expect_object(struct sds_store *store, const char *path, enum sds_kind kind,
                          const char *check) {
    struct sds_object *object = NULL;
    struct sds_err err;
    assert_int_equal(sds_store_object(store, path, SDS_IMMUTABLE, NULL, &object, &err), kind);
    assert_string_equal(err.check, check);
    assert_string_equal(err.object, path);
}

static void objects_are_regular_files_beneath_the_root(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    expect_object(store, "d/nothing", SDS_ERR_NOT_FOUND, "absent");
    expect_object(store, "d/link", SDS_ERR_CORRUPT, "path");
    expect_object(store, "dirlink/object", SDS_ERR_CORRUPT, "path");
    expect_object(store, "file/object", SDS_ERR_CORRUPT, "path");
    expect_object(store, "d", SDS_ERR_CORRUPT, "path");
    expect_object(store, "fifo", SDS_ERR_CORRUPT, "path"); // and does not hang
    expect_object(store, "d/../../etc/passwd", SDS_ERR_CORRUPT, "path");
    char long_name[300];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    expect_object(store, long_name, SDS_ERR_CORRUPT, "path");
    sds_store_close(store);
}

static void reads_ranges(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct sds_object *object = NULL;
    char buf[16] = {0};
    assert_int_equal(sds_store_object(store, "d/object", SDS_IMMUTABLE, NULL, &object, NULL),
                     SDS_OK);
    assert_int_equal(sds_object_info(object)->size, 10);
    assert_int_equal(sds_object_read(object, 3, buf, 4, NULL), SDS_OK);
    assert_string_equal(buf, "3456");
    assert_int_equal(sds_object_read(object, 10, buf, 0, NULL), SDS_OK);
    assert_int_equal(sds_object_read(object, 8, buf, 3, NULL), SDS_ERR_INTERNAL);
    assert_int_equal(sds_object_read(object, UINT64_MAX, buf, 3, NULL), SDS_ERR_INTERNAL);
    sds_object_close(object);
    struct sds_blob *blob = NULL;
    struct sds_err err;
    assert_int_equal(sds_store_read_all(store, "d/object", NULL, 10, SDS_IMMUTABLE, &blob, NULL),
                     SDS_OK);
    assert_memory_equal(blob->at, "0123456789", 10);
    sds_blob_unref(blob);
    assert_int_equal(sds_store_read_all(store, "d/object", NULL, 9, SDS_IMMUTABLE, &blob, &err),
                     SDS_ERR_LIMIT);
    assert_string_equal(err.check, "size");
    sds_store_close(store);
}

// What may happen to an object while it is open, and whether the next read has to fail.
static void touch_mode(void) {
    assert_int_equal(chmod(at("d/object"), 0600), 0);
}
static void hard_link(void) {
    char to[256];
    snprintf(to, sizeof to, "%s/d/second", top);
    assert_int_equal(link(at("d/object"), to), 0);
}
static void rewrite(void) {
    write_file("d/object", "abcdefghij");
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, at("d/object"), times, 0), 0);
}
static void cut(void) {
    assert_int_equal(truncate(at("d/object"), 2), 0);
}
static void unlink_it(void) {
    assert_int_equal(unlink(at("d/object")), 0);
}
static void rename_away(void) {
    char to[256];
    snprintf(to, sizeof to, "%s/d/elsewhere", top);
    assert_int_equal(rename(at("d/object"), to), 0);
}
static void replace(void) {
    write_file("d/new", "abcdefghij");
    char from[256];
    snprintf(from, sizeof from, "%s/d/new", top);
    assert_int_equal(rename(from, at("d/object")), 0);
}

static void changes_are_noticed(void **state) {
    static const struct {
        void (*change)(void);
        bool harmless;
    } cases[] = {{touch_mode, true}, {hard_link, true},    {rewrite, false}, {cut, false},
                 {unlink_it, false}, {rename_away, false}, {replace, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_store *store = open_store(top, "same");
        struct sds_object *object = NULL;
        char buf[4];
        struct sds_err err;
        assert_int_equal(sds_store_object(store, "d/object", SDS_IMMUTABLE, NULL, &object, NULL),
                         SDS_OK);
        assert_int_equal(sds_object_read(object, 0, buf, 2, NULL), SDS_OK);
        cases[i].change();
        for (int twice = 0; twice < 2; twice++) {
            enum sds_kind kind = sds_object_read(object, 0, buf, 2, &err);
            assert_int_equal(kind, cases[i].harmless ? SDS_OK : SDS_ERR_STORAGE);
            assert_true(cases[i].harmless || strcmp(err.check, "changed") == 0);
        }
        sds_object_close(object);
        sds_store_close(store);
        remove_root(state);
        make_objects(state);
    }
}

// The version outlives the handle.
static void a_replaced_object_cannot_be_opened_again(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct sds_object *object = NULL;
    struct sds_err err;
    assert_int_equal(sds_store_object(store, "d/object", SDS_IMMUTABLE, NULL, &object, NULL),
                     SDS_OK);
    sds_object_close(object);
    replace();
    assert_int_equal(sds_store_object(store, "d/object", SDS_IMMUTABLE, NULL, &object, &err),
                     SDS_ERR_STORAGE);
    assert_string_equal(err.check, "changed");
    assert_int_equal(sds_store_object(store, "d/object", SDS_REPLACEABLE, NULL, &object, NULL),
                     SDS_OK);
    sds_object_close(object);
    sds_store_close(store);
}

static enum sds_kind open_external(const char *external, const char *uri) {
    struct sds_store *store = open_store(at("d"), external);
    struct sds_object *object = NULL;
    enum sds_kind kind = sds_store_external(store, uri, NULL, &object, NULL);
    sds_object_close(object);
    sds_store_close(store);
    return kind;
}

static void external_files(void **state) {
    (void)state;
    char file[256], fifo[256];
    snprintf(file, sizeof file, "%s/file", top);
    snprintf(fifo, sizeof fifo, "%s/fifo", top);
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(open_external("same", file), SDS_OK);
    assert_int_equal(open_external("none", file), SDS_ERR_UNSUPPORTED);
    assert_int_equal(open_external("same", fifo), SDS_ERR_CORRUPT);
    assert_int_equal(open_external("same", "/nonexistent/x"), SDS_ERR_NOT_FOUND);
    // d/ has no root.json, so nobody owns it: a private file is not for it.
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(open_external("same", file), SDS_ERR_UNSUPPORTED);
    assert_int_equal(open_external("any", file), SDS_OK);
    write_file("d/root.json", "{}");
    assert_int_equal(open_external("same", file), SDS_OK); // the same owner
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(roots, make_objects, remove_root),
        cmocka_unit_test_setup_teardown(objects_are_regular_files_beneath_the_root, make_objects,
                                        remove_root),
        cmocka_unit_test_setup_teardown(reads_ranges, make_objects, remove_root),
        cmocka_unit_test_setup_teardown(changes_are_noticed, make_objects, remove_root),
        cmocka_unit_test_setup_teardown(a_replaced_object_cannot_be_opened_again, make_objects,
                                        remove_root),
        cmocka_unit_test_setup_teardown(external_files, make_objects, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
