// SPDX-License-Identifier: Apache-2.0
#include "fs/parked.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit.h"

enum { RUNNING = -1, MANY = 500 };

// A call that waits for its events one after the other.
struct call {
    struct sds_parked parked;
    struct sds_event *events[2];
    atomic_int *outcome; // 0: answered; else 100 + why it ended
    atomic_uint *freed, *runs;
    bool interrupted;
};

struct fixture {
    struct sds_parked_counts counts;
    struct sds_parking *parking;
    atomic_uint freed, runs;
};

static int run(struct sds_parked *parked) {
    struct call *call = (struct call *)(void *)parked;
    atomic_fetch_add(call->runs, 1);
    for (size_t i = 0; i < 2; i++) {
        if (call->events[i] != NULL && sds_event_wait(call->events[i], NULL) != SDS_OK) {
            return ERESTART;
        }
    }
    *call->outcome = 0;
    return 0;
}

static void end(struct sds_parked *parked, enum sds_parked_end why) {
    assert_true(sds_task_here());
    *((struct call *)(void *)parked)->outcome = 100 + (int)why;
}

static bool is_interrupted(struct sds_parked *parked) {
    return ((struct call *)(void *)parked)->interrupted;
}

static void free_call(struct sds_parked *parked) {
    struct call *call = (struct call *)(void *)parked;
    atomic_fetch_add(call->freed, 1);
    sds_event_unref(call->events[0]);
    sds_event_unref(call->events[1]);
    free(call);
}

static const struct sds_parked_ops ops = {
    .run = run, .end = end, .is_interrupted = is_interrupted, .free = free_call};

static void start(struct fixture *fixture, uint32_t timeout_ms, unsigned most) {
    struct sds_err err;
    *fixture = (struct fixture){0};
    assert_int_equal(sds_parking_start(&(struct sds_parking_options){.timeout_ms = timeout_ms,
                                                                     .threads = 2,
                                                                     .most = most,
                                                                     .counts = &fixture->counts},
                                       &fixture->parking, &err),
                     SDS_OK);
}

static void stop(struct fixture *fixture) {
    sds_parking_stop(fixture->parking);
    assert_int_equal(fixture->counts.now, 0);
    sds_parking_free(fixture->parking);
}

// As a thread that serves does.
static void serve(struct fixture *fixture, struct sds_event *first, struct sds_event *second,
                  pid_t pid, bool interrupted, atomic_int *outcome) {
    struct call *call = calloc(1, sizeof *call);
    *outcome = RUNNING;
    *call = (struct call){
        .parked = {.ops = &ops, .pid = pid},
        .events = {sds_event_ref(first), second != NULL ? sds_event_ref(second) : NULL},
        .outcome = outcome,
        .freed = &fixture->freed,
        .runs = &fixture->runs,
        .interrupted = interrupted};
    sds_task_init(&call->parked.task, sds_parked_resume);
    sds_task_enter(&call->parked.task);
    int e = run(&call->parked);
    sds_task_leave();
    assert_int_equal(e, ERESTART);
    sds_parking_take(fixture->parking, &call->parked);
}

static int await(const atomic_int *outcome) {
    for (int i = 0; i < 10000 && *outcome == RUNNING; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return *outcome;
}

static void a_call_is_run_again_until_it_has_answered(void **state) {
    (void)state;
    struct fixture fixture;
    start(&fixture, 0, MANY);
    struct sds_event *first = sds_event_new(), *second = sds_event_new();
    atomic_int outcome;
    serve(&fixture, first, second, 0, false, &outcome);
    assert_int_equal(fixture.counts.now, 1);
    sds_event_fire(first);
    for (int i = 0; i < 10000 && fixture.runs < 2; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(outcome, RUNNING);
    sds_event_fire(second);
    assert_int_equal(await(&outcome), 0);
    stop(&fixture);
    assert_int_equal(fixture.runs, 3);
    assert_int_equal(fixture.freed, 1);
    assert_int_equal(fixture.counts.total, 1);
    sds_event_unref(first);
    sds_event_unref(second);
}

static void what_happened_before_it_was_parked_is_not_missed(void **state) {
    (void)state;
    struct fixture fixture;
    start(&fixture, 0, MANY);
    struct sds_event *event = sds_event_new();
    struct call *call = calloc(1, sizeof *call);
    atomic_int outcome = RUNNING;
    *call = (struct call){.parked = {.ops = &ops},
                          .events = {sds_event_ref(event)},
                          .outcome = &outcome,
                          .freed = &fixture.freed,
                          .runs = &fixture.runs};
    sds_task_init(&call->parked.task, sds_parked_resume);
    sds_task_enter(&call->parked.task);
    assert_int_equal(run(&call->parked), ERESTART);
    sds_task_leave();
    sds_event_fire(event);
    sds_parking_take(fixture.parking, &call->parked);
    assert_int_equal(await(&outcome), 0);
    stop(&fixture);
    sds_event_unref(event);
}

static void what_takes_too_long_is_ended_and_may_happen_all_the_same(void **state) {
    (void)state;
    struct fixture fixture;
    start(&fixture, 100, MANY);
    struct sds_event *event = sds_event_new();
    atomic_int late, later;
    uint64_t before = sds_clock_ms();
    serve(&fixture, event, NULL, getpid(), false, &late);
    assert_int_equal(await(&late), 100 + SDS_PARKED_LATE);
    assert_true(sds_clock_ms() - before >= 100);
    serve(&fixture, event, NULL, getpid(), true, &later);
    sds_event_fire(event);
    assert_int_equal(await(&later), 0);
    stop(&fixture);
    assert_int_equal(fixture.counts.late, 1);
    assert_int_equal(fixture.counts.killed, 0);
    assert_int_equal(fixture.freed, 2);
    sds_event_unref(event);
}

// A stopped process with SIGTERM pending is being killed; one that has ended is gone.
static void whoever_is_dying_or_gone_is_let_go(void **state) {
    (void)state;
    struct fixture fixture;
    start(&fixture, 0, MANY);
    struct sds_event *event = sds_event_new();
    atomic_int dying, gone, living, unknown;
    pid_t child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    serve(&fixture, event, NULL, child, true, &dying);
    serve(&fixture, event, NULL, getpid(), true, &living);
    serve(&fixture, event, NULL, 0, true, &unknown);
    nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL);
    assert_int_equal(dying, RUNNING);
    kill(child, SIGSTOP);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    kill(child, SIGTERM);
    assert_int_equal(await(&dying), 100 + SDS_PARKED_KILLED);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    serve(&fixture, event, NULL, child, false, &gone); // nobody interrupts readahead
    assert_int_equal(await(&gone), 100 + SDS_PARKED_KILLED);
    assert_int_equal(living, RUNNING);
    assert_int_equal(unknown, RUNNING);
    sds_event_fire(event);
    assert_int_equal(await(&living), 0);
    assert_int_equal(await(&unknown), 0);
    stop(&fixture);
    assert_int_equal(fixture.counts.killed, 2);
    sds_event_unref(event);
}

static void stopping_ends_all_and_whatever_comes_later(void **state) {
    (void)state;
    struct fixture fixture;
    start(&fixture, 0, MANY);
    struct sds_event *event = sds_event_new();
    static atomic_int outcomes[MANY];
    for (size_t i = 0; i < MANY; i++) {
        serve(&fixture, event, NULL, 0, false, &outcomes[i]);
    }
    sds_parking_refuse(fixture.parking);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(outcomes[i], 100 + SDS_PARKED_STOPPED);
    }
    sds_parking_stop(fixture.parking);
    atomic_int later;
    serve(&fixture, event, NULL, 0, false, &later);
    assert_int_equal(later, 100 + SDS_PARKED_STOPPED);
    stop(&fixture);
    assert_int_equal(fixture.freed, MANY + 1);
    sds_event_fire(event);
    sds_event_unref(event);
}

static void there_may_be_only_so_many(void **state) {
    (void)state;
    struct fixture fixture;
    start(&fixture, 0, 2);
    struct sds_event *event = sds_event_new();
    atomic_int outcomes[3];
    for (size_t i = 0; i < 3; i++) {
        serve(&fixture, event, NULL, 0, false, &outcomes[i]);
    }
    assert_int_equal(outcomes[2], 100 + SDS_PARKED_TOO_MANY);
    sds_event_fire(event);
    assert_int_equal(await(&outcomes[0]), 0);
    assert_int_equal(await(&outcomes[1]), 0);
    stop(&fixture);
    sds_event_unref(event);
}

// Calls that are parked, resumed, late and stopped, all at the same time.
struct storm {
    struct fixture *fixture;
    atomic_int outcomes[MANY];
};

static void *blow(void *arg) {
    struct storm *storm = arg;
    for (size_t i = 0; i < MANY; i++) {
        struct sds_event *event = sds_event_new();
        serve(storm->fixture, event, NULL, getpid(), i % 2 == 0, &storm->outcomes[i]);
        if (i % 7 != 0) {
            sds_event_fire(event);
        }
        sds_event_unref(event);
    }
    return NULL;
}

static void each_call_ends_once_whatever_happens_at_once(void **state) {
    (void)state;
    struct fixture fixture;
    start(&fixture, 1, 4 * MANY);
    static struct storm storms[3];
    pthread_t threads[3];
    for (size_t t = 0; t < 3; t++) {
        storms[t].fixture = &fixture;
        pthread_create(&threads[t], NULL, blow, &storms[t]);
    }
    for (size_t t = 0; t < 3; t++) {
        pthread_join(threads[t], NULL);
    }
    stop(&fixture);
    assert_int_equal(fixture.freed, 3 * MANY);
    assert_int_equal(fixture.counts.total, 3 * MANY);
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; i < MANY; i++) {
            assert_int_not_equal(storms[t].outcomes[i], RUNNING);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_run_again_until_it_has_answered),
        cmocka_unit_test(what_happened_before_it_was_parked_is_not_missed),
        cmocka_unit_test(what_takes_too_long_is_ended_and_may_happen_all_the_same),
        cmocka_unit_test(whoever_is_dying_or_gone_is_let_go),
        cmocka_unit_test(stopping_ends_all_and_whatever_comes_later),
        cmocka_unit_test(there_may_be_only_so_many),
        cmocka_unit_test(each_call_ends_once_whatever_happens_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
