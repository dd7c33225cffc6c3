// SPDX-License-Identifier: Apache-2.0
//
// Something that is built once, by whoever asks first.
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "index/job.h"

struct work {
    struct sds_index_job job;
    struct sds_event *go; // what a run waits for; NULL: nothing
    atomic_uint runs;
    unsigned fail; // so many runs fail
};

static enum sds_kind run(void *ctx, struct sds_err *err) {
    struct work *work = ctx;
    unsigned number = atomic_fetch_add(&work->runs, 1);
    if (work->go != NULL) {
        assert_int_equal(sds_event_wait(work->go, err), SDS_OK);
    }
    return number < work->fail ? sds_fail(err, SDS_ERR_STORAGE, "broken", "run %u", number)
                               : SDS_OK;
}

static void it_runs_once(void **state) {
    (void)state;
    struct work work = {0};
    sds_index_job_init(&work.job, run, &work);
    assert_int_equal(sds_index_job_state(&work.job), SDS_INDEX_IDLE);
    assert_int_equal(sds_index_job_wait(&work.job, NULL), SDS_OK);
    assert_int_equal(sds_index_job_wait(&work.job, NULL), SDS_OK);
    assert_int_equal(work.runs, 1);
    assert_false(work.job.joinable); // nothing is kept of the thread
    assert_int_equal(sds_index_job_state(&work.job), SDS_INDEX_DONE);
    sds_index_job_again(&work.job);
    assert_int_equal(sds_index_job_wait(&work.job, NULL), SDS_OK);
    assert_int_equal(work.runs, 2);
    sds_index_job_fini(&work.job);
}

static void *ask(void *arg) {
    struct work *work = arg;
    return sds_index_job_wait(&work->job, NULL) == SDS_OK ? arg : NULL;
}

static void all_who_ask_meanwhile_wait(void **state) {
    (void)state;
    enum { ASKERS = 6 };
    struct work work = {.go = sds_event_new()};
    pthread_t threads[ASKERS];
    sds_index_job_init(&work.job, run, &work);
    for (size_t i = 0; i < ASKERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &work), 0);
    }
    sds_event_fire(work.go);
    for (size_t i = 0; i < ASKERS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &work);
    }
    assert_int_equal(work.runs, 1);
    sds_index_job_fini(&work.job);
    sds_event_unref(work.go);
}

static void note_resumed(struct sds_task *task) {
    (void)task;
}

static void a_task_is_not_blocked(void **state) {
    (void)state;
    struct work work = {.go = sds_event_new()};
    struct sds_task task;
    sds_task_init(&task, note_resumed);
    sds_index_job_init(&work.job, run, &work);
    sds_task_enter(&task);
    assert_int_equal(sds_index_job_wait(&work.job, NULL), SDS_ERR_WAITING);
    sds_task_leave();
    sds_event_fire(work.go);
    assert_int_equal(sds_index_job_wait(&work.job, NULL), SDS_OK); // blocks: no task is here
    sds_task_enter(&task);
    assert_int_equal(sds_index_job_wait(&work.job, NULL), SDS_OK);
    sds_task_leave();
    sds_task_fini(&task);
    sds_index_job_fini(&work.job);
    sds_event_unref(work.go);
}

static void a_failure_is_told_and_then_tried_again(void **state) {
    (void)state;
    struct work work = {.fail = 1};
    struct sds_err err;
    uint64_t begun = sds_clock_ms();
    sds_index_job_init(&work.job, run, &work);
    assert_int_equal(sds_index_job_wait(&work.job, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "broken");
    assert_string_equal(err.message, "run 0");
    assert_int_equal(sds_index_job_state(&work.job), SDS_INDEX_FAILED);
    sds_index_job_again(&work.job); // means nothing now
    while (sds_index_job_wait(&work.job, &err) != SDS_OK) {
        assert_string_equal(err.message, "run 0");
    }
    assert_int_equal(work.runs, 2);
    assert_true(sds_clock_ms() - begun >= 1000);
    sds_index_job_fini(&work.job);
}

static void its_end_waits_for_the_thread(void **state) {
    (void)state;
    struct work work = {.go = sds_event_new()};
    struct sds_task task;
    sds_task_init(&task, note_resumed);
    sds_index_job_init(&work.job, run, &work);
    sds_task_enter(&task);
    assert_int_equal(sds_index_job_wait(&work.job, NULL), SDS_ERR_WAITING);
    sds_task_leave();
    sds_event_fire(work.go);
    sds_index_job_fini(&work.job);
    assert_int_equal(work.runs, 1);
    sds_task_fini(&task);
    sds_event_unref(work.go);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_once),
        cmocka_unit_test(all_who_ask_meanwhile_wait),
        cmocka_unit_test(a_task_is_not_blocked),
        cmocka_unit_test(a_failure_is_told_and_then_tried_again),
        cmocka_unit_test(its_end_waits_for_the_thread),
    };
    return cmocka_run_group_tests_name("index_job", tests, NULL, NULL);
}
