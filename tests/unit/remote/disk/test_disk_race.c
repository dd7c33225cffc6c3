// SPDX-License-Identifier: Apache-2.0
//
// Threads and processes that write, read and make room in one directory at once, and some that are
// killed at it: whatever is read is right, and the ledger never counts less than there is.
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "disk_test.h"

#define BOUND (16 * MIB)
#define OBJECTS 12
#define ROUNDS 150

struct worker {
    pthread_t thread;
    struct sds_disk_cache *cache;
    uint64_t random;
    unsigned hits;
    bool wrong;
};

static unsigned below(struct worker *worker, unsigned bound) {
    worker->random = worker->random * 6364136223846793005 + 1442695040888963407;
    return (unsigned)(worker->random >> 33) % bound;
}

// Extents of all sizes at all places, over two segments of each object.
static void step(struct worker *worker) {
    unsigned n = below(worker, OBJECTS);
    uint64_t off = SDS_DISK_SEGMENT / 2 + 4000 * (uint64_t)below(worker, 2000);
    write_bytes(worker->cache, n, off, 1 + below(worker, 400000));
    for (int i = 0; i < 4; i++) {
        n = below(worker, OBJECTS);
        off = SDS_DISK_SEGMENT / 2 + 4000 * (uint64_t)below(worker, 2000);
        int found = look(worker->cache, n, off, 1 + below(worker, 30000));
        worker->hits += found == 1;
        worker->wrong = worker->wrong || found < 0;
        struct sds_disk_object of = object(n);
        uint64_t start, len;
        (void)sds_disk_cache_next(worker->cache, &of, off, off + MIB, &start, &len);
    }
    sds_disk_cache_note(worker->cache, "name", "tag", worker->random);
    char tag[SDS_DISK_TAG];
    uint64_t size;
    worker->wrong = worker->wrong || (sds_disk_cache_recall(worker->cache, "name", tag, &size) &&
                                      strcmp(tag, "tag") != 0);
}

static void *work(void *arg) {
    struct worker *worker = arg;
    for (int i = 0; i < ROUNDS; i++) {
        step(worker);
    }
    return NULL;
}

static void assert_in_order(void) {
    uint64_t used = du();
    assert_true(used <= BOUND);
    assert_true(counted() + 65536 >= used);
    assert_true(counted() <= BOUND);
}

static void threads(void **state) {
    (void)state;
    enum { WORKERS = 6 };
    struct sds_disk_cache *caches[2] = {open_sized(BOUND), open_sized(BOUND)};
    struct worker workers[WORKERS];
    unsigned hits = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.cache = caches[i % 2], .random = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_false(workers[i].wrong);
        hits += workers[i].hits;
    }
    assert_true(hits > 0);
    struct sds_disk_stats stats = stats_of(caches[0]);
    assert_int_equal(stats.corrupt, 0);
    sds_disk_cache_close(caches[0]);
    sds_disk_cache_close(caches[1]);
    assert_int_equal(told_broken, 0);
    assert_in_order();
}

static void processes(void **state) {
    (void)state;
    enum { PROCESSES = 3 };
    pid_t pids[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct worker worker = {.cache = open_sized(BOUND), .random = i};
            work(&worker);
            bool good = !worker.wrong && stats_of(worker.cache).corrupt == 0 && told_broken == 0;
            sds_disk_cache_close(worker.cache);
            _exit(good ? 0 : 1);
        }
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_in_order();
}

// Writes, and says so, until it is killed.
static void write_for_ever(int tell, unsigned seed) {
    struct worker worker = {.cache = open_sized(BOUND), .random = seed};
    for (;;) {
        unsigned n = below(&worker, 6);
        write_now(worker.cache, n, 1000 * (uint64_t)below(&worker, 7000), 300000);
        if (write(tell, "", 1) != 1) {
            _exit(1);
        }
    }
}

static void killed(unsigned round) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(pipes[0]);
        write_for_ever(pipes[1], round);
    }
    close(pipes[1]);
    char byte;
    for (unsigned i = 0; i < 1 + round % 13; i++) { // it is at the next one by then
        assert_int_equal(read(pipes[0], &byte, 1), 1);
    }
    int status;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    close(pipes[0]);
}

static void killed_writers(void **state) {
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        killed(round);
        assert_in_order();
        struct sds_disk_cache *cache = open_sized(BOUND);
        for (unsigned n = 0; n < 6; n++) {
            for (uint64_t off = 0; off < 7300000; off += 100000) {
                assert_true(look(cache, n, off, 5000) >= 0);
            }
        }
        assert_int_equal(stats_of(cache).corrupt, 0);
        sds_disk_cache_close(cache);
    }
    // All directories fit into one sample, so that making room counts each of them.
    struct sds_disk_cache *cache = open_sized(BOUND);
    for (unsigned n = 0; n < 6; n++) { // 18 MiB: more than there is room for
        for (uint64_t off = 8 * MIB; off < 11 * MIB; off += MIB) {
            write_now(cache, n, off, MIB);
        }
    }
    assert_true(stats_of(cache).evicted > 0);
    sds_disk_cache_close(cache);
    uint64_t used = du();
    assert_in_range(counted() + 65536, used, used + 2 * 65536);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(killed_writers, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(threads, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
