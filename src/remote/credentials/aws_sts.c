// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/hash.h"
#include "remote/credentials/aws.h"
#include "remote/credentials/document.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"
#include "remote/servers/sigv4.h"

#define FORM_MAX ((size_t)64 << 10)
#define TOKEN_FILE_MAX ((size_t)16 << 10)
#define FORM_TYPE "application/x-www-form-urlencoded; charset=utf-8"

static bool is_there(const char *text) {
    return text != NULL && text[0] != '\0';
}

static enum sds_kind add_role(struct sds_buf *form, const struct sds_finding *finding,
                              const char *action, const struct sds_aws_role *role) {
    char own[48];
    snprintf(own, sizeof own, "sdsfs-%lld", (long long)finding->now);
    const struct {
        const char *name, *value;
    } fields[] = {
        {"Action", action},
        {"Version", "2011-06-15"},
        {"RoleArn", role->arn},
        {"RoleSessionName", is_there(role->session) ? role->session : own},
        {"ExternalId", role->external_id},
        {"DurationSeconds", role->duration},
    };
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < sizeof fields / sizeof fields[0]; i++) {
        if (is_there(fields[i].value)) {
            kind = sds_form_add(form, fields[i].name, fields[i].value);
        }
    }
    return kind;
}

// --- the signature

// The pieces of a URL that are signed. STS is asked at its root, or at the root of a gateway.
struct place {
    char url[SDS_URL_MAX + 1];
    char host[512];
    const char *path;
};

static bool locate(const char *endpoint, struct place *out) {
    const char *host = strstr(endpoint, "://");
    if (host == NULL || strpbrk(endpoint, "?#") != NULL) {
        return false;
    }
    host += 3;
    size_t len = strcspn(host, "/");
    int n = snprintf(out->url, sizeof out->url, "%s%s", endpoint, host[len] == '\0' ? "/" : "");
    if (len >= sizeof out->host || n < 0 || (size_t)n >= sizeof out->url) {
        return false;
    }
    memcpy(out->host, host, len);
    out->host[len] = '\0';
    out->path = out->url + (host - endpoint) + len;
    return true;
}

static enum sds_kind sign(const struct place *place, struct sds_span body, const char *region,
                          const struct sds_credential *base, const char date[17],
                          struct sds_buf *out, struct sds_err *err) {
    char payload[SDS_SHA256_HEX];
    sds_sha256_hex(body, payload);
    struct sds_sigv4_header headers[] = {
        {"content-type", FORM_TYPE},
        {"host", place->host},
        {"x-amz-date", date},
        {"x-amz-security-token", base->token},
    };
    struct sds_sigv4_request request = {
        .method = "POST",
        .path = place->path,
        .query = "",
        .payload = payload,
        .headers = headers,
        .header_count = base->token[0] != '\0' ? 4 : 3,
    };
    struct sds_sigv4_key key = {base->key_id, base->secret, region, "sts"};
    enum sds_kind kind = sds_sigv4_authorize(&key, &request, date, out);
    if (kind == SDS_OK) {
        kind = sds_buf_add(out, "", 1);
    }
    return kind == SDS_OK ? SDS_OK : sds_buf_failed(out, kind, err);
}

// --- a question

static enum sds_kind post(const struct sds_finding *finding, const struct sds_aws_config *config,
                          const char *profile, struct sds_span form,
                          const struct sds_credential *base, struct sds_http_reply *out,
                          struct sds_err *err) {
    char region[64], endpoint[SDS_URL_MAX], date[17] = "";
    struct place place;
    sds_autosecret struct sds_buf authorization = {0};
    enum sds_kind kind = sds_aws_region(finding, config, profile, region, err);
    if (kind == SDS_OK) {
        kind =
            sds_aws_endpoint(config, profile, "sts", "sts", region, endpoint, sizeof endpoint, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    if (!locate(endpoint, &place)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "the URL of STS is not usable");
    }
    if (base != NULL) {
        sds_sigv4_date((int64_t)time(NULL), date);
        kind = sds_secret_init(&authorization, 2048, err);
        if (kind == SDS_OK) {
            kind = sign(&place, form, region[0] != '\0' ? region : "us-east-1", base, date,
                        &authorization, err);
        }
    }
    if (kind != SDS_OK) {
        return kind;
    }
    bool has_token = base != NULL && base->token[0] != '\0';
    struct sds_ask ask = {
        .method = "POST",
        .url = place.url,
        .headers = {{"content-type", FORM_TYPE},
                    {"accept", "text/xml"},
                    {"x-amz-date", base != NULL ? date : NULL},
                    {"x-amz-security-token", has_token ? base->token : NULL},
                    {"authorization", base != NULL ? (const char *)authorization.at : NULL}},
        .body = form,
    };
    return sds_ask(finding, &ask, out, err);
}

static enum sds_kind exchange(const struct sds_finding *finding,
                              const struct sds_aws_config *config, const char *profile,
                              struct sds_span form, const struct sds_credential *base,
                              struct sds_credential *out, struct sds_err *err) {
    sds_autosaid struct sds_http_reply reply = {0};
    enum sds_kind kind = post(finding, config, profile, form, base, &reply, err);
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_document_read(SDS_DOCUMENT_STS, sds_said_body(&reply), finding->now, out, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "STS");
    }
    return kind;
}

enum sds_kind sds_sts_assume_role(const struct sds_finding *finding,
                                  const struct sds_aws_config *config, const char *profile,
                                  const struct sds_aws_role *role,
                                  const struct sds_credential *base, struct sds_credential *out,
                                  struct sds_err *err) {
    sds_autosecret struct sds_buf form = {0};
    enum sds_kind kind = sds_secret_init(&form, FORM_MAX, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = add_role(&form, finding, "AssumeRole", role);
    return kind != SDS_OK ? sds_buf_failed(&form, kind, err)
                          : exchange(finding, config, profile, sds_buf_span(&form), base, out, err);
}

static enum sds_kind read_token(const char *path, struct sds_buf *out, struct sds_err *err) {
    char full[SDS_AWS_PATH_MAX];
    if (!sds_home_path(path, full, sizeof full)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "the path of the token is too long");
    }
    enum sds_kind kind = sds_secret_read(full, TOKEN_FILE_MAX, out, err);
    if (kind != SDS_OK) {
        return kind;
    }
    size_t len = strcspn((const char *)out->at, " \t\r\n");
    bool ends = strspn((const char *)out->at + len, " \t\r\n") == out->len - len;
    if (len == 0 || !ends) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "%s holds no token",
                        SDS_QUOTE(full, strlen(full)));
    }
    out->at[len] = '\0';
    out->len = len;
    return SDS_OK;
}

enum sds_kind sds_sts_web_identity(const struct sds_finding *finding,
                                   const struct sds_aws_config *config, const char *profile,
                                   const struct sds_aws_role *role, const char *token_file,
                                   struct sds_credential *out, struct sds_err *err) {
    sds_autosecret struct sds_buf token = {0};
    sds_autosecret struct sds_buf form = {0};
    enum sds_kind kind = read_token(token_file, &token, err);
    if (kind == SDS_OK) {
        kind = sds_secret_init(&form, FORM_MAX, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    kind = add_role(&form, finding, "AssumeRoleWithWebIdentity", role);
    if (kind == SDS_OK) {
        kind = sds_form_add(&form, "WebIdentityToken", (const char *)token.at);
    }
    return kind != SDS_OK ? sds_buf_failed(&form, kind, err)
                          : exchange(finding, config, profile, sds_buf_span(&form), NULL, out, err);
}
