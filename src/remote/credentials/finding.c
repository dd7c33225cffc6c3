// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/finding.h"

#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "remote/credentials/document.h"

#define TRY_MS 10000U
#define TRIES 3U
#define FIRST_PAUSE_MS 200U

void sds_found_wipe(struct sds_found *found) {
    OPENSSL_cleanse(found, sizeof *found);
}

void sds_found_name(struct sds_found *found, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(found->source, sizeof found->source, fmt, args);
    va_end(args);
}

static bool is_over(const struct sds_finding *finding) {
    return atomic_load(finding->stop) || sds_clock_ms() >= finding->deadline_ms;
}

bool sds_finding_pause(const struct sds_finding *finding, uint32_t ms) {
    uint64_t until = sds_clock_ms() + ms;
    while (!is_over(finding) && sds_clock_ms() < until) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return !is_over(finding);
}

// --- questions to servers

static void request_fini(struct sds_http_request *request) {
    for (size_t i = 0; i < request->header_count; i++) {
        char *value = request->headers[i].value;
        OPENSSL_cleanse(value, strlen(value));
    }
    sds_http_request_fini(request);
}

static enum sds_kind prepare(const struct sds_ask *ask, struct sds_http_request *out,
                             struct sds_err *err) {
    *out = (struct sds_http_request){.method = ask->method,
                                     .prefix = ask->body,
                                     .max_body = SDS_DOCUMENT_BYTES_MAX,
                                     .direct = ask->direct};
    enum sds_kind kind = sds_http_request_url(out, "%s", ask->url);
    for (size_t i = 0; i < sizeof ask->headers / sizeof ask->headers[0]; i++) {
        if (kind == SDS_OK && ask->headers[i].value != NULL) {
            kind = sds_http_request_header(out, ask->headers[i].name, "%s", ask->headers[i].value);
        }
    }
    if (kind == SDS_OK) {
        return SDS_OK;
    }
    return kind == SDS_ERR_NO_MEMORY ? sds_fail(err, kind, "credentials", "no memory for a request")
                                     : sds_fail(err, kind, "credentials",
                                                "its URL or what is shown to it cannot be sent");
}

static enum sds_kind once(const struct sds_finding *finding, const struct sds_ask *ask,
                          struct sds_http_reply *out, struct sds_err *err) {
    struct sds_http_request request;
    enum sds_kind kind = prepare(ask, &request, err);
    if (kind == SDS_OK) {
        uint64_t until = sds_clock_ms() + (ask->timeout_ms != 0 ? ask->timeout_ms : TRY_MS);
        request.deadline_ms = until < finding->deadline_ms ? until : finding->deadline_ms;
        kind = sds_http_call(finding->http, &request, out, err);
    }
    request_fini(&request);
    return kind;
}

static bool gets_better(enum sds_kind kind, int status, const struct sds_err *err) {
    if (kind != SDS_OK) {
        return (kind == SDS_ERR_STORAGE && strcmp(err->check, "tls") != 0) ||
               kind == SDS_ERR_TIMEOUT;
    }
    return status == 429 || (status >= 500 && status <= 599);
}

enum sds_kind sds_ask(const struct sds_finding *finding, const struct sds_ask *ask,
                      struct sds_http_reply *out, struct sds_err *err) {
    struct sds_err inner;
    unsigned tries = ask->tries != 0 ? ask->tries : TRIES;
    for (unsigned i = 0;; i++) {
        enum sds_kind kind = once(finding, ask, out, &inner);
        if (!gets_better(kind, kind == SDS_OK ? out->status : 0, &inner) || i + 1 >= tries ||
            !sds_finding_pause(finding, FIRST_PAUSE_MS << i)) {
            return kind == SDS_OK ? SDS_OK
                                  : sds_fail(err, kind, "credentials", "%s", inner.message);
        }
        if (kind == SDS_OK) {
            sds_said_fini(out);
        }
    }
}

void sds_said_fini(struct sds_http_reply *reply) {
    if (reply->body != NULL) {
        OPENSSL_cleanse(reply->body->at, reply->body->len);
    }
    sds_http_reply_fini(reply);
    *reply = (struct sds_http_reply){0};
}

enum sds_kind sds_said_well(const struct sds_http_reply *reply, struct sds_err *err) {
    char code[64];
    if (reply->status == 200) {
        return SDS_OK;
    }
    bool better = gets_better(SDS_OK, reply->status, NULL);
    sds_document_error(sds_said_body(reply), code, sizeof code);
    return sds_fail(err, better ? SDS_ERR_STORAGE : SDS_ERR_DENIED, "credentials",
                    code[0] != '\0' ? "it answers with status %d, \"%s\""
                                    : "it answers with status %d",
                    reply->status, code);
}
