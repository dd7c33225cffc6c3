// SPDX-License-Identifier: Apache-2.0
#include "remote/servers/sigv4.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"

enum { MAX_CANONICAL = 1 << 20, DIGEST = SDS_SHA256_BYTES };

void sds_sigv4_date(int64_t now, char out[17]) {
    struct tm utc = {0};
    time_t seconds = (time_t)now;
    gmtime_r(&seconds, &utc);
    if (strftime(out, 17, "%Y%m%dT%H%M%SZ", &utc) != 16) {
        memcpy(out, "19700101T000000Z", 17);
    }
}

static void hmac(const uint8_t *key, size_t len, const char *text, uint8_t out[DIGEST]) {
    HMAC(EVP_sha256(), key, (int)len, (const uint8_t *)text, strlen(text), out, NULL);
}

// The key for one day, region and service.
static enum sds_kind derive(const struct sds_sigv4_key *key, const char day[9],
                            uint8_t out[DIGEST]) {
    size_t size = strlen(key->secret) + 5;
    char *secret = malloc(size);
    if (secret == NULL) {
        return SDS_ERR_NO_MEMORY;
    }
    snprintf(secret, size, "AWS4%s", key->secret);
    uint8_t step[2][DIGEST];
    hmac((const uint8_t *)secret, size - 1, day, step[0]);
    hmac(step[0], DIGEST, key->region, step[1]);
    hmac(step[1], DIGEST, key->service, step[0]);
    hmac(step[0], DIGEST, "aws4_request", out);
    OPENSSL_cleanse(secret, size);
    OPENSSL_cleanse(step, sizeof step);
    free(secret);
    return SDS_OK;
}

static int by_name(const void *a, const void *b) {
    const struct sds_sigv4_header *left = a, *right = b;
    return strcmp(left->name, right->name);
}

// Without spaces around it, and with one for several.
static enum sds_kind add_value(struct sds_buf *out, const char *value) {
    enum sds_kind kind = SDS_OK;
    bool gap = false, begun = false;
    for (const char *p = value; *p != '\0' && kind == SDS_OK; p++) {
        if (*p == ' ') {
            gap = begun;
            continue;
        }
        kind = gap ? sds_buf_add(out, " ", 1) : SDS_OK;
        kind = kind == SDS_OK ? sds_buf_add(out, p, 1) : kind;
        gap = false;
        begun = true;
    }
    return kind;
}

struct signing {
    struct sds_sigv4_header headers[SDS_SIGV4_HEADERS_MAX]; // sorted
    size_t count;
    char date[17], day[9];
    struct sds_buf canonical;
    struct sds_buf names; // of the headers, with semicolons between
};

static enum sds_kind add_headers(struct signing *signing) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; i < signing->count && kind == SDS_OK; i++) {
        const struct sds_sigv4_header *header = &signing->headers[i];
        kind = sds_buf_printf(&signing->names, "%s%s", i > 0 ? ";" : "", header->name);
        kind = kind == SDS_OK ? sds_buf_printf(&signing->canonical, "%s:", header->name) : kind;
        kind = kind == SDS_OK ? add_value(&signing->canonical, header->value) : kind;
        kind = kind == SDS_OK ? sds_buf_add_str(&signing->canonical, "\n") : kind;
    }
    return kind;
}

static enum sds_kind add_canonical(struct signing *signing,
                                   const struct sds_sigv4_request *request) {
    enum sds_kind kind = sds_buf_printf(&signing->canonical, "%s\n%s\n%s\n", request->method,
                                        request->path, request->query);
    if (kind == SDS_OK) {
        kind = add_headers(signing);
    }
    if (kind == SDS_OK) {
        kind = sds_buf_printf(&signing->canonical, "\n%.*s\n%s", (int)signing->names.len,
                              (const char *)signing->names.at, request->payload);
    }
    return kind;
}

static enum sds_kind add_authorization(const struct signing *signing,
                                       const struct sds_sigv4_key *key, struct sds_buf *out) {
    uint8_t signing_key[DIGEST], signature[DIGEST];
    char canonical[SDS_SHA256_HEX], hex[SDS_SHA256_HEX];
    sds_sha256_hex(sds_buf_span(&signing->canonical), canonical);
    struct sds_buf text = SDS_BUF_INIT(MAX_CANONICAL);
    enum sds_kind kind =
        sds_buf_printf(&text, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s", signing->date,
                       signing->day, key->region, key->service, canonical);
    if (kind == SDS_OK) {
        kind = sds_buf_add(&text, "", 1);
    }
    if (kind == SDS_OK) {
        kind = derive(key, signing->day, signing_key);
    }
    if (kind == SDS_OK) {
        hmac(signing_key, DIGEST, (const char *)text.at, signature);
        sds_hex(signature, DIGEST, hex);
        kind = sds_buf_printf(out,
                              "AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request, "
                              "SignedHeaders=%.*s, Signature=%s",
                              key->id, signing->day, key->region, key->service,
                              (int)signing->names.len, (const char *)signing->names.at, hex);
    }
    OPENSSL_cleanse(signing_key, sizeof signing_key);
    sds_buf_fini(&text);
    return kind;
}

enum sds_kind sds_sigv4_authorize(const struct sds_sigv4_key *key,
                                  const struct sds_sigv4_request *request, const char date[17],
                                  struct sds_buf *out) {
    if (request->header_count > SDS_SIGV4_HEADERS_MAX) {
        return SDS_ERR_INTERNAL;
    }
    struct signing signing = {.count = request->header_count,
                              .canonical = SDS_BUF_INIT(MAX_CANONICAL),
                              .names = SDS_BUF_INIT(MAX_CANONICAL)};
    memcpy(signing.headers, request->headers, request->header_count * sizeof *request->headers);
    qsort(signing.headers, signing.count, sizeof signing.headers[0], by_name);
    snprintf(signing.date, sizeof signing.date, "%s", date);
    snprintf(signing.day, sizeof signing.day, "%.8s", date);
    enum sds_kind kind = add_canonical(&signing, request);
    if (kind == SDS_OK) {
        kind = add_authorization(&signing, key, out);
    }
    if (signing.canonical.at != NULL) { // a session's token is in it
        OPENSSL_cleanse(signing.canonical.at, signing.canonical.cap);
    }
    sds_buf_fini(&signing.canonical);
    sds_buf_fini(&signing.names);
    return kind;
}
