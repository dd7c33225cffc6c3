// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/wait.h"

struct job {
    struct sds_task task;
    atomic_uint resumed;
};

static void count(struct sds_task *task) {
    struct job *job = (struct job *)task;
    atomic_fetch_add(&job->resumed, 1);
}

// Waits as the task would; it is parked when the answer is WAITING and true.
static enum sds_kind wait_as(struct job *job, struct sds_event *event) {
    struct sds_err err;
    sds_task_enter(&job->task);
    enum sds_kind kind = sds_event_wait(event, &err);
    sds_task_leave();
    return kind;
}

static void a_parked_task_is_resumed_once(void **state) {
    (void)state;
    struct sds_event *event = sds_event_new();
    struct job job = {0};
    sds_task_init(&job.task, count);
    assert_int_equal(wait_as(&job, event), SDS_ERR_WAITING);
    assert_true(sds_task_park(&job.task));
    assert_int_equal(job.resumed, 0);
    sds_event_fire(event);
    sds_event_fire(event);
    assert_int_equal(job.resumed, 1);
    assert_false(sds_task_unpark(&job.task));
    assert_int_equal(wait_as(&job, event), SDS_OK);
    sds_task_fini(&job.task);
    sds_event_unref(event);
}

static void what_happens_before_parking_is_not_missed(void **state) {
    (void)state;
    struct sds_event *event = sds_event_new();
    struct job job = {0};
    sds_task_init(&job.task, count);
    assert_int_equal(wait_as(&job, event), SDS_ERR_WAITING);
    sds_event_fire(event);
    assert_false(sds_task_park(&job.task));
    assert_int_equal(job.resumed, 0);
    sds_task_fini(&job.task);
    sds_event_unref(event);
}

static void a_parked_task_can_be_taken_back(void **state) {
    (void)state;
    struct sds_event *event = sds_event_new();
    struct job jobs[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        sds_task_init(&jobs[i].task, count);
        assert_int_equal(wait_as(&jobs[i], event), SDS_ERR_WAITING);
        assert_true(sds_task_park(&jobs[i].task));
    }
    assert_true(sds_task_unpark(&jobs[1].task));
    assert_false(sds_task_unpark(&jobs[1].task));
    sds_event_fire(event);
    assert_int_equal(jobs[0].resumed + jobs[2].resumed, 2);
    assert_int_equal(jobs[1].resumed, 0);
    for (size_t i = 0; i < 3; i++) {
        sds_task_fini(&jobs[i].task);
    }
    sds_event_unref(event);
}

static atomic_uint released;

static void release(void *value) {
    (void)value;
    atomic_fetch_add(&released, 1);
}

static void release_other(void *value) {
    (void)value;
}

static void what_a_task_keeps_is_found_by_how_it_is_released(void **state) {
    (void)state;
    struct job job = {0};
    int first, second;
    sds_task_init(&job.task, count);
    assert_null(sds_task_kept(release)); // no task
    sds_task_enter(&job.task);
    assert_null(sds_task_kept(release));
    assert_true(sds_task_keep(&first, release));
    assert_null(sds_task_kept(release_other));
    assert_true(sds_task_keep(&second, release_other));
    assert_ptr_equal(sds_task_kept(release), &first);
    assert_ptr_equal(sds_task_kept(release_other), &second);
    sds_task_leave();
    assert_null(sds_task_kept(release));
    sds_task_fini(&job.task);
}

static void a_task_keeps_until_it_is_over(void **state) {
    (void)state;
    struct job job = {0};
    int values[6];
    assert_false(sds_task_keep(&values[0], release));
    sds_task_init(&job.task, count);
    for (size_t i = 0; i < 6; i++) {
        sds_task_enter(&job.task);
        assert_false(sds_task_keeps(&values[i]));
        assert_true(sds_task_keep(&values[i], release));
        assert_true(sds_task_keeps(&values[i]));
        sds_task_leave();
    }
    assert_false(sds_task_keeps(&values[0]));
    assert_int_equal(released, 0);
    sds_task_fini(&job.task);
    assert_int_equal(released, 6);
}

static void *wait_blocked(void *event) {
    struct sds_err err;
    return sds_event_wait(event, &err) == SDS_OK ? event : NULL;
}

static void a_thread_without_a_task_blocks(void **state) {
    (void)state;
    struct sds_event *event = sds_event_new();
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_blocked, event), 0);
    }
    sds_event_fire(event);
    for (size_t i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, event);
    }
    sds_event_unref(event);
}

// Many threads add to a counter that nothing but turns protects.
struct shared {
    struct sds_turns turns;
    unsigned long sum;
};

static void *add_in_turn(void *arg) {
    struct shared *shared = arg;
    struct sds_err err;
    for (int i = 0; i < 2000; i++) {
        if (sds_turns_take(&shared->turns, &err) == SDS_OK) {
            shared->sum++;
            sds_turns_give(&shared->turns);
        }
    }
    return NULL;
}

static void turns_exclude_each_other(void **state) {
    (void)state;
    struct shared shared = {0};
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add_in_turn, &shared), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(shared.sum, 8000);
}

static void a_task_is_not_blocked_by_a_taken_turn(void **state) {
    (void)state;
    struct sds_turns turns = {0};
    struct sds_err err;
    struct job job = {0};
    sds_task_init(&job.task, count);
    assert_int_equal(sds_turns_take(&turns, &err), SDS_OK);
    sds_task_enter(&job.task);
    assert_int_equal(sds_turns_take(&turns, &err), SDS_ERR_WAITING);
    sds_task_leave();
    assert_true(sds_task_park(&job.task));
    sds_turns_give(&turns);
    assert_int_equal(job.resumed, 1);
    sds_task_enter(&job.task);
    assert_int_equal(sds_turns_take(&turns, &err), SDS_OK);
    sds_task_leave();
    sds_turns_give(&turns);
    sds_task_fini(&job.task);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parked_task_is_resumed_once),
        cmocka_unit_test(what_happens_before_parking_is_not_missed),
        cmocka_unit_test(a_parked_task_can_be_taken_back),
        cmocka_unit_test(a_task_keeps_until_it_is_over),
        cmocka_unit_test(what_a_task_keeps_is_found_by_how_it_is_released),
        cmocka_unit_test(a_thread_without_a_task_blocks),
        cmocka_unit_test(turns_exclude_each_other),
        cmocka_unit_test(a_task_is_not_blocked_by_a_taken_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
