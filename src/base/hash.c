// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

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

uint64_t sds_hash_stable(struct sds_span data) {
    uint8_t digest[SDS_SHA256_BYTES];
    sds_sha256(data, digest);
    return sds_le64(digest);
}
