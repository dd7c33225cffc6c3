// SPDX-License-Identifier: Apache-2.0
#include "remote/servers/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/servers/uri.h"

#define BUCKET "{bucket}."

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an endpoint");
}

// As a URL, without the place for the bucket.
static char *plain_url(const char *text, bool bare_is_http, bool *bucket_host) {
    const char *separator = strstr(text, "://");
    const char *scheme = separator == NULL && bare_is_http ? "http://" : "";
    const char *host = separator == NULL ? text : separator + 3;
    *bucket_host = strncmp(host, BUCKET, strlen(BUCKET)) == 0;
    char *url = NULL;
    int len = asprintf(&url, "%s%.*s%s", scheme, (int)(host - text), text,
                       host + (*bucket_host ? strlen(BUCKET) : 0));
    return len < 0 ? NULL : url;
}

static enum sds_kind encoded_path(const char *key, char **out, struct sds_err *err) {
    struct sds_buf path = SDS_BUF_INIT(1 << 18);
    size_t len = strlen(key);
    while (len > 0 && key[len - 1] == '/') {
        len--;
    }
    sds_autofree char *trimmed = strndup(key, len);
    bool fine = trimmed != NULL && (len == 0 || sds_buf_add(&path, "/", 1) == SDS_OK) &&
                sds_percent_encode(&path, trimmed, "/") == SDS_OK &&
                sds_buf_add(&path, "", 1) == SDS_OK;
    if (!fine) {
        sds_buf_fini(&path);
        return no_memory(err);
    }
    *out = (char *)path.at;
    return SDS_OK;
}

enum sds_kind sds_endpoint_parse(const char *text, bool bare_is_http, struct sds_endpoint *out,
                                 struct sds_err *err) {
    *out = (struct sds_endpoint){.tls = false};
    sds_autofree char *url = plain_url(text, bare_is_http, &out->bucket_host);
    if (url == NULL) {
        return no_memory(err);
    }
    struct sds_target target;
    enum sds_kind kind = sds_target_parse_typed(url, &target, err);
    bool web = target.scheme == SDS_SCHEME_HTTP || target.scheme == SDS_SCHEME_HTTPS;
    if (kind == SDS_ERR_INVALID || (kind == SDS_OK && !web)) {
        char why[sizeof err->message];
        snprintf(why, sizeof why, "%s",
                 kind == SDS_OK || err == NULL ? "it is not http:// or https://" : err->message);
        kind = sds_fail(err, SDS_ERR_INVALID, "endpoint", "%s: %s", SDS_ROOT_SHOWN(text), why);
    }
    if (kind == SDS_OK) {
        kind = encoded_path(target.key, &out->path, err);
    }
    if (kind == SDS_OK) {
        out->tls = target.scheme == SDS_SCHEME_HTTPS;
        out->host = SDS_STEAL(target.bucket);
    }
    sds_target_fini(&target);
    return kind;
}

void sds_endpoint_fini(struct sds_endpoint *endpoint) {
    free(endpoint->host);
    free(endpoint->path);
    *endpoint = (struct sds_endpoint){.tls = false};
}

char *sds_endpoint_origin(const struct sds_endpoint *endpoint) {
    char *origin = NULL;
    int len = asprintf(&origin, "%s://%s%s", endpoint->tls ? "https" : "http", endpoint->host,
                       endpoint->path);
    return len < 0 ? NULL : origin;
}

const char *sds_setting(const char *option, const char *const *variables) {
    if (option != NULL && option[0] != '\0') {
        return option;
    }
    for (; *variables != NULL; variables++) {
        const char *value = getenv(*variables);
        if (value != NULL && value[0] != '\0') {
            return value;
        }
    }
    return NULL;
}
