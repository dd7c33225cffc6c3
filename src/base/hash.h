// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 through OpenSSL, hex, and fast 64-bit hashes for tables and against accidents (not for
// trust).
#ifndef SDSFS_BASE_HASH_H
#define SDSFS_BASE_HASH_H

#include <stdint.h>

#include "base/bytes.h"

#define SDS_SHA256_BYTES 32
#define SDS_SHA256_HEX 65 // with NUL

void sds_sha256(struct sds_span data, uint8_t out[SDS_SHA256_BYTES]);
void sds_hex(const uint8_t *bytes, size_t len, char *out); // 2 * len + 1 bytes, lower case
void sds_sha256_hex(struct sds_span data, char out[SDS_SHA256_HEX]);

// SHA-256 of bytes that come in pieces. One thread a digest.
struct sds_digest;
struct sds_digest *sds_digest_new(void); // NULL when there is no memory
void sds_digest_add(struct sds_digest *digest, const void *bytes, size_t len);
// Of all pieces so far; nothing may be added afterwards.
void sds_digest_hex(struct sds_digest *digest, char out[SDS_SHA256_HEX]);
void sds_digest_free(struct sds_digest *digest); // NULL is fine

// A stable 64-bit hash of bytes: equal on every machine and in every run, since inode numbers come
// from it (the first 8 bytes of SHA-256, little-endian).
uint64_t sds_hash_stable(struct sds_span data);

// A fast hash of bytes under a key, for checksums of what this machine keeps for itself (its byte
// order goes in): any change goes unseen with a chance of about 2^-64, but whoever means harm can
// make two inputs collide. fast_hash.c.
uint64_t sds_hash_fast(struct sds_span data, uint64_t key);

// Mixes a 64-bit key for a hash table.
static inline uint64_t sds_mix64(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    return x ^ x >> 32;
}

#endif
