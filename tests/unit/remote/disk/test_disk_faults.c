// SPDX-License-Identifier: Apache-2.0
//
// System calls fail, one after the other (the linker's --wrap puts these functions in between), and
// disks are full: the cache goes on without, says so once, never gives a wrong byte, and works
// again when the disk does. And they are counted: opening costs the same however much is there.
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "disk_test.h"

static _Atomic(const char *) fault_call; // NULL: none
static atomic_int fault_errno, fault_skip, fault_hits;
static atomic_uint calls, listings;

static bool faulty(const char *call) {
    atomic_fetch_add(&calls, 1);
    const char *chosen = atomic_load(&fault_call);
    if (chosen == NULL || strcmp(call, chosen) != 0 || atomic_fetch_sub(&fault_skip, 1) > 0) {
        return false;
    }
    atomic_fetch_add(&fault_hits, 1);
    errno = atomic_load(&fault_errno);
    return true;
}

#define WRAP(type, name, args, pass)                                                               \
    type __real_##name args;                                                                       \
    type __wrap_##name args;                                                                       \
    type __wrap_##name args {                                                                      \
        return faulty(#name) ? -1 : __real_##name pass;                                            \
    }
WRAP(ssize_t, pread64, (int fd, void *buf, size_t len, off_t off), (fd, buf, len, off))
WRAP(int, mkdirat, (int in, const char *name, mode_t mode), (in, name, mode))
WRAP(int, unlinkat, (int in, const char *name, int flags), (in, name, flags))
WRAP(int, ftruncate64, (int fd, off_t len), (fd, len))
WRAP(int, flock, (int fd, int how), (fd, how))
WRAP(int, openat64, (int in, const char *name, int flags, mode_t mode), (in, name, flags, mode))
WRAP(long, syscall, (long n, long a, long b, long c, long d), (n, a, b, c, d))

// A disk that takes a write and does not come back.
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t disk_changed = PTHREAD_COND_INITIALIZER;
static bool disk_hangs, hanging;

static void set_disk(bool hangs) {
    pthread_mutex_lock(&disk);
    disk_hangs = hangs;
    pthread_cond_broadcast(&disk_changed);
    pthread_mutex_unlock(&disk);
}

static void wait_until_it_hangs(void) {
    pthread_mutex_lock(&disk);
    while (!hanging) {
        pthread_cond_wait(&disk_changed, &disk);
    }
    pthread_mutex_unlock(&disk);
}

// Half of it is written before the disk is full.
ssize_t __real_pwrite64(int fd, const void *buf, size_t len, off_t off);
ssize_t __wrap_pwrite64(int fd, const void *buf, size_t len, off_t off);
ssize_t __wrap_pwrite64(int fd, const void *buf, size_t len, off_t off) {
    pthread_mutex_lock(&disk);
    while (disk_hangs) {
        hanging = true;
        pthread_cond_broadcast(&disk_changed);
        pthread_cond_wait(&disk_changed, &disk);
    }
    pthread_mutex_unlock(&disk);
    if (faulty("pwrite64")) {
        int e = errno;
        (void)!__real_pwrite64(fd, buf, len / 2, off);
        errno = e;
        return -1;
    }
    return __real_pwrite64(fd, buf, len, off);
}

int __real_fcntl64(int fd, int what, struct flock *lock);
int __wrap_fcntl64(int fd, int what, struct flock *lock);
int __wrap_fcntl64(int fd, int what, struct flock *lock) {
    return faulty("fcntl64") ? -1 : __real_fcntl64(fd, what, lock);
}

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd) {
    atomic_fetch_add(&listings, 1);
    return faulty("fdopendir") ? NULL : __real_fdopendir(fd);
}

static void fail_from(const char *call, int number, int skip) {
    atomic_store(&fault_errno, number);
    atomic_store(&fault_skip, skip);
    atomic_store(&fault_hits, 0);
    atomic_store(&fault_call, call);
}

static void fail_no_more(void) {
    atomic_store(&fault_call, NULL);
}

// Until the cache has tried again. It is left alone for a millisecond only.
static void assert_works_again(struct sds_disk_cache *cache, unsigned n) {
    for (int i = 0; i < 100000 && look(cache, n, 0, 100000) != 1; i++) {
        write_now(cache, n, 0, 100000);
        assert_true(look(cache, n, 0, 100000) >= 0);
    }
    assert_hit(cache, n, 0, 100000);
    assert_true(stats_of(cache).working);
}

// Once around everything: writing, reading what is and is not there, making room, notes.
static void use(struct sds_disk_cache *cache) {
    for (unsigned n = 0; n < 6; n++) {
        write_now(cache, n, 0, MIB);
        assert_true(look(cache, n, 0, 50000) >= 0);
        assert_true(look(cache, n, 1000, MIB) >= 0);
    }
    sds_disk_cache_note(cache, "name", "tag", 1);
    sds_disk_cache_flush(cache);
}

static void one_kind_of_fault(const char *call, int number) {
    // Until the call is not reached that often any more.
    for (int skip = 0;; skip = skip < 12 ? skip + 1 : 2 * skip) {
        assert_int_equal(make_dir(NULL), 0);
        struct sds_disk_cache *cache = open_sized(4 * MIB);
        fail_from(call, number, skip);
        use(cache);
        bool hit = atomic_load(&fault_hits) > 0;
        fail_no_more();
        assert_works_again(cache, 7);
        assert_int_equal(told_works, told_broken);
        sds_disk_cache_close(cache);
        assert_true(du() <= 4 * MIB);
        assert_int_equal(remove_dir(NULL), 0);
        if (!hit) {
            assert_true(skip > 0);
            break;
        }
    }
}

static void calls_fail(void **state) {
    (void)state;
    one_kind_of_fault("pwrite64", ENOSPC);
    one_kind_of_fault("pwrite64", EIO);
    one_kind_of_fault("pread64", EIO);
    one_kind_of_fault("mkdirat", EROFS);
    one_kind_of_fault("unlinkat", EACCES);
    one_kind_of_fault("ftruncate64", EIO);
    one_kind_of_fault("flock", ENOLCK);
    one_kind_of_fault("fcntl64", ENOLCK);
    one_kind_of_fault("syscall", EMFILE);
    one_kind_of_fault("openat64", EMFILE);
    one_kind_of_fault("fdopendir", EMFILE);
}

static void told_once(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, 100000);
    fail_from("pwrite64", ENOSPC, 0);
    for (unsigned i = 0; i < 100; i++) {
        write_now(cache, 2, 100000 * (uint64_t)i, 100000);
        assert_hit(cache, 1, 0, 100000);
    }
    assert_int_equal(told_broken, 1);
    assert_non_null(strstr(told, "No space left"));
    assert_non_null(strstr(told, at));
    assert_false(stats_of(cache).working);
    assert_int_equal(stats_of(cache).dropped_bytes, 100 * 100000);
    fail_no_more();
    assert_works_again(cache, 3);
    assert_int_equal(told_broken, 1);
    assert_int_equal(told_works, 1);
    sds_disk_cache_close(cache);
}

static void dropped_when_the_queue_is_full(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    for (unsigned i = 0; i < 200; i++) {
        write_bytes(cache, 1, MIB * (uint64_t)i, MIB);
    }
    struct sds_disk_object of = object(2);
    struct sds_blob *large = sds_blob_new(SDS_DISK_QUEUE_BYTES + 1);
    assert_non_null(large);
    memset(large->at, 0, large->len);
    sds_disk_cache_write(cache, &of, 0, large, 0, large->len);
    sds_blob_unref(large);
    sds_disk_cache_flush(cache);
    struct sds_disk_stats stats = stats_of(cache);
    assert_true(stats.dropped_bytes > SDS_DISK_QUEUE_BYTES);
    assert_int_equal(stats.dropped_bytes + stats.written_bytes,
                     200 * MIB + SDS_DISK_QUEUE_BYTES + 1);
    assert_miss(cache, 2, 0, 1);
    sds_disk_cache_close(cache);
}

static void a_disk_that_hangs(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, MIB);
    set_disk(true);
    for (unsigned i = 0; i < 40; i++) { // more than the queue holds; nobody waits
        write_bytes(cache, 2, MIB * (uint64_t)i, MIB);
    }
    wait_until_it_hangs();
    assert_hit(cache, 1, 0, MIB);
    assert_miss(cache, 2, 0, 100);
    assert_true(stats_of(cache).dropped_bytes > 20 * MIB);
    sds_disk_cache_close(cache); // leaves the thread behind
    struct sds_disk_cache *other = open_cache();
    assert_hit(other, 1, 0, MIB);
    set_disk(false);
    write_now(other, 3, 0, 100000);
    assert_works_again(other, 3);
    sds_disk_cache_close(other);
}

// --- disks of a size

static bool mount_small(const char *options) {
    return mkdir(at, 0700) == 0 && mount("none", at, "tmpfs", 0, options) == 0;
}

static void a_full_disk(void **state) {
    (void)state;
    if (!mount_small("size=3m,mode=0700")) {
        skip();
    }
    struct sds_disk_cache *cache = open_cache();
    for (unsigned i = 0; i < 10; i++) {
        write_now(cache, i, 0, MIB / 2);
        assert_true(look(cache, i, 0, MIB / 2) >= 0);
    }
    assert_true(told_broken >= 1);
    assert_non_null(strstr(told, "No space left"));
    assert_hit(cache, 0, 0, MIB / 2);
    sds_disk_cache_close(cache);
    assert_int_equal(umount(at), 0);
}

static void a_disk_that_is_only_read(void **state) {
    (void)state;
    if (!mount_small("size=30m,mode=0700")) {
        skip();
    }
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, MIB);
    sds_disk_cache_note(cache, "a", "b", 1);
    sds_disk_cache_close(cache);
    assert_int_equal(mount("none", at, NULL, MS_REMOUNT | MS_RDONLY, "size=30m"), 0);
    cache = open_cache();
    assert_int_equal(told_broken, 1);
    assert_hit(cache, 1, 0, MIB);
    write_now(cache, 2, 0, 100);
    assert_miss(cache, 2, 0, 100);
    char tag[SDS_DISK_TAG];
    uint64_t size;
    assert_true(sds_disk_cache_recall(cache, "a", tag, &size));
    assert_int_equal(told_broken, 1);
    assert_int_equal(mount("none", at, NULL, MS_REMOUNT, "size=30m"), 0);
    assert_works_again(cache, 3);
    assert_int_equal(told_works, 1);
    sds_disk_cache_close(cache);
    assert_int_equal(umount(at), 0);
}

// --- what opening costs

static unsigned calls_of_a_mount(void) {
    atomic_store(&calls, 0);
    struct sds_disk_cache *cache = open_cache();
    assert_miss(cache, 1, 0, 100);
    struct sds_disk_object of = object(1);
    uint64_t start, len;
    assert_false(sds_disk_cache_next(cache, &of, 0, 100, &start, &len));
    sds_disk_cache_close(cache);
    return atomic_load(&calls);
}

static void opening_costs_the_same_however_much_is_there(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache(); // makes the directories
    write_now(cache, 2, 0, 100);
    sds_disk_cache_close(cache);
    unsigned few = calls_of_a_mount();
    int top = open(at, O_RDONLY | O_DIRECTORY);
    char path[64];
    for (unsigned i = 0; i < 200000; i++) {
        snprintf(path, sizeof path, "blocks-1/%02x", i % 256);
        if (i < 256) {
            assert_true(mkdirat(top, path, 0700) == 0 || errno == EEXIST);
        }
        snprintf(path, sizeof path, "blocks-1/%02x/%032x-0", i % 256, i);
        int fd = openat(top, path, O_CREAT | O_WRONLY, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    close(top);
    atomic_store(&listings, 0);
    assert_int_equal(calls_of_a_mount(), few);
    assert_int_equal(atomic_load(&listings), 0);
    cache = open_cache();
    write_now(cache, 3, 0, 100); // nor does writing look around, as the ledger knows
    assert_hit(cache, 3, 0, 100);
    assert_int_equal(atomic_load(&listings), 0);
    sds_disk_cache_close(cache);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_fail),
        IN_DIR(told_once),
        IN_DIR(dropped_when_the_queue_is_full),
        IN_DIR(a_disk_that_hangs),
        IN_DIR(a_full_disk),
        IN_DIR(a_disk_that_is_only_read),
        IN_DIR(opening_costs_the_same_however_much_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
