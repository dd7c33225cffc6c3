// SPDX-License-Identifier: Apache-2.0
//
// HTTP with a server that does not behave. Time limits are short, and what is asserted of time is
// that it was waited for as long as promised, and not for as long as the server would have liked.
#include "http_outcome.h"

#define STALL_MS 300
#define AGES_MS 20000 // no fault here may take that long, on however slow a machine

static const struct sds_http_options impatient = {.stall_timeout_ms = STALL_MS};

// One GET of /x to a server that plays one answer; the outcome is the caller's to free.
static void get_once(const struct scripted_answer *answer, uint32_t deadline_ms,
                     struct outcome *o) {
    struct scripted_server *server = scripted_play(answer, 1);
    struct sds_http *http = new_pool(&impatient);
    prepare(o, server, "GET", "/x");
    o->request.deadline_ms = deadline_ms != 0 ? sds_clock_ms() + deadline_ms : 0;
    run(http, o);
    assert_true(o->answer.took_ms < AGES_MS);
    sds_http_free(http);
    scripted_stop(server);
}

static void expect_kind(struct outcome *o, enum sds_kind kind, const char *check) {
    struct sds_err err;
    assert_int_equal(sds_http_failed(&o->answer, &err), kind);
    assert_string_equal(err.check, check);
}

static void stalls(void **state) {
    (void)state;
    static const struct scripted_answer answers[] = {
        {.fault = SCRIPTED_STALL},
        {.status = 200, .fault = SCRIPTED_STALL, .in_head = true},
        {.status = 200,
         .body = "0123456789",
         .body_len = 10,
         .fault = SCRIPTED_STALL,
         .in_body = true,
         .after = 4},
    };
    for (int i = 0; i < 3; i++) {
        struct outcome o;
        get_once(&answers[i], 0, &o);
        expect_failure(&o, SDS_HTTP_STALLED);
        expect_kind(&o, SDS_ERR_TIMEOUT, "stalled");
        assert_true(o.answer.took_ms >= STALL_MS);
        assert_int_equal(o.answer.status, i == 0 ? 0 : 200);
        assert_int_equal(o.answer.received, i == 2 ? 4 : 0);
        outcome_fini(&o);
    }
}

static void breaks_off(void **state) {
    (void)state;
    static const enum scripted_fault faults[] = {SCRIPTED_CLOSE, SCRIPTED_RESET};
    for (int i = 0; i < 6; i++) {
        struct scripted_answer answer = {.status = 200,
                                         .body = "0123456789",
                                         .body_len = 10,
                                         .fault = faults[i % 2],
                                         .in_head = i / 2 == 1,
                                         .in_body = i / 2 == 2,
                                         .after = 9};
        struct outcome o;
        get_once(&answer, 0, &o);
        // An answer that was not begun: a fresh connection is not tried twice.
        expect_failure(&o, SDS_HTTP_BROKEN);
        expect_kind(&o, SDS_ERR_STORAGE, "broken");
        outcome_fini(&o);
    }
}

static void shorter_than_it_says(void **state) {
    (void)state;
    static const struct scripted_answer answers[] = {
        {.status = 200,
         .body = "abc",
         .body_len = 3,
         .lie = true,
         .claimed = 4,
         .close_after = true},
        {.status = 404,
         .body = "abc",
         .body_len = 3,
         .lie = true,
         .claimed = 4,
         .close_after = true},
        {.status = 200, // chunks that end too early
         .headers = "Transfer-Encoding: chunked\r\n",
         .no_length = true,
         .body = "5\r\nabc",
         .body_len = 6,
         .close_after = true},
        {.status = 200, // the length is another one than that of the chunks
         .headers = "Transfer-Encoding: chunked\r\n",
         .lie = true,
         .claimed = 7,
         .body = "3\r\nabc\r\n0\r\n\r\n",
         .body_len = 13},
        {.status = 200, .headers = "Content-Length: 4\r\n", .body = "abc", .body_len = 3},
        {.status = 200, .headers = "Content-Length: x\r\n", .body = "abc", .body_len = 3},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct outcome o;
        get_once(&answers[i], 0, &o);
        expect_failure(&o, SDS_HTTP_BROKEN);
        outcome_fini(&o);
    }
}

// Each byte comes in time, all of them do not.
static void drips(void **state) {
    (void)state;
    static const struct scripted_answer answer = {.status = 200,
                                                  .body = "drop",
                                                  .body_len = 4,
                                                  .endless_body = true,
                                                  .lie = true,
                                                  .claimed = 60000,
                                                  .drip = 1,
                                                  .drip_ms = 20};
    struct outcome o;
    get_once(&answer, 2 * STALL_MS, &o);
    expect_failure(&o, SDS_HTTP_TIMEOUT);
    expect_kind(&o, SDS_ERR_TIMEOUT, "timeout");
    assert_true(o.answer.took_ms >= 2 * STALL_MS - 1);
    assert_true(o.answer.received > 0);
    outcome_fini(&o);
}

// Slow, but not silent for longer than is allowed.
static void slow_is_no_stall(void **state) {
    (void)state;
    static const struct scripted_answer answer = {
        .status = 200, .body = "0123456789", .body_len = 10, .drip = 1, .drip_ms = STALL_MS / 5};
    struct outcome o;
    get_once(&answer, 0, &o);
    if (o.answer.failure != SDS_HTTP_STALLED) { // a machine that slept for so long is no fault
        expect_answer(&o, 200, "0123456789");
        assert_true(o.answer.took_ms >= STALL_MS);
    }
    outcome_fini(&o);
}

static void garbage(void **state) {
    (void)state;
    static const char *const raws[] = {"SSH-2.0-OpenSSH_9.2\r\n",
                                       "HTTP/0.9\r\n\r\n",
                                       "\r\n\r\n",
                                       "HTTP/1.1 abc\r\n\r\n",
                                       "HTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
                                       "HTTP/7.3 200 OK\r\n\r\n"};
    for (size_t i = 0; i < sizeof raws / sizeof *raws; i++) {
        struct scripted_answer answer = {.raw = raws[i], .close_after = true};
        struct outcome o;
        get_once(&answer, 0, &o);
        expect_failure(&o, SDS_HTTP_BROKEN);
        for (const char *c = o.answer.reason; *c != '\0'; c++) {
            assert_true(*c >= ' ' && *c <= '~');
        }
        outcome_fini(&o);
    }
}

static void endless_head(void **state) {
    (void)state;
    static const struct scripted_answer answer = {.status = 200, .endless_head = true};
    struct outcome o;
    get_once(&answer, 0, &o);
    expect_failure(&o, SDS_HTTP_BROKEN);
    assert_int_equal(o.answer.received, 0);
    outcome_fini(&o);
}

// Above 100 KiB, which libcurl takes for a lack of memory; ours it is not.
static void endless_line(void **state) {
    (void)state;
    static char head[130 << 10] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: ";
    size_t start = strlen(head);
    memset(head + start, 'x', sizeof head - 1 - start);
    struct scripted_answer answer = {.raw = head, .close_after = true};
    struct outcome o;
    get_once(&answer, 0, &o);
    expect_failure(&o, SDS_HTTP_BROKEN);
    assert_string_equal(o.answer.reason, "a line of the answer is too long");
    outcome_fini(&o);
}

// --- bodies that are too long

static void get_into(const struct scripted_answer *answer, char *place, size_t len,
                     struct outcome *o) {
    struct scripted_server *server = scripted_play(answer, 1);
    struct sds_http *http = new_pool(&impatient);
    prepare(o, server, "GET", "/x");
    o->request.into = place;
    o->request.into_len = len;
    run(http, o);
    sds_http_free(http);
    scripted_stop(server);
}

static void too_long(void **state) {
    (void)state;
    static char endless[100000];
    static const struct scripted_answer answers[] = {
        {.status = 206, .body = "hello world", .body_len = 11},
        {.status = 206,
         .body = "hello world",
         .body_len = 11,
         .no_length = true,
         .headers = "X: y\r\n"},
        {.status = 200,
         .body = endless,
         .body_len = sizeof endless,
         .endless_body = true,
         .no_length = true,
         .headers = "X: y\r\n"},
        {.status = 200,
         .body = endless,
         .body_len = sizeof endless,
         .endless_body = true,
         .lie = true,
         .claimed = 1ULL << 50,
         .headers = "ETag: \"v\"\r\n"},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char place[16] = "...............";
        struct outcome o;
        get_into(&answers[i], place, 10, &o);
        expect_failure(&o, SDS_HTTP_TOO_LONG);
        expect_kind(&o, SDS_ERR_STORAGE, "too_long");
        assert_int_equal(o.answer.status, answers[i].status); // what came is told all the same
        assert_string_equal(o.answer.head.etag, i == 3 ? "\"v\"" : "");
        assert_true(o.answer.received <= 10);
        assert_memory_equal(place + 10, ".....", 6);
        outcome_fini(&o);
    }
}

static void collected_too_long(void **state) {
    (void)state;
    static const struct scripted_answer answer = {.status = 200,
                                                  .body = "0123456789",
                                                  .body_len = 10,
                                                  .no_length = true,
                                                  .close_after = true};
    for (size_t max = 9; max <= 10; max++) {
        struct scripted_server *server = scripted_play(&answer, 1);
        struct sds_http *http = new_pool(&impatient);
        struct outcome o;
        prepare(&o, server, "GET", "/x");
        o.request.max_body = max;
        run(http, &o);
        expect_failure(&o, max == 9 ? SDS_HTTP_TOO_LONG : SDS_HTTP_ANSWERED);
        outcome_fini(&o);
        sds_http_free(http);
        scripted_stop(server);
    }
}

// The status counts, and the beginning of what is said to it.
static void endless_refusal(void **state) {
    (void)state;
    static char text[100000];
    memset(text, 'n', sizeof text);
    static const struct scripted_answer answer = {.status = 503,
                                                  .body = text,
                                                  .body_len = sizeof text,
                                                  .endless_body = true,
                                                  .lie = true,
                                                  .claimed = 1ULL << 40};
    struct outcome o;
    get_once(&answer, 0, &o);
    expect_failure(&o, SDS_HTTP_ANSWERED);
    assert_int_equal(o.answer.status, 503);
    assert_true(o.answer.body_cut);
    assert_int_equal(o.answer.body.len, SDS_HTTP_ERROR_BODY_MAX);
    outcome_fini(&o);
}

// --- no connection

// A port of loopback that nobody listens at (bound, so that nobody else comes to).
static int closed_port(unsigned short *port) {
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    *port = ntohs(addr.sin_port);
    return fd;
}

static void get_url(const struct sds_http_options *options, const char *url, struct outcome *o) {
    struct sds_http *http = new_pool(options);
    outcome_init(o);
    o->request.method = "GET";
    assert_int_equal(sds_http_request_url(&o->request, "%s", url), SDS_OK);
    run(http, o);
    sds_http_free(http);
}

static void nobody_there(void **state) {
    (void)state;
    struct outcome o;
    unsigned short port;
    char url[64];
    int fd = closed_port(&port);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", (unsigned)port);
    get_url(&impatient, url, &o);
    expect_failure(&o, SDS_HTTP_CONNECT);
    expect_kind(&o, SDS_ERR_STORAGE, "connect");
    outcome_fini(&o);
    get_url(&impatient, "http://nobody.invalid/", &o);
    expect_failure(&o, SDS_HTTP_RESOLVE);
    expect_kind(&o, SDS_ERR_STORAGE, "resolve");
    outcome_fini(&o);
    close(fd);
}

// Who speaks no TLS: the connection is there, the handshake never ends, and it is the limit for
// connecting that counts.
static void connecting_takes_too_long(void **state) {
    (void)state;
    static const struct sds_http_options options = {.connect_timeout_ms = 250,
                                                    .stall_timeout_ms = 60000};
    unsigned short port;
    char url[64];
    int fd = closed_port(&port);
    assert_int_equal(listen(fd, 5), 0); // connections are made, and nobody takes them
    struct outcome o;
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", (unsigned)port);
    get_url(&options, url, &o);
    expect_failure(&o, SDS_HTTP_TIMEOUT);
    assert_true(o.answer.took_ms >= 249 && o.answer.took_ms < AGES_MS);
    outcome_fini(&o);
    close(fd);
}

// --- sending to who does not listen

static enum sds_kind zeros(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    (void)ctx;
    (void)off;
    (void)err;
    memset(buf, 0, len);
    return SDS_OK;
}

static void upload_stalls(void **state) {
    (void)state;
    const struct sds_content content = {.read_at = zeros, .size = 1ULL << 30};
    unsigned short port;
    int fd = closed_port(&port);
    assert_int_equal(listen(fd, 5), 0);
    struct sds_http *http = new_pool(&impatient);
    struct outcome o;
    outcome_init(&o);
    o.request.method = "PUT";
    o.request.body = &content;
    assert_int_equal(sds_http_request_url(&o.request, "http://127.0.0.1:%u/", (unsigned)port),
                     SDS_OK);
    run(http, &o);
    expect_failure(&o, SDS_HTTP_STALLED);
    assert_true(o.answer.took_ms >= STALL_MS && o.answer.took_ms < AGES_MS);
    outcome_fini(&o);
    sds_http_free(http);
    close(fd);
}

// A refusal that comes before all is sent is an answer.
static void refused_while_sending(void **state) {
    (void)state;
    const struct sds_content content = {.read_at = zeros, .size = 1ULL << 30};
    unsigned short port;
    static const char refusal[] = "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno";
    char head[4096];
    int fd = closed_port(&port);
    assert_int_equal(listen(fd, 5), 0);
    struct sds_http *http = new_pool(&impatient);
    struct outcome o;
    outcome_init(&o);
    o.request.method = "PUT";
    o.request.body = &content;
    assert_int_equal(sds_http_request_url(&o.request, "http://127.0.0.1:%u/", (unsigned)port),
                     SDS_OK);
    sds_http_start(http, &o.request, outcome_tell, &o);
    int peer = accept(fd, NULL, NULL);
    assert_true(recv(peer, head, sizeof head, 0) > 0);
    assert_int_equal(send(peer, refusal, sizeof refusal - 1, MSG_NOSIGNAL), sizeof refusal - 1);
    outcome_wait(&o);
    expect_answer(&o, 403, "no");
    outcome_fini(&o);
    sds_http_free(http);
    close(peer);
    close(fd);
}

// --- turns

// One connection: what waits for its turn has its deadline all the same, and no stall.
static void waits_for_its_turn(void **state) {
    (void)state;
    static const struct sds_http_options narrow = {.max_connections = 1, .stall_timeout_ms = 60000};
    static const struct scripted_answer script[] = {{.status = 200, .hold = true}, {.status = 201}};
    struct scripted_server *server = scripted_play(script, 2);
    struct sds_http *http = new_pool(&narrow);
    struct outcome first, late, third;
    struct sds_http_stats stats;
    prepare(&first, server, "GET", "/1");
    prepare(&late, server, "GET", "/2");
    prepare(&third, server, "GET", "/3");
    sds_http_start(http, &first.request, outcome_tell, &first);
    scripted_wait(server, 1);
    late.request.deadline_ms = sds_clock_ms() + 50;
    sds_http_start(http, &late.request, outcome_tell, &late);
    sds_http_start(http, &third.request, outcome_tell, &third);
    outcome_wait(&late);
    expect_failure(&late, SDS_HTTP_TIMEOUT);
    sds_http_stats(http, &stats);
    assert_int_equal(stats.active, 1);
    assert_int_equal(stats.waiting, 1);
    scripted_release(server);
    outcome_wait(&first);
    outcome_wait(&third);
    expect_answer(&first, 200, "");
    expect_answer(&third, 201, "");
    assert_int_equal(scripted_count(server), 2);
    assert_int_equal(scripted_connections(server), 1);
    outcome_fini(&first);
    outcome_fini(&late);
    outcome_fini(&third);
    sds_http_free(http);
    scripted_stop(server);
}

// --- the end of a pool

#define STALLED 20

static void abandoned_while_stalled(void **state) {
    (void)state;
    static const struct sds_http_options options = {.max_connections = STALLED / 2,
                                                    .stall_timeout_ms = 600000};
    static const struct scripted_answer answer = {.fault = SCRIPTED_STALL};
    struct scripted_server *server = scripted_play(&answer, 1);
    struct sds_http *http = new_pool(&options);
    struct outcome outcomes[STALLED], after;
    for (int i = 0; i < STALLED; i++) { // half of them wait for their turn
        prepare(&outcomes[i], server, "GET", "/x");
        sds_http_start(http, &outcomes[i].request, outcome_tell, &outcomes[i]);
    }
    scripted_wait(server, STALLED / 2);
    uint64_t began = sds_clock_ms();
    sds_http_abandon(http);
    for (int i = 0; i < STALLED; i++) {
        outcome_wait(&outcomes[i]);
        expect_failure(&outcomes[i], SDS_HTTP_CANCELLED);
        expect_kind(&outcomes[i], SDS_ERR_STORAGE, "closed");
        outcome_fini(&outcomes[i]);
    }
    assert_true(sds_clock_ms() - began < 1000);
    prepare(&after, server, "GET", "/x"); // and what is started later
    run(http, &after);
    expect_failure(&after, SDS_HTTP_CANCELLED);
    outcome_fini(&after);
    assert_int_equal(scripted_count(server), STALLED / 2);
    sds_http_free(http);
    scripted_stop(server);
}

static void freed_while_stalled(void **state) {
    (void)state;
    static const struct scripted_answer answer = {.fault = SCRIPTED_STALL};
    struct scripted_server *server = scripted_play(&answer, 1);
    struct sds_http *http = new_pool(&(struct sds_http_options){.stall_timeout_ms = 600000});
    struct outcome o;
    prepare(&o, server, "GET", "/x");
    sds_http_start(http, &o.request, outcome_tell, &o);
    scripted_wait(server, 1);
    uint64_t began = sds_clock_ms();
    sds_http_free(http);
    assert_true(sds_clock_ms() - began < 1000);
    assert_int_equal(o.told, 1);
    expect_failure(&o, SDS_HTTP_CANCELLED);
    outcome_fini(&o);
    scripted_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stalls),
        cmocka_unit_test(breaks_off),
        cmocka_unit_test(shorter_than_it_says),
        cmocka_unit_test(drips),
        cmocka_unit_test(slow_is_no_stall),
        cmocka_unit_test(garbage),
        cmocka_unit_test(endless_head),
        cmocka_unit_test(endless_line),
        cmocka_unit_test(too_long),
        cmocka_unit_test(collected_too_long),
        cmocka_unit_test(endless_refusal),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(connecting_takes_too_long),
        cmocka_unit_test(upload_stalls),
        cmocka_unit_test(refused_while_sending),
        cmocka_unit_test(waits_for_its_turn),
        cmocka_unit_test(abandoned_while_stalled),
        cmocka_unit_test(freed_while_stalled),
    };
    return cmocka_run_group_tests(tests, clear_environment, NULL);
}
