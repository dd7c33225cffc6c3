// SPDX-License-Identifier: Apache-2.0
//
// What creating and swapping do; their failures stand in test_local_faults.c, several writers at a
// time in test_local_race.c.
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "local_root.h"
#include "remote/local/local_lock.h"

#define CATALOG "annotations/catalog.json"

static mode_t mode_of(const char *name) {
    struct stat st;
    assert_int_equal(lstat(at(name), &st), 0);
    return st.st_mode & 07777;
}

static struct timespec mtime_of(const char *name) {
    struct stat st;
    assert_int_equal(lstat(at(name), &st), 0);
    return st.st_mtim;
}

static bool later(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

// Who can read root.json can read what is published, whatever the umask.
static void modes_follow_root_json(void **state) {
    (void)state;
    static const struct {
        mode_t root, umask, made, umasked;
    } cases[] = {
        {0644, 0022, 0644, 0755}, {0644, 0077, 0644, 0700}, {0444, 0027, 0644, 0750},
        {0640, 0077, 0640, 0700}, {0600, 0022, 0640, 0755}, {0604, 0077, 0604, 0700},
        {0777, 0022, 0644, 0755},
    };
    write_file("root.json", "{}");
    struct sds_store *store = open_store(top, "same");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char directory[32], object[64], replaced[64], lock[64];
        snprintf(directory, sizeof directory, "%zu", i);
        snprintf(object, sizeof object, "%zu/object", i);
        snprintf(replaced, sizeof replaced, "%zu/replaced", i);
        snprintf(lock, sizeof lock, "%zu/.replaced.lock", i);
        assert_int_equal(chmod(at("root.json"), cases[i].root), 0);
        mode_t old = umask(cases[i].umask);
        struct sds_version version = {0};
        assert_int_equal(create(store, object, "x", NULL), SDS_OK);
        assert_int_equal(swap(store, replaced, "x", &version, NULL), SDS_OK);
        assert_int_equal(mode_of(replaced), cases[i].made);
        assert_int_equal(chmod(at(replaced), 0600), 0);
        assert_int_equal(sds_store_version(store, replaced, &version, NULL), SDS_OK);
        assert_int_equal(swap(store, replaced, "y", &version, NULL), SDS_OK);
        umask(old);
        assert_int_equal(mode_of(directory), cases[i].umasked);
        assert_int_equal(mode_of(object), cases[i].made);
        assert_int_equal(mode_of(replaced), cases[i].made);
        assert_int_equal(mode_of(lock), cases[i].made);
    }
    assert_int_equal(unlink(at("root.json")), 0);
    assert_int_equal(symlink("0/object", at("root.json")), 0); // it is not the link's bits
    assert_int_equal(create(store, "more", "x", NULL), SDS_OK);
    assert_int_equal(mode_of("more") & 0007, 0);
    sds_store_close(store);
}

static void expect_create(struct sds_store *store, const char *path, enum sds_kind kind,
                          const char *check) {
    struct sds_err err;
    unsigned before = count_files();
    assert_int_equal(create(store, path, "new", &err), kind);
    assert_string_equal(err.check, check);
    assert_string_equal(err.object, path);
    assert_int_equal(count_files(), before);
}

static void creates_files_and_directories(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    mode_t old = umask(0027);
    assert_int_equal(create(store, "a/b/c.json", "{}", NULL), SDS_OK);
    assert_int_equal(mode_of("a/b/c.json"), 0640);
    assert_int_equal(mode_of("a"), 0750);
    umask(0077);
    assert_int_equal(create(store, "x/y", "", NULL), SDS_OK);
    assert_int_equal(create(store, "plain", "p", NULL), SDS_OK);
    umask(old);
    assert_int_equal(mode_of("x"), 0700);
    assert_int_equal(mode_of("x/y"), 0600);
    expect_file("a/b/c.json", "{}");
    expect_file("x/y", "");
    expect_file("plain", "p");
    assert_int_equal(count_files(), 3); // and nothing temporary
    expect_create(store, "a/b/c.json", SDS_ERR_CONFLICT, "exists");
    expect_file("a/b/c.json", "{}");
    sds_store_close(store);
}

struct pattern {
    uint64_t fail_at;
    size_t largest;
};

static uint8_t pattern_byte(uint64_t off) {
    return (uint8_t)(off * 31 + (off >> 12));
}

static enum sds_kind read_pattern(void *ctx, uint64_t off, void *buf, size_t len,
                                  struct sds_err *err) {
    struct pattern *pattern = ctx;
    pattern->largest = len > pattern->largest ? len : pattern->largest;
    if (off + len > pattern->fail_at) {
        return sds_fail(err, SDS_ERR_CORRUPT, "pattern", "that far and no further");
    }
    for (size_t i = 0; i < len; i++) {
        ((uint8_t *)buf)[i] = pattern_byte(off + i);
    }
    return SDS_OK;
}

static void content_comes_in_pieces(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct pattern pattern = {.fail_at = UINT64_MAX};
    struct sds_content content = {
        .read_at = read_pattern, .ctx = &pattern, .size = (5u << 20) + 123};
    struct sds_blob *blob = NULL;
    assert_int_equal(sds_store_create(store, "large", &content, NULL), SDS_OK);
    assert_true(pattern.largest <= 1u << 20);
    assert_int_equal(sds_store_read_all(store, "large", NULL, 8u << 20, SDS_IMMUTABLE, &blob, NULL),
                     SDS_OK);
    assert_int_equal(blob->len, content.size);
    for (size_t i = 0; i < blob->len; i++) {
        if (blob->at[i] != pattern_byte(i)) {
            fail_msg("byte %zu", i);
        }
    }
    sds_blob_unref(blob);

    struct sds_err err;
    pattern.fail_at = 3u << 20;
    assert_int_equal(sds_store_create(store, "failing", &content, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "pattern");
    assert_int_equal(count_files(), 1);
    sds_store_close(store);
}

static void paths_stay_beneath_the_root(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    static const char *const bad[] = {"",    "/x",   "x/",   "x//y",   ".",   "..",
                                      "./x", "../x", "x/..", "x/../y", "x/.", "x/./y"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sds_err err;
        struct sds_version none = {.there = false};
        expect_create(store, bad[i], SDS_ERR_INVALID, "path");
        assert_int_equal(swap(store, bad[i], "x", &none, &err), SDS_ERR_INVALID);
        assert_string_equal(err.check, "path");
    }
    assert_int_equal(create(store, "..x/.y", "", NULL), SDS_OK);

    mkdir(at("d"), 0755);
    write_file("file", "x");
    assert_int_equal(symlink("d", at("dirlink")), 0);
    assert_int_equal(symlink("nothing", at("d/dangling")), 0);
    assert_int_equal(symlink("/etc/passwd", at("d/passwd")), 0);
    mkdir(at("d/directory"), 0755);
    assert_int_equal(mkfifo(at("d/fifo"), 0644), 0);
    expect_create(store, "dirlink/x", SDS_ERR_CORRUPT, "path");
    expect_create(store, "dirlink/new/x", SDS_ERR_CORRUPT, "path");
    expect_create(store, "file/x", SDS_ERR_CORRUPT, "path");
    expect_create(store, "d/dangling", SDS_ERR_CORRUPT, "path");
    expect_create(store, "d/passwd", SDS_ERR_CORRUPT, "path");
    expect_create(store, "d/directory", SDS_ERR_CORRUPT, "path");
    expect_create(store, "d/fifo", SDS_ERR_CORRUPT, "path");
    char long_name[251];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    expect_create(store, long_name, SDS_ERR_CORRUPT, "path");
    sds_store_close(store);
}

// Others go by the path, so what is written has to be found there.
static void a_replaced_root_takes_no_writes(void **state) {
    (void)state;
    assert_int_equal(mkdir(at("r"), 0755), 0);
    struct sds_store *store = open_store(at("r"), "same");
    struct sds_version none = {.there = false};
    struct sds_err err;
    char from[512];
    strcpy(from, at("r"));
    assert_int_equal(rename(from, at("old")), 0);
    expect_create(store, "x", SDS_ERR_STORAGE, "root");
    assert_int_equal(mkdir(at("r"), 0755), 0);
    expect_create(store, "x", SDS_ERR_STORAGE, "root");
    assert_int_equal(swap(store, CATALOG, "x", &none, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "root");
    assert_int_equal(rmdir(at("r")), 0);
    assert_int_equal(symlink("old", at("r")), 0);
    expect_create(store, "x", SDS_ERR_STORAGE, "root");
    sds_store_close(store);
    assert_int_equal(unlink(at("r")), 0);
}

// A mount of ours over the root is no replacement.
static void a_covered_root_takes_writes(void **state) {
    (void)state;
    assert_int_equal(mkdir(at("r"), 0755), 0);
    char path[512];
    strcpy(path, at("r"));
    struct sds_external_policy policy = {.mode = SDS_EXTERNAL_SAME, .mountpoint = path};
    struct sds_store *store = NULL;
    assert_int_equal(
        sds_store_open(path, &(struct sds_store_options){.external = policy}, &store, NULL),
        SDS_OK);
    assert_int_equal(rename(path, at("beneath")), 0);
    assert_int_equal(mkdir(at("r"), 0755), 0);
    assert_int_equal(create(store, "x", "1", NULL), SDS_OK);
    expect_file("beneath/x", "1");
    sds_store_close(store);
}

static void what_we_created_is_not_changed(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct sds_blob *blob = NULL;
    write_file("object", "old one");
    assert_int_equal(sds_store_read_all(store, "object", NULL, 64, SDS_IMMUTABLE, &blob, NULL),
                     SDS_OK);
    sds_blob_unref(blob);
    assert_int_equal(unlink(at("object")), 0);
    assert_int_equal(create(store, "object", "new", NULL), SDS_OK);
    assert_int_equal(sds_store_read_all(store, "object", NULL, 64, SDS_IMMUTABLE, &blob, NULL),
                     SDS_OK);
    assert_memory_equal(blob->at, "new", 3);
    sds_blob_unref(blob);
    sds_store_close(store);
}

static struct sds_version read_version(struct sds_store *store, const char *want) {
    struct sds_version version, alone;
    struct sds_blob *blob = NULL;
    assert_int_equal(sds_store_read_version(store, CATALOG, 64, &blob, &version, NULL), SDS_OK);
    assert_true(sds_span_eq(sds_span(blob->at, blob->len), sds_span_str(want)));
    sds_blob_unref(blob);
    assert_true(version.there);
    assert_int_equal(sds_store_version(store, CATALOG, &alone, NULL), SDS_OK);
    assert_true(sds_version_eq(&version, &alone));
    return version;
}

static void expect_changed(struct sds_store *store, const struct sds_version *seen) {
    struct sds_err err;
    assert_int_equal(swap(store, CATALOG, "never", seen, &err), SDS_ERR_CONFLICT);
    assert_string_equal(err.check, "changed");
    assert_string_equal(err.object, CATALOG);
}

static void swaps_what_was_seen(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct sds_version none = {.there = true, .token = "x"};
    struct sds_blob *blob = NULL;
    struct sds_err err;
    assert_int_equal(sds_store_version(store, CATALOG, &none, NULL), SDS_OK);
    assert_false(none.there);
    none.there = true;
    assert_int_equal(sds_store_read_version(store, CATALOG, 64, &blob, &none, &err),
                     SDS_ERR_NOT_FOUND);
    assert_false(none.there);

    mode_t old = umask(0027);
    assert_int_equal(swap(store, CATALOG, "one", &none, NULL), SDS_OK);
    expect_changed(store, &none);
    struct sds_version one = read_version(store, "one");
    assert_int_equal(swap(store, CATALOG, "two", &one, NULL), SDS_OK);
    umask(old);
    expect_changed(store, &none);
    expect_changed(store, &one);
    struct sds_version two = read_version(store, "two");
    assert_false(sds_version_eq(&one, &two));
    assert_int_equal(swap(store, CATALOG, "two", &two, NULL), SDS_OK); // the same bytes again
    expect_changed(store, &two);

    assert_int_equal(mode_of(CATALOG), 0640);
    assert_int_equal(mode_of("annotations/.catalog.json.lock"), 0640);
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(at(CATALOG)), 0);
    expect_changed(store, &two);
    sds_store_close(store);
}

static void versions_of_what_is_no_object(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct sds_version version = {.there = true, .token = "x"};
    struct sds_blob *blob = NULL;
    struct sds_err err;
    mkdir(at("annotations"), 0755);
    assert_int_equal(symlink("elsewhere", at(CATALOG)), 0);
    assert_int_equal(swap(store, CATALOG, "x", &version, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "path");
    assert_int_equal(sds_store_version(store, CATALOG, &version, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "path");
    assert_string_equal(err.object, CATALOG);
    assert_int_equal(sds_store_read_version(store, CATALOG, 64, &blob, &version, &err),
                     SDS_ERR_CORRUPT);
    assert_int_equal(unlink(at(CATALOG)), 0);
    write_file(CATALOG, "0123456789");
    assert_int_equal(sds_store_read_version(store, CATALOG, 9, &blob, &version, &err),
                     SDS_ERR_LIMIT);
    assert_string_equal(err.check, "size");
    sds_store_close(store);
}

// Other writers know the mtime alone: no two versions of ours may share one, and none may go back.
static void each_version_has_a_later_mtime(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct sds_version seen = {.there = false};
    struct timespec last = {0};
    for (int i = 0; i < 200; i++) {
        assert_int_equal(swap(store, CATALOG, i % 2 == 0 ? "even" : "odd!", &seen, NULL), SDS_OK);
        struct timespec now = mtime_of(CATALOG);
        assert_true(later(now, last));
        last = now;
        assert_int_equal(sds_store_version(store, CATALOG, &seen, NULL), SDS_OK);
    }
    // What comes next on this file system's clock is later too, whoever writes it.
    write_file("annotations/next", "");
    assert_true(later(mtime_of("annotations/next"), last));

    // A clock that is behind: a day in the future stays, by the smallest step.
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = last.tv_sec + 86400}};
    assert_int_equal(utimensat(AT_FDCWD, at(CATALOG), times, 0), 0);
    assert_int_equal(sds_store_version(store, CATALOG, &seen, NULL), SDS_OK);
    assert_int_equal(swap(store, CATALOG, "past", &seen, NULL), SDS_OK);
    assert_true(later(mtime_of(CATALOG), times[1]));
    assert_true(mtime_of(CATALOG).tv_sec <= times[1].tv_sec + 2);
    sds_store_close(store);
}

// Two versions of another writer within one step of the clock.
static void versions_of_one_mtime_are_told_apart(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    mkdir(at("annotations"), 0755);
    write_file(CATALOG, "one");
    struct timespec times[2] = {mtime_of(CATALOG), mtime_of(CATALOG)};
    struct sds_version one = read_version(store, "one");
    write_file(CATALOG, "two");
    assert_int_equal(utimensat(AT_FDCWD, at(CATALOG), times, 0), 0);
    expect_changed(store, &one);
    read_version(store, "two");
    sds_store_close(store);
}

static void a_lock_held_for_ever_ends_the_wait(void **state) {
    (void)state;
    int dir = open(top, O_RDONLY | O_DIRECTORY);
    int held, second;
    struct sds_err err;
    assert_int_equal(sds_local_lock(dir, "catalog.json", 0, 1000, &held, NULL), SDS_OK);
    assert_int_equal(sds_local_lock(dir, "catalog.json", 0, 50, &second, &err), SDS_ERR_TIMEOUT);
    assert_string_equal(err.check, "lock");
    assert_int_equal(sds_local_lock(dir, "other.json", 0, 50, &second, NULL), SDS_OK);
    close(second);
    // The file is the one that others lock.
    int theirs = open(at(".catalog.json.lock"), O_RDWR);
    assert_int_equal(flock(theirs, LOCK_EX | LOCK_NB), -1);
    close(held);
    assert_int_equal(flock(theirs, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(sds_local_lock(dir, "catalog.json", 0, 50, &second, NULL), SDS_ERR_TIMEOUT);
    close(theirs);
    assert_int_equal(sds_local_lock(dir, "catalog.json", 0, 50, &second, NULL), SDS_OK);
    close(second);
    assert_int_equal(unlink(at(".catalog.json.lock")), 0);
    assert_int_equal(symlink("elsewhere", at(".catalog.json.lock")), 0);
    assert_int_equal(sds_local_lock(dir, "catalog.json", 0, 50, &second, &err), SDS_ERR_CORRUPT);
    close(dir);
}

static void expect_can_publish(struct sds_store *store, const char *buckets, bool can) {
    struct sds_err err;
    assert_int_equal(setenv("SIGNAL_DATASET_MOUNT_ROOTS", buckets, 1), 0);
    assert_int_equal(sds_store_can_publish(store, &err), can ? SDS_OK : SDS_ERR_UNSUPPORTED);
    if (!can) {
        assert_string_equal(err.check, "conditional_writes");
        assert_string_equal(err.object, top);
    }
}

static void declared_bucket_mounts_are_refused(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    char several[512];
    snprintf(several, sizeof several, "/mnt/bucket:%s/", top);
    expect_can_publish(store, "", true);
    expect_can_publish(store, "/mnt/bucket", true);
    expect_can_publish(store, at("deeper"), true);
    expect_can_publish(store, top, false);
    expect_can_publish(store, "/tmp", false);
    expect_can_publish(store, several, false);
    assert_int_equal(unsetenv("SIGNAL_DATASET_MOUNT_ROOTS"), 0);
    assert_int_equal(sds_store_can_publish(store, NULL), SDS_OK);
    sds_store_close(store);
}

#define IN_A_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_ROOT(creates_files_and_directories),
        IN_A_ROOT(modes_follow_root_json),
        IN_A_ROOT(content_comes_in_pieces),
        IN_A_ROOT(paths_stay_beneath_the_root),
        IN_A_ROOT(a_replaced_root_takes_no_writes),
        IN_A_ROOT(a_covered_root_takes_writes),
        IN_A_ROOT(what_we_created_is_not_changed),
        IN_A_ROOT(swaps_what_was_seen),
        IN_A_ROOT(versions_of_what_is_no_object),
        IN_A_ROOT(each_version_has_a_later_mtime),
        IN_A_ROOT(versions_of_one_mtime_are_told_apart),
        IN_A_ROOT(a_lock_held_for_ever_ends_the_wait),
        IN_A_ROOT(declared_bucket_mounts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
