// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/document.h"
#include "remote/credentials/google.h"
#include "remote/credentials/jwt.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

#define LIFETIME_S 3600
#define FORM_MAX ((size_t)64 << 10)
#define KEY_MAX ((size_t)64 << 10)

struct account {
    char email[512], key_id[256], token_uri[2048];
};

static enum sds_kind read_account(struct sds_value file, struct account *out, struct sds_err *err) {
    enum sds_kind kind =
        sds_document_need(file, "client_email", out->email, sizeof out->email, err);
    if (kind == SDS_OK && sds_document_text(file, "private_key_id", out->key_id,
                                            sizeof out->key_id) != SDS_FIELD_OK) {
        out->key_id[0] = '\0';
    }
    if (kind == SDS_OK) {
        kind = sds_document_need(file, "token_uri", out->token_uri, sizeof out->token_uri, err);
    }
    return kind;
}

// The signed request for a token, as a form.
static enum sds_kind write_form(const struct sds_finding *finding, const struct account *account,
                                struct sds_span key, struct sds_buf *form, struct sds_err *err) {
    struct sds_jwt jwt = {
        .key_id = account->key_id,
        .issuer = account->email,
        .audience = account->token_uri,
        .scope = SDS_GOOGLE_SCOPE,
        .issued = finding->now,
        .expires = finding->now + LIFETIME_S,
    };
    enum sds_kind kind =
        sds_form_add(form, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
    if (kind == SDS_OK) {
        kind = sds_buf_add_str(form, "&assertion="); // base64: nothing in it is to be encoded
    }
    return kind == SDS_OK ? sds_jwt_sign(&jwt, key, form, err) : sds_buf_failed(form, kind, err);
}

enum sds_kind sds_google_service_account(const struct sds_finding *finding, struct sds_value file,
                                         struct sds_credential *out, struct sds_err *err) {
    struct account account;
    struct sds_span key = {0};
    sds_autosecret struct sds_buf unescaped = {0};
    sds_autosecret struct sds_buf form = {0};
    enum sds_kind kind = read_account(file, &account, err);
    if (kind == SDS_OK) {
        kind = sds_secret_init(&unescaped, KEY_MAX, err);
    }
    if (kind == SDS_OK) {
        kind = sds_secret_init(&form, FORM_MAX, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_value text = sds_value_get(file, "private_key");
    if (sds_value_string(text, &unescaped, &key) != SDS_OK || key.len == 0) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "there is no \"private_key\" in it");
    }
    kind = write_form(finding, &account, key, &form, err);
    return kind == SDS_OK
               ? sds_google_post(finding, account.token_uri, sds_buf_span(&form), NULL, out, err)
               : kind;
}
