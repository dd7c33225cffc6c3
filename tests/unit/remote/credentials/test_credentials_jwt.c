// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "remote/credentials/jwt.h"
#include "remote/credentials/secret.h"

static const struct sds_jwt jwt = {
    .key_id = "key-1",
    .issuer = "robot@project.example",
    .audience = "https://oauth2.example/to\"ken",
    .scope = "https://scope.example/a",
    .issued = 1700000000,
    .expires = 1700003600,
};

static void load(const char *name, struct sds_buf *out) {
    char path[512];
    snprintf(path, sizeof path, "%s/credentials/%s", SDSFS_TEST_DATA, name);
    assert_int_equal(sds_secret_read(path, 16384, out, NULL), SDS_OK);
}

static size_t decode(struct sds_span text, uint8_t out[4096]) {
    char padded[4096];
    size_t len = (text.len + 3) / 4 * 4;
    assert_true(text.len > 0 && len < sizeof padded);
    memset(padded, '=', len);
    for (size_t i = 0; i < text.len; i++) {
        assert_true(text.at[i] != '+' && text.at[i] != '/' && text.at[i] != '=');
        padded[i] = text.at[i] == '-' ? '+' : text.at[i] == '_' ? '/' : (char)text.at[i];
    }
    assert_true(EVP_DecodeBlock(out, (const uint8_t *)padded, (int)len) > 0);
    return text.len * 3 / 4;
}

static bool verifies(struct sds_span text, const uint8_t *signature, size_t len) {
    struct sds_buf pem = {0};
    load("service_account.pub", &pem);
    BIO *bio = BIO_new_mem_buf(pem.at, (int)pem.len);
    EVP_PKEY *key = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    assert_non_null(key);
    assert_int_equal(EVP_DigestVerifyInit(md, NULL, EVP_sha256(), NULL, key), 1);
    bool good = EVP_DigestVerify(md, signature, len, text.at, text.len) == 1;
    EVP_MD_CTX_free(md);
    EVP_PKEY_free(key);
    BIO_free(bio);
    sds_secret_fini(&pem);
    return good;
}

static void says(struct sds_span part, const char *text) {
    uint8_t bytes[4096];
    size_t len = decode(part, bytes);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(bytes, text, len);
}

static void it_is_signed_by_the_key(void **state) {
    (void)state;
    struct sds_buf key = {0}, out = SDS_BUF_INIT(8192);
    uint8_t signature[4096];
    load("service_account.pem", &key);
    assert_int_equal(sds_buf_add_str(&out, "before="), SDS_OK);
    assert_int_equal(sds_jwt_sign(&jwt, sds_buf_span(&key), &out, NULL), SDS_OK);
    struct sds_span text = sds_span(out.at + 7, out.len - 7);
    const uint8_t *first = memchr(text.at, '.', text.len);
    const uint8_t *last = memrchr(text.at, '.', text.len);
    assert_true(first != NULL && last > first);
    says(sds_span(text.at, (size_t)(first - text.at)),
         "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"key-1\"}");
    says(sds_span(first + 1, (size_t)(last - first) - 1),
         "{\"iss\":\"robot@project.example\",\"scope\":\"https://scope.example/a\",\"aud\":"
         "\"https://oauth2.example/to\\\"ken\",\"iat\":1700000000,\"exp\":1700003600}");
    size_t len = decode(sds_span(last + 1, (size_t)(text.at + text.len - last) - 1), signature);
    struct sds_span said = sds_span(text.at, (size_t)(last - text.at));
    assert_true(verifies(said, signature, len));
    signature[5] ^= 1;
    assert_false(verifies(said, signature, len));
    sds_buf_fini(&out);
    sds_secret_fini(&key);
}

static void other_keys_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"elliptic.pem", "encrypted.pem", "service_account.pub"};
    for (size_t i = 0; i < 3; i++) {
        struct sds_buf key = {0}, out = SDS_BUF_INIT(8192);
        struct sds_err err;
        load(names[i], &key);
        assert_int_equal(sds_jwt_sign(&jwt, sds_buf_span(&key), &out, &err), SDS_ERR_INVALID);
        assert_string_equal(err.check, "credentials");
        assert_int_equal(out.len, 0);
        assert_int_equal(sds_jwt_sign(&jwt, sds_span(key.at, 40), &out, &err), SDS_ERR_INVALID);
        sds_buf_fini(&out);
        sds_secret_fini(&key);
    }
}

static void it_has_to_fit(void **state) {
    (void)state;
    struct sds_buf key = {0}, out = SDS_BUF_INIT(300);
    load("service_account.pem", &key);
    assert_int_equal(sds_jwt_sign(&jwt, sds_buf_span(&key), &out, NULL), SDS_ERR_LIMIT);
    sds_buf_fini(&out);
    sds_secret_fini(&key);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_signed_by_the_key),
        cmocka_unit_test(other_keys_are_refused),
        cmocka_unit_test(it_has_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
