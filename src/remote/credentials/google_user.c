// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/document.h"
#include "remote/credentials/google.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

#define TOKEN_URI "https://oauth2.googleapis.com/token"
#define FORM_MAX ((size_t)32 << 10)

static enum sds_kind add_member(struct sds_buf *form, struct sds_value file, const char *key,
                                struct sds_err *err) {
    char text[4096];
    enum sds_kind kind = sds_document_need(file, key, text, sizeof text, err);
    if (kind == SDS_OK) {
        kind = sds_form_add(form, key, text);
        kind = kind == SDS_OK ? SDS_OK : sds_buf_failed(form, kind, err);
    }
    OPENSSL_cleanse(text, sizeof text);
    return kind;
}

// What `gcloud auth application-default login` left: a token that others are to be had for.
enum sds_kind sds_google_user(const struct sds_finding *finding, struct sds_value file,
                              struct sds_credential *out, struct sds_err *err) {
    static const char *const members[] = {"client_id", "client_secret", "refresh_token"};
    char url[SDS_URL_MAX] = TOKEN_URI;
    sds_autosecret struct sds_buf form = {0};
    enum sds_kind kind = sds_secret_init(&form, FORM_MAX, err);
    if (kind == SDS_OK && sds_form_add(&form, "grant_type", "refresh_token") != SDS_OK) {
        kind = sds_fail(err, SDS_ERR_NO_MEMORY, "credentials", "no memory for a form");
    }
    for (size_t i = 0; kind == SDS_OK && i < sizeof members / sizeof members[0]; i++) {
        kind = add_member(&form, file, members[i], err);
    }
    if (kind == SDS_OK && sds_document_text(file, "token_uri", url, sizeof url) == SDS_FIELD_BAD) {
        kind = sds_fail(err, SDS_ERR_INVALID, "credentials", "\"token_uri\" in it is no URL");
    }
    return kind == SDS_OK ? sds_google_post(finding, url, sds_buf_span(&form), NULL, out, err)
                          : kind;
}
