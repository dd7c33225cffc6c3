// SPDX-License-Identifier: Apache-2.0
#include "remote/servers/provider.h"

#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/cleanup.h"
#include "remote/servers/provider_internal.h"

static enum sds_kind make(enum sds_scheme scheme, const struct sds_remote_options *options,
                          struct sds_provider **out, struct sds_err *err) {
    switch (scheme) {
    case SDS_SCHEME_S3:
        return sds_s3_new(options, out, err);
    case SDS_SCHEME_GCS:
        return sds_gcs_new(options, out, err);
    case SDS_SCHEME_HTTP:
    case SDS_SCHEME_HTTPS:
        break;
    }
    return sds_web_new(options, out, err);
}

bool sds_tag_is_version(const struct sds_tag *tag) {
    return tag->etag[0] != '\0' &&
           strncmp(tag->etag, SDS_TAG_OF_SIZE, strlen(SDS_TAG_OF_SIZE)) != 0;
}

static void trim_slashes(char *text) {
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '/') {
        text[--len] = '\0';
    }
}

// "scheme://bucket/prefix": a root that was parsed has no secret in it.
static char *shown_root(const char *root) {
    char *shown = strdup(root);
    if (shown != NULL) {
        shown[strcspn(shown, "?#")] = '\0';
        trim_slashes(shown);
    }
    return shown;
}

enum sds_kind sds_provider_new(const char *root, const struct sds_remote_options *options,
                               struct sds_provider **out, char **prefix, char **shown,
                               struct sds_err *err) {
    struct sds_target target;
    struct sds_provider *provider = NULL;
    enum sds_kind kind = sds_target_parse_typed(root, &target, err);
    if (kind == SDS_OK) {
        kind = make(target.scheme, options, &provider, err);
    }
    if (kind != SDS_OK) {
        sds_target_fini(&target);
        return kind;
    }
    trim_slashes(target.key);
    provider->target = target;
    if (provider->origin == NULL) {
        provider->origin = sds_web_origin(&target);
    }
    sds_autofree char *text = shown_root(root);
    *prefix = strdup(target.key);
    if (text == NULL || *prefix == NULL || provider->origin == NULL) {
        free(SDS_STEAL(*prefix));
        sds_provider_free(provider);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a store");
    }
    *shown = SDS_STEAL(text);
    *out = provider;
    return SDS_OK;
}

void sds_provider_free(struct sds_provider *provider) {
    if (provider != NULL) {
        sds_target_fini(&provider->target);
        free(provider->origin);
        provider->ops->free(provider);
    }
}

void sds_upload_fini(struct sds_upload *upload) {
    free(upload->prefix);
    *upload = (struct sds_upload){.large = false};
}

enum sds_kind sds_operation_content(struct sds_operation *operation,
                                    const struct sds_content *content, struct sds_err *err) {
    enum { PIECE = 256 << 10 };
    sds_autofree uint8_t *piece = malloc(PIECE);
    struct sds_digest *digest = sds_digest_new();
    enum sds_kind kind = SDS_OK;
    if (piece == NULL || digest == NULL) {
        kind = sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory to read what is to be stored");
    }
    uint32_t crc = 0;
    for (uint64_t off = 0; kind == SDS_OK && off < content->size;) {
        size_t len = content->size - off < PIECE ? (size_t)(content->size - off) : PIECE;
        kind = content->read_at(content->ctx, off, piece, len, err);
        if (kind == SDS_OK) {
            sds_digest_add(digest, piece, len);
            crc = sds_crc32c(crc, piece, len);
        }
        off += len;
    }
    if (kind == SDS_OK) {
        sds_digest_hex(digest, operation->sha256);
        operation->crc32c = crc;
        operation->content = content;
    }
    sds_digest_free(digest);
    return kind;
}

enum sds_kind sds_told_matches(const struct sds_told *told, struct sds_span bytes,
                               struct sds_err *err) {
    uint32_t found = told->has_crc ? sds_crc32c(0, bytes.at, bytes.len) : 0;
    if (!told->has_crc || found == told->crc32c) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_STORAGE, "checksum",
                    "the bytes have the CRC-32C %08x, the server says %08x", (unsigned)found,
                    (unsigned)told->crc32c);
}

// --- what the providers share

enum sds_kind sds_operation_check(const struct sds_operation *operation, size_t max_key,
                                  struct sds_err *err) {
    bool writes = operation->action == SDS_CREATE || operation->action == SDS_SWAP;
    if ((writes && (operation->content == NULL || operation->upload == NULL)) ||
        (operation->action == SDS_GET && operation->len == 0)) {
        return sds_fail(err, SDS_ERR_INTERNAL, "operation", "an operation without content");
    }
    if (operation->key[0] == '\0') {
        return sds_fail(err, SDS_ERR_INVALID, "key", "the name is empty");
    }
    if (strlen(operation->key) > max_key) {
        return sds_fail(err, SDS_ERR_LIMIT, "key",
                        "the name has %zu bytes, more than the %zu "
                        "that a server takes",
                        strlen(operation->key), max_key);
    }
    return SDS_OK;
}

const char *sds_content_type(const char *key) {
    size_t len = strlen(key);
    bool json = len >= 5 && strcmp(key + len - 5, ".json") == 0;
    return json ? "application/json" : "application/octet-stream";
}

enum sds_kind sds_request_range(const struct sds_operation *operation,
                                struct sds_http_request *request) {
    if (sds_operation_in_doubt(operation)) {
        return SDS_OK;
    }
    uint64_t last = operation->off + operation->len - 1;
    if (last < operation->off) {
        last = UINT64_MAX - 1;
    }
    return sds_http_request_header(request, "Range", "bytes=%llu-%llu",
                                   (unsigned long long)operation->off, (unsigned long long)last);
}

enum sds_kind sds_request_failed(enum sds_kind kind, struct sds_http_request *request,
                                 struct sds_err *err) {
    if (kind == SDS_OK) {
        return kind;
    }
    sds_http_request_fini(request);
    *request = (struct sds_http_request){.method = ""};
    switch (kind) {
    case SDS_ERR_NO_MEMORY:
        return sds_fail(err, kind, "memory", "no memory for a request");
    case SDS_ERR_LIMIT:
        return sds_fail(err, kind, "size", "the request is too long");
    default:
        return sds_fail(err, kind, "request", "the request cannot be written");
    }
}
