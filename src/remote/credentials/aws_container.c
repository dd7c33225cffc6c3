// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "remote/credentials/aws.h"
#include "remote/credentials/document.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

#define ECS "http://169.254.170.2"
#define TOKEN_MAX ((size_t)16 << 10)
#define TRY_MS 2000

static enum sds_kind locate(char url[SDS_URL_MAX], struct sds_err *err) {
    const char *relative = sds_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = sds_env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    url[0] = '\0';
    if (relative == NULL && full == NULL) {
        return SDS_OK;
    }
    bool fits = relative != NULL ? sds_url_join(ECS, relative, url, SDS_URL_MAX)
                                 : strlen(full) < SDS_URL_MAX;
    if (!fits) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "its URL is too long");
    }
    if (relative == NULL) {
        memcpy(url, full, strlen(full) + 1);
    }
    return sds_url_check(url, SDS_URL_CONTAINER, err);
}

// What is shown to the endpoint; empty where nothing is configured.
static enum sds_kind authorize(struct sds_buf *out, struct sds_err *err) {
    const char *file = sds_env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *token = sds_env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    enum sds_kind kind = SDS_OK;
    if (file != NULL) {
        kind = sds_secret_read(file, TOKEN_MAX, out, err);
    } else {
        token = token != NULL ? token : "";
        kind = sds_secret_init(out, TOKEN_MAX + 1, err);
        if (kind == SDS_OK && strlen(token) > TOKEN_MAX) {
            kind = sds_fail(err, SDS_ERR_INVALID, "credentials", "its token is too long");
        }
        if (kind == SDS_OK) {
            memcpy(out->at, token, strlen(token) + 1);
            out->len = strlen(token);
        }
    }
    while (kind == SDS_OK && out->len > 0 && memchr(" \t\r\n", out->at[out->len - 1], 4) != NULL) {
        out->at[--out->len] = '\0';
    }
    for (size_t i = 0; kind == SDS_OK && i < out->len; i++) {
        if (out->at[i] < 0x20 || out->at[i] > 0x7e) {
            return sds_fail(err, SDS_ERR_INVALID, "credentials",
                            "its token holds bytes that none can have");
        }
    }
    return kind;
}

static enum sds_kind ask(const struct sds_finding *finding, const char *url,
                         struct sds_credential *out, struct sds_err *err) {
    sds_autosecret struct sds_buf token = {0};
    sds_autosaid struct sds_http_reply reply = {0};
    enum sds_kind kind = authorize(&token, err);
    if (kind == SDS_OK) {
        struct sds_ask question = {
            .method = "GET",
            .url = url,
            .headers = {{"authorization", token.len > 0 ? (const char *)token.at : NULL},
                        {"accept", "application/json"}},
            .direct = true,
            .timeout_ms = TRY_MS,
        };
        kind = sds_ask(finding, &question, &reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    return kind == SDS_OK ? sds_document_read(SDS_DOCUMENT_METADATA, sds_said_body(&reply),
                                              finding->now, out, err)
                          : kind;
}

enum sds_kind sds_aws_container(const struct sds_finding *finding, struct sds_found *found,
                                struct sds_err *err) {
    char url[SDS_URL_MAX];
    enum sds_kind kind = locate(url, err);
    if (kind == SDS_OK && url[0] == '\0') {
        return SDS_OK;
    }
    if (kind == SDS_OK) {
        kind = ask(finding, url, &found->credential, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "the container's endpoint (AWS_CONTAINER_CREDENTIALS_...)");
        return kind;
    }
    sds_found_name(found, "the container's endpoint");
    return SDS_OK;
}
