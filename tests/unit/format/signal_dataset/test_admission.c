// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/wait.h"
#include "format/signal_dataset/admission.h"

#define MIB ((size_t)1 << 20)

static atomic_uint relieved;

static void count_relief(void *ctx) {
    (void)ctx;
    atomic_fetch_add(&relieved, 1);
}

struct fixture {
    struct sds_cache *cache;
    struct admission admission;
};

// 12 MiB of the budget are for those who are in.
static int setup(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->cache = sds_cache_new(16 * MIB);
    admission_init(&fixture->admission, fixture->cache, count_relief, NULL);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(fixture->admission.used, 0);
    assert_int_equal(fixture->admission.in, 0);
    assert_int_equal(fixture->admission.queued, 0);
    assert_null(fixture->admission.holders);
    assert_null(fixture->admission.first);
    assert_true(fixture->admission.end == &fixture->admission.first);
    admission_stop(&fixture->admission);
    admission_fini(&fixture->admission);
    sds_cache_free(fixture->cache);
    free(fixture);
    return 0;
}

struct job {
    struct sds_task task;
    atomic_uint resumed;
};

static void count(struct sds_task *task) {
    struct job *job = (struct job *)task;
    atomic_fetch_add(&job->resumed, 1);
}

static enum sds_kind enter_again(struct fixture *fixture, struct job *job, uint64_t what,
                                 size_t bytes) {
    sds_task_enter(&job->task);
    enum sds_kind kind = admission_enter(&fixture->admission, what, bytes, NULL);
    sds_task_leave();
    return kind;
}

// Begins a task that wants in; it is parked when it has to wait.
static bool enter(struct fixture *fixture, struct job *job, uint64_t what, size_t bytes) {
    job->resumed = 0;
    sds_task_init(&job->task, count);
    enum sds_kind kind = enter_again(fixture, job, what, bytes);
    assert_true(kind == SDS_OK || kind == SDS_ERR_WAITING);
    if (kind == SDS_ERR_WAITING) {
        assert_true(sds_task_park(&job->task));
    }
    return kind == SDS_OK;
}

static void who_comes_first_is_let_in_first(void **state) {
    struct fixture *fixture = *state;
    struct job jobs[5] = {0};
    assert_true(enter(fixture, &jobs[0], 1, 6 * MIB));
    assert_true(enter(fixture, &jobs[1], 2, 6 * MIB));
    assert_false(enter(fixture, &jobs[2], 3, 10 * MIB));
    assert_false(enter(fixture, &jobs[3], 4, MIB)); // which would fit sooner
    assert_false(enter(fixture, &jobs[4], 5, 2 * MIB));
    assert_true(admission_is_pressed(&fixture->admission));
    sds_task_fini(&jobs[0].task);
    assert_int_equal(jobs[2].resumed + jobs[3].resumed + jobs[4].resumed, 0);
    sds_task_fini(&jobs[1].task);
    assert_int_equal(jobs[2].resumed, 1);
    assert_int_equal(jobs[3].resumed, 1);
    assert_int_equal(jobs[4].resumed, 0);
    assert_int_equal(enter_again(fixture, &jobs[2], 3, 10 * MIB), SDS_OK);
    assert_int_equal(fixture->admission.used, 11 * MIB);
    sds_task_fini(&jobs[3].task);
    assert_int_equal(jobs[4].resumed, 1);
    assert_false(admission_is_pressed(&fixture->admission));
    sds_task_fini(&jobs[2].task);
    sds_task_fini(&jobs[4].task);
}

static void more_than_all_there_is_goes_alone(void **state) {
    struct fixture *fixture = *state;
    struct job large = {0}, other = {0}, after = {0};
    assert_true(enter(fixture, &large, 1, 100 * MIB));
    assert_false(enter(fixture, &other, 2, MIB));
    assert_false(enter(fixture, &after, 3, 200 * MIB));
    sds_task_fini(&large.task);
    assert_int_equal(other.resumed, 1);
    assert_int_equal(after.resumed, 0);
    sds_task_fini(&other.task);
    assert_int_equal(after.resumed, 1);
    sds_task_fini(&after.task);
}

static void small_ones_and_threads_never_queue(void **state) {
    struct fixture *fixture = *state;
    struct job large = {0}, queued = {0}, small = {0};
    assert_true(enter(fixture, &large, 1, 100 * MIB));
    assert_false(enter(fixture, &queued, 2, MIB));
    assert_true(enter(fixture, &small, 3, ADMISSION_SMALL));
    assert_int_equal(admission_enter(&fixture->admission, 4, 50 * MIB, NULL), SDS_OK);
    assert_int_equal(fixture->admission.used, 100 * MIB);
    sds_task_fini(&small.task);
    sds_task_fini(&large.task);
    sds_task_fini(&queued.task);
}

static void who_is_in_may_want_more(void **state) {
    struct fixture *fixture = *state;
    struct job job = {0}, other = {0};
    assert_true(enter(fixture, &job, 1, 6 * MIB));
    assert_true(enter(fixture, &other, 2, 6 * MIB));
    assert_int_equal(enter_again(fixture, &job, 1, 6 * MIB), SDS_OK);
    assert_int_equal(fixture->admission.used, 12 * MIB);
    assert_int_equal(enter_again(fixture, &job, 3, 9 * MIB), SDS_OK);
    assert_int_equal(fixture->admission.used, 15 * MIB);
    assert_int_equal(fixture->admission.in, 2);
    sds_task_fini(&job.task);
    assert_int_equal(fixture->admission.used, 6 * MIB);
    sds_task_fini(&other.task);
}

// The bytes are there once, whoever wants them.
static void who_wants_the_same_shares_it(void **state) {
    struct fixture *fixture = *state;
    struct job jobs[6] = {0};
    assert_true(enter(fixture, &jobs[0], 1, 8 * MIB));
    assert_true(enter(fixture, &jobs[1], 1, 8 * MIB));
    assert_int_equal(fixture->admission.used, 8 * MIB);
    assert_false(enter(fixture, &jobs[2], 2, 9 * MIB));
    assert_false(enter(fixture, &jobs[3], 3, 5 * MIB));
    assert_false(enter(fixture, &jobs[4], 2, 9 * MIB));
    assert_true(enter(fixture, &jobs[5], 1, 8 * MIB)); // past the queue: it costs nothing
    sds_task_fini(&jobs[0].task);
    assert_int_equal(fixture->admission.used, 8 * MIB); // an heir has them
    sds_task_fini(&jobs[5].task);
    sds_task_fini(&jobs[1].task);
    assert_int_equal(jobs[2].resumed, 1);
    assert_int_equal(jobs[4].resumed, 1);
    assert_int_equal(jobs[3].resumed, 0);
    assert_int_equal(fixture->admission.used, 9 * MIB);
    sds_task_fini(&jobs[2].task);
    assert_int_equal(jobs[3].resumed, 0);
    sds_task_fini(&jobs[4].task);
    assert_int_equal(jobs[3].resumed, 1);
    sds_task_fini(&jobs[3].task);
}

static void who_gives_up_leaves_the_queue(void **state) {
    struct fixture *fixture = *state;
    struct job jobs[4] = {0};
    assert_true(enter(fixture, &jobs[0], 1, 6 * MIB));
    assert_false(enter(fixture, &jobs[1], 2, 12 * MIB));
    assert_false(enter(fixture, &jobs[2], 3, 4 * MIB));
    assert_false(enter(fixture, &jobs[3], 4, 4 * MIB));
    assert_true(sds_task_unpark(&jobs[3].task)); // the last one
    sds_task_fini(&jobs[3].task);
    assert_int_equal(fixture->admission.queued, 2);
    assert_true(sds_task_unpark(&jobs[1].task)); // the first, in whose way the others stand
    sds_task_fini(&jobs[1].task);
    assert_int_equal(jobs[2].resumed, 1);
    assert_false(enter(fixture, &jobs[3], 5, 4 * MIB));
    sds_task_fini(&jobs[0].task);
    assert_int_equal(jobs[3].resumed, 1);
    sds_task_fini(&jobs[2].task);
    sds_task_fini(&jobs[3].task);
}

static void what_is_being_read_counts(void **state) {
    struct fixture *fixture = *state;
    struct job job = {0};
    admission_hold(&fixture->admission, 100 * MIB);
    assert_false(enter(fixture, &job, 1, MIB));
    admission_let_go(&fixture->admission, 100 * MIB);
    assert_int_equal(job.resumed, 1);
    sds_task_fini(&job.task);
}

static void memory_is_asked_for_while_somebody_queues(void **state) {
    struct fixture *fixture = *state;
    struct job first = {0}, second = {0};
    assert_true(enter(fixture, &first, 1, 100 * MIB));
    assert_false(fixture->admission.started);
    assert_false(enter(fixture, &second, 2, MIB));
    unsigned before = relieved;
    while (relieved < before + 3) {
        sched_yield();
    }
    sds_task_fini(&first.task);
    sds_task_fini(&second.task);
}

// --- many at once

#define TASKS 200
#define WORKERS 4

// Tasks as the file system has them: run by a few threads, each run from its beginning. Every third
// is given up while it waits, if it has to.
struct crowd {
    struct fixture *fixture;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct member {
        struct sds_task task;
        struct crowd *crowd;
        size_t bytes;
        uint64_t what;
        bool gives_up;
        struct member *next;
    } members[TASKS];
    struct member *ready;
    unsigned over;
    atomic_size_t held, most; // bytes that tasks hold that are in
};

static void make_ready(struct sds_task *task) {
    struct member *member = (struct member *)task;
    struct crowd *crowd = member->crowd;
    pthread_mutex_lock(&crowd->lock);
    member->next = crowd->ready;
    crowd->ready = member;
    pthread_cond_signal(&crowd->work);
    pthread_mutex_unlock(&crowd->lock);
}

static void hold_for_a_while(struct crowd *crowd, size_t bytes) {
    size_t held = atomic_fetch_add(&crowd->held, bytes) + bytes, most = crowd->most;
    while (held > most && !atomic_compare_exchange_weak(&crowd->most, &most, held)) {
    }
    for (int i = 0; i < 20; i++) {
        sched_yield();
    }
    atomic_fetch_sub(&crowd->held, bytes);
}

// True when it is over.
static bool run_member(struct member *member) {
    for (;;) {
        sds_task_enter(&member->task);
        enum sds_kind kind =
            admission_enter(&member->crowd->fixture->admission, member->what, member->bytes, NULL);
        sds_task_leave();
        if (kind == SDS_OK) {
            hold_for_a_while(member->crowd, member->bytes);
            break;
        }
        assert_int_equal(kind, SDS_ERR_WAITING);
        bool gives_up = member->gives_up; // once parked it may be somebody else's
        if (sds_task_park(&member->task)) {
            if (!gives_up || !sds_task_unpark(&member->task)) {
                return false;
            }
            break;
        }
    }
    sds_task_fini(&member->task);
    return true;
}

static void *work(void *arg) {
    struct crowd *crowd = arg;
    pthread_mutex_lock(&crowd->lock);
    while (crowd->over < TASKS) {
        struct member *member = crowd->ready;
        if (member == NULL) {
            pthread_cond_wait(&crowd->work, &crowd->lock);
            continue;
        }
        crowd->ready = member->next;
        pthread_mutex_unlock(&crowd->lock);
        bool over = run_member(member);
        pthread_mutex_lock(&crowd->lock);
        crowd->over += over;
    }
    pthread_cond_broadcast(&crowd->work);
    pthread_mutex_unlock(&crowd->lock);
    return NULL;
}

static void many_get_through_within_the_bound(void **state) {
    struct fixture *fixture = *state;
    struct crowd *crowd = calloc(1, sizeof *crowd);
    assert_non_null(crowd);
    crowd->fixture = fixture;
    pthread_mutex_init(&crowd->lock, NULL);
    pthread_cond_init(&crowd->work, NULL);
    for (size_t i = 0; i < TASKS; i++) {
        struct member *member = &crowd->members[i];
        sds_task_init(&member->task, make_ready);
        member->crowd = crowd;
        member->bytes = i % 17 == 0 ? 20 * MIB : (1 + i % 5) * MIB;
        member->what = i;
        member->gives_up = i % 3 == 0;
        make_ready(&member->task);
    }
    pthread_t threads[WORKERS];
    for (size_t i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, crowd), 0);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(crowd->over, TASKS);
    assert_true(crowd->most <= 20 * MIB); // what goes alone, else 12
    pthread_cond_destroy(&crowd->work);
    pthread_mutex_destroy(&crowd->lock);
    free(crowd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_comes_first_is_let_in_first, setup, teardown),
        cmocka_unit_test_setup_teardown(more_than_all_there_is_goes_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(small_ones_and_threads_never_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_in_may_want_more, setup, teardown),
        cmocka_unit_test_setup_teardown(who_wants_the_same_shares_it, setup, teardown),
        cmocka_unit_test_setup_teardown(who_gives_up_leaves_the_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_being_read_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_is_asked_for_while_somebody_queues, setup, teardown),
        cmocka_unit_test_setup_teardown(many_get_through_within_the_bound, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
