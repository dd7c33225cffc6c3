// SPDX-License-Identifier: Apache-2.0
#include "remote/servers/gcs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/credentials/credentials.h"

// --- requests

// "host/path/storage/v1/b/bucket/o/key?" with what stands before it and the question.
static enum sds_kind set_url(const struct sds_gcs *gcs, const struct sds_operation *operation,
                             const char *service, const char *question,
                             struct sds_http_request *out) {
    struct sds_buf key = SDS_BUF_INIT(1 << 16);
    enum sds_kind kind = sds_percent_encode(&key, operation->key, "");
    if (kind == SDS_OK) {
        kind = sds_http_request_url(out, "%s://%s%s%s/storage/v1/b/%s/o/%.*s?%s",
                                    gcs->endpoint.tls ? "https" : "http", gcs->endpoint.host,
                                    gcs->endpoint.path, service, operation->bucket, (int)key.len,
                                    (const char *)key.at, question);
    }
    sds_buf_fini(&key);
    return kind;
}

// The generation that a read is pinned to: the reference's, or the one that was first seen.
static enum sds_kind read_request(const struct sds_gcs *gcs, const struct sds_operation *operation,
                                  struct sds_http_request *out) {
    bool get = operation->action == SDS_GET;
    char generation[64] = "";
    if (operation->pinned) {
        snprintf(generation, sizeof generation, "&generation=%" PRIu64, operation->generation);
    } else if (operation->tag.etag[0] != '\0') {
        snprintf(generation, sizeof generation, "&generation=%.20s", operation->tag.etag);
    }
    char question[128];
    snprintf(question, sizeof question, "%s%s", get ? "alt=media" : "projection=noAcl", generation);
    out->method = "GET";
    out->max_body = SDS_HTTP_ERROR_BODY_MAX;
    enum sds_kind kind = set_url(gcs, operation, get ? "/download" : "", question, out);
    return kind == SDS_OK && get ? sds_request_range(operation, out) : kind;
}

static enum sds_kind add_common(const struct sds_gcs *gcs, const struct sds_credential *credential,
                                struct sds_http_request *out) {
    enum sds_kind kind = SDS_OK;
    if (gcs->pays != NULL) {
        kind = sds_http_request_header(out, "x-goog-user-project", "%s", gcs->pays);
    }
    if (kind == SDS_OK && credential != NULL && !credential->anonymous) {
        kind = sds_http_request_header(out, "Authorization", "Bearer %s", credential->token);
    }
    return kind;
}

enum sds_kind sds_gcs_prepare(struct sds_provider *provider, const struct sds_operation *operation,
                              const struct sds_credential *credential, int64_t now,
                              struct sds_http_request *out, struct sds_err *err) {
    (void)now;
    struct sds_gcs *gcs = (struct sds_gcs *)provider;
    bool writes = sds_action_writes(operation->action);
    *out = (struct sds_http_request){.method = ""};
    enum sds_kind kind = sds_operation_check(operation, SDS_BUCKET_KEY_MAX, err);
    if (kind != SDS_OK) {
        return kind;
    }
    uint64_t most = gcs->google ? SDS_GCS_OBJECT_MAX : SDS_GCS_STAND_IN_MAX;
    if (writes && operation->content->size > most) {
        return sds_fail(err, SDS_ERR_STORAGE, "size",
                        "%llu bytes, more than an object there may have (%llu)",
                        (unsigned long long)operation->content->size, (unsigned long long)most);
    }
    kind = writes ? sds_gcs_upload(gcs, operation, out) : read_request(gcs, operation, out);
    if (kind == SDS_OK) {
        kind = add_common(gcs, credential, out);
    }
    return sds_request_failed(kind, out, err);
}

// --- answers

static struct sds_verdict judge_get(const struct sds_case *c) {
    const struct sds_http_head *head = &c->answer->head;
    struct sds_verdict out = sds_judge_bytes(c, false);
    if (head->has_generation) {
        snprintf(out.told.tag.etag, sizeof out.told.tag.etag, "%" PRIu64, head->generation);
    }
    if (out.what == SDS_DONE && c->operation->pinned && head->has_generation &&
        head->generation != c->operation->generation) {
        return sds_judge_failed(c, SDS_ERR_STORAGE, "changed",
                                "asked for generation %" PRIu64 ", the server sends %" PRIu64,
                                c->operation->generation, head->generation);
    }
    sds_judge_tag(c, &out);
    return out;
}

static struct sds_verdict judge_metadata(const struct sds_case *c) {
    struct sds_verdict out = {.what = SDS_DONE};
    if (!sds_gcs_read_metadata(c->answer->body, c->operation->key, &out.told)) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "answer",
                               "the server's description of the object is none");
    }
    if (c->operation->action == SDS_HEAD) {
        sds_judge_tag(c, &out);
    }
    return out;
}

static struct sds_verdict judge_good(const struct sds_case *c) {
    return c->operation->action == SDS_GET ? judge_get(c) : judge_metadata(c);
}

static struct sds_verdict judge_unauthorized(const struct sds_case *c,
                                             const struct sds_refusal *refusal) {
    struct sds_verdict out =
        sds_judge_failed(c, SDS_ERR_DENIED, "credentials", "the credentials are refused: %s",
                         SDS_REFUSAL(c, refusal));
    out.what = SDS_RENEW;
    return out;
}

// 403 is also how Google says that somebody asks too often.
static struct sds_verdict judge_forbidden(const struct sds_case *c,
                                          const struct sds_refusal *refusal) {
    if (strcasestr(refusal->code, "rateLimitExceeded") != NULL) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "answer", "%s", SDS_REFUSAL(c, refusal));
    }
    return sds_judge_failed(c, SDS_ERR_DENIED, "permission", "%s", SDS_REFUSAL(c, refusal));
}

// Reads are pinned to the generation that was first seen, which is gone when another took its
// place.
static struct sds_verdict judge_absent(const struct sds_case *c,
                                       const struct sds_refusal *refusal) {
    bool seen = c->operation->tag.etag[0] != '\0' && !c->operation->pinned;
    // The whole of it, for what is said of an object has its name in it; as text where bytes were
    // asked for.
    static const char no_bucket[] = "The specified bucket does not exist.";
    if (strcmp(refusal->message, no_bucket) == 0 ||
        sds_span_eq(c->answer->body, sds_span_str(no_bucket))) {
        return sds_judge_no_bucket(c);
    }
    if (seen && c->operation->action != SDS_CREATE) {
        return sds_judge_condition(c);
    }
    return sds_judge_failed(c, SDS_ERR_NOT_FOUND, "absent", "%s",
                            c->operation->pinned ? "there is no such generation of the object"
                                                 : "there is no such object");
}

static struct sds_verdict judge_range(const struct sds_case *c) {
    struct sds_verdict out = sds_judge_unsatisfied(c, NULL);
    if (c->answer->head.has_generation) {
        snprintf(out.told.tag.etag, sizeof out.told.tag.etag, "%" PRIu64,
                 c->answer->head.generation);
    }
    if (out.what == SDS_DONE) {
        sds_judge_tag(c, &out);
    }
    return out;
}

static struct sds_verdict judge_refusal(const struct sds_case *c) {
    struct sds_refusal refusal = {.code = ""};
    sds_gcs_read_refusal(c->answer->body, &refusal);
    switch (c->answer->status) {
    case 401:
        return judge_unauthorized(c, &refusal);
    case 403:
        return judge_forbidden(c, &refusal);
    case 404:
        return judge_absent(c, &refusal);
    case 409:
    case 412:
        return sds_judge_condition(c);
    case 416:
        return judge_range(c);
    case 501:
        if (sds_action_writes(c->operation->action)) {
            return sds_judge_failed(c, SDS_ERR_UNSUPPORTED, "conditional_writes",
                                    "the server has no conditional writes, without which "
                                    "publishing is not safe: %s",
                                    SDS_REFUSAL(c, &refusal));
        }
        break;
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return sds_judge_failed(c, SDS_ERR_STORAGE, "redirect",
                                "the server points elsewhere, where requests are not taken to");
    default:
        break;
    }
    return sds_judge_rest(c, &refusal);
}

struct sds_verdict sds_gcs_judge(struct sds_provider *provider,
                                 const struct sds_operation *operation,
                                 const struct sds_http_answer *answer, int64_t now,
                                 struct sds_err *err) {
    (void)now;
    struct sds_case c = {.operation = operation, .answer = answer, .err = err};
    struct sds_verdict out;
    bool writes = sds_action_writes(operation->action);
    if (writes && sds_gcs_judge_upload((struct sds_gcs *)provider, &c, &out)) {
        return out;
    }
    if (sds_judge_transport(&c, &out)) {
        return out;
    }
    int status = answer->status;
    bool good =
        status == 200 || (writes ? status == 201 : status == 206 && operation->action == SDS_GET);
    return good ? judge_good(&c) : judge_refusal(&c);
}

// --- making one

static void gcs_free(struct sds_provider *provider) {
    struct sds_gcs *gcs = (struct sds_gcs *)provider;
    sds_endpoint_fini(&gcs->endpoint);
    free(gcs->pays);
    free(gcs);
}

static const struct sds_provider_ops gcs_ops = {.name = "gcs",
                                                .can_write = true,
                                                .pins_generations = true,
                                                .prepare = sds_gcs_prepare,
                                                .judge = sds_gcs_judge,
                                                .free = gcs_free};

static bool is_google(const char *host) {
    static const char suffix[] = ".googleapis.com";
    size_t len = strlen(host), tail = sizeof suffix - 1;
    return len > tail && strcmp(host + len - tail, suffix) == 0;
}

static enum sds_kind configure(struct sds_gcs *gcs, const struct sds_remote_options *options,
                               struct sds_err *err) {
    static const char *const endpoints[] = {"STORAGE_EMULATOR_HOST", NULL};
    static const char *const projects[] = {"GOOGLE_CLOUD_PROJECT", NULL};
    const char *endpoint = sds_setting(options->endpoint, endpoints);
    const char *project = options->requester_pays ? sds_setting(NULL, projects) : NULL;
    enum sds_kind kind = sds_endpoint_parse(
        endpoint != NULL ? endpoint : "https://storage.googleapis.com", true, &gcs->endpoint, err);
    if (kind == SDS_OK && gcs->endpoint.bucket_host) {
        return sds_fail(err, SDS_ERR_INVALID, "endpoint", "a bucket of gs:// is never in the host");
    }
    if (kind == SDS_OK) {
        gcs->google = is_google(gcs->endpoint.host);
        gcs->base.origin = sds_endpoint_origin(&gcs->endpoint);
        gcs->pays = project != NULL ? strdup(project) : NULL;
        if (gcs->base.origin == NULL || (project != NULL && gcs->pays == NULL)) {
            kind = sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a provider");
        }
    }
    return kind;
}

enum sds_kind sds_gcs_new(const struct sds_remote_options *options, struct sds_provider **out,
                          struct sds_err *err) {
    struct sds_gcs *gcs = calloc(1, sizeof *gcs);
    if (gcs == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a provider");
    }
    gcs->base.ops = &gcs_ops;
    enum sds_kind kind = configure(gcs, options, err);
    if (kind != SDS_OK) {
        sds_provider_free(&gcs->base);
        return kind;
    }
    *out = &gcs->base;
    return SDS_OK;
}
