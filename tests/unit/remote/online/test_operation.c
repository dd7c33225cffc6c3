// SPDX-License-Identifier: Apache-2.0
//
// An operation against a provider whose verdicts are told by the test.
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/wait.h"
#include "remote/online/operation.h"
#include "remote/scripted_server.h"

static struct scripted_server *server;
static struct sds_operations operations;
static struct sds_remote_stats stats;
static const struct sds_verdict *verdicts;
static size_t verdict_count, judged;
static enum sds_kind prepares; // how
static bool doubted[8];        // by the verdict before

static enum sds_kind prepare(struct sds_provider *provider, const struct sds_operation *operation,
                             const struct sds_credential *credential, int64_t now,
                             struct sds_http_request *out, struct sds_err *err) {
    (void)provider, (void)now;
    assert_true(credential->anonymous);
    if (prepares != SDS_OK) {
        return sds_fail(err, prepares, "key", "as told");
    }
    out->method = "GET";
    return sds_http_request_url(out, "http://127.0.0.1:%u/%s", server->port, operation->key);
}

static struct sds_verdict judge(struct sds_provider *provider,
                                const struct sds_operation *operation,
                                const struct sds_http_answer *answer, int64_t now,
                                struct sds_err *err) {
    (void)provider, (void)now;
    doubted[judged % 8] = *operation->doubt;
    *operation->doubt = true;
    struct sds_verdict verdict = verdicts[judged < verdict_count ? judged : verdict_count - 1];
    judged++;
    if (answer->failure != SDS_HTTP_ANSWERED) {
        sds_http_failed(answer, err);
    } else if (verdict.what != SDS_DONE) {
        sds_fail(err, SDS_ERR_STORAGE, "answer", "the answer was no good");
    }
    return verdict;
}

static const struct sds_provider_ops ops = {.name = "test", .prepare = prepare, .judge = judge};
static struct sds_provider provider = {.ops = &ops};
static const struct scripted_answer good = {.status = 200, .body = "0123456789", .body_len = 10};
static const struct scripted_answer none = {.fault = SCRIPTED_STALL};

static int begin(void **state) {
    (void)state;
    stats = (struct sds_remote_stats){0};
    operations = (struct sds_operations){
        .provider = &provider, .timeout_ms = 5000, .retries = 3, .stats = &stats};
    server = scripted_play(&good, 1);
    judged = 0;
    prepares = SDS_OK;
    sds_operations_init(&operations);
    return sds_http_new(&(struct sds_http_options){0}, &operations.http, NULL) != SDS_OK;
}

static void play(const struct scripted_answer *script, size_t len) {
    scripted_stop(server);
    server = scripted_play(script, len);
}

static int end(void **state) {
    (void)state;
    sds_operations_fini(&operations);
    sds_http_free(operations.http);
    scripted_stop(server);
    return 0;
}

static struct sds_outcome run(const struct sds_verdict *list, size_t count) {
    static char into[16];
    struct sds_operation what = {.action = SDS_GET, .bucket = "b", .key = "k", .len = 10};
    struct sds_outcome outcome;
    verdicts = list;
    verdict_count = count;
    judged = 0;
    sds_operation_run(&operations, &what, into, &outcome);
    if (outcome.err.kind == SDS_OK) {
        assert_memory_equal(into, "0123456789", 10);
    }
    return outcome;
}

#define RUN(...)                                                                                   \
    run((const struct sds_verdict[]){__VA_ARGS__},                                                 \
        sizeof((const struct sds_verdict[]){__VA_ARGS__}) / sizeof(struct sds_verdict))

static void done_at_once(void **state) {
    (void)state;
    struct sds_outcome outcome = RUN({.what = SDS_DONE, .received = 10, .told = {.size = 77}});
    assert_int_equal(outcome.err.kind, SDS_OK);
    assert_int_equal(outcome.received, 10);
    assert_int_equal(outcome.told.size, 77);
    assert_int_equal(judged, 1);
    assert_int_equal(stats.operations, 1);
    assert_int_equal(stats.retries, 0);
}

static void doubts_last_as_long_as_the_operation(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sds_outcome outcome =
            RUN({.what = SDS_AGAIN_NOW}, {.what = SDS_AGAIN}, {.what = SDS_DONE});
        assert_int_equal(outcome.err.kind, SDS_OK);
        assert_int_equal(judged, 3);
        assert_false(doubted[0]);
        assert_true(doubted[1] && doubted[2]);
    }
}

static void again_until_it_is_good(void **state) {
    (void)state;
    struct sds_outcome outcome =
        RUN({.what = SDS_AGAIN}, {.what = SDS_AGAIN, .written = true}, {.what = SDS_DONE});
    assert_int_equal(outcome.err.kind, SDS_OK);
    assert_false(outcome.written); // it is known now
    assert_int_equal(stats.retries, 2);
}

static void again_until_the_tries_are_used_up(void **state) {
    (void)state;
    struct sds_outcome outcome = RUN({.what = SDS_AGAIN, .written = true}, {.what = SDS_AGAIN});
    assert_int_equal(outcome.err.kind, SDS_ERR_STORAGE);
    assert_string_equal(outcome.err.message, "the answer was no good (after 4 tries)");
    assert_true(outcome.written);
    assert_int_equal(judged, 4);
    assert_int_equal(stats.failures[SDS_ERR_STORAGE], 1);
}

static void a_failure_is_told_at_once(void **state) {
    (void)state;
    struct sds_outcome outcome = RUN({.what = SDS_FAILED});
    assert_string_equal(outcome.err.message, "the answer was no good");
    assert_int_equal(judged, 1);
}

static void no_pause_that_ends_after_the_deadline(void **state) {
    (void)state;
    uint64_t start = sds_clock_ms();
    struct sds_outcome outcome = RUN({.what = SDS_AGAIN, .pause_ms = 60000});
    assert_int_equal(outcome.err.kind, SDS_ERR_STORAGE);
    assert_int_equal(judged, 1);
    assert_true(sds_clock_ms() - start < 4000);
}

static void a_pause_is_as_long_as_was_asked(void **state) {
    (void)state;
    uint64_t start = sds_clock_ms();
    struct sds_outcome outcome = RUN({.what = SDS_AGAIN, .pause_ms = 300}, {.what = SDS_DONE});
    assert_int_equal(outcome.err.kind, SDS_OK);
    assert_true(sds_clock_ms() - start >= 300);
}

static void what_was_learned_is_tried_at_once_but_not_for_ever(void **state) {
    (void)state;
    operations.retries = 0; // which these are not
    assert_int_equal(RUN({.what = SDS_AGAIN_NOW}, {.what = SDS_DONE}).err.kind, SDS_OK);
    assert_int_equal(RUN({.what = SDS_AGAIN_NOW}).err.kind, SDS_ERR_STORAGE);
    assert_int_equal(judged, 5);
}

static void uploads_go_on(void **state) {
    (void)state;
    operations.retries = 1;
    struct sds_outcome outcome = RUN({.what = SDS_NEXT}, {.what = SDS_AGAIN}, {.what = SDS_NEXT},
                                     {.what = SDS_AGAIN}, {.what = SDS_DONE});
    assert_int_equal(outcome.err.kind, SDS_OK);
    assert_int_equal(judged, 5);
}

static void nobody_to_renew(void **state) {
    (void)state;
    assert_int_equal(RUN({.what = SDS_RENEW}).err.kind, SDS_ERR_STORAGE);
    assert_int_equal(judged, 1);
}

static void what_cannot_be_prepared(void **state) {
    (void)state;
    prepares = SDS_ERR_INVALID;
    struct sds_outcome outcome = RUN({.what = SDS_DONE});
    assert_int_equal(outcome.err.kind, SDS_ERR_INVALID);
    assert_int_equal(judged, 0);
}

static void the_deadline_ends_it(void **state) {
    (void)state;
    operations.timeout_ms = 300;
    play(&none, 1);
    uint64_t start = sds_clock_ms();
    struct sds_outcome outcome = RUN({.what = SDS_AGAIN});
    assert_int_equal(outcome.err.kind, SDS_ERR_TIMEOUT);
    assert_true(sds_clock_ms() - start < 3000);
}

static void not_under_a_task(void **state) {
    (void)state;
    struct sds_task task;
    sds_task_init(&task, NULL);
    sds_task_enter(&task);
    assert_int_equal(RUN({.what = SDS_DONE}).err.kind, SDS_ERR_INTERNAL);
    sds_task_leave();
    sds_task_fini(&task);
    assert_int_equal(judged, 0);
}

// --- many at once, abandoned

static atomic_uint told;

static void count(void *ctx, const struct sds_outcome *outcome) {
    (void)ctx;
    assert_int_equal(outcome->err.kind, SDS_ERR_STORAGE);
    assert_string_equal(outcome->err.check, "closed");
    told++;
}

static void everybody_is_told_when_abandoned(void **state) {
    (void)state;
    struct sds_operation what = {.action = SDS_GET, .bucket = "b", .key = "k", .len = 10};
    static const struct sds_verdict again[] = {{.what = SDS_AGAIN, .pause_ms = 2000}};
    static char into[100][16];
    static struct scripted_answer script[51];
    for (size_t i = 0; i < 51; i++) {
        script[i] = i < 50 ? good : none;
    }
    play(script, 51);
    verdicts = again;
    verdict_count = 1;
    told = 0;
    operations.timeout_ms = 60000;
    for (unsigned i = 0; i < 50; i++) { // that pause
        sds_operation_start(&operations, &what, into[i], count, NULL);
    }
    scripted_wait(server, 50);
    for (unsigned i = 50; i < 100; i++) { // that wait for an answer
        sds_operation_start(&operations, &what, into[i], count, NULL);
    }
    uint64_t start = sds_clock_ms();
    sds_operations_fini(&operations);
    assert_int_equal(told, 100);
    assert_true(sds_clock_ms() - start < 1500);
    sds_operations_init(&operations); // for the end of the test
    assert_int_equal(RUN({.what = SDS_DONE}).err.kind, SDS_ERR_STORAGE);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(done_at_once),
        TEST(doubts_last_as_long_as_the_operation),
        TEST(again_until_it_is_good),
        TEST(again_until_the_tries_are_used_up),
        TEST(a_failure_is_told_at_once),
        TEST(no_pause_that_ends_after_the_deadline),
        TEST(a_pause_is_as_long_as_was_asked),
        TEST(what_was_learned_is_tried_at_once_but_not_for_ever),
        TEST(uploads_go_on),
        TEST(nobody_to_renew),
        TEST(what_cannot_be_prepared),
        TEST(the_deadline_ends_it),
        TEST(not_under_a_task),
        TEST(everybody_is_told_when_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
