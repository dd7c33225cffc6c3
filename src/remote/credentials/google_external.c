// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "remote/credentials/document.h"
#include "remote/credentials/google.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

#define FORM_MAX ((size_t)64 << 10)
#define SUBJECT_MAX ((size_t)16 << 10)

// --- the subject's token, which somebody else gives

// The headers that the file has sent along: a few, with plain names.
static enum sds_kind add_headers(struct sds_value headers, struct sds_ask *ask,
                                 char text[4][2][512], struct sds_err *err) {
    size_t n = 0;
    for (struct sds_iter it = sds_value_iter(headers); sds_iter_next(&it); n++) {
        struct sds_buf scratch = SDS_BUF_INIT(512);
        struct sds_span name;
        bool fits = n < 4 && sds_value_string(it.key, &scratch, &name) == SDS_OK && name.len > 0 &&
                    name.len < 512;
        if (fits) {
            memcpy(text[n][0], name.at, name.len);
            text[n][0][name.len] = '\0';
            fits = strlen(text[n][0]) == name.len &&
                   sds_document_text(headers, text[n][0], text[n][1], 512) == SDS_FIELD_OK;
        }
        sds_buf_fini(&scratch);
        if (!fits) {
            return sds_fail(err, SDS_ERR_INVALID, "credentials",
                            "the headers of its credential_source cannot be sent");
        }
        ask->headers[n].name = text[n][0];
        ask->headers[n].value = text[n][1];
    }
    return SDS_OK;
}

static enum sds_kind fetch(const struct sds_finding *finding, struct sds_value source,
                           const char *url, struct sds_buf *out, struct sds_err *err) {
    char text[4][2][512];
    sds_autosaid struct sds_http_reply reply = {0};
    struct sds_ask ask = {.method = "GET", .url = url};
    enum sds_kind kind = sds_url_check(url, SDS_URL_METADATA, err);
    if (kind == SDS_OK) {
        kind = add_headers(sds_value_get(source, "headers"), &ask, text, err);
    }
    if (kind == SDS_OK) {
        ask.direct = strncmp(url, "http:", 5) == 0;
        kind = sds_ask(finding, &ask, &reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_secret_init(out, SUBJECT_MAX, err);
    }
    if (kind == SDS_OK && sds_buf_add_span(out, sds_said_body(&reply)) != SDS_OK) {
        kind = sds_fail(err, SDS_ERR_LIMIT, "credentials", "its token is too long");
    }
    OPENSSL_cleanse(text, sizeof text);
    if (kind != SDS_OK) {
        sds_err_context(err, "its credential_source");
    }
    return kind;
}

static enum sds_kind read_source(const struct sds_finding *finding, struct sds_value source,
                                 struct sds_buf *out, struct sds_err *err) {
    char where[SDS_URL_MAX];
    if (sds_document_text(source, "file", where, sizeof where) == SDS_FIELD_OK) {
        return sds_secret_read(where, SUBJECT_MAX, out, err);
    }
    if (!sds_value_there(sds_value_get(source, "environment_id")) &&
        sds_document_text(source, "url", where, sizeof where) == SDS_FIELD_OK) {
        return fetch(finding, source, where, out, err);
    }
    return sds_fail(err, SDS_ERR_UNSUPPORTED, "credentials",
                    "its credential_source is neither a file nor a URL");
}

static enum sds_kind take_plain(struct sds_span text, char *out, size_t size, struct sds_err *err) {
    while (text.len > 0 && memchr(" \t\r\n", text.at[text.len - 1], 4) != NULL) {
        text.len--;
    }
    bool usable = text.len > 0 && text.len < size;
    for (size_t i = 0; usable && i < text.len; i++) {
        usable = text.at[i] > 0x20 && text.at[i] <= 0x7e;
    }
    if (!usable) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "its credential_source has no token");
    }
    memcpy(out, text.at, text.len);
    out[text.len] = '\0';
    return SDS_OK;
}

static enum sds_kind subject(const struct sds_finding *finding, struct sds_value file, char *out,
                             size_t size, struct sds_err *err) {
    struct sds_value source = sds_value_get(file, "credential_source");
    struct sds_value format = sds_value_get(source, "format");
    char type[16] = "text", field[128];
    sds_autosecret struct sds_buf text = {0};
    sds_autojson struct sds_json *doc = NULL;
    enum sds_kind kind = read_source(finding, source, &text, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (sds_document_text(format, "type", type, sizeof type) != SDS_FIELD_BAD &&
        strcmp(type, "text") == 0) {
        return take_plain(sds_buf_span(&text), out, size, err);
    }
    if (strcmp(type, "json") != 0) {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "credentials",
                        "the format of its credential_source is neither text nor json");
    }
    kind = sds_document_need(format, "subject_token_field_name", field, sizeof field, err);
    if (kind == SDS_OK) {
        kind = sds_document_parse(sds_buf_span(&text), &doc, err);
    }
    return kind == SDS_OK ? sds_document_need(sds_json_top(doc), field, out, size, err) : kind;
}

// --- the exchange

static enum sds_kind write_form(struct sds_value file, const char *token, const char *scope,
                                struct sds_buf *form, struct sds_err *err) {
    char audience[1024], type[256];
    enum sds_kind kind = sds_document_need(file, "audience", audience, sizeof audience, err);
    if (kind == SDS_OK) {
        kind = sds_document_need(file, "subject_token_type", type, sizeof type, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    const struct {
        const char *name, *value;
    } fields[] = {
        {"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
        {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
        {"audience", audience},
        {"scope", scope},
        {"subject_token_type", type},
        {"subject_token", token},
    };
    for (size_t i = 0; kind == SDS_OK && i < sizeof fields / sizeof fields[0]; i++) {
        kind = sds_form_add(form, fields[i].name, fields[i].value);
    }
    return kind == SDS_OK ? SDS_OK : sds_buf_failed(form, kind, err);
}

static enum sds_kind exchange(const struct sds_finding *finding, struct sds_value file,
                              const char *scope, struct sds_credential *out, struct sds_err *err) {
    char token[SUBJECT_MAX], url[SDS_URL_MAX];
    sds_autosecret struct sds_buf form = {0};
    enum sds_kind kind = sds_document_need(file, "token_url", url, sizeof url, err);
    if (kind == SDS_OK) {
        kind = subject(finding, file, token, sizeof token, err);
    }
    if (kind == SDS_OK) {
        kind = sds_secret_init(&form, FORM_MAX, err);
    }
    if (kind == SDS_OK) {
        kind = write_form(file, token, scope, &form, err);
    }
    if (kind == SDS_OK) {
        kind = sds_google_post(finding, url, sds_buf_span(&form), NULL, out, err);
    }
    OPENSSL_cleanse(token, sizeof token);
    return kind;
}

// --- the service account that the token is allowed to be

static enum sds_kind impersonate(const struct sds_finding *finding, const char *url,
                                 struct sds_credential *out, struct sds_err *err) {
    static const char body[] = "{\"scope\":[\"" SDS_GOOGLE_SCOPE "\"],\"lifetime\":\"3600s\"}";
    sds_autosecret struct sds_buf bearer = {0};
    sds_autosaid struct sds_http_reply reply = {0};
    enum sds_kind kind = sds_url_check(url, SDS_URL_SECURE, err);
    if (kind == SDS_OK) {
        kind = sds_secret_init(&bearer, sizeof out->token + 16, err);
    }
    if (kind == SDS_OK && sds_buf_printf(&bearer, "Bearer %s", out->token) != SDS_OK) {
        kind = sds_fail(err, SDS_ERR_INTERNAL, "credentials", "no room for a token");
    }
    if (kind == SDS_OK) {
        struct sds_ask ask = {.method = "POST",
                              .url = url,
                              .headers = {{"content-type", "application/json"},
                                          {"authorization", (const char *)bearer.at}},
                              .body = sds_span(body, sizeof body - 1)};
        kind = sds_ask(finding, &ask, &reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_document_read(SDS_DOCUMENT_IMPERSONATED, sds_said_body(&reply), finding->now,
                                 out, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "the service account that it stands for");
    }
    return kind;
}

enum sds_kind sds_google_external(const struct sds_finding *finding, struct sds_value file,
                                  struct sds_credential *out, struct sds_err *err) {
    char url[SDS_URL_MAX] = "";
    enum sds_field field =
        sds_document_text(file, "service_account_impersonation_url", url, sizeof url);
    if (field == SDS_FIELD_BAD) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "\"service_account_impersonation_url\" in it is no URL");
    }
    bool stands = field == SDS_FIELD_OK;
    enum sds_kind kind = exchange(
        finding, file, stands ? "https://www.googleapis.com/auth/cloud-platform" : SDS_GOOGLE_SCOPE,
        out, err);
    return kind == SDS_OK && stands ? impersonate(finding, url, out, err) : kind;
}
