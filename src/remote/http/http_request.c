// SPDX-License-Identifier: Apache-2.0
//
// Making a request.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "remote/http/http.h"

static void free_secret(char *text) {
    if (text != NULL) { // it may be an Authorization
        explicit_bzero(text, strlen(text));
        free(text);
    }
}

void sds_http_request_fini(struct sds_http_request *request) {
    for (size_t i = 0; i < request->header_count; i++) {
        free(request->headers[i].name);
        free_secret(request->headers[i].value);
    }
    free(request->headers);
    free(request->url);
    *request = (struct sds_http_request){0};
}

enum sds_kind sds_http_request_url(struct sds_http_request *request, const char *fmt, ...) {
    va_list args;
    char *url;
    va_start(args, fmt);
    int len = vasprintf(&url, fmt, args);
    va_end(args);
    if (len < 0) {
        return SDS_ERR_NO_MEMORY;
    }
    for (const char *c = url; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~') {
            free(url);
            return SDS_ERR_INVALID;
        }
    }
    free(request->url);
    request->url = url;
    return SDS_OK;
}

static bool is_token(const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && strchr("!#$%&'*+-.^_`|~", *c) == NULL) {
            return false;
        }
    }
    return text[0] != '\0';
}

static bool is_value(const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 127) {
            return false;
        }
    }
    return true;
}

static bool make_room(struct sds_http_request *request) {
    if (request->header_count < request->header_cap) {
        return true;
    }
    size_t cap = request->header_cap == 0 ? 8 : request->header_cap * 2;
    struct sds_http_header *headers = realloc(request->headers, cap * sizeof *headers);
    if (headers == NULL) {
        return false;
    }
    request->headers = headers;
    request->header_cap = cap;
    return true;
}

// Takes over the value when it succeeds.
static enum sds_kind append(struct sds_http_request *request, const char *name, char *value) {
    if (!is_token(name) || !is_value(value)) {
        return SDS_ERR_INVALID;
    }
    char *copy = make_room(request) ? strdup(name) : NULL;
    if (copy == NULL) {
        return SDS_ERR_NO_MEMORY;
    }
    request->headers[request->header_count++] = (struct sds_http_header){copy, value};
    return SDS_OK;
}

enum sds_kind sds_http_request_header(struct sds_http_request *request, const char *name,
                                      const char *fmt, ...) {
    va_list args;
    char *value;
    va_start(args, fmt);
    int len = vasprintf(&value, fmt, args);
    va_end(args);
    if (len < 0) {
        return SDS_ERR_NO_MEMORY;
    }
    enum sds_kind kind = append(request, name, value);
    if (kind != SDS_OK) {
        free_secret(value);
    }
    return kind;
}

const char *sds_http_request_find(const struct sds_http_request *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0) {
            return request->headers[i].value;
        }
    }
    return NULL;
}
