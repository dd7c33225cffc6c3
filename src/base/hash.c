// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

void sds_sha256(struct sds_span data, uint8_t out[SDS_SHA256_BYTES]) {
    SHA256(data.at, data.len, out);
}

void sds_hex(const uint8_t *bytes, size_t len, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

void sds_sha256_hex(struct sds_span data, char out[SDS_SHA256_HEX]) {
    uint8_t digest[SDS_SHA256_BYTES];
    sds_sha256(data, digest);
    sds_hex(digest, sizeof digest, out);
}

// EVP's context is the digest.
static EVP_MD_CTX *context(struct sds_digest *digest) {
    return (EVP_MD_CTX *)digest;
}

struct sds_digest *sds_digest_new(void) {
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(ctx);
        ctx = NULL;
    }
    return (struct sds_digest *)ctx;
}

// Once begun, the software of SHA-256 has nothing that could fail.
void sds_digest_add(struct sds_digest *digest, const void *bytes, size_t len) {
    EVP_DigestUpdate(context(digest), bytes, len);
}

void sds_digest_hex(struct sds_digest *digest, char out[SDS_SHA256_HEX]) {
    uint8_t bytes[SDS_SHA256_BYTES] = {0};
    EVP_DigestFinal_ex(context(digest), bytes, NULL);
    sds_hex(bytes, sizeof bytes, out);
}

void sds_digest_free(struct sds_digest *digest) {
    EVP_MD_CTX_free(context(digest));
}

uint64_t sds_hash_stable(struct sds_span data) {
    uint8_t digest[SDS_SHA256_BYTES];
    sds_sha256(data, digest);
    return sds_le64(digest);
}
