// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/credentials/credentials.h"
#include "remote/servers/s3.h"
#include "remote/servers/sigv4.h"

// Where a request goes.
struct place {
    char region[SDS_S3_REGION];
    const char *scheme;
    struct sds_buf host, path; // ended by NUL
};

static void place_fini(struct place *place) {
    sds_buf_fini(&place->host);
    sds_buf_fini(&place->path);
}

static const char *text_of(const struct sds_buf *buf) {
    return (const char *)buf->at;
}

// Whether a bucket's name can stand in a host's that a certificate for *.domain covers.
static bool is_label(const char *bucket) {
    size_t len = strlen(bucket);
    return len >= 3 && len <= 63 &&
           strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-") == len && bucket[0] != '-' &&
           bucket[len - 1] != '-';
}

static bool in_host(const struct sds_s3 *s3, const char *bucket) {
    return !s3->path_style && (s3->aws ? is_label(bucket) : s3->endpoint.bucket_host);
}

static const char *aws_domain(const char *region) {
    return strncmp(region, "cn-", 3) == 0 ? "amazonaws.com.cn" : "amazonaws.com";
}

static enum sds_kind add_host(const struct sds_s3 *s3, const char *bucket, struct place *place) {
    bool before = in_host(s3, bucket);
    enum sds_kind kind =
        sds_buf_printf(&place->host, "%s%s", before ? bucket : "", before ? "." : "");
    if (kind == SDS_OK) {
        kind = s3->aws ? sds_buf_printf(&place->host, "s3.%s.%s", place->region,
                                        aws_domain(place->region))
                       : sds_buf_add_str(&place->host, s3->endpoint.host);
    }
    return kind == SDS_OK ? sds_buf_add(&place->host, "", 1) : kind;
}

static enum sds_kind add_path(const struct sds_s3 *s3, const struct sds_operation *operation,
                              struct place *place) {
    enum sds_kind kind = s3->aws ? SDS_OK : sds_buf_add_str(&place->path, s3->endpoint.path);
    if (kind == SDS_OK && !in_host(s3, operation->bucket)) {
        kind = sds_buf_printf(&place->path, "/%s", operation->bucket);
    }
    kind = kind == SDS_OK ? sds_buf_add(&place->path, "/", 1) : kind;
    kind = kind == SDS_OK ? sds_percent_encode(&place->path, operation->key, "/") : kind;
    return kind == SDS_OK ? sds_buf_add(&place->path, "", 1) : kind;
}

static enum sds_kind find_place(struct sds_s3 *s3, const struct sds_operation *operation,
                                struct place *out) {
    *out = (struct place){.scheme = s3->aws || s3->endpoint.tls ? "https" : "http",
                          .host = SDS_BUF_INIT(4096),
                          .path = SDS_BUF_INIT(1 << 16)};
    sds_s3_region(s3, operation->bucket, out->region);
    enum sds_kind kind = add_host(s3, operation->bucket, out);
    return kind == SDS_OK ? add_path(s3, operation, out) : kind;
}

// --- the headers of an action

static bool asks_by_get(struct sds_s3 *s3, const struct sds_operation *operation) {
    return operation->action == SDS_HEAD && sds_s3_explains(s3);
}

static enum sds_kind add_read(struct sds_s3 *s3, const struct sds_operation *operation,
                              struct sds_http_request *request) {
    bool by_get = asks_by_get(s3, operation);
    enum sds_kind kind = SDS_OK;
    request->method = operation->action == SDS_GET || by_get ? "GET" : "HEAD";
    request->max_body = SDS_HTTP_ERROR_BODY_MAX;
    if (operation->action == SDS_GET) {
        kind = sds_request_range(operation, request);
    } else if (by_get && !sds_operation_in_doubt(operation)) {
        kind = sds_http_request_header(request, "Range", "bytes=0-0");
    }
    if (kind == SDS_OK && operation->tag.etag[0] != '\0') {
        kind = sds_http_request_header(request, "If-Match", "\"%s\"", operation->tag.etag);
    }
    return kind;
}

// The tag goes without quotes: AWS takes both, Ceph these only.
static enum sds_kind add_write(const struct sds_operation *operation,
                               struct sds_http_request *request) {
    request->method = "PUT";
    request->body = operation->content;
    request->max_body = SDS_HTTP_ERROR_BODY_MAX;
    enum sds_kind kind =
        sds_http_request_header(request, "Content-Type", "%s", sds_content_type(operation->key));
    if (kind != SDS_OK) {
        return kind;
    }
    bool replaces = operation->action == SDS_SWAP && operation->tag.etag[0] != '\0';
    return replaces ? sds_http_request_header(request, "If-Match", "%s", operation->tag.etag)
                    : sds_http_request_header(request, "If-None-Match", "*");
}

// --- the signature

static void lower(char *to, size_t size, const char *from) {
    size_t i = 0;
    for (; from[i] != '\0' && i + 1 < size; i++) {
        to[i] = (char)tolower((unsigned char)from[i]);
    }
    to[i] = '\0';
}

// Everything that is in the request by now, and the host.
static enum sds_kind authorize(const struct place *place, const struct sds_credential *credential,
                               const char date[17], const char *payload,
                               struct sds_http_request *request) {
    struct sds_sigv4_header headers[SDS_SIGV4_HEADERS_MAX];
    char names[SDS_SIGV4_HEADERS_MAX][40];
    if (request->header_count + 1 > SDS_SIGV4_HEADERS_MAX) {
        return SDS_ERR_INTERNAL;
    }
    for (size_t i = 0; i < request->header_count; i++) {
        lower(names[i], sizeof names[i], request->headers[i].name);
        headers[i] = (struct sds_sigv4_header){names[i], request->headers[i].value};
    }
    headers[request->header_count] = (struct sds_sigv4_header){"host", text_of(&place->host)};
    struct sds_sigv4_key key = {.id = credential->key_id,
                                .secret = credential->secret,
                                .region = place->region,
                                .service = "s3"};
    struct sds_sigv4_request signed_one = {.method = request->method,
                                           .path = text_of(&place->path),
                                           .query = "",
                                           .payload = payload,
                                           .headers = headers,
                                           .header_count = request->header_count + 1};
    struct sds_buf value = SDS_BUF_INIT(1 << 16);
    enum sds_kind kind = sds_sigv4_authorize(&key, &signed_one, date, &value);
    if (kind == SDS_OK) {
        kind = sds_http_request_header(request, "Authorization", "%.*s", (int)value.len,
                                       text_of(&value));
    }
    sds_buf_fini(&value);
    return kind;
}

static enum sds_kind sign(struct sds_s3 *s3, const struct sds_operation *operation,
                          const struct place *place, const struct sds_credential *credential,
                          int64_t now, struct sds_http_request *request) {
    const char *payload =
        sds_action_writes(operation->action) ? operation->sha256 : SDS_SIGV4_EMPTY;
    char date[17];
    sds_sigv4_date(now + sds_s3_skew(s3), date);
    enum sds_kind kind = sds_http_request_header(request, "x-amz-date", "%s", date);
    if (kind == SDS_OK) {
        kind = sds_http_request_header(request, "x-amz-content-sha256", "%s", payload);
    }
    if (kind == SDS_OK && credential->token[0] != '\0') {
        kind = sds_http_request_header(request, "x-amz-security-token", "%s", credential->token);
    }
    return kind == SDS_OK ? authorize(place, credential, date, payload, request) : kind;
}

static enum sds_kind write_request(struct sds_s3 *s3, const struct sds_operation *operation,
                                   const struct sds_credential *credential, int64_t now,
                                   struct sds_http_request *out) {
    struct place place;
    enum sds_kind kind = find_place(s3, operation, &place);
    if (kind == SDS_OK) {
        kind = sds_http_request_url(out, "%s://%s%s", place.scheme, text_of(&place.host),
                                    text_of(&place.path));
    }
    if (kind == SDS_OK) {
        kind = sds_action_writes(operation->action) ? add_write(operation, out)
                                                    : add_read(s3, operation, out);
    }
    if (kind == SDS_OK && s3->requester_pays) {
        kind = sds_http_request_header(out, "x-amz-request-payer", "requester");
    }
    if (kind == SDS_OK && credential != NULL && !credential->anonymous) {
        kind = sign(s3, operation, &place, credential, now, out);
    }
    place_fini(&place);
    return kind;
}

enum sds_kind sds_s3_prepare(struct sds_provider *provider, const struct sds_operation *operation,
                             const struct sds_credential *credential, int64_t now,
                             struct sds_http_request *out, struct sds_err *err) {
    *out = (struct sds_http_request){.method = ""};
    enum sds_kind kind = sds_operation_check(operation, SDS_BUCKET_KEY_MAX, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (sds_action_writes(operation->action) && operation->content->size > SDS_S3_OBJECT_MAX) {
        return sds_fail(err, SDS_ERR_STORAGE, "size",
                        "%llu bytes, more than S3 stores in one request (5 GiB)",
                        (unsigned long long)operation->content->size);
    }
    kind = write_request((struct sds_s3 *)provider, operation, credential, now, out);
    return sds_request_failed(kind, out, err);
}
