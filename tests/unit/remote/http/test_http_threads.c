// SPDX-License-Identifier: Apache-2.0
//
// Many requests at once, started by many threads and by those that were told.
#include "http_outcome.h"

#define THREADS 8
#define EACH 25
#define ROUNDS 4

// Says what it was asked for.
static void echo(void *ctx, const struct scripted_request *request,
                 struct scripted_answer *answer) {
    (void)ctx;
    *answer = (struct scripted_answer){
        .status = 200, .body = request->target, .body_len = strlen(request->target)};
}

// A place that is fetched into again and again, each time from where the last answer was told.
struct reader {
    struct sds_http *http;
    unsigned short port;
    unsigned thread, number, round;
    char path[32], place[32];
    bool wrong, cancelled;
    struct sds_http_request request;
    struct sds_http_pause pause;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
};

static void next(void *ctx);

static void finish(struct reader *r) {
    pthread_mutex_lock(&r->lock);
    r->done = true;
    pthread_cond_signal(&r->ended);
    pthread_mutex_unlock(&r->lock);
}

static void told(void *ctx, const struct sds_http_answer *answer) {
    struct reader *r = ctx;
    r->cancelled = answer->failure == SDS_HTTP_CANCELLED;
    r->wrong = r->wrong || answer->failure != SDS_HTTP_ANSWERED ||
               answer->received != strlen(r->path) ||
               memcmp(r->place, r->path, answer->received) != 0;
    r->round++;
    if (r->cancelled || r->round == ROUNDS) {
        finish(r);
    } else if (r->round % 2 == 0) {
        sds_http_after(r->http, &r->pause, 1, next, r);
    } else {
        next(r);
    }
}

static void next(void *ctx) {
    struct reader *r = ctx;
    sds_http_request_fini(&r->request);
    r->request.method = "GET";
    snprintf(r->path, sizeof r->path, "/%u/%u/%u", r->thread, r->number, r->round);
    if (sds_http_request_url(&r->request, "http://127.0.0.1:%u%s", (unsigned)r->port, r->path) !=
        SDS_OK) {
        abort();
    }
    r->request.into = r->place;
    r->request.into_len = sizeof r->place;
    r->request.deadline_ms = sds_clock_ms() + 120000;
    sds_http_start(r->http, &r->request, told, r);
}

struct starter {
    pthread_t thread;
    struct sds_http *http;
    unsigned short port;
    unsigned number;
    struct reader readers[EACH];
};

static void *start_and_wait(void *arg) {
    struct starter *s = arg;
    for (unsigned i = 0; i < EACH; i++) {
        s->readers[i] = (struct reader){.http = s->http,
                                        .port = s->port,
                                        .thread = s->number,
                                        .number = i,
                                        .lock = PTHREAD_MUTEX_INITIALIZER,
                                        .ended = PTHREAD_COND_INITIALIZER};
        next(&s->readers[i]);
    }
    for (unsigned i = 0; i < EACH; i++) {
        struct reader *r = &s->readers[i];
        pthread_mutex_lock(&r->lock);
        while (!r->done) {
            pthread_cond_wait(&r->ended, &r->lock);
        }
        pthread_mutex_unlock(&r->lock);
        sds_http_request_fini(&r->request);
    }
    return NULL;
}

static void start_all(struct starter *starters, struct sds_http *http,
                      struct scripted_server *server) {
    for (unsigned i = 0; i < THREADS; i++) {
        starters[i] = (struct starter){.http = http, .port = server->port, .number = i};
        assert_int_equal(pthread_create(&starters[i].thread, NULL, start_and_wait, &starters[i]),
                         0);
    }
}

static void join_all(struct starter *starters) {
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(starters[i].thread, NULL), 0);
    }
}

static void many(void **state) {
    (void)state;
    static struct starter starters[THREADS];
    struct scripted_server *server = scripted_start(echo, NULL);
    struct sds_http *http =
        new_pool(&(struct sds_http_options){.max_connections = 32, .stall_timeout_ms = 120000});
    struct sds_http_stats stats;
    start_all(starters, http, server);
    join_all(starters);
    for (unsigned i = 0; i < THREADS; i++) {
        for (unsigned k = 0; k < EACH; k++) {
            assert_false(starters[i].readers[k].wrong);
        }
    }
    sds_http_stats(http, &stats);
    assert_int_equal(stats.failures[SDS_HTTP_ANSWERED], THREADS * EACH * ROUNDS);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.active, 0);
    assert_int_equal(scripted_count(server), THREADS * EACH * ROUNDS);
    assert_true(scripted_connections(server) <= 32); // and all of them were kept
    sds_http_free(http);
    scripted_stop(server);
}

// All are told, once, wherever they were.
static void abandoned_in_the_middle(void **state) {
    (void)state;
    static struct starter starters[THREADS];
    struct scripted_server *server = scripted_start(echo, NULL);
    struct sds_http *http =
        new_pool(&(struct sds_http_options){.max_connections = 4, .stall_timeout_ms = 120000});
    start_all(starters, http, server);
    scripted_wait(server, 50);
    sds_http_abandon(http);
    join_all(starters);
    for (unsigned i = 0; i < THREADS; i++) {
        for (unsigned k = 0; k < EACH; k++) {
            const struct reader *r = &starters[i].readers[k];
            assert_true(r->cancelled || (r->round == ROUNDS && !r->wrong));
        }
    }
    sds_http_free(http);
    scripted_stop(server);
}

static void *call(void *arg) {
    struct starter *s = arg;
    for (unsigned i = 0; i < EACH; i++) {
        struct sds_http_request request = {.method = "GET", .max_body = 100};
        struct sds_http_reply reply = {0};
        char path[32];
        snprintf(path, sizeof path, "/%u/%u", s->number, i);
        bool good = sds_http_request_url(&request, "http://127.0.0.1:%u%s", (unsigned)s->port,
                                         path) == SDS_OK &&
                    sds_http_call(s->http, &request, &reply, NULL) == SDS_OK;
        good = good && reply.body->len == strlen(path) &&
               memcmp(reply.body->at, path, strlen(path)) == 0;
        s->readers[i].wrong = !good;
        sds_http_reply_fini(&reply);
        sds_http_request_fini(&request);
    }
    return NULL;
}

static void calls_of_many(void **state) {
    (void)state;
    static struct starter starters[THREADS];
    struct scripted_server *server = scripted_start(echo, NULL);
    struct sds_http *http = new_pool(&(struct sds_http_options){.stall_timeout_ms = 120000});
    for (unsigned i = 0; i < THREADS; i++) {
        starters[i] = (struct starter){.http = http, .port = server->port, .number = i};
        assert_int_equal(pthread_create(&starters[i].thread, NULL, call, &starters[i]), 0);
    }
    join_all(starters);
    for (unsigned i = 0; i < THREADS; i++) {
        for (unsigned k = 0; k < EACH; k++) {
            assert_false(starters[i].readers[k].wrong);
        }
    }
    sds_http_free(http);
    scripted_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many),
        cmocka_unit_test(abandoned_in_the_middle),
        cmocka_unit_test(calls_of_many),
    };
    return cmocka_run_group_tests(tests, clear_environment, NULL);
}
