// SPDX-License-Identifier: Apache-2.0
// How a credential is kept, shared and replaced, with a source and a clock that the tests move.
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/wait.h"
#include "remote/credentials/credentials_internal.h"

#define BEGIN 1700000000

static atomic_llong wall = BEGIN;
static atomic_ullong monotonic = 1000000;

static int64_t now(void) {
    return wall;
}

static uint64_t clock_ms(void) {
    return monotonic;
}

// The source: what it is to answer next, and a gate that it waits at.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    unsigned calls;
    unsigned arrived, let_through; // at the gate
    bool gated;
    enum sds_kind kind;
    char key[32];
    int64_t life; // 0: does not end
} source = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static void wait_at_gate(const struct sds_finding *finding) {
    source.arrived++;
    pthread_cond_broadcast(&source.moved);
    while (source.gated && source.let_through < source.arrived && !atomic_load(finding->stop)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 10000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&source.moved, &source.lock, &until);
    }
}

static enum sds_kind find(const struct sds_finding *finding, struct sds_found *found,
                          struct sds_err *err) {
    pthread_mutex_lock(&source.lock);
    source.calls++;
    wait_at_gate(finding);
    enum sds_kind kind = source.kind;
    if (kind == SDS_OK) {
        snprintf(found->credential.key_id, sizeof found->credential.key_id, "%s", source.key);
        snprintf(found->credential.secret, sizeof found->credential.secret, "secret");
        found->credential.expires = source.life != 0 ? finding->now + source.life : 0;
        sds_found_name(found, "the source of the test");
    } else {
        sds_fail(err, kind, "test", "the source fails");
    }
    pthread_mutex_unlock(&source.lock);
    return kind;
}

static void answers(enum sds_kind kind, const char *key, int64_t life) {
    pthread_mutex_lock(&source.lock);
    source.kind = kind;
    snprintf(source.key, sizeof source.key, "%s", key);
    source.life = life;
    pthread_mutex_unlock(&source.lock);
}

static void gate(bool closed) {
    pthread_mutex_lock(&source.lock);
    source.gated = closed;
    source.arrived = source.let_through = 0;
    pthread_cond_broadcast(&source.moved);
    pthread_mutex_unlock(&source.lock);
}

static void let_through(void) {
    pthread_mutex_lock(&source.lock);
    source.let_through++;
    pthread_cond_broadcast(&source.moved);
    pthread_mutex_unlock(&source.lock);
}

static void wait_until_arrived(unsigned count) {
    pthread_mutex_lock(&source.lock);
    while (source.arrived < count) {
        pthread_cond_wait(&source.moved, &source.lock);
    }
    pthread_mutex_unlock(&source.lock);
}

static unsigned calls(void) {
    pthread_mutex_lock(&source.lock);
    unsigned n = source.calls;
    pthread_mutex_unlock(&source.lock);
    return n;
}

static struct sds_credentials *begin(void) {
    static const struct sds_remote_options options;
    struct sds_credentials_setup setup = {
        .options = &options, .find = find, .now = now, .clock_ms = clock_ms};
    struct sds_credentials *credentials = NULL;
    gate(false);
    pthread_mutex_lock(&source.lock);
    source.calls = 0;
    pthread_mutex_unlock(&source.lock);
    assert_int_equal(sds_credentials_new(&setup, &credentials, NULL), SDS_OK);
    return credentials;
}

static void gets(struct sds_credentials *credentials, const char *key, uint64_t serial,
                 struct sds_credential *out) {
    struct sds_err err;
    if (sds_credentials_get(credentials, out, &err) != SDS_OK) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(out->key_id, key);
    assert_int_equal(out->serial, serial);
}

struct told {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    unsigned times;
};
#define TOLD_INIT                                                                                  \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static void tell(void *ctx) {
    struct told *told = ctx;
    pthread_mutex_lock(&told->lock);
    told->times++;
    pthread_cond_signal(&told->moved);
    pthread_mutex_unlock(&told->lock);
}

static void wait_until_told(struct told *told, unsigned times) {
    pthread_mutex_lock(&told->lock);
    while (told->times < times) {
        pthread_cond_wait(&told->moved, &told->lock);
    }
    assert_int_equal(told->times, times);
    pthread_mutex_unlock(&told->lock);
}

// --- tests

static void it_is_found_once_and_copied_out(void **state) {
    (void)state;
    struct sds_credential got;
    char text[64];
    answers(SDS_OK, "A", 0);
    struct sds_credentials *credentials = begin();
    assert_string_equal(sds_credentials_source(credentials, text, sizeof text), "");
    assert_int_equal(calls(), 0);
    gets(credentials, "A", 1, &got);
    wall += 1000000;
    gets(credentials, "A", 1, &got);
    assert_int_equal(calls(), 1);
    assert_string_equal(sds_credentials_source(credentials, text, sizeof text),
                        "the source of the test");
    sds_credential_wipe(&got);
    sds_credentials_free(credentials);
}

static void who_must_not_block_is_told_once(void **state) {
    (void)state;
    struct told told[2] = {TOLD_INIT, TOLD_INIT};
    struct sds_credential got;
    answers(SDS_OK, "A", 0);
    struct sds_credentials *credentials = begin();
    gate(true);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sds_credentials_take(credentials, &got, tell, &told[i], NULL),
                         SDS_ERR_WAITING);
    }
    wait_until_arrived(1);
    let_through();
    wait_until_told(&told[0], 1);
    wait_until_told(&told[1], 1);
    assert_int_equal(sds_credentials_take(credentials, &got, tell, &told[0], NULL), SDS_OK);
    assert_string_equal(got.key_id, "A");
    assert_int_equal(calls(), 1);
    sds_credentials_free(credentials);
    wait_until_told(&told[0], 1);
}

static void count_resumed(struct sds_task *task) {
    (void)task;
}

static void a_task_is_not_blocked(void **state) {
    (void)state;
    struct sds_task task;
    struct sds_credential got;
    answers(SDS_OK, "A", 0);
    struct sds_credentials *credentials = begin();
    gate(true);
    sds_task_init(&task, count_resumed);
    sds_task_enter(&task);
    assert_int_equal(sds_credentials_get(credentials, &got, NULL), SDS_ERR_WAITING);
    sds_task_leave();
    gate(false);
    gets(credentials, "A", 1, &got);
    sds_task_fini(&task);
    sds_credentials_free(credentials);
}

static void what_ages_is_used_while_the_next_is_found(void **state) {
    (void)state;
    struct sds_credential got;
    answers(SDS_OK, "A", 3600);
    struct sds_credentials *credentials = begin();
    gets(credentials, "A", 1, &got);
    assert_int_equal(got.expires, wall + 3600);
    gate(true);
    answers(SDS_OK, "B", 3600);
    wall += 3100; // ten minutes before the end
    gets(credentials, "A", 1, &got);
    wait_until_arrived(1);
    gets(credentials, "A", 1, &got); // not waiting, and not asking a second time
    let_through();
    while (got.serial == 1) {
        assert_int_equal(sds_credentials_get(credentials, &got, NULL), SDS_OK);
    }
    assert_string_equal(got.key_id, "B");
    assert_int_equal(calls(), 2);
    sds_credentials_free(credentials);
}

static void what_is_nearly_over_is_waited_for(void **state) {
    (void)state;
    struct sds_credential got;
    answers(SDS_OK, "A", 3600);
    struct sds_credentials *credentials = begin();
    gets(credentials, "A", 1, &got);
    answers(SDS_OK, "B", 3600);
    wall += 3550; // less than a minute
    gets(credentials, "B", 2, &got);
    sds_credentials_free(credentials);
}

static void a_source_that_fails_ahead_of_the_end_is_left_alone_for_a_while(void **state) {
    (void)state;
    struct sds_credential got;
    answers(SDS_OK, "A", 3600);
    struct sds_credentials *credentials = begin();
    gets(credentials, "A", 1, &got);
    answers(SDS_ERR_STORAGE, "", 0);
    wall += 3100;
    gate(true);
    gets(credentials, "A", 1, &got);
    wait_until_arrived(1);
    gate(false);
    // Neither while it fails nor afterwards is it asked again.
    for (unsigned i = 0; i < 1000; i++) {
        gets(credentials, "A", 1, &got);
    }
    assert_int_equal(calls(), 2);
    sds_credentials_free(credentials);
}

static void the_last_minute_is_better_than_nothing(void **state) {
    (void)state;
    struct sds_credential got;
    struct sds_err err;
    answers(SDS_OK, "A", 3600);
    struct sds_credentials *credentials = begin();
    gets(credentials, "A", 1, &got);
    answers(SDS_ERR_STORAGE, "", 0);
    wall += 3570;
    gets(credentials, "A", 1, &got);
    assert_int_equal(calls(), 2);
    wall += 40;
    assert_int_equal(sds_credentials_get(credentials, &got, &err), SDS_ERR_STORAGE);
    sds_credentials_free(credentials);
}

static void a_failure_stands_for_a_second(void **state) {
    (void)state;
    struct sds_credential got;
    struct sds_err err;
    answers(SDS_ERR_NOT_FOUND, "", 0);
    struct sds_credentials *credentials = begin();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sds_credentials_get(credentials, &got, &err), SDS_ERR_INVALID);
        assert_int_equal(err.kind, SDS_ERR_INVALID);
        assert_string_equal(err.check, "credentials");
        assert_string_equal(err.message, "the source fails");
    }
    assert_int_equal(calls(), 1);
    answers(SDS_OK, "A", 0);
    monotonic += 1000;
    gets(credentials, "A", 1, &got);
    assert_int_equal(calls(), 2);
    sds_credentials_free(credentials);
}

static void a_refused_value_is_looked_for_again_once(void **state) {
    (void)state;
    struct sds_credential got, other;
    answers(SDS_OK, "A", 0);
    struct sds_credentials *credentials = begin();
    gets(credentials, "A", 1, &got);
    assert_true(sds_credentials_renew(credentials, &got));
    assert_true(sds_credentials_renew(credentials, &got)); // another request with the same one
    gets(credentials, "A", 1, &other);
    assert_int_equal(calls(), 2);
    assert_false(sds_credentials_renew(credentials, &got));
    gets(credentials, "A", 1, &other);
    assert_int_equal(calls(), 2);
    monotonic += 30000; // somebody may have replaced it meanwhile
    answers(SDS_OK, "B", 0);
    assert_true(sds_credentials_renew(credentials, &got));
    gets(credentials, "B", 2, &other);
    assert_true(sds_credentials_renew(credentials, &got)); // a late refusal of the old one
    gets(credentials, "B", 2, &other);
    assert_int_equal(calls(), 3);
    assert_true(sds_credentials_renew(credentials, &other));
    sds_credentials_free(credentials);
}

static void what_is_forgotten_is_looked_for_again(void **state) {
    (void)state;
    struct sds_credential got;
    struct sds_err err;
    answers(SDS_OK, "A", 0);
    struct sds_credentials *credentials = begin();
    sds_credentials_forget(credentials); // before there is one
    gets(credentials, "A", 1, &got);
    assert_int_equal(calls(), 1);
    answers(SDS_OK, "B", 0);
    gets(credentials, "A", 1, &got); // nobody has said anything
    sds_credentials_forget(credentials);
    assert_int_equal(calls(), 1); // not before somebody wants it
    gets(credentials, "B", 2, &got);
    assert_int_equal(calls(), 2);
    // A failure does not stand when somebody has changed what there is.
    answers(SDS_ERR_DENIED, "", 0);
    sds_credentials_forget(credentials);
    assert_int_equal(sds_credentials_get(credentials, &got, &err), SDS_ERR_DENIED);
    answers(SDS_OK, "C", 0);
    sds_credentials_forget(credentials);
    gets(credentials, "C", 3, &got);
    sds_credentials_free(credentials);
}

static void a_refused_value_is_not_given_out_when_the_search_fails(void **state) {
    (void)state;
    struct sds_credential got;
    struct sds_err err;
    answers(SDS_OK, "A", 0);
    struct sds_credentials *credentials = begin();
    gets(credentials, "A", 1, &got);
    answers(SDS_ERR_DENIED, "", 0);
    assert_true(sds_credentials_renew(credentials, &got));
    assert_int_equal(sds_credentials_get(credentials, &got, &err), SDS_ERR_DENIED);
    monotonic += 5000;
    assert_int_equal(sds_credentials_get(credentials, &got, &err), SDS_ERR_DENIED);
    sds_credentials_free(credentials);
}

static void whoever_waits_at_the_end_is_told(void **state) {
    (void)state;
    struct told told = TOLD_INIT;
    struct sds_credential got;
    struct sds_err err;
    answers(SDS_OK, "A", 0);
    struct sds_credentials *credentials = begin();
    gate(true);
    assert_int_equal(sds_credentials_take(credentials, &got, tell, &told, NULL), SDS_ERR_WAITING);
    wait_until_arrived(1);
    sds_credentials_abandon(credentials);
    assert_int_equal(told.times, 1);
    assert_int_equal(sds_credentials_take(credentials, &got, tell, &told, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "closed");
    assert_int_equal(sds_credentials_get(credentials, &got, &err), SDS_ERR_STORAGE);
    assert_false(sds_credentials_renew(credentials, &got));
    sds_credentials_free(credentials);
    assert_int_equal(told.times, 1);
}

static void anonymous_needs_no_search(void **state) {
    (void)state;
    struct sds_remote_options options = {.no_sign_request = true};
    struct sds_credentials *credentials = NULL;
    struct sds_credential got;
    assert_int_equal(sds_credentials_new_s3(&options, NULL, &credentials, NULL), SDS_OK);
    assert_int_equal(sds_credentials_take(credentials, &got, NULL, NULL, NULL), SDS_OK);
    assert_true(got.anonymous);
    assert_false(sds_credentials_renew(credentials, &got));
    sds_credentials_free(credentials);
    sds_credentials_free(NULL);
}

static void *ask_often(void *arg) {
    struct sds_credential got = {0};
    for (int i = 0; i < 300; i++) {
        if (sds_credentials_get(arg, &got, NULL) == SDS_OK && i % 16 == 0) {
            (void)sds_credentials_renew(arg, &got);
            monotonic += 10000;
            wall += 100;
        }
    }
    return NULL;
}

static void many_threads_may_ask(void **state) {
    (void)state;
    pthread_t threads[4];
    answers(SDS_OK, "A", 3600);
    struct sds_credentials *credentials = begin();
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, credentials), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_true(calls() > 1);
    sds_credentials_free(credentials);
}

int main(void) {
    sds_log_setup(&(struct sds_log_options){.level = SDS_LOG_ERROR});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_found_once_and_copied_out),
        cmocka_unit_test(who_must_not_block_is_told_once),
        cmocka_unit_test(a_task_is_not_blocked),
        cmocka_unit_test(what_ages_is_used_while_the_next_is_found),
        cmocka_unit_test(what_is_nearly_over_is_waited_for),
        cmocka_unit_test(a_source_that_fails_ahead_of_the_end_is_left_alone_for_a_while),
        cmocka_unit_test(the_last_minute_is_better_than_nothing),
        cmocka_unit_test(a_failure_stands_for_a_second),
        cmocka_unit_test(a_refused_value_is_looked_for_again_once),
        cmocka_unit_test(what_is_forgotten_is_looked_for_again),
        cmocka_unit_test(a_refused_value_is_not_given_out_when_the_search_fails),
        cmocka_unit_test(whoever_waits_at_the_end_is_told),
        cmocka_unit_test(anonymous_needs_no_search),
        cmocka_unit_test(many_threads_may_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
