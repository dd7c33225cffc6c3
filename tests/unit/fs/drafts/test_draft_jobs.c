// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fs/killed.h"
#include "unit.h"

enum { NOT_YET = -1 };

// Work that waits until it may go on.
struct work {
    atomic_bool prepared; // may go on to run
    int prepare_result;
    atomic_bool go;
    atomic_uint runs, disposals;
    int result;
};

static atomic_uint running, most_running;

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static int prepare(void *ctx) {
    struct work *work = ctx;
    for (int i = 0; !work->prepared && i < 10000; i++) {
        pause_ms(1);
    }
    return work->prepare_result;
}

static int run(void *ctx) {
    struct work *work = ctx;
    unsigned now = ++running;
    unsigned most = most_running;
    while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now)) {
    }
    work->runs++;
    for (int i = 0; !work->go && i < 10000; i++) {
        pause_ms(1);
    }
    running--;
    return work->result;
}

static void dispose(void *ctx) {
    struct work *work = ctx;
    work->disposals++;
}

static void take_answer(void *ctx, int e) {
    atomic_int *answer = ctx;
    assert_int_equal(*answer, NOT_YET);
    *answer = e;
}

static int setup(void **state) {
    running = most_running = 0;
    *state = sds_jobs_new();
    return *state == NULL;
}

static int submit(struct sds_jobs *jobs, const char *draft, int verb, struct work *work,
                  atomic_int *answer, pid_t pid) {
    *answer = NOT_YET;
    return sds_jobs_submit(jobs, draft, verb,
                           &(struct sds_job_work){.run = run, .dispose = dispose, .ctx = work},
                           &(struct sds_waiter){.done = take_answer, .ctx = answer, .pid = pid});
}

static void submit_prepared(struct sds_jobs *jobs, struct work *work, atomic_int *answer) {
    *answer = NOT_YET;
    struct sds_job_work whole = {.prepare = prepare, .run = run, .dispose = dispose, .ctx = work};
    struct sds_waiter waiter = {.done = take_answer, .ctx = answer};
    assert_int_equal(sds_jobs_submit(jobs, "a", 1, &whole, &waiter), 0);
}

static int await(atomic_int *answer) {
    for (int i = 0; *answer == NOT_YET && i < 5000; i++) {
        pause_ms(1);
    }
    return *answer;
}

static void await_count(atomic_uint *count, unsigned expected) {
    for (int i = 0; *count != expected && i < 5000; i++) {
        pause_ms(1);
    }
    assert_int_equal(*count, expected);
}

static void the_result_is_the_answer(void **state) {
    static const int results[] = {0, EINVAL, EEXIST};
    for (int i = 0; i < 3; i++) {
        struct work work = {.go = true, .result = results[i]};
        atomic_int answer;
        assert_int_equal(submit(*state, "a", 1, &work, &answer, getpid()), 0);
        assert_int_equal(await(&answer), results[i]);
        assert_int_equal(work.runs, 1);
        assert_int_equal(work.disposals, 1);
    }
    sds_jobs_free(*state);
}

static void the_same_is_joined_and_another_thing_is_not(void **state) {
    struct work first = {.result = EEXIST}, second = {0}, other = {0};
    atomic_int answers[3];
    assert_int_equal(submit(*state, "a", 1, &first, &answers[0], 0), 0);
    assert_int_equal(submit(*state, "a", 1, &second, &answers[1], 0), 0);
    assert_int_equal(submit(*state, "a", 2, &other, &answers[2], 0), EBUSY);
    assert_int_equal(second.disposals, 1);
    assert_int_equal(other.disposals, 1);
    assert_int_equal(answers[0], NOT_YET);
    first.go = true;
    assert_int_equal(await(&answers[0]), EEXIST);
    assert_int_equal(await(&answers[1]), EEXIST);
    assert_int_equal(answers[2], NOT_YET);
    assert_int_equal(second.runs, 0);
    sds_jobs_free(*state);
}

static void it_covers_what_is_in_the_draft(void **state) {
    struct work work = {0};
    atomic_int answer;
    assert_int_equal(submit(*state, "set/shards/x", 1, &work, &answer, 0), 0);
    assert_true(sds_jobs_cover(*state, "set/shards/x"));
    assert_true(sds_jobs_cover(*state, "set/shards/x/rows.jsonl"));
    assert_false(sds_jobs_cover(*state, "set/shards/xy"));
    assert_false(sds_jobs_cover(*state, "set/shards"));
    assert_false(sds_jobs_cover(*state, ""));
    work.go = true;
    assert_int_equal(await(&answer), 0);
    assert_false(sds_jobs_cover(*state, "set/shards/x"));
    sds_jobs_free(*state);
}

static void it_is_not_at_work_while_it_is_prepared(void **state) {
    struct work work = {.result = EEXIST};
    atomic_int answer;
    submit_prepared(*state, &work, &answer);
    pause_ms(20);
    assert_true(sds_jobs_cover(*state, "a/f"));
    assert_false(sds_jobs_at_work(*state, "a/f"));
    work.prepared = true;
    await_count(&work.runs, 1);
    assert_true(sds_jobs_at_work(*state, "a/f"));
    assert_false(sds_jobs_at_work(*state, "ab"));
    assert_false(sds_jobs_spoil(*state, "a/f", ENOSPC)); // too late
    work.go = true;
    assert_int_equal(await(&answer), EEXIST);
    sds_jobs_free(*state);
}

static void what_cannot_be_prepared_is_not_done(void **state) {
    struct work failing = {.prepared = true, .prepare_result = EIO}, spoilt = {0};
    atomic_int answer;
    submit_prepared(*state, &failing, &answer);
    assert_int_equal(await(&answer), EIO);
    submit_prepared(*state, &spoilt, &answer);
    assert_false(sds_jobs_spoil(*state, "b", ENOSPC));
    while (!sds_jobs_spoil(*state, "a/f", ENOSPC)) {
        pause_ms(1);
    }
    spoilt.prepared = true;
    assert_int_equal(await(&answer), ENOSPC);
    assert_int_equal(failing.runs + spoilt.runs, 0);
    assert_int_equal(failing.disposals, 1);
    sds_jobs_free(*state);
    assert_int_equal(spoilt.disposals, 1);
}

static void *let_it_go_on(void *arg) {
    struct work *work = arg;
    pause_ms(50);
    work->prepared = true;
    return NULL;
}

static void nothing_is_prepared_after_it_was_abandoned(void **state) {
    struct work work = {.go = true};
    atomic_int answer;
    pthread_t thread;
    submit_prepared(*state, &work, &answer);
    while (!sds_jobs_spoil(*state, "a", 0)) { // it has begun
        pause_ms(1);
    }
    assert_int_equal(pthread_create(&thread, NULL, let_it_go_on, &work), 0);
    sds_jobs_abandon(*state);
    assert_true(work.prepared);
    assert_int_equal(answer, EINTR);
    pthread_join(thread, NULL);
    sds_jobs_free(*state);
    assert_int_equal(work.runs, 0);
    assert_int_equal(work.disposals, 1);
}

static void a_few_at_a_time(void **state) {
    struct work works[20] = {0};
    atomic_int answers[20];
    char name[8];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "d%d", i);
        assert_int_equal(submit(*state, name, 1, &works[i], &answers[i], getpid()), 0);
    }
    await_count(&running, 4);
    for (int i = 0; i < 20; i++) {
        works[i].go = true;
    }
    for (int i = 0; i < 20; i++) {
        assert_int_equal(await(&answers[i]), 0);
    }
    assert_int_equal(most_running, 4);
    sds_jobs_free(*state);
}

static void abandoned_waiters_are_answered_and_work_goes_on(void **state) {
    struct work works[6] = {0}, late = {0};
    atomic_int answers[6], late_answer;
    char name[8];
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "d%d", i);
        assert_int_equal(submit(*state, name, 1, &works[i], &answers[i], 0), 0);
    }
    await_count(&running, 4);
    sds_jobs_abandon(*state);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(answers[i], EINTR);
    }
    assert_int_equal(submit(*state, "late", 1, &late, &late_answer, 0), EINTR);
    assert_int_equal(running, 4);
    for (int i = 0; i < 4; i++) {
        works[i].go = true;
    }
    works[4].go = works[5].go = true;
    sds_jobs_free(*state); // waits for those that run; the others never begin
    for (int i = 0; i < 6; i++) {
        assert_int_equal(works[i].disposals, 1);
        assert_int_equal(works[i].runs, i < 4);
    }
}

// A process that ignores SIGUSR1, blocks SIGUSR2, and sleeps.
static pid_t start_sleeper(void) {
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGUSR1, SIG_IGN);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        sigprocmask(SIG_BLOCK, &set, NULL);
        for (;;) {
            pause();
        }
    }
    pause_ms(50);
    return pid;
}

static void only_a_dying_thread_is_being_killed(void **state) {
    sds_jobs_free(*state);
    pid_t pid = start_sleeper();
    assert_false(sds_is_being_killed(getpid()));
    assert_false(sds_is_being_killed(pid));
    kill(pid, SIGUSR1);
    kill(pid, SIGUSR2); // stays pending
    kill(pid, SIGSTOP);
    pause_ms(20);
    assert_false(sds_is_being_killed(pid));
    kill(pid, SIGTERM); // stays pending in a stopped process
    pause_ms(20);
    assert_true(sds_is_being_killed(pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_false(sds_is_being_killed(pid));
}

static void a_waiter_that_is_being_killed_is_let_go(void **state) {
    pid_t pid = start_sleeper();
    struct work work = {.result = EEXIST};
    atomic_int dying, living;
    assert_int_equal(submit(*state, "a", 1, &work, &dying, pid), 0);
    assert_int_equal(submit(*state, "a", 1, &work, &living, getpid()), 0);
    pause_ms(250);
    assert_int_equal(dying, NOT_YET);
    kill(pid, SIGSTOP);
    pause_ms(20);
    kill(pid, SIGTERM); // which stays pending
    assert_int_equal(await(&dying), EINTR);
    assert_int_equal(living, NOT_YET);
    work.go = true;
    assert_int_equal(await(&living), EEXIST);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sds_jobs_free(*state);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_result_is_the_answer),
        TEST(the_same_is_joined_and_another_thing_is_not),
        TEST(it_covers_what_is_in_the_draft),
        TEST(it_is_not_at_work_while_it_is_prepared),
        TEST(what_cannot_be_prepared_is_not_done),
        TEST(nothing_is_prepared_after_it_was_abandoned),
        TEST(a_few_at_a_time),
        TEST(abandoned_waiters_are_answered_and_work_goes_on),
        TEST(only_a_dying_thread_is_being_killed),
        TEST(a_waiter_that_is_being_killed_is_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
