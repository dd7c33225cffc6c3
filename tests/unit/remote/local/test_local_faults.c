// SPDX-License-Identifier: Apache-2.0
//
// Each system call of a write fails in turn (the linker's --wrap puts these functions in between):
// the answer is right, nothing temporary stays, and a name stands for nothing or for all of it.
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "local_root.h"

static const char *fault_call; // NULL: none
static int fault_errno;
static int fault_skip;  // so many calls succeed first
static int fault_count; // then so many fail

static bool faulty(const char *call) {
    if (fault_call == NULL || strcmp(call, fault_call) != 0 || fault_skip-- > 0 ||
        fault_count-- <= 0) {
        return false;
    }
    errno = fault_errno;
    return true;
}

#define WRAP(type, name, args, pass)                                                               \
    type __real_##name args;                                                                       \
    type __wrap_##name args;                                                                       \
    type __wrap_##name args {                                                                      \
        return faulty(#name) ? -1 : __real_##name pass;                                            \
    }
WRAP(int, fsync, (int fd), (fd))
WRAP(int, mkdirat, (int dir, const char *name, mode_t mode), (dir, name, mode))
WRAP(int, renameat, (int from, const char *a, int to, const char *b), (from, a, to, b))
WRAP(int, futimens, (int fd, const struct timespec *times), (fd, times))
WRAP(int, flock, (int fd, int how), (fd, how))
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(int, openat64, (int dir, const char *name, int flags, mode_t mode), (dir, name, flags, mode))

// An answer that was lost: the link is made all the same.
static bool link_is_made;
int __real_linkat(int from, const char *a, int to, const char *b, int flags);
int __wrap_linkat(int from, const char *a, int to, const char *b, int flags);
int __wrap_linkat(int from, const char *a, int to, const char *b, int flags) {
    bool fails = faulty("linkat");
    int error = errno;
    if (fails && !link_is_made) {
        return -1;
    }
    int done = __real_linkat(from, a, to, b, flags);
    errno = fails ? error : errno;
    return fails ? -1 : done;
}

// Writes are short by a half, so that what comes after a short one is seen as well.
ssize_t __real_write(int fd, const void *buf, size_t len);
ssize_t __wrap_write(int fd, const void *buf, size_t len);
ssize_t __wrap_write(int fd, const void *buf, size_t len) {
    return faulty("write") ? -1 : __real_write(fd, buf, (len + 1) / 2);
}

static void fail_calls(const char *call, int error, int skip, int count) {
    fault_call = call;
    fault_errno = error;
    fault_skip = skip;
    fault_count = count;
}

#define DIR "annotations/sets"
#define OBJECT DIR "/object"

struct fault {
    const char *call;
    int error;
    int skip;
    enum sds_kind kind;
    const char *check;
    bool stands; // the name, all the same
};

static void expect_fault(const struct fault *fault, enum sds_kind kind, const struct sds_err *err) {
    if (kind != fault->kind || strcmp(err->check, fault->check) != 0) {
        fail_msg("%s %s %d: got %s %s: %s", fault->call, strerror(fault->error), fault->skip,
                 sds_kind_name(kind), err->check, err->message);
    }
    fault_call = NULL;
}

static void creating_fails(void **state) {
    static const struct fault faults[] = {
        {"mkdirat", ENOSPC, 0, SDS_ERR_STORAGE, "space", false},
        {"mkdirat", EDQUOT, 1, SDS_ERR_STORAGE, "space", false},
        {"mkdirat", EROFS, 0, SDS_ERR_DENIED, "read_only", false},
        {"mkdirat", EACCES, 1, SDS_ERR_DENIED, "permission", false},
        {"mkdirat", EIO, 1, SDS_ERR_STORAGE, "write", false},
        {"openat64", EROFS, 0, SDS_ERR_DENIED, "read_only", false},
        {"openat64", ENOSPC, 0, SDS_ERR_STORAGE, "space", false},
        {"openat64", EACCES, 0, SDS_ERR_DENIED, "permission", false},
        {"openat64", EIO, 0, SDS_ERR_STORAGE, "write", false},
        {"write", ENOSPC, 0, SDS_ERR_STORAGE, "space", false},
        {"write", ENOSPC, 1, SDS_ERR_STORAGE, "space", false},
        {"write", EIO, 2, SDS_ERR_STORAGE, "write", false},
        {"fsync", EIO, 0, SDS_ERR_STORAGE, "write", false},    // of the first directory's parent
        {"fsync", EIO, 1, SDS_ERR_STORAGE, "write", false},    // of the second's
        {"fsync", ENOSPC, 2, SDS_ERR_STORAGE, "space", false}, // of the file
        {"fsync", EIO, 3, SDS_ERR_STORAGE, "write", true},     // of its name
        {"linkat", EIO, 0, SDS_ERR_STORAGE, "write", false},
        {"linkat", ENOSPC, 0, SDS_ERR_STORAGE, "space", false},
        {"linkat", EPERM, 0, SDS_ERR_UNSUPPORTED, "conditional_writes", false},
        {"linkat", EOPNOTSUPP, 0, SDS_ERR_UNSUPPORTED, "conditional_writes", false},
        {"linkat", ENOSYS, 0, SDS_ERR_UNSUPPORTED, "conditional_writes", false},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const struct fault *fault = &faults[i];
        struct sds_store *store = open_store(top, "same");
        struct sds_err err = {.check = ""};
        fail_calls(fault->call, fault->error, fault->skip, 1);
        expect_fault(fault, create(store, OBJECT, "0123456789", &err), &err);
        assert_int_equal(count_files(), fault->stands ? 1 : 0);
        enum sds_kind again = create(store, OBJECT, "0123456789", NULL);
        assert_int_equal(again, fault->stands ? SDS_ERR_CONFLICT : SDS_OK);
        expect_file(OBJECT, "0123456789");
        sds_store_close(store);
        remove_root(state);
        make_root(state);
    }
}

static void swapping_fails(void **state) {
    (void)state;
    static const struct fault faults[] = {
        {"openat64", EROFS, 0, SDS_ERR_DENIED, "read_only", false}, // the temporary file
        {"openat64", ENOSPC, 0, SDS_ERR_STORAGE, "space", false},
        {"openat64", EIO, 1, SDS_ERR_STORAGE, "write", false}, // the lock
        {"flock", EBADF, 0, SDS_ERR_DENIED, "permission", false},
        {"flock", ENOLCK, 0, SDS_ERR_UNSUPPORTED, "conditional_writes", false},
        {"flock", EOPNOTSUPP, 0, SDS_ERR_UNSUPPORTED, "conditional_writes", false},
        {"flock", EIO, 0, SDS_ERR_STORAGE, "write", false},
        {"write", ENOSPC, 0, SDS_ERR_STORAGE, "space", false},
        {"write", EIO, 1, SDS_ERR_STORAGE, "write", false},
        {"futimens", EIO, 0, SDS_ERR_STORAGE, "write", false},
        {"futimens", EIO, 1, SDS_ERR_STORAGE, "write", false},
        {"fsync", EDQUOT, 0, SDS_ERR_STORAGE, "space", false}, // of the file
        {"fsync", EIO, 1, SDS_ERR_STORAGE, "write", true},     // of its name
        {"renameat", EIO, 0, SDS_ERR_STORAGE, "write", false},
        {"renameat", ENOSPC, 0, SDS_ERR_STORAGE, "space", false},
    };
    struct sds_store *store = open_store(top, "same");
    assert_int_equal(create(store, OBJECT, "old", NULL), SDS_OK);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const struct fault *fault = &faults[i];
        struct sds_version seen;
        struct sds_err err = {.check = ""};
        assert_int_equal(sds_store_version(store, OBJECT, &seen, NULL), SDS_OK);
        fail_calls(fault->call, fault->error, fault->skip, 1);
        expect_fault(fault, swap(store, OBJECT, "new", &seen, &err), &err);
        expect_file(OBJECT, fault->stands ? "new" : "old");
        assert_int_equal(count_files(), 1);
        if (fault->stands) {
            assert_int_equal(sds_store_version(store, OBJECT, &seen, NULL), SDS_OK);
        }
        assert_int_equal(swap(store, OBJECT, "old", &seen, NULL), SDS_OK);
    }
    sds_store_close(store);
}

static void signals_are_waited_out(void **state) {
    (void)state;
    static const char *const calls[] = {"write", "fsync", "openat64"};
    struct sds_store *store = open_store(top, "same");
    struct sds_version seen;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char path[32];
        snprintf(path, sizeof path, "object-%zu", i);
        fail_calls(calls[i], EINTR, 0, 3);
        assert_int_equal(create(store, path, "0123456789", NULL), SDS_OK);
        expect_file(path, "0123456789");
        assert_int_equal(sds_store_version(store, path, &seen, NULL), SDS_OK);
        fail_calls(calls[i], EINTR, 0, 3);
        assert_int_equal(swap(store, path, "9876543210", &seen, NULL), SDS_OK);
        expect_file(path, "9876543210");
    }
    fail_calls("flock", EINTR, 0, 3);
    assert_int_equal(sds_store_version(store, "object-0", &seen, NULL), SDS_OK);
    assert_int_equal(swap(store, "object-0", "x", &seen, NULL), SDS_OK);
    fault_call = NULL;
    sds_store_close(store);
}

static void a_lost_answer_of_link_is_made_up_for(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    link_is_made = true;
    fail_calls("linkat", EEXIST, 0, 1);
    assert_int_equal(create(store, OBJECT, "x", NULL), SDS_OK);
    link_is_made = false;
    expect_file(OBJECT, "x");
    assert_int_equal(count_files(), 1);
    fault_call = NULL;
    sds_store_close(store);
}

static void a_lock_that_can_only_be_read(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct sds_version seen = {0};
    struct sds_err err;
    assert_int_equal(swap(store, OBJECT, "one", &seen, NULL), SDS_OK);
    assert_int_equal(sds_store_version(store, OBJECT, &seen, NULL), SDS_OK);
    fail_calls("openat64", EACCES, 1, 1); // there is none to be read
    assert_int_equal(swap(store, OBJECT, "two", &seen, &err), SDS_ERR_DENIED);
    assert_string_equal(err.check, "permission");
    fault_call = NULL;
    write_file(DIR "/.object.lock", "");
    fail_calls("openat64", EACCES, 1, 1);
    assert_int_equal(swap(store, OBJECT, "two", &seen, NULL), SDS_OK);
    fault_call = NULL;
    expect_file(OBJECT, "two");
    assert_int_equal(sds_store_version(store, OBJECT, &seen, NULL), SDS_OK);
    fail_calls("openat64", EACCES, 1, 2);
    assert_int_equal(swap(store, OBJECT, "three", &seen, NULL), SDS_ERR_DENIED);
    fault_call = NULL;
    expect_file(OBJECT, "two");
    assert_int_equal(count_files(), 1);
    sds_store_close(store);
}

static void modes_that_cannot_be_set(void **state) {
    (void)state;
    static const struct fault faults[] = {
        {"fchmod", EPERM, 0, SDS_OK, "", true},
        {"fchmod", EOPNOTSUPP, 0, SDS_OK, "", true},
        {"fchmod", EIO, 0, SDS_ERR_STORAGE, "write", false},
        {"fchmod", EROFS, 0, SDS_ERR_DENIED, "read_only", false},
    };
    mode_t old = umask(0077);
    struct sds_store *store = open_store(top, "same");
    write_file("root.json", "{}");
    assert_int_equal(chmod(at("root.json"), 0644), 0);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct sds_err err = {.check = ""};
        char path[32];
        snprintf(path, sizeof path, "object-%zu", i);
        unsigned before = count_files();
        fail_calls(faults[i].call, faults[i].error, 0, 1);
        expect_fault(&faults[i], create(store, path, "x", &err), &err);
        assert_int_equal(count_files(), before + faults[i].stands);
    }
    umask(old);
    sds_store_close(store);
}

static void a_file_system_without_locks(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    struct sds_err err;
    fail_calls("flock", ENOSYS, 0, 1);
    assert_int_equal(sds_store_can_publish(store, &err), SDS_ERR_UNSUPPORTED);
    assert_string_equal(err.check, "conditional_writes");
    fault_call = NULL;
    sds_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(creating_fails, make_root, remove_root),
        cmocka_unit_test_setup_teardown(swapping_fails, make_root, remove_root),
        cmocka_unit_test_setup_teardown(signals_are_waited_out, make_root, remove_root),
        cmocka_unit_test_setup_teardown(a_lost_answer_of_link_is_made_up_for, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(a_lock_that_can_only_be_read, make_root, remove_root),
        cmocka_unit_test_setup_teardown(modes_that_cannot_be_set, make_root, remove_root),
        cmocka_unit_test_setup_teardown(a_file_system_without_locks, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
