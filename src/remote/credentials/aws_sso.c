// SPDX-License-Identifier: Apache-2.0
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "remote/credentials/aws.h"
#include "remote/credentials/document.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"
#include "remote/credentials/when.h"

#define CACHE_BYTES_MAX ((size_t)128 << 10)

struct sso {
    char account[SDS_AWS_TEXT_MAX], role[SDS_AWS_TEXT_MAX], session[SDS_AWS_TEXT_MAX];
    char start_url[SDS_AWS_TEXT_MAX], region[64];
};

static enum sds_kind read_settings(const struct sds_aws_config *config, const char *profile,
                                   struct sso *out, struct sds_err *err) {
    const struct {
        const char *key;
        char *out;
        size_t size;
    } keys[] = {
        {"sso_account_id", out->account, sizeof out->account},
        {"sso_role_name", out->role, sizeof out->role},
        {"sso_session", out->session, sizeof out->session},
        {"sso_start_url", out->start_url, sizeof out->start_url},
        {"sso_region", out->region, sizeof out->region},
    };
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < sizeof keys / sizeof keys[0]; i++) {
        kind = sds_aws_setting(config, profile, keys[i].key, keys[i].out, keys[i].size, NULL, err);
    }
    return kind;
}

static enum sds_kind read_session(const struct sds_aws_config *config, struct sso *sso,
                                  struct sds_err *err) {
    if (!sds_aws_has_sso(config, sso->session)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "there is no sso-session %s",
                        SDS_QUOTE(sso->session, strlen(sso->session)));
    }
    enum sds_kind kind = sds_aws_sso_setting(config, sso->session, "sso_start_url", sso->start_url,
                                             sizeof sso->start_url, err);
    return kind == SDS_OK ? sds_aws_sso_setting(config, sso->session, "sso_region", sso->region,
                                                sizeof sso->region, err)
                          : kind;
}

static enum sds_kind check(const struct sso *sso, struct sds_err *err) {
    const struct {
        const char *key, *value;
    } needed[] = {{"sso_account_id", sso->account},
                  {"sso_role_name", sso->role},
                  {"sso_start_url", sso->start_url},
                  {"sso_region", sso->region}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (needed[i].value[0] == '\0') {
            return sds_fail(err, SDS_ERR_INVALID, "credentials", "SSO: there is no %s",
                            needed[i].key);
        }
    }
    if (sso->region[strspn(sso->region, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0') {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "SSO: sso_region is no region");
    }
    return SDS_OK;
}

// --- the token that a login left, in a file that is named by the hash of what was logged in to

static bool cache_path(const struct sso *sso, char *out, size_t size) {
    const char *of = sso->session[0] != '\0' ? sso->session : sso->start_url;
    uint8_t digest[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE + 1], home[SDS_AWS_PATH_MAX];
    unsigned len = 0;
    if (EVP_Digest(of, strlen(of), digest, &len, EVP_sha1(), NULL) != 1 ||
        !sds_home(home, sizeof home)) {
        return false;
    }
    sds_hex(digest, len, hex);
    int n = snprintf(out, size, "%s/.aws/sso/cache/%s.json", home, hex);
    return n >= 0 && (size_t)n < size;
}

static enum sds_kind login(struct sds_err *err, const char *what) {
    return sds_fail(err, SDS_ERR_DENIED, "credentials", "SSO: %s (aws sso login gets a new one)",
                    what);
}

static enum sds_kind read_token(const struct sds_finding *finding, const struct sso *sso, char *out,
                                size_t size, struct sds_err *err) {
    char path[SDS_AWS_PATH_MAX + 128], when[64];
    sds_autosecret struct sds_buf text = {0};
    sds_autojson struct sds_json *doc = NULL;
    int64_t expires = 0;
    if (!cache_path(sso, path, sizeof path)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "SSO: there is no home directory");
    }
    enum sds_kind kind = sds_secret_read(path, CACHE_BYTES_MAX, &text, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        return login(err, "there is no token of a login");
    }
    if (kind == SDS_OK) {
        kind = sds_document_parse(sds_buf_span(&text), &doc, err);
    }
    if (kind == SDS_OK) {
        kind = sds_document_need(sds_json_top(doc), "accessToken", out, size, err);
    }
    if (kind == SDS_OK) {
        kind = sds_document_need(sds_json_top(doc), "expiresAt", when, sizeof when, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "SSO: %s", SDS_QUOTE(path, strlen(path)));
        return kind;
    }
    if (!sds_when_parse(when, &expires) || expires <= finding->now) {
        return login(err, "the token of the login has expired");
    }
    return SDS_OK;
}

// --- the question

static enum sds_kind write_url(const struct sds_aws_config *config, const char *profile,
                               const struct sso *sso, struct sds_buf *url, struct sds_err *err) {
    char endpoint[SDS_URL_MAX];
    enum sds_kind kind = sds_aws_endpoint(config, profile, "sso", "portal.sso", sso->region,
                                          endpoint, sizeof endpoint, err);
    if (kind != SDS_OK) {
        return kind;
    }
    size_t len = strlen(endpoint);
    endpoint[len - (len > 0 && endpoint[len - 1] == '/')] = '\0';
    kind = sds_buf_printf(url, "%s/federation/credentials?role_name=", endpoint);
    if (kind == SDS_OK) {
        kind = sds_form_encode(url, sds_span_str(sso->role));
    }
    if (kind == SDS_OK) {
        kind = sds_form_add(url, "account_id", sso->account);
    }
    if (kind == SDS_OK) {
        kind = sds_buf_add(url, "", 1);
    }
    return kind == SDS_OK ? SDS_OK : sds_buf_failed(url, kind, err);
}

static enum sds_kind ask(const struct sds_finding *finding, const struct sds_aws_config *config,
                         const char *profile, const struct sso *sso, const char *token,
                         struct sds_credential *out, struct sds_err *err) {
    struct sds_buf url = SDS_BUF_INIT(4 * SDS_AWS_TEXT_MAX);
    sds_autosaid struct sds_http_reply reply = {0};
    enum sds_kind kind = write_url(config, profile, sso, &url, err);
    if (kind == SDS_OK) {
        struct sds_ask question = {.method = "GET",
                                   .url = (const char *)url.at,
                                   .headers = {{"x-amz-sso_bearer_token", token}}};
        kind = sds_ask(finding, &question, &reply, err);
    }
    if (kind == SDS_OK && reply.status == 401) {
        kind = login(err, "the token of the login is refused");
    } else if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_document_read(SDS_DOCUMENT_SSO, sds_said_body(&reply), finding->now, out, err);
    }
    sds_buf_fini(&url);
    return kind;
}

enum sds_kind sds_aws_sso(const struct sds_finding *finding, const struct sds_aws_config *config,
                          const char *profile, struct sds_found *found, struct sds_err *err) {
    struct sso sso;
    char token[8192];
    enum sds_kind kind = read_settings(config, profile, &sso, err);
    if (kind != SDS_OK || (sso.account[0] == '\0' && sso.role[0] == '\0')) {
        return kind;
    }
    if (sso.session[0] != '\0') {
        kind = read_session(config, &sso, err);
    }
    if (kind == SDS_OK) {
        kind = check(&sso, err);
    }
    if (kind == SDS_OK) {
        kind = read_token(finding, &sso, token, sizeof token, err);
    }
    if (kind == SDS_OK) {
        kind = ask(finding, config, profile, &sso, token, &found->credential, err);
    }
    OPENSSL_cleanse(token, sizeof token);
    if (kind == SDS_OK) {
        sds_found_name(found, "SSO of profile %s", SDS_QUOTE(profile, strlen(profile)));
    }
    return kind;
}
