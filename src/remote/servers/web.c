// SPDX-License-Identifier: Apache-2.0
//
// Plain HTTP: objects are read, by ranges, and never written. A version is the strong entity tag
// where there is one, else the time of the last change together with the size. Servers that answer
// GET alone, or HEAD without a length, are asked for one byte instead.
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "remote/servers/judge.h"
#include "remote/servers/provider_internal.h"

enum { MAX_PATH = 1 << 14 };

struct web {
    struct sds_provider base;
    atomic_bool by_get; // HEAD does not tell what GET would
};

// --- versions

// "=etag" or "~seconds:size".
static struct sds_tag tag_of(const struct sds_http_head *head, uint64_t size) {
    struct sds_tag tag = {.etag = ""};
    size_t len = strlen(head->etag);
    if (!head->weak_etag && len > 2 && len < sizeof tag.etag) {
        tag.etag[0] = '=';
        memcpy(tag.etag + 1, head->etag + 1, len - 2);
    } else {
        snprintf(tag.etag, sizeof tag.etag, "~%" PRId64 ":%" PRIu64,
                 head->has_modified ? head->modified : 0, size);
    }
    return tag;
}

static void http_date(int64_t seconds, char out[32]) {
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm utc = {0};
    time_t when = (time_t)seconds;
    gmtime_r(&when, &utc);
    snprintf(out, 32, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[utc.tm_wday % 7],
             (unsigned)utc.tm_mday % 100, months[utc.tm_mon % 12],
             (unsigned)(utc.tm_year + 1900) % 10000, (unsigned)utc.tm_hour % 100,
             (unsigned)utc.tm_min % 100, (unsigned)utc.tm_sec % 100);
}

static enum sds_kind add_condition(const struct sds_tag *tag, struct sds_http_request *out) {
    char date[32];
    int64_t modified = tag->etag[0] == '~' ? strtoll(tag->etag + 1, NULL, 10) : 0;
    if (tag->etag[0] == '=') {
        return sds_http_request_header(out, "If-Match", "\"%s\"", tag->etag + 1);
    }
    if (modified <= 0) {
        return SDS_OK;
    }
    http_date(modified, date);
    return sds_http_request_header(out, "If-Unmodified-Since", "%s", date);
}

// --- requests

// An operation as it is sent.
static struct sds_operation as_asked(struct web *web, const struct sds_operation *operation) {
    struct sds_operation out = *operation;
    if (operation->action == SDS_HEAD && atomic_load(&web->by_get)) {
        out.action = SDS_GET;
        out.off = 0;
        out.len = 1;
    }
    return out;
}

static enum sds_kind set_url(const struct sds_provider *web, const struct sds_operation *operation,
                             struct sds_http_request *out) {
    struct sds_buf path = SDS_BUF_INIT(4 * MAX_PATH);
    enum sds_kind kind = sds_percent_encode(&path, operation->key, "/!$&'()*+,;=:@");
    if (kind == SDS_OK) {
        kind = sds_http_request_url(out, "%s://%s/%.*s", sds_scheme_name(web->target.scheme),
                                    operation->bucket, (int)path.len, (const char *)path.at);
    }
    sds_buf_fini(&path);
    return kind;
}

static enum sds_kind web_prepare(struct sds_provider *provider,
                                 const struct sds_operation *operation,
                                 const struct sds_credential *credential, int64_t now,
                                 struct sds_http_request *out, struct sds_err *err) {
    (void)credential, (void)now;
    *out = (struct sds_http_request){.method = ""};
    if (sds_action_writes(operation->action)) {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "conditional_writes",
                        "roots on http:// and https:// are for reading only");
    }
    enum sds_kind kind = sds_operation_check(operation, MAX_PATH, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_operation asked = as_asked((struct web *)provider, operation);
    out->method = asked.action == SDS_GET ? "GET" : "HEAD";
    out->max_body = SDS_HTTP_ERROR_BODY_MAX;
    kind = set_url(provider, operation, out);
    if (kind == SDS_OK && asked.action == SDS_GET) {
        kind = sds_request_range(&asked, out);
    }
    if (kind == SDS_OK) {
        kind = add_condition(&operation->tag, out);
    }
    return sds_request_failed(kind, out, err);
}

// --- answers

static struct sds_verdict judge_head(const struct sds_case *c) {
    const struct sds_http_head *head = &c->answer->head;
    if (head->encoded) {
        return sds_judge_bytes(c, true);
    }
    if (!head->has_length) {
        return sds_judge_failed(c, SDS_ERR_STORAGE, "answer",
                                "the server does not say how long the object is");
    }
    return (struct sds_verdict){
        .what = SDS_DONE,
        .told = {.size_known = true,
                 .size = head->length,
                 .modified = head->has_modified ? head->modified : 0},
    };
}

static struct sds_verdict judge_good(const struct sds_case *c) {
    struct sds_verdict out =
        c->operation->action == SDS_GET ? sds_judge_bytes(c, true) : judge_head(c);
    if (out.what == SDS_DONE) {
        out.told.has_crc = false; // a header of Google's alone
        out.told.tag = tag_of(&c->answer->head, out.told.size);
        sds_judge_tag(c, &out);
    }
    return out;
}

static struct sds_verdict judge_redirect(const struct sds_case *c) {
    char shown[512];
    sds_root_shown(c->answer->head.location, shown, sizeof shown);
    if (shown[0] == '\0') {
        return sds_judge_failed(c, SDS_ERR_STORAGE, "redirect",
                                "the server points elsewhere (%d), and does not say where",
                                c->answer->status);
    }
    return sds_judge_failed(c, SDS_ERR_STORAGE, "redirect",
                            "the server points to %s; redirects are not followed, a root there can "
                            "be given instead",
                            SDS_QUOTE(shown, strlen(shown)));
}

static struct sds_verdict judge_refusal(const struct sds_case *c) {
    struct sds_refusal none = {.code = ""};
    switch (c->answer->status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return judge_redirect(c);
    case 401:
    case 403:
    case 407:
        return sds_judge_failed(c, SDS_ERR_DENIED, "permission", "%s", SDS_REFUSAL(c, &none));
    case 404:
    case 410:
        return sds_judge_failed(c, SDS_ERR_NOT_FOUND, "absent", "there is no such object");
    case 412:
        return sds_judge_condition(c);
    case 416: {
        struct sds_verdict out = sds_judge_unsatisfied(c, NULL);
        if (out.what == SDS_DONE) {
            out.told.tag = tag_of(&c->answer->head, 0);
        }
        sds_judge_tag(c, &out);
        return out;
    }
    default:
        return sds_judge_rest(c, &none);
    }
}

// What a HEAD is answered with where a GET may be answered otherwise. (Nothing has come with it, so
// one that was on its way when this was learned counts, too.)
static bool is_mute(const struct sds_operation *operation, const struct sds_http_answer *answer) {
    int status = answer->status;
    bool refused = status == 400 || status == 401 || status == 403 || status == 405 ||
                   status == 406 || status == 501;
    return operation->action == SDS_HEAD && answer->failure == SDS_HTTP_ANSWERED &&
           answer->received == 0 &&
           (refused || (status == 200 && (answer->head.encoded || !answer->head.has_length)));
}

static struct sds_verdict web_judge(struct sds_provider *provider,
                                    const struct sds_operation *operation,
                                    const struct sds_http_answer *answer, int64_t now,
                                    struct sds_err *err) {
    (void)now;
    struct web *web = (struct web *)provider;
    struct sds_operation asked = as_asked(web, operation);
    struct sds_case c = {.operation = &asked, .answer = answer, .err = err};
    struct sds_verdict out;
    if (sds_judge_transport(&c, &out)) {
        return out;
    }
    bool good = answer->status == 200 || (answer->status == 206 && asked.action == SDS_GET);
    out = good ? judge_good(&c) : judge_refusal(&c);
    if (out.what != SDS_DONE && is_mute(operation, answer)) {
        atomic_store(&web->by_get, true);
        out.what = SDS_AGAIN_NOW;
    }
    out.received = operation->action == SDS_GET ? out.received : 0;
    return out;
}

// --- making one

static void web_free(struct sds_provider *provider) {
    free(provider);
}

static const struct sds_provider_ops web_ops = {
    .name = "web", .prepare = web_prepare, .judge = web_judge, .free = web_free};

enum sds_kind sds_web_new(const struct sds_remote_options *options, struct sds_provider **out,
                          struct sds_err *err) {
    (void)options;
    struct web *web = calloc(1, sizeof *web);
    if (web == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a provider");
    }
    web->base.ops = &web_ops;
    *out = &web->base;
    return SDS_OK;
}

char *sds_web_origin(const struct sds_target *target) {
    char *origin = NULL;
    int len = asprintf(&origin, "%s://%s", sds_scheme_name(target->scheme), target->bucket);
    return len < 0 ? NULL : origin;
}
