// SPDX-License-Identifier: Apache-2.0
//
// HTTP with a server that behaves: what is sent, what is told, where bodies go, what is counted.
#include "http_outcome.h"

static const struct sds_http_options defaults = {0};

static void play(const struct scripted_answer *script, size_t len, struct scripted_server **server,
                 struct sds_http **http) {
    *server = scripted_play(script, len);
    *http = new_pool(&defaults);
}

static void stop(struct scripted_server *server, struct sds_http *http) {
    sds_http_free(http);
    scripted_stop(server);
}

static void expect_sent(struct scripted_server *server, unsigned i, const char *name,
                        const char *value) {
    char text[256];
    const char *sent = scripted_header(scripted_seen(server, i), name, text, sizeof text);
    if (value == NULL) {
        assert_null(sent);
    } else {
        assert_non_null(sent);
        assert_string_equal(sent, value);
    }
}

static void gets(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {
        {.status = 200, .headers = "ETag: \"abc\"\r\n", .body = "hello", .body_len = 5}};
    struct scripted_server *server;
    struct sds_http *http;
    struct outcome o;
    play(script, 1, &server, &http);
    prepare(&o, server, "GET", "/a%20b/../c?x=1");
    assert_int_equal(sds_http_request_header(&o.request, "Range", "bytes=%d-%d", 3, 7), SDS_OK);
    assert_int_equal(sds_http_request_header(&o.request, "X-Empty", "%s", ""), SDS_OK);
    run(http, &o);
    expect_answer(&o, 200, "hello");
    assert_string_equal(o.answer.head.etag, "\"abc\"");
    assert_true(o.answer.head.has_length && o.answer.head.length == 5);
    assert_int_equal(o.answer.received, 5);
    assert_null(o.answer.into);
    const struct scripted_request *seen = scripted_seen(server, 0);
    assert_string_equal(seen->method, "GET");
    assert_string_equal(seen->target, "/a%20b/../c?x=1");
    expect_sent(server, 0, "Range", "bytes=3-7");
    expect_sent(server, 0, "X-Empty", "");
    expect_sent(server, 0, "Accept-Encoding", "identity");
    expect_sent(server, 0, "Content-Length", NULL);
    expect_sent(server, 0, "Expect", NULL);
    char agent[64];
    assert_non_null(scripted_header(seen, "User-Agent", agent, sizeof agent));
    assert_memory_equal(agent, "sdsfs/", 6);
    outcome_fini(&o);
    stop(server, http);
}

static void body_goes_into_place(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {
        {.status = 206, .body = "hello", .body_len = 5},
        {.status = 404, .body = "nothing there", .body_len = 13}};
    struct scripted_server *server;
    struct sds_http *http;
    struct outcome o;
    char place[9] = "........";
    play(script, 2, &server, &http);
    prepare(&o, server, "GET", "/x");
    o.request.into = place;
    o.request.into_len = 6;
    run(http, &o);
    expect_answer(&o, 206, "");
    assert_int_equal(o.answer.received, 5);
    assert_ptr_equal(o.answer.into, place);
    assert_string_equal(place, "hello...");
    outcome_fini(&o);
    prepare(&o, server, "GET", "/x"); // what a refusal says goes to the answer
    o.request.into = place;
    o.request.into_len = 6;
    run(http, &o);
    expect_answer(&o, 404, "nothing there");
    assert_null(o.answer.into);
    assert_string_equal(place, "hello...");
    outcome_fini(&o);
    stop(server, http);
}

static void head_has_a_length_and_no_body(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {
        {.status = 200, .lie = true, .claimed = 1ULL << 40},
        {.status = 200, .body = "next", .body_len = 4}};
    struct scripted_server *server;
    struct sds_http *http;
    struct outcome o;
    play(script, 2, &server, &http);
    prepare(&o, server, "HEAD", "/x");
    run(http, &o);
    expect_answer(&o, 200, "");
    assert_true(o.answer.head.has_length && o.answer.head.length == 1ULL << 40);
    outcome_fini(&o);
    prepare(&o, server, "GET", "/x");
    run(http, &o);
    expect_answer(&o, 200, "next");
    assert_int_equal(scripted_connections(server), 1); // it was kept
    outcome_fini(&o);
    stop(server, http);
}

static void statuses_are_answers(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {
        {.raw = "HTTP/1.1 100 Continue\r\nETag: \"no\"\r\n\r\n"
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
         .body = "ok",
         .body_len = 2},
        {.status = 301, .headers = "Location: http://127.0.0.1:1/\r\n"},
        {.status = 204, .no_length = true, .headers = "ETag: \"x\"\r\n"},
        {.status = 200,
         .headers = "Transfer-Encoding: chunked\r\n",
         .no_length = true,
         .body = "3\r\nabc\r\n2\r\nde\r\n0\r\nETag: \"trailer\"\r\n\r\n",
         .body_len = 37},
        {.status = 200, .headers = "Content-Encoding: gzip\r\n", .body = "zip", .body_len = 3},
        {.status = 503, .headers = "Retry-After: 2\r\n"},
    };
    static const struct {
        int status;
        const char *body;
    } expected[] = {{200, "ok"}, {301, ""}, {204, ""}, {200, "abcde"}, {200, "zip"}, {503, ""}};
    struct scripted_server *server;
    struct sds_http *http;
    play(script, 6, &server, &http);
    for (unsigned i = 0; i < 6; i++) {
        struct outcome o;
        prepare(&o, server, "GET", "/x");
        run(http, &o);
        expect_answer(&o, expected[i].status, expected[i].body);
        assert_string_equal(o.answer.head.etag, i == 2 ? "\"x\"" : "");
        assert_string_equal(o.answer.head.location, i == 1 ? "http://127.0.0.1:1/" : "");
        assert_int_equal(o.answer.head.encoded, i == 4);
        assert_int_equal(o.answer.head.retry_after_ms, i == 5 ? 2000 : 0);
        outcome_fini(&o);
    }
    assert_int_equal(scripted_count(server), 6); // no redirect was followed
    assert_int_equal(scripted_connections(server), 1);
    stop(server, http);
}

// --- sending

static enum sds_kind letters(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < len; i++) {
        ((char *)buf)[i] = (char)('a' + (off + i) % 26);
    }
    return SDS_OK;
}

static void expect_letters(const uint8_t *at, uint64_t len) {
    for (uint64_t i = 0; i < len; i++) {
        if (at[i] != 'a' + i % 26) {
            fail_msg("byte %llu is wrong", (unsigned long long)i);
        }
    }
}

static void puts_content_between(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {{.status = 200}};
    const struct sds_content content = {.read_at = letters, .size = 3000000};
    struct scripted_server *server;
    struct sds_http *http;
    struct outcome o;
    play(script, 1, &server, &http);
    prepare(&o, server, "PUT", "/x");
    o.request.body = &content;
    o.request.prefix = sds_span_str("before|");
    o.request.suffix = sds_span_str("|after");
    run(http, &o);
    expect_answer(&o, 200, "");
    const struct scripted_request *seen = scripted_seen(server, 0);
    assert_string_equal(seen->method, "PUT");
    assert_int_equal(seen->body_len, 3000013);
    assert_memory_equal(seen->body, "before|", 7);
    expect_letters(seen->body + 7, 3000000);
    assert_memory_equal(seen->body + 3000007, "|after", 6);
    expect_sent(server, 0, "Content-Length", "3000013");
    expect_sent(server, 0, "Transfer-Encoding", NULL);
    expect_sent(server, 0, "Expect", NULL);
    expect_sent(server, 0, "Content-Type", NULL);
    struct sds_http_stats stats;
    sds_http_stats(http, &stats);
    assert_int_equal(stats.sent, 3000013);
    outcome_fini(&o);
    stop(server, http);
}

static void nothing_is_sent_with_its_length(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {{.status = 200}};
    static const char *const methods[] = {"PUT", "POST", "DELETE"};
    static const char *const lengths[] = {"0", "0", NULL};
    struct scripted_server *server;
    struct sds_http *http;
    play(script, 1, &server, &http);
    for (unsigned i = 0; i < 3; i++) {
        struct outcome o;
        prepare(&o, server, methods[i], "/x");
        run(http, &o);
        expect_answer(&o, 200, "");
        assert_string_equal(scripted_seen(server, i)->method, methods[i]);
        expect_sent(server, i, "Content-Length", lengths[i]);
        outcome_fini(&o);
    }
    stop(server, http);
}

// The kept connection turns out to be closed when the content is on its way already: it is sent
// again, from its beginning.
static void kept_connection_gone(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {
        {.status = 200}, {.fault = SCRIPTED_CLOSE}, {.status = 201}};
    const struct sds_content content = {.read_at = letters, .size = 100000};
    struct scripted_server *server;
    struct sds_http *http;
    struct outcome o;
    play(script, 3, &server, &http);
    prepare(&o, server, "GET", "/warm");
    run(http, &o);
    outcome_fini(&o);
    prepare(&o, server, "PUT", "/x");
    o.request.body = &content;
    run(http, &o);
    expect_answer(&o, 201, "");
    assert_int_equal(scripted_count(server), 3);
    for (unsigned i = 1; i < 3; i++) {
        const struct scripted_request *seen = scripted_seen(server, i);
        assert_int_equal(seen->connection, i - 1);
        assert_int_equal(seen->body_len, 100000);
        expect_letters(seen->body, 100000);
    }
    outcome_fini(&o);
    stop(server, http);
}

static enum sds_kind unreadable(void *ctx, uint64_t off, void *buf, size_t len,
                                struct sds_err *err) {
    (void)ctx;
    if (off > 0) {
        return sds_fail(err, SDS_ERR_CORRUPT, "draft", "it was changed");
    }
    memset(buf, 'x', len);
    return SDS_OK;
}

static void content_unreadable(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {{.status = 200}};
    const struct sds_content content = {.read_at = unreadable, .size = 10000000};
    struct scripted_server *server;
    struct sds_http *http;
    struct outcome o;
    struct sds_err err;
    play(script, 1, &server, &http);
    prepare(&o, server, "PUT", "/x");
    o.request.body = &content;
    run(http, &o);
    expect_failure(&o, SDS_HTTP_BODY);
    o.answer.content_err = &o.content_err;
    assert_int_equal(sds_http_failed(&o.answer, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "draft");
    assert_int_equal(scripted_count(server), 0); // never a whole request
    outcome_fini(&o);
    stop(server, http);
}

// --- requests that are wrong

static void headers_are_checked(void **state) {
    (void)state;
    struct sds_http_request request = {.method = "GET"};
    assert_int_equal(sds_http_request_header(&request, "A", "x\r\nB: y"), SDS_ERR_INVALID);
    assert_int_equal(sds_http_request_header(&request, "A", "x\ny"), SDS_ERR_INVALID);
    assert_int_equal(sds_http_request_header(&request, "A", "x\x7f"), SDS_ERR_INVALID);
    assert_int_equal(sds_http_request_header(&request, "A:", "x"), SDS_ERR_INVALID);
    assert_int_equal(sds_http_request_header(&request, "A b", "x"), SDS_ERR_INVALID);
    assert_int_equal(sds_http_request_header(&request, "", "x"), SDS_ERR_INVALID);
    assert_int_equal(request.header_count, 0);
    for (int i = 0; i < 20; i++) {
        char name[8];
        snprintf(name, sizeof name, "N-%d", i);
        assert_int_equal(sds_http_request_header(&request, name, "%d\tx", i), SDS_OK);
    }
    assert_int_equal(request.header_count, 20);
    assert_string_equal(sds_http_request_find(&request, "n-19"), "19\tx");
    assert_null(sds_http_request_find(&request, "n-2x"));
    assert_int_equal(sds_http_request_url(&request, "http://a/%s", "b"), SDS_OK);
    assert_int_equal(sds_http_request_url(&request, "http://a/ b"), SDS_ERR_INVALID);
    assert_int_equal(sds_http_request_url(&request, "http://a/\r\n"), SDS_ERR_INVALID);
    assert_int_equal(sds_http_request_url(&request, "http://a/\xc3\xa4"), SDS_ERR_INVALID);
    assert_string_equal(request.url, "http://a/b");
    sds_http_request_fini(&request);
    assert_null(request.url);
}

static void only_http(void **state) {
    (void)state;
    static const char *const urls[] = {"file:///etc/passwd", "ftp://127.0.0.1/x", "http://[::1",
                                       "http://user:hidden@127.0.0.1:99999/"};
    struct sds_http *http = new_pool(&defaults);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct outcome o;
        struct sds_err err;
        outcome_init(&o);
        o.request.method = "GET";
        o.request.max_body = 1000;
        assert_int_equal(sds_http_request_url(&o.request, "%s", urls[i]), SDS_OK);
        run(http, &o);
        expect_failure(&o, SDS_HTTP_UNSENDABLE);
        assert_int_equal(sds_http_failed(&o.answer, &err), SDS_ERR_INVALID);
        assert_null(strstr(err.message, "hidden"));
        outcome_fini(&o);
    }
    sds_http_free(http);
}

static void options_are_checked(void **state) {
    (void)state;
    struct sds_http *http;
    struct sds_err err;
    const struct sds_http_options no_bundle = {.ca_bundle = "/nonexistent/ca.pem"};
    const struct sds_http_options no_cert = {.client_cert = "/nonexistent/cert.pem"};
    const struct sds_http_options no_key = {.client_key = "/nonexistent/key.pem"};
    assert_int_equal(sds_http_new(&no_bundle, &http, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "ca_bundle");
    assert_non_null(strstr(err.message, "/nonexistent/ca.pem"));
    assert_int_equal(sds_http_new(&no_cert, &http, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "client_cert");
    assert_int_equal(sds_http_new(&no_key, &http, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "client_key");
    setenv("CURL_CA_BUNDLE", "/nonexistent/env.pem", 1);
    assert_int_equal(sds_http_new(&defaults, &http, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "ca_bundle");
    assert_non_null(strstr(err.message, "CURL_CA_BUNDLE"));
    unsetenv("CURL_CA_BUNDLE");
}

// --- proxies

static void run_for(const char *url, bool direct, struct outcome *o) {
    struct sds_http *http = new_pool(&defaults);
    outcome_init(o);
    o->request.method = "GET";
    o->request.max_body = 1000;
    o->request.direct = direct;
    assert_int_equal(sds_http_request_url(&o->request, "%s", url), SDS_OK);
    assert_int_equal(sds_http_request_header(&o->request, "Authorization", "secret"), SDS_OK);
    run(http, o);
    sds_http_free(http);
}

static void proxy_of_the_environment(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {
        {.status = 200, .body = "proxied", .body_len = 7}};
    struct scripted_server *server = scripted_play(script, 1);
    struct outcome o;
    char proxy[64], url[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%u", (unsigned)server->port);
    setenv("http_proxy", proxy, 1);
    run_for("http://bucket.invalid/key?a=b", false, &o);
    expect_answer(&o, 200, "proxied");
    assert_string_equal(scripted_seen(server, 0)->target, "http://bucket.invalid/key?a=b");
    outcome_fini(&o);
    run_for("http://bucket.invalid/key", true, &o); // this one goes past it
    expect_failure(&o, SDS_HTTP_RESOLVE);
    outcome_fini(&o);
    setenv("no_proxy", "127.0.0.0/8,.invalid", 1);
    run_for("http://bucket.invalid/key", false, &o);
    expect_failure(&o, SDS_HTTP_RESOLVE);
    outcome_fini(&o);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/direct", (unsigned)server->port);
    run_for(url, false, &o);
    expect_answer(&o, 200, "proxied");
    assert_string_equal(scripted_seen(server, 1)->target, "/direct");
    outcome_fini(&o);
    clear_environment(NULL);
    scripted_stop(server);
}

static void proxy_secrets_stay_secret(void **state) {
    (void)state;
    static const char *const proxies[] = {"ldap://user:hidden@127.0.0.1:1/",
                                          "http://user:hidden@127.0.0.1:x/",
                                          "http://user:hidden@127.0.0.1:1/"};
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++) {
        struct outcome o;
        setenv("http_proxy", proxies[i], 1);
        run_for("http://bucket.invalid/key", false, &o);
        assert_true(o.answer.failure == SDS_HTTP_CONNECT || o.answer.failure == SDS_HTTP_RESOLVE);
        assert_null(strstr(o.answer.reason, "hidden"));
        outcome_fini(&o);
    }
    clear_environment(NULL);
}

// Whose answer it was is told: a tunnel that was refused is no word of the server.
static void a_proxy_that_refuses_is_told(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {{.status = 407}};
    struct scripted_server *server = scripted_play(script, 1);
    struct outcome o;
    char proxy[96];
    snprintf(proxy, sizeof proxy, "http://user:hidden@127.0.0.1:%u", (unsigned)server->port);
    setenv("https_proxy", proxy, 1);
    run_for("https://bucket.invalid/key", false, &o);
    expect_failure(&o, SDS_HTTP_CONNECT);
    assert_string_equal(o.answer.reason,
                        "the proxy refuses it: CONNECT tunnel failed, response 407");
    assert_string_equal(scripted_seen(server, 0)->method, "CONNECT");
    assert_string_equal(scripted_seen(server, 0)->target, "bucket.invalid:443");
    outcome_fini(&o);
    clear_environment(NULL);
    scripted_stop(server);
}

// --- counters, pauses, calls

static void counts(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {{.status = 200, .body = "12345", .body_len = 5},
                                                    {.status = 404},
                                                    {.status = 503},
                                                    {.fault = SCRIPTED_CLOSE}};
    struct scripted_server *server;
    struct sds_http *http;
    struct sds_http_stats stats;
    uint64_t latencies = 0;
    play(script, 4, &server, &http);
    for (int i = 0; i < 4; i++) {
        struct outcome o;
        prepare(&o, server, "GET", "/x");
        run(http, &o);
        outcome_fini(&o);
    }
    sds_http_stats(http, &stats);
    assert_int_equal(stats.requests, 4);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.active, 0);
    assert_int_equal(stats.statuses[2], 1);
    assert_int_equal(stats.statuses[4], 1);
    assert_int_equal(stats.statuses[5], 1);
    assert_int_equal(stats.failures[SDS_HTTP_ANSWERED], 3);
    assert_int_equal(stats.failures[SDS_HTTP_BROKEN], 1);
    assert_int_equal(stats.received, 5);
    assert_int_equal(stats.connections, scripted_connections(server));
    for (int i = 0; i < SDS_HTTP_LATENCY_BUCKETS; i++) {
        latencies += stats.latency[i];
    }
    assert_int_equal(latencies, 3);
    stop(server, http);
}

struct order {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char told[8];
    unsigned count;
};

struct mark {
    struct sds_http_pause pause;
    struct order *order;
    char name;
};

static void note(void *ctx) {
    struct mark *mark = ctx;
    pthread_mutex_lock(&mark->order->lock);
    mark->order->told[mark->order->count++] = mark->name;
    pthread_cond_broadcast(&mark->order->changed);
    pthread_mutex_unlock(&mark->order->lock);
}

static void wait_for(struct order *order, unsigned count) {
    pthread_mutex_lock(&order->lock);
    while (order->count < count) {
        pthread_cond_wait(&order->changed, &order->lock);
    }
    pthread_mutex_unlock(&order->lock);
}

static void pauses(void **state) {
    (void)state;
    struct order order = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct mark marks[4];
    static const unsigned ms[] = {120, 40, 3600000, 0};
    struct sds_http *http = new_pool(&defaults);
    uint64_t began = sds_clock_ms();
    for (int i = 0; i < 4; i++) {
        marks[i] = (struct mark){.order = &order, .name = (char)('a' + i)};
        sds_http_after(http, &marks[i].pause, ms[i], note, &marks[i]);
    }
    wait_for(&order, 3);
    assert_true(sds_clock_ms() - began >= 120);
    assert_string_equal(order.told, "dba");
    sds_http_abandon(http);
    wait_for(&order, 4);
    assert_string_equal(order.told, "dbac");
    assert_true(sds_clock_ms() - began < 60000);
    sds_http_free(http);
}

static void calls(void **state) {
    (void)state;
    static const struct scripted_answer script[] = {
        {.status = 403,
         .headers = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
         .body = "no",
         .body_len = 2},
        {.fault = SCRIPTED_RESET}};
    struct scripted_server *server;
    struct sds_http *http;
    struct outcome o;
    struct sds_http_reply reply;
    struct sds_err err;
    play(script, 2, &server, &http);
    prepare(&o, server, "POST", "/token");
    assert_int_equal(sds_http_call(http, &o.request, &reply, &err), SDS_OK);
    assert_int_equal(reply.status, 403);
    assert_int_equal(reply.head.date, 784111777);
    assert_int_equal(reply.body->len, 2);
    assert_memory_equal(reply.body->at, "no", 2);
    sds_http_reply_fini(&reply);
    assert_int_equal(sds_http_call(http, &o.request, &reply, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "broken");
    sds_http_abandon(http);
    assert_int_equal(sds_http_call(http, &o.request, &reply, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "closed");
    outcome_fini(&o);
    stop(server, http);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gets),
        cmocka_unit_test(body_goes_into_place),
        cmocka_unit_test(head_has_a_length_and_no_body),
        cmocka_unit_test(statuses_are_answers),
        cmocka_unit_test(puts_content_between),
        cmocka_unit_test(nothing_is_sent_with_its_length),
        cmocka_unit_test(kept_connection_gone),
        cmocka_unit_test(content_unreadable),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(only_http),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(proxy_of_the_environment),
        cmocka_unit_test(proxy_secrets_stay_secret),
        cmocka_unit_test(a_proxy_that_refuses_is_told),
        cmocka_unit_test(counts),
        cmocka_unit_test(pauses),
        cmocka_unit_test(calls),
    };
    return cmocka_run_group_tests(tests, clear_environment, NULL);
}
