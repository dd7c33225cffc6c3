// SPDX-License-Identifier: Apache-2.0
//
// One request on its way, from a libcurl handle to the answer that is told.
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "remote/http/http_internal.h"

#define LOOKS 8 // at a silent server, while it may be silent

// --- the request as libcurl wants it

static bool add_header(struct curl_slist **list, const char *name, const char *value) {
    char *line;
    // For libcurl a header without a value is one that is not to be sent, unless it ends in ";".
    int len =
        value[0] != '\0' ? asprintf(&line, "%s: %s", name, value) : asprintf(&line, "%s;", name);
    if (len < 0) {
        return false;
    }
    struct curl_slist *longer = curl_slist_append(*list, line);
    explicit_bzero(line, (size_t)len);
    free(line);
    if (longer == NULL) {
        return false;
    }
    *list = longer;
    return true;
}

static void free_headers(struct curl_slist *list) {
    for (struct curl_slist *item = list; item != NULL; item = item->next) {
        explicit_bzero(item->data, strlen(item->data));
    }
    curl_slist_free_all(list);
}

static struct curl_slist *headers_of(const struct sds_http_request *request) {
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); // nobody is asked beforehand
    bool good = list != NULL;
    if (good && sds_http_request_find(request, "Accept-Encoding") == NULL) {
        good = add_header(&list, "Accept-Encoding", "identity");
    }
    for (size_t i = 0; good && i < request->header_count; i++) {
        good = add_header(&list, request->headers[i].name, request->headers[i].value);
    }
    if (!good) {
        free_headers(list);
        return NULL;
    }
    return list;
}

static bool setup_method(struct sds_http_transfer *t) {
    const struct sds_http_request *request = t->request;
    if (sds_http_is_head(request)) {
        return curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
    }
    return curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
}

static bool setup(struct sds_http_transfer *t) {
    const struct sds_http_request *request = t->request;
    t->headers = headers_of(request);
    return t->headers != NULL && sds_http_settings_apply(&t->http->settings, t->easy) &&
           curl_easy_setopt(t->easy, CURLOPT_URL, request->url) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t) == CURLE_OK &&
           (!request->direct || curl_easy_setopt(t->easy, CURLOPT_PROXY, "") == CURLE_OK) &&
           setup_method(t) && sds_http_body_setup(t);
}

// --- handles, kept for the next request

static CURL *take_easy(struct sds_http *http) {
    return http->idle_count > 0 ? http->idle[--http->idle_count] : curl_easy_init();
}

static void give_easy(struct sds_http *http, CURL *easy) {
    if (http->idle_count == SDS_HTTP_IDLE_EASY) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    http->idle[http->idle_count++] = easy;
}

static void free_transfer(struct sds_http_transfer *t) {
    if (t->easy != NULL) {
        give_easy(t->http, t->easy); // before what its options point to is freed
    }
    free_headers(t->headers);
    sds_buf_fini(&t->body);
    free(t);
}

// --- beginning and end

static void link_transfer(struct sds_http_transfer *t) {
    struct sds_http *http = t->http;
    t->next = http->transfers;
    t->link = &http->transfers;
    if (t->next != NULL) {
        t->next->link = &t->next;
    }
    http->transfers = t;
    t->host->active++;
    sds_http_add(&http->counters.active, 1);
}

static void unlink_transfer(struct sds_http_transfer *t) {
    *t->link = t->next;
    if (t->next != NULL) {
        t->next->link = t->link;
    }
    t->host->active--;
    sds_http_add(&t->http->counters.active, (uint64_t)-1);
}

enum sds_http_failure sds_http_transfer_begin(struct sds_http *http, struct sds_http_host *host,
                                              struct sds_http_request *request) {
    struct sds_http_transfer *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return SDS_HTTP_NO_MEMORY;
    }
    t->http = http;
    t->host = host;
    t->request = request;
    size_t most = request->into == NULL ? request->max_body : 0;
    t->body = SDS_BUF_INIT(most > SDS_HTTP_ERROR_BODY_MAX ? most : (size_t)SDS_HTTP_ERROR_BODY_MAX);
    t->moved_ms = sds_clock_ms();
    t->easy = take_easy(http);
    if (t->easy == NULL || !setup(t) || curl_multi_add_handle(http->multi, t->easy) != CURLM_OK) {
        free_transfer(t);
        return SDS_HTTP_NO_MEMORY;
    }
    link_transfer(t);
    return SDS_HTTP_ANSWERED;
}

// A length that was announced and not kept where libcurl does not look, beside chunks.
static bool is_short(const struct sds_http_transfer *t, int status) {
    bool has_body = status != 204 && status != 304 && !sds_http_is_head(t->request);
    return has_body && t->head.has_length && t->head.length != t->received;
}

static void broken(struct sds_http_answer *answer, const char *why) {
    answer->failure = SDS_HTTP_BROKEN;
    snprintf(answer->reason, sizeof answer->reason, "%s", why);
}

static void judge(struct sds_http_transfer *t, CURLcode code, struct sds_http_answer *answer) {
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    answer->status = (int)status;
    if (t->why != NULL) {
        answer->failure = t->ended;
        if (t->ended != SDS_HTTP_ANSWERED) {
            snprintf(answer->reason, sizeof answer->reason, "%s", t->why);
        }
        return;
    }
    answer->failure = sds_http_failure_of(code, t->error, answer->reason, sizeof answer->reason);
    if (answer->failure == SDS_HTTP_UNSENDABLE && t->connected) { // so it was sent
        answer->failure = SDS_HTTP_BROKEN;
    } else if (answer->failure == SDS_HTTP_NO_MEMORY && t->connected) { // libcurl's name for it
        broken(answer, "a line of the answer is too long");
    } else if (answer->failure == SDS_HTTP_ANSWERED && !t->head_done) {
        broken(answer, "the head of the answer breaks off");
    } else if (answer->failure == SDS_HTTP_ANSWERED && is_short(t, answer->status)) {
        broken(answer, "the answer is not as long as it says");
    }
}

static void count_transfer(struct sds_http_transfer *t) {
    struct sds_http_counters *counters = &t->http->counters;
    curl_off_t sent = 0;
    long connections = 0;
    curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connections);
    sds_http_add(&counters->sent, sent > 0 ? (uint64_t)sent : 0);
    sds_http_add(&counters->connections, connections > 0 ? (uint64_t)connections : 0);
}

static void tell(struct sds_http *http, struct sds_http_request *request,
                 struct sds_http_answer *answer) {
    uint64_t took = sds_clock_ms() - request->started_ms;
    answer->took_ms = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    sds_http_count(&http->counters, answer);
    request->done(request->ctx, answer); // and with that the request may be gone
}

void sds_http_transfer_end(struct sds_http_transfer *t, CURLcode code) {
    struct sds_http_answer answer = {.head = t->head, .received = t->received, .body_cut = t->cut};
    bool good;
    judge(t, code, &answer);
    count_transfer(t);
    good = answer.status >= 200 && answer.status < 300;
    answer.into = good ? t->request->into : NULL;
    answer.body = sds_buf_span(&t->body);
    answer.content_err = answer.failure == SDS_HTTP_BODY ? &t->content_err : NULL;
    curl_multi_remove_handle(t->http->multi, t->easy);
    unlink_transfer(t);
    tell(t->http, t->request, &answer);
    free_transfer(t);
}

void sds_http_tell(struct sds_http *http, struct sds_http_request *request,
                   enum sds_http_failure failure, const char *reason) {
    struct sds_http_answer answer = {.failure = failure};
    snprintf(answer.reason, sizeof answer.reason, "%s", reason);
    tell(http, request, &answer);
}

// --- time

// What was handed to the socket is on its way as long as it gets less there.
static bool is_draining(struct sds_http_transfer *t) {
    curl_socket_t fd = CURL_SOCKET_BAD;
    int unsent = 0;
    if (!sds_http_sends_body(t->request) ||
        curl_easy_getinfo(t->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK ||
        fd == CURL_SOCKET_BAD || ioctl(fd, SIOCOUTQ, &unsent) != 0) {
        return false;
    }
    bool changed = unsent != t->unsent;
    t->unsent = unsent;
    return changed;
}

bool sds_http_transfer_expired(struct sds_http_transfer *t, uint64_t now, uint64_t *next_ms) {
    uint64_t deadline = t->request->deadline_ms, patience = t->http->settings.stall_timeout_ms;
    uint64_t step = patience / LOOKS + 1;
    if (is_draining(t)) {
        t->moved_ms = now;
    }
    if (deadline != 0 && deadline <= now) {
        t->ended = SDS_HTTP_TIMEOUT;
        t->why = "the deadline has passed";
        return true;
    }
    // Until there is a connection, libcurl looks after the time.
    if (t->connected && now - t->moved_ms >= patience) {
        t->ended = SDS_HTTP_STALLED;
        t->why = "nothing came or went for too long";
        return true;
    }
    uint64_t next = now + step;
    next = t->connected && t->moved_ms + patience < next ? t->moved_ms + patience : next;
    next = deadline != 0 && deadline < next ? deadline : next;
    *next_ms = next < *next_ms ? next : *next_ms;
    return false;
}
