// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/jwt.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_write.h"

// Base64 with the letters of URLs and without padding.
static enum sds_kind add_base64(struct sds_buf *out, struct sds_span bytes) {
    if (bytes.len > INT_MAX / 2) {
        return SDS_ERR_LIMIT;
    }
    size_t len = (bytes.len + 2) / 3 * 4;
    enum sds_kind kind = sds_buf_reserve(out, len + 1); // and OpenSSL's NUL
    if (kind != SDS_OK) {
        return kind;
    }
    uint8_t *at = out->at + out->len;
    EVP_EncodeBlock(at, bytes.at, (int)bytes.len);
    for (size_t i = 0; i < len; i++) {
        at[i] = at[i] == '+' ? '-' : at[i] == '/' ? '_' : at[i];
    }
    while (len > 0 && at[len - 1] == '=') {
        len--;
    }
    out->len += len;
    return SDS_OK;
}

static enum sds_kind add_member(struct sds_buf *out, const char *before, const char *text) {
    enum sds_kind kind = sds_buf_add_str(out, before);
    return kind == SDS_OK ? sds_json_write_string(sds_span_str(text), out) : kind;
}

static enum sds_kind write_header(const struct sds_jwt *jwt, struct sds_buf *out) {
    enum sds_kind kind = sds_buf_add_str(out, "{\"alg\":\"RS256\",\"typ\":\"JWT\"");
    if (kind == SDS_OK && jwt->key_id[0] != '\0') {
        kind = add_member(out, ",\"kid\":", jwt->key_id);
    }
    return kind == SDS_OK ? sds_buf_add_str(out, "}") : kind;
}

static enum sds_kind write_claims(const struct sds_jwt *jwt, struct sds_buf *out) {
    enum sds_kind kind = add_member(out, "{\"iss\":", jwt->issuer);
    if (kind == SDS_OK) {
        kind = add_member(out, ",\"scope\":", jwt->scope);
    }
    if (kind == SDS_OK) {
        kind = add_member(out, ",\"aud\":", jwt->audience);
    }
    return kind == SDS_OK ? sds_buf_printf(out, ",\"iat\":%lld,\"exp\":%lld}",
                                           (long long)jwt->issued, (long long)jwt->expires)
                          : kind;
}

static enum sds_kind add_part(struct sds_buf *out, const struct sds_jwt *jwt,
                              enum sds_kind (*write)(const struct sds_jwt *, struct sds_buf *)) {
    struct sds_buf text = SDS_BUF_INIT(16384);
    enum sds_kind kind = write(jwt, &text);
    if (kind == SDS_OK) {
        kind = add_base64(out, sds_buf_span(&text));
    }
    sds_buf_fini(&text);
    return kind;
}

// --- the key

static int no_pass_phrase(char *buf, int size, int writing, void *ctx) {
    (void)buf, (void)size, (void)writing, (void)ctx;
    return -1; // else OpenSSL asks whoever sits at the terminal
}

static EVP_PKEY *read_key(struct sds_span pem) {
    BIO *bio = pem.len <= INT_MAX ? BIO_new_mem_buf(pem.at, (int)pem.len) : NULL;
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_pass_phrase, NULL) : NULL;
    BIO_free(bio);
    if (key != NULL && EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

// Nothing that is worth a reason goes wrong here with a key that could be read.
static bool sign(EVP_PKEY *key, struct sds_span text, uint8_t **out, size_t *len) {
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    *out = NULL;
    bool done = md != NULL && EVP_DigestSignInit(md, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(md, NULL, len, text.at, text.len) == 1 &&
                (*out = malloc(*len)) != NULL &&
                EVP_DigestSign(md, *out, len, text.at, text.len) == 1;
    EVP_MD_CTX_free(md);
    return done;
}

static enum sds_kind add_signature(struct sds_buf *out, size_t from, EVP_PKEY *key) {
    sds_autofree uint8_t *signature = NULL;
    size_t len = 0;
    if (!sign(key, sds_span(out->at + from, out->len - from), &signature, &len)) {
        return SDS_ERR_NO_MEMORY;
    }
    enum sds_kind kind = sds_buf_add_str(out, ".");
    return kind == SDS_OK ? add_base64(out, sds_span(signature, len)) : kind;
}

enum sds_kind sds_jwt_sign(const struct sds_jwt *jwt, struct sds_span pem, struct sds_buf *out,
                           struct sds_err *err) {
    size_t from = out->len;
    EVP_PKEY *key = read_key(pem);
    ERR_clear_error();
    if (key == NULL) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "its private key is no RSA key in PEM without a pass phrase");
    }
    enum sds_kind kind = add_part(out, jwt, write_header);
    if (kind == SDS_OK) {
        kind = sds_buf_add_str(out, ".");
    }
    if (kind == SDS_OK) {
        kind = add_part(out, jwt, write_claims);
    }
    if (kind == SDS_OK) {
        kind = add_signature(out, from, key);
    }
    EVP_PKEY_free(key);
    ERR_clear_error();
    if (kind != SDS_OK) {
        return sds_fail(err, kind, "credentials", "its token cannot be signed");
    }
    return SDS_OK;
}
