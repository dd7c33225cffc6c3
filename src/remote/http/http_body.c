// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a request and of its answer, as libcurl hands them over. Every one of these
// functions is called on the pool's thread while it drives the transfer, and can end it by
// returning less than it was given.
#include <stdio.h>

#include "base/ckd.h"
#include "base/clock.h"
#include "remote/http/http_internal.h"

static void moved(struct sds_http_transfer *t) {
    t->moved_ms = sds_clock_ms();
}

static void end(struct sds_http_transfer *t, enum sds_http_failure failure, const char *why) {
    if (t->why == NULL) {
        t->ended = failure;
        t->why = why;
    }
}

// --- what is sent

// The name says nothing of a body, but these must not be without a length.
bool sds_http_sends_body(const struct sds_http_request *request) {
    return request->body != NULL || request->prefix.len > 0 || request->suffix.len > 0 ||
           (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0 &&
            strcmp(request->method, "DELETE") != 0);
}

static uint64_t content_size(const struct sds_http_request *request) {
    return request->body != NULL ? request->body->size : 0;
}

static size_t part(uint64_t there, size_t room) {
    return there < room ? (size_t)there : room;
}

// The next bytes, all from one of the three parts. Kinds: those of content.read_at.
static enum sds_kind next_bytes(struct sds_http_transfer *t, void *buf, size_t room, size_t *out) {
    const struct sds_http_request *request = t->request;
    uint64_t at = t->at, size = content_size(request);
    *out = 0;
    if (at < request->prefix.len) {
        *out = part(request->prefix.len - at, room);
        memcpy(buf, request->prefix.at + at, *out);
        return SDS_OK;
    }
    at -= request->prefix.len;
    if (at < size) {
        *out = part(size - at, room);
        return request->body->read_at(request->body->ctx, at, buf, *out, &t->content_err);
    }
    at -= size;
    if (at < request->suffix.len) {
        *out = part(request->suffix.len - at, room);
        memcpy(buf, request->suffix.at + at, *out);
    }
    return SDS_OK;
}

static size_t on_send(char *buf, size_t size, size_t count, void *ctx) {
    struct sds_http_transfer *t = ctx;
    size_t n;
    moved(t);
    if (next_bytes(t, buf, size * count, &n) != SDS_OK) {
        end(t, SDS_HTTP_BODY, "the content could not be read");
        return CURL_READFUNC_ABORT;
    }
    t->at += n;
    return n;
}

// Begins again, on another connection than the one that was kept and has gone.
static int on_seek(void *ctx, curl_off_t offset, int origin) {
    struct sds_http_transfer *t = ctx;
    if (origin != SEEK_SET || offset < 0) {
        return CURL_SEEKFUNC_FAIL;
    }
    t->at = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

// --- what comes

static int status_of(struct sds_http_transfer *t) {
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

static bool is_good(int status) {
    return status >= 200 && status < 300;
}

static uint64_t room(const struct sds_http_request *request) {
    return request->into != NULL ? request->into_len : request->max_body;
}

// What the head alone tells: false when the body is not worth having.
static bool check_head(struct sds_http_transfer *t) {
    if (t->head.length_bad) {
        end(t, SDS_HTTP_BROKEN, "the length of the answer is malformed or contradictory");
    } else if (is_good(status_of(t)) && !sds_http_is_head(t->request) && t->head.has_length &&
               t->head.length > room(t->request)) {
        end(t, SDS_HTTP_TOO_LONG, "the answer says that it is longer than what was asked for");
    }
    return t->why == NULL;
}

static size_t on_head(char *line, size_t size, size_t count, void *ctx) {
    struct sds_http_transfer *t = ctx;
    size_t len = size * count;
    moved(t);
    t->head_len += len;
    if (t->head_len > SDS_HTTP_HEAD_MAX) {
        end(t, SDS_HTTP_BROKEN, "the head of the answer does not end");
        return 0;
    }
    if (t->head_done) { // what comes behind the body does not count
        return len;
    }
    sds_http_head_line(&t->head, sds_span(line, len));
    bool ends = len > 0 && (line[0] == '\r' || line[0] == '\n');
    t->head_done = ends && status_of(t) >= 200;
    return t->head_done && !check_head(t) ? 0 : len;
}

static bool take_good(struct sds_http_transfer *t, const char *bytes, size_t len) {
    const struct sds_http_request *request = t->request;
    if (len > room(request) - t->received) {
        end(t, SDS_HTTP_TOO_LONG, "the answer is longer than what was asked for");
        return false;
    }
    if (request->into != NULL) {
        memcpy((char *)request->into + t->received, bytes, len);
        return true;
    }
    if (sds_buf_add(&t->body, bytes, len) != SDS_OK) {
        end(t, SDS_HTTP_NO_MEMORY, "no memory for the answer");
        return false;
    }
    return true;
}

// What the server has to say to a refusal: the beginning will do.
static bool take_other(struct sds_http_transfer *t, const char *bytes, size_t len) {
    size_t left = SDS_HTTP_ERROR_BODY_MAX - t->body.len;
    if (sds_buf_add(&t->body, bytes, len < left ? len : left) != SDS_OK) {
        end(t, SDS_HTTP_NO_MEMORY, "no memory for the answer");
    } else if (len > left) {
        t->cut = true;
        end(t, SDS_HTTP_ANSWERED, "cut");
    }
    return t->why == NULL;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *ctx) {
    struct sds_http_transfer *t = ctx;
    size_t len = size * count;
    moved(t);
    bool good = is_good(status_of(t)) ? take_good(t, bytes, len) : take_other(t, bytes, len);
    if (!good) {
        return 0;
    }
    t->received += len;
    sds_http_add(&t->http->counters.received, len);
    return len;
}

// There is a connection: from now on it is the server that is waited for.
static int on_connected(void *ctx, char *address, char *own, int port, int own_port) {
    struct sds_http_transfer *t = ctx;
    (void)address;
    (void)own;
    (void)port;
    (void)own_port;
    moved(t);
    t->connected = true;
    return CURL_PREREQFUNC_OK;
}

// --- setting it up

static bool setup_sending(struct sds_http_transfer *t) {
    const struct sds_http_request *request = t->request;
    uint64_t size;
    if (sds_ckd_add(&size, content_size(request), request->prefix.len) ||
        sds_ckd_add(&size, size, request->suffix.len) || size > INT64_MAX) {
        return false;
    }
    return curl_easy_setopt(t->easy, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)size) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_READFUNCTION, on_send) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_READDATA, t) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_SEEKFUNCTION, on_seek) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_SEEKDATA, t) == CURLE_OK;
}

bool sds_http_body_setup(struct sds_http_transfer *t) {
    return (!sds_http_sends_body(t->request) || setup_sending(t)) &&
           curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_head) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_PREREQFUNCTION, on_connected) == CURLE_OK &&
           curl_easy_setopt(t->easy, CURLOPT_PREREQDATA, t) == CURLE_OK;
}
