// SPDX-License-Identifier: Apache-2.0
//
// Reading without holding a thread: tasks that are parked and run again, fetches that are shared,
// and those that fail.
#include "unit.h"

#include "remote/remote_root.h"

// A task whose runs read some ranges of an object, one after the other.
struct job {
    struct sds_task task;
    const char *path;
    uint64_t size, off, len, count, stride;
    bool look; // opens without expecting anything
    bool replaceable;
    unsigned runs;
    enum sds_kind kind;
    struct sds_err err;
    uint8_t *bytes;
    uint64_t seen; // size
    struct job *next;
    struct pool *pool;
    bool over;
};

// The thread that runs what is resumed.
struct pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *ready;
    unsigned over;
};

static struct pool pool;

static void add(struct job *job) {
    pthread_mutex_lock(&job->pool->lock);
    job->next = job->pool->ready;
    job->pool->ready = job;
    pthread_cond_signal(&job->pool->changed);
    pthread_mutex_unlock(&job->pool->lock);
}

static void resume(struct sds_task *task) {
    add((struct job *)task);
}

static enum sds_kind read_job(struct job *job) {
    struct sds_object *object = NULL;
    struct sds_expected expected = {.sized = true, .size = job->size};
    enum sds_kind kind =
        sds_store_object(store, job->path, job->replaceable ? SDS_REPLACEABLE : SDS_IMMUTABLE,
                         job->look ? NULL : &expected, &object, &job->err);
    if (kind != SDS_OK) {
        return kind;
    }
    job->seen = sds_object_info(object)->size;
    for (uint64_t i = 0; kind == SDS_OK && i < job->count; i++) {
        kind = sds_object_read(object, job->off + i * job->stride, job->bytes + i * job->len,
                               (size_t)job->len, &job->err);
    }
    sds_object_close(object);
    return kind;
}

// True when it is over, false when it is parked.
static bool run(struct job *job) {
    do {
        job->runs++;
        sds_task_enter(&job->task);
        job->kind = read_job(job);
        sds_task_leave();
        if (job->kind != SDS_ERR_WAITING) {
            sds_task_fini(&job->task);
            return true;
        }
    } while (!sds_task_park(&job->task));
    return false;
}

static void start(struct job *job) {
    job->pool = &pool;
    job->bytes = malloc((size_t)(job->len * job->count) + 1);
    sds_task_init(&job->task, resume);
    job->over = run(job);
}

// Runs what is resumed until the job is over.
static void finish(struct job *job) {
    while (!job->over) {
        pthread_mutex_lock(&pool.lock);
        while (pool.ready == NULL) {
            pthread_cond_wait(&pool.changed, &pool.lock);
        }
        struct job *ready = pool.ready;
        pool.ready = ready->next;
        pthread_mutex_unlock(&pool.lock);
        ready->over = run(ready);
    }
}

static void expect_good(struct job *job, uint64_t seed) {
    finish(job);
    if (job->kind != SDS_OK) {
        fail_msg("%s: %s", job->err.check, job->err.message);
    }
    for (uint64_t i = 0; i < job->count; i++) {
        expect_bytes(job->bytes + i * job->len, seed, job->off + i * job->stride, job->len);
    }
    free(job->bytes);
}

static void expect_bad(struct job *job, enum sds_kind kind, const char *check) {
    finish(job);
    assert_int_equal(job->kind, kind);
    assert_string_equal(job->err.check, check);
    free(job->bytes);
}

static void hold(struct scripted_answer *answer) {
    answer->hold = true;
}
static void s403(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 403};
}
static void stalls(struct scripted_answer *answer) {
    answer->fault = SCRIPTED_STALL;
}

static void hold_all(void) {
    spoil(&server, (struct spoiler){.times = 1000, .spoil = hold});
}

static void a_task_is_parked_and_finds_its_bytes(void **state) {
    (void)state;
    serve(&server, "shard", 16 * MIB, 1);
    open_store();
    hold_all();
    struct job job = {
        .path = "shard", .size = 16 * MIB, .len = 64 * KIB, .count = 3, .stride = 4 * MIB};
    start(&job);
    assert_false(job.over); // the server says nothing, and nobody is blocked
    assert_int_equal(job.runs, 1);
    scripted_release(server.server);
    expect_good(&job, 1);
    assert_int_equal(scripted_count(server.server), 3);
    assert_true(job.runs <= 4);
}

static void a_large_range_comes_in_parallel_pieces(void **state) {
    (void)state;
    serve(&server, "shard", 20 * MIB, 1);
    open_store();
    hold_all();
    struct job job = {.path = "shard", .size = 20 * MIB, .off = 77, .len = 19 * MIB, .count = 1};
    start(&job);
    scripted_wait(server.server, 5); // before one of them is answered
    scripted_release(server.server);
    expect_good(&job, 1);
    assert_int_equal(scripted_count(server.server), 5);
    assert_int_equal(asked_bytes(&server, 0), 19 * MIB);
}

static void more_pieces_than_are_fetched_at_once(void **state) {
    (void)state;
    serve(&server, "shard", 44 * MIB, 1);
    open_store();
    struct job job = {.path = "shard", .size = 44 * MIB, .len = 44 * MIB, .count = 1};
    start(&job);
    expect_good(&job, 1);
    assert_int_equal(asked_bytes(&server, 0), 44 * MIB);
    assert_int_equal(scripted_count(server.server), 11);
}

static void readers_of_one_range_share_a_fetch(void **state) {
    (void)state;
    struct job jobs[20];
    serve(&server, "shard", MIB, 2);
    open_store();
    hold_all();
    for (size_t i = 0; i < 20; i++) {
        jobs[i] = (struct job){
            .path = "shard", .size = MIB, .off = 128 * KIB + i, .len = 128 * KIB - i, .count = 1};
        start(&jobs[i]);
        assert_false(jobs[i].over);
    }
    scripted_release(server.server);
    for (size_t i = 0; i < 20; i++) {
        expect_good(&jobs[i], 2);
    }
    assert_int_equal(asked_bytes(&server, 0), 128 * KIB);
    assert_int_equal(scripted_count(server.server), 1);
}

static void first_looks_are_shared(void **state) {
    (void)state;
    struct job jobs[5];
    serve(&server, "root.json", 1000, 3);
    open_store();
    hold_all();
    for (size_t i = 0; i < 5; i++) {
        jobs[i] = (struct job){.path = "root.json", .look = true, .len = 1000, .count = 1};
        start(&jobs[i]);
    }
    scripted_release(server.server);
    for (size_t i = 0; i < 5; i++) {
        expect_good(&jobs[i], 3);
        assert_int_equal(jobs[i].seen, 1000);
    }
    assert_int_equal(scripted_count(server.server), 1);
}

static void a_failure_is_for_those_who_waited(void **state) {
    (void)state;
    struct job first, second, third;
    serve(&server, "shard", MIB, 4);
    open_store();
    spoil(&server, (struct spoiler){.times = 1, .spoil = s403});
    first = second = third =
        (struct job){.path = "shard", .size = MIB, .off = 64 * KIB, .len = 64 * KIB, .count = 1};
    start(&first);
    start(&second); // may come too late to share it
    expect_bad(&first, SDS_ERR_DENIED, "permission");
    finish(&second);
    free(second.bytes);
    start(&third);
    expect_good(&third, 4);
}

static void absence_is_told_once_for_a_task(void **state) {
    (void)state;
    struct job job = {.path = "absent", .look = true, .len = 1, .count = 1};
    open_store();
    start(&job);
    expect_bad(&job, SDS_ERR_NOT_FOUND, "absent");
    assert_int_equal(scripted_count(server.server), 1);
}

// Each look at a replaceable object is a new one, but the runs of one task are one look.
static void a_task_looks_once_at_a_replaceable_object(void **state) {
    (void)state;
    struct job job;
    serve(&server, "catalog.json", 1000, 5);
    open_store();
    for (uint64_t seed = 5; seed < 8; seed++) {
        job = (struct job){
            .path = "catalog.json", .look = true, .replaceable = true, .len = 1000, .count = 1};
        serve(&server, "catalog.json", 1000, seed);
        start(&job);
        expect_good(&job, seed);
    }
    assert_int_equal(scripted_count(server.server), 3);
}

static void abandoned_while_parked(void **state) {
    (void)state;
    struct job job = {.path = "shard", .size = MIB, .len = 64 * KIB, .count = 1};
    serve(&server, "shard", MIB, 6);
    options.remote.timeout_ms = 60000;
    open_store();
    spoil(&server, (struct spoiler){.times = 1000, .spoil = stalls});
    start(&job);
    assert_false(job.over);
    uint64_t before = sds_clock_ms();
    sds_store_abandon(store);
    expect_bad(&job, SDS_ERR_STORAGE, "closed");
    job.len = 100 * KIB;
    start(&job); // and for those who come later
    expect_bad(&job, SDS_ERR_STORAGE, "closed");
    assert_true(sds_clock_ms() - before < 2000);
}

static void *abandon_it(void *arg) {
    (void)arg;
    scripted_wait(server.server, 1);
    sds_store_abandon(store);
    return NULL;
}

static void abandoned_while_blocked(void **state) {
    (void)state;
    pthread_t thread;
    serve(&server, "shard", MIB, 6);
    options.remote.timeout_ms = 60000;
    open_store();
    spoil(&server, (struct spoiler){.times = 1000, .spoil = stalls});
    struct sds_object *object = open_object("shard", MIB, false);
    assert_int_equal(pthread_create(&thread, NULL, abandon_it, NULL), 0);
    read_fails(object, SDS_ERR_STORAGE, "closed");
    pthread_join(thread, NULL);
    sds_object_close(object);
}

// --- threads that read the same and other things, with a ledger that is too small

static void *read_at_random(void *arg) {
    uint64_t seed = (uintptr_t)arg;
    uint8_t *bytes = malloc(256 * KIB);
    struct sds_expected expected = {.sized = true, .size = 8 * MIB, .whole = seed % 2 == 0};
    for (unsigned i = 0; i < 40; i++) {
        struct sds_object *object = NULL;
        seed = sds_mix64(seed + i + 1);
        uint64_t len = seed % (200 * KIB) + 1, off = (seed >> 20) % (8 * MIB - len);
        assert_int_equal(sds_store_object(store, "shard", SDS_IMMUTABLE, &expected, &object, NULL),
                         SDS_OK);
        assert_int_equal(sds_object_read(object, off, bytes, (size_t)len, NULL), SDS_OK);
        expect_bytes(bytes, 7, off, len);
        sds_object_prefetch(object, off, 300 * KIB);
        sds_object_close(object);
    }
    free(bytes);
    return NULL;
}

static void many_readers(void **state) {
    (void)state;
    pthread_t threads[8];
    struct job jobs[30];
    sds_cache_free(ledger);
    ledger = sds_cache_new(4 * MIB);
    serve(&server, "shard", 8 * MIB, 7);
    open_store();
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_at_random, (void *)(i + 1)), 0);
    }
    for (size_t i = 0; i < 30; i++) {
        jobs[i] = (struct job){.path = "shard",
                               .size = 8 * MIB,
                               .off = i * 100 * KIB,
                               .len = 150 * KIB,
                               .count = 4,
                               .stride = 900 * KIB};
        start(&jobs[i]);
    }
    for (size_t i = 0; i < 30; i++) {
        expect_good(&jobs[i], 7);
    }
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_task_is_parked_and_finds_its_bytes),
        TEST(a_large_range_comes_in_parallel_pieces),
        TEST(more_pieces_than_are_fetched_at_once),
        TEST(readers_of_one_range_share_a_fetch),
        TEST(first_looks_are_shared),
        TEST(a_failure_is_for_those_who_waited),
        TEST(absence_is_told_once_for_a_task),
        TEST(a_task_looks_once_at_a_replaceable_object),
        TEST(abandoned_while_parked),
        TEST(abandoned_while_blocked),
        TEST(many_readers),
    };
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.changed, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
