// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/servers/gcs.h"

#define ULL(n) ((unsigned long long)(n))

// --- requests

static enum sds_kind set_url(const struct sds_gcs *gcs, const struct sds_operation *operation,
                             const char *type, struct sds_http_request *out) {
    bool replaces = operation->action == SDS_SWAP && operation->tag.etag[0] != '\0';
    return sds_http_request_url(
        out, "%s://%s%s/upload/storage/v1/b/%s/o?uploadType=%s&ifGenerationMatch=%.20s",
        gcs->endpoint.tls ? "https" : "http", gcs->endpoint.host, gcs->endpoint.path,
        operation->bucket, type, replaces ? operation->tag.etag : "0");
}

// The hash of the content cannot be in it, so what begins with it ends the content.
static enum sds_kind multipart(const struct sds_gcs *gcs, const struct sds_operation *operation,
                               struct sds_http_request *out) {
    struct sds_upload *upload = operation->upload;
    sds_autofree char *metadata = NULL;
    enum sds_kind kind = sds_gcs_metadata(operation, &metadata);
    if (kind != SDS_OK) {
        return kind;
    }
    char boundary[40];
    snprintf(boundary, sizeof boundary, "sds-%.32s", operation->sha256);
    free(SDS_STEAL(upload->prefix));
    if (asprintf(&upload->prefix,
                 "--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n%s\r\n"
                 "--%s\r\nContent-Type: %s\r\n\r\n",
                 boundary, metadata, boundary, sds_content_type(operation->key)) < 0) {
        upload->prefix = NULL;
        return SDS_ERR_NO_MEMORY;
    }
    snprintf(upload->suffix, sizeof upload->suffix, "\r\n--%s--\r\n", boundary);
    out->method = "POST";
    out->prefix = sds_span_str(upload->prefix);
    out->suffix = sds_span_str(upload->suffix);
    out->body = operation->content;
    kind = set_url(gcs, operation, "multipart", out);
    return kind == SDS_OK ? sds_http_request_header(out, "Content-Type",
                                                    "multipart/related; boundary=%s", boundary)
                          : kind;
}

static enum sds_kind begin_session(const struct sds_gcs *gcs, const struct sds_operation *operation,
                                   struct sds_http_request *out) {
    struct sds_upload *upload = operation->upload;
    free(SDS_STEAL(upload->prefix));
    enum sds_kind kind = sds_gcs_metadata(operation, &upload->prefix);
    if (kind != SDS_OK) {
        return kind;
    }
    out->method = "POST";
    out->prefix = sds_span_str(upload->prefix);
    kind = set_url(gcs, operation, "resumable", out);
    if (kind == SDS_OK) {
        kind = sds_http_request_header(out, "Content-Type", "application/json; charset=UTF-8");
    }
    if (kind == SDS_OK) {
        kind = sds_http_request_header(out, "X-Upload-Content-Type", "%s",
                                       sds_content_type(operation->key));
    }
    return kind == SDS_OK ? sds_http_request_header(out, "X-Upload-Content-Length", "%llu",
                                                    ULL(operation->content->size))
                          : kind;
}

static enum sds_kind read_rest(void *ctx, uint64_t off, void *buf, size_t len,
                               struct sds_err *err) {
    const struct sds_upload *upload = ctx;
    return upload->whole->read_at(upload->whole->ctx, upload->sent + off, buf, len, err);
}

static enum sds_kind send_rest(const struct sds_operation *operation,
                               struct sds_http_request *out) {
    struct sds_upload *upload = operation->upload;
    uint64_t size = operation->content->size;
    out->method = "PUT";
    enum sds_kind kind = sds_http_request_url(out, "%s", upload->session);
    if (kind != SDS_OK) {
        return kind;
    }
    if (upload->unsure || upload->sent == size) {
        return sds_http_request_header(out, "Content-Range", "bytes */%llu", ULL(size));
    }
    upload->whole = operation->content;
    upload->rest =
        (struct sds_content){.read_at = read_rest, .ctx = upload, .size = size - upload->sent};
    out->body = &upload->rest;
    return sds_http_request_header(out, "Content-Range", "bytes %llu-%llu/%llu", ULL(upload->sent),
                                   ULL(size - 1), ULL(size));
}

enum sds_kind sds_gcs_upload(struct sds_gcs *gcs, const struct sds_operation *operation,
                             struct sds_http_request *out) {
    struct sds_upload *upload = operation->upload;
    if (gcs->google && operation->content->size > SDS_GCS_MULTIPART_MAX) {
        upload->large = true;
    }
    out->max_body = SDS_HTTP_ERROR_BODY_MAX;
    if (!upload->large) {
        return multipart(gcs, operation, out);
    }
    return upload->session[0] == '\0' ? begin_session(gcs, operation, out)
                                      : send_rest(operation, out);
}

// --- answers

// Our token goes with the bytes, so they go to nobody but whom they were meant for.
static bool is_same_server(const struct sds_gcs *gcs, const char *location) {
    sds_autofree char *origin = sds_endpoint_origin(&gcs->endpoint);
    size_t len = origin == NULL ? 0 : strlen(origin);
    return len > 0 && strncasecmp(location, origin, len) == 0 &&
           (location[len] == '/' || location[len] == '?');
}

static void forget_session(struct sds_upload *upload) {
    upload->session[0] = '\0';
    upload->unsure = false;
    upload->sent = 0;
}

static struct sds_verdict judge_begun(const struct sds_gcs *gcs, const struct sds_case *c) {
    struct sds_upload *upload = c->operation->upload;
    const char *location = c->answer->head.location;
    if (!is_same_server(gcs, location) || strlen(location) >= sizeof upload->session) {
        return sds_judge_failed(c, SDS_ERR_STORAGE, "answer",
                                "the server names no place of its own for the upload");
    }
    strcpy(upload->session, location);
    return (struct sds_verdict){.what = SDS_NEXT};
}

// How much arrived.
static struct sds_verdict judge_progress(const struct sds_case *c) {
    struct sds_upload *upload = c->operation->upload;
    uint64_t arrived = c->answer->head.has_uploaded ? c->answer->head.uploaded : 0;
    bool asked = upload->unsure, further = arrived > upload->sent;
    if (arrived > c->operation->content->size) {
        return sds_judge_failed(c, SDS_ERR_STORAGE, "answer",
                                "the server has more bytes than were sent");
    }
    upload->sent = arrived;
    upload->unsure = false;
    if (asked || further) {
        return (struct sds_verdict){.what = SDS_NEXT};
    }
    return sds_judge_again(c, SDS_ERR_STORAGE, "answer", "the server takes none of the bytes");
}

static bool judge_session(const struct sds_case *c, struct sds_verdict *out) {
    struct sds_upload *upload = c->operation->upload;
    int status = c->answer->status;
    if (c->answer->failure != SDS_HTTP_ANSWERED) {
        upload->unsure = true;
        return false;
    }
    if (status == 308) {
        *out = judge_progress(c);
        return true;
    }
    if (status == 404 || status == 410) {
        forget_session(upload);
        *out = sds_judge_again(c, SDS_ERR_STORAGE, "answer", "the server has forgotten the upload");
        out->written = true;
        return true;
    }
    upload->unsure = status != 200 && status != 201;
    return false;
}

bool sds_gcs_judge_upload(struct sds_gcs *gcs, const struct sds_case *c, struct sds_verdict *out) {
    struct sds_upload *upload = c->operation->upload;
    bool answered = c->answer->failure == SDS_HTTP_ANSWERED;
    int status = c->answer->status;
    if (!upload->large) {
        if (!answered || status != 413) {
            return false;
        }
        upload->large = true;
        *out = sds_judge_failed(c, SDS_ERR_STORAGE, "size", "the server answers 413: too large");
        out->what = SDS_AGAIN_NOW;
        return true;
    }
    if (upload->session[0] != '\0') {
        return judge_session(c, out);
    }
    if (answered && (status == 200 || status == 201)) {
        *out = judge_begun(gcs, c);
        return true;
    }
    return false;
}
