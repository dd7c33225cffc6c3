// SPDX-License-Identifier: Apache-2.0
#include "remote/servers/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ckd.h"

#define ULL(n) ((unsigned long long)(n))

// --- verdicts

// After these it is open whether a server has stored something or not.
static bool may_be_written(const struct sds_case *c) {
    enum sds_http_failure failure = c->answer->failure;
    bool unsent = failure == SDS_HTTP_RESOLVE || failure == SDS_HTTP_CONNECT ||
                  failure == SDS_HTTP_TLS || failure == SDS_HTTP_UNSENDABLE ||
                  failure == SDS_HTTP_BODY || failure == SDS_HTTP_NO_MEMORY;
    bool answered = failure == SDS_HTTP_ANSWERED;
    int status = c->answer->status;
    return sds_action_writes(c->operation->action) && !unsent &&
           (!answered || (status >= 500 && status != 501) || status == 408);
}

static struct sds_verdict __attribute__((format(printf, 5, 0)))
verdict(const struct sds_case *c, enum sds_verdict_what what, enum sds_kind kind, const char *check,
        const char *fmt, va_list args) {
    char message[sizeof c->err->message];
    vsnprintf(message, sizeof message, fmt, args);
    sds_fail(c->err, kind, check, "%s", message);
    return (struct sds_verdict){.what = what, .written = may_be_written(c)};
}

struct sds_verdict sds_judge_failed(const struct sds_case *c, enum sds_kind kind, const char *check,
                                    const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    struct sds_verdict out = verdict(c, SDS_FAILED, kind, check, fmt, args);
    va_end(args);
    return out;
}

struct sds_verdict sds_judge_again(const struct sds_case *c, enum sds_kind kind, const char *check,
                                   const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    struct sds_verdict out = verdict(c, SDS_AGAIN, kind, check, fmt, args);
    va_end(args);
    out.pause_ms = c->answer->head.has_retry_after ? c->answer->head.retry_after_ms : 0;
    return out;
}

struct sds_verdict sds_judge_no_bucket(const struct sds_case *c) {
    const char *bucket = c->operation->bucket;
    return sds_judge_failed(c, SDS_ERR_STORAGE, "bucket", "there is no bucket %s",
                            SDS_QUOTE(bucket, strlen(bucket)));
}

// --- answers that are none

// More than was asked for: a server that sends the whole object for a part of it, mostly.
static bool is_whole_for_range(const struct sds_case *c) {
    return c->operation->action == SDS_GET && c->answer->failure == SDS_HTTP_TOO_LONG &&
           c->answer->status == 200;
}

bool sds_judge_transport(const struct sds_case *c, struct sds_verdict *out) {
    enum sds_http_failure failure = c->answer->failure;
    if (failure == SDS_HTTP_ANSWERED || is_whole_for_range(c)) {
        return false;
    }
    bool hopeless = failure == SDS_HTTP_TLS || failure == SDS_HTTP_CANCELLED ||
                    failure == SDS_HTTP_BODY || failure == SDS_HTTP_UNSENDABLE ||
                    failure == SDS_HTTP_NO_MEMORY;
    sds_http_failed(c->answer, c->err);
    *out = (struct sds_verdict){.what = hopeless ? SDS_FAILED : SDS_AGAIN,
                                .written = may_be_written(c)};
    return true;
}

bool sds_judge_can_improve(int status) {
    bool server = status >= 500 && status != 501 && status != 505;
    return server || status == 408 || status == 425 || status == 429;
}

static bool could_be_secret(const char *text) {
    static const char *const words[] = {"Signature=",     "Credential=", "Bearer ",
                                        "Authorization:", "token=",      "Token="};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasestr(text, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

char *sds_refusal_text(int status, const struct sds_refusal *refusal, char *buf, size_t size) {
    bool told = refusal->message[0] != '\0' && !could_be_secret(refusal->message);
    const char *code = refusal->code;
    bool plain = strspn(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._") ==
                 strlen(code);
    snprintf(buf, size, "the server answers %d%s%s%s%s", status, code[0] != '\0' ? " " : "",
             plain ? code : SDS_QUOTE(code, strlen(code)), told ? ": " : "",
             told ? SDS_QUOTE(refusal->message, strlen(refusal->message)) : "");
    return buf;
}

// --- ranges

static struct sds_verdict done_with(const struct sds_case *c, uint64_t size) {
    const struct sds_http_head *head = &c->answer->head;
    return (struct sds_verdict){
        .what = SDS_DONE,
        .received = c->answer->received,
        .told = {.size_known = true,
                 .size = size,
                 .modified = head->has_modified ? head->modified : 0,
                 .has_crc = head->has_crc32c,
                 .crc32c = head->crc32c},
    };
}

// The last byte that was asked for.
static uint64_t last_wanted(const struct sds_operation *operation) {
    uint64_t end;
    return sds_ckd_add(&end, operation->off, operation->len) ? UINT64_MAX : end - 1;
}

static struct sds_verdict whole(const struct sds_case *c, bool ranges_vary) {
    const struct sds_operation *operation = c->operation;
    const struct sds_http_answer *answer = c->answer;
    bool all = answer->failure == SDS_HTTP_ANSWERED && operation->off == 0 &&
               answer->received <= operation->len;
    if (all && answer->head.has_length && answer->head.length == answer->received) {
        return done_with(c, answer->received);
    }
    if (!all && sds_operation_in_doubt(operation)) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "range",
                               "the server has nothing at the beginning of an object that is not "
                               "empty");
    }
    if (!all && ranges_vary) {
        return sds_judge_failed(c, SDS_ERR_UNSUPPORTED, "ranges",
                                "the server sends the whole object when a part of it is asked for; "
                                "only servers that know ranges can be read from");
    }
    if (all) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "range",
                               "the server does not say how long the object is");
    }
    return sds_judge_again(c, SDS_ERR_STORAGE, "range",
                           "the server sends the whole object for bytes %llu-%llu of it",
                           ULL(operation->off), ULL(last_wanted(operation)));
}

static struct sds_verdict part(const struct sds_case *c) {
    const struct sds_http_head *head = &c->answer->head;
    uint64_t first = c->operation->off, last = last_wanted(c->operation);
    if (!head->has_range || !head->total_known) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "range",
                               "the server does not say which of the object's bytes it sends");
    }
    // The last byte wanted, or the last one there is.
    bool right = head->first == first && head->last >= first && head->last < head->total &&
                 (head->last == last || (head->last < last && head->last == head->total - 1));
    if (!right) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "range",
                               "asked for bytes %llu-%llu, the server sends %llu-%llu of %llu",
                               ULL(first), ULL(last), ULL(head->first), ULL(head->last),
                               ULL(head->total));
    }
    uint64_t len = head->last - head->first + 1;
    if (c->answer->received != len || (head->has_length && head->length != len)) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "range",
                               "the server says that it sends bytes %llu-%llu, but %llu bytes came",
                               ULL(head->first), ULL(head->last), ULL(c->answer->received));
    }
    return done_with(c, head->total);
}

struct sds_verdict sds_judge_bytes(const struct sds_case *c, bool ranges_vary) {
    const struct sds_http_head *head = &c->answer->head;
    if (head->encoded) {
        return sds_judge_failed(c, SDS_ERR_UNSUPPORTED, "encoding",
                                "the server sends the object encoded (Content-Encoding), which was "
                                "not asked for");
    }
    if (head->length_bad || head->range_bad) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "range",
                               "the server contradicts itself on what it sends");
    }
    return c->answer->status == 206 ? part(c) : whole(c, ranges_vary);
}

// Ceph says no more than this of an empty object, others of whatever they are out of.
static struct sds_verdict nothing_at_beginning(const struct sds_case *c) {
    bool *doubt = c->operation->doubt;
    struct sds_verdict out =
        sds_judge_failed(c, SDS_ERR_STORAGE, "range",
                         "the server has nothing at the object's beginning, and does not say that "
                         "it is empty");
    if (doubt != NULL && !*doubt) {
        *doubt = true;
        out.what = SDS_AGAIN_NOW;
    }
    return out;
}

struct sds_verdict sds_judge_unsatisfied(const struct sds_case *c, const uint64_t *told) {
    const struct sds_http_head *head = &c->answer->head;
    const uint64_t *size = head->total_known ? &head->total : told;
    uint64_t off = c->operation->action == SDS_GET ? c->operation->off : 0;
    if (size != NULL && *size > off) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "range",
                               "the server has nothing at byte %llu of an object of %llu bytes",
                               ULL(off), ULL(*size));
    }
    if (off == 0 && size == NULL) {
        return nothing_at_beginning(c);
    }
    if (off == 0) { // only of an empty object is there nothing at its beginning
        struct sds_verdict out = done_with(c, 0);
        out.received = 0;
        return out;
    }
    struct sds_verdict out =
        size == NULL ? sds_judge_failed(c, SDS_ERR_STORAGE, "range",
                                        "the object ends before byte %llu", ULL(off))
                     : sds_judge_failed(c, SDS_ERR_STORAGE, "range",
                                        "the object ends before byte %llu: it has %llu bytes",
                                        ULL(off), ULL(*size));
    out.told.size_known = size != NULL;
    out.told.size = size != NULL ? *size : 0;
    return out;
}

// --- versions

static struct sds_verdict changed(const struct sds_case *c) {
    return sds_judge_failed(c, SDS_ERR_STORAGE, "changed",
                            "the object is another one than when it was first seen");
}

void sds_judge_tag(const struct sds_case *c, struct sds_verdict *out) {
    const char *asked = c->operation->tag.etag, *told = out->told.tag.etag;
    if (out->what != SDS_DONE) {
        return;
    }
    if (told[0] == '\0') {
        *out = sds_judge_again(c, SDS_ERR_STORAGE, "answer",
                               "the server does not say which version of the object it sends");
    } else if (asked[0] != '\0' && strcmp(asked, told) != 0) {
        *out = changed(c);
    }
}

struct sds_verdict sds_judge_condition(const struct sds_case *c) {
    switch (c->operation->action) {
    case SDS_CREATE:
        return sds_judge_failed(c, SDS_ERR_CONFLICT, "exists", "there is such an object already");
    case SDS_SWAP:
        return sds_judge_failed(c, SDS_ERR_CONFLICT, "changed", "the object is another one by now");
    case SDS_GET:
    case SDS_HEAD:
        break;
    }
    return changed(c);
}

struct sds_verdict sds_judge_rest(const struct sds_case *c, const struct sds_refusal *refusal) {
    if (sds_judge_can_improve(c->answer->status)) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "answer", "%s", SDS_REFUSAL(c, refusal));
    }
    return sds_judge_failed(c, SDS_ERR_STORAGE, "answer", "%s", SDS_REFUSAL(c, refusal));
}
