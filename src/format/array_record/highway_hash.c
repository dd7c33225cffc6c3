// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/highway_hash.h"

#include <string.h>

#include "base/bytes.h"

static const uint64_t initial_mul0[4] = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344,
                                         0x243f6a8885a308d3};
static const uint64_t initial_mul1[4] = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c,
                                         0x452821e638d01377};
// "Riegeli/records\nRiegeli/records\n"
static const uint64_t key[4] = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952,
                                0x0a7364726f636572};

static uint64_t swap_halves(uint64_t x) {
    return x >> 32 | x << 32;
}

static uint32_t rotate_left(uint32_t x, unsigned n) {
    return x << n | x >> (32 - n); // n is 1 to 31
}

// The byte shuffle between the lanes of a pair: bytes b0..b15 of (low, high) become
// b3 b12 b2 b5 b14 b1 b15 b0 and b11 b4 b10 b13 b9 b6 b8 b7.
static inline void zipper_add(uint64_t *to_low, uint64_t *to_high, uint64_t low, uint64_t high) {
    *to_low += ((low & 0xff000000) | (high & 0xff00000000)) >> 24 |
               ((low & 0xff0000000000) | (high & 0xff000000000000)) >> 16 | (low & 0xff0000) |
               (low & 0xff00) << 32 | (high & 0xff00000000000000) >> 8 | low << 56;
    *to_high += ((high & 0xff000000) | (low & 0xff00000000)) >> 24 | (high & 0xff0000) |
                (high & 0xff0000000000) >> 16 | (high & 0xff00) << 24 |
                (low & 0xff000000000000) >> 8 | (high & 0xff) << 48 | (low & 0xff00000000000000);
}

void sds_highway_rounds_portable(struct sds_highway *hash, const uint8_t *packets, size_t count) {
    uint64_t *v0 = hash->v0, *v1 = hash->v1, *mul0 = hash->mul0, *mul1 = hash->mul1;
    for (; count > 0; count--, packets += SDS_HIGHWAY_PACKET) {
        for (int i = 0; i < 4; i++) {
            v1[i] += mul0[i] + sds_le64(packets + 8 * i);
            mul0[i] ^= (v1[i] & UINT32_MAX) * (v0[i] >> 32);
            v0[i] += mul1[i];
            mul1[i] ^= (v0[i] & UINT32_MAX) * (v1[i] >> 32);
        }
        zipper_add(&v0[0], &v0[1], v1[0], v1[1]);
        zipper_add(&v0[2], &v0[3], v1[2], v1[3]);
        zipper_add(&v1[0], &v1[1], v0[0], v0[1]);
        zipper_add(&v1[2], &v1[3], v0[2], v0[3]);
    }
}

static void rounds(struct sds_highway *hash, const uint8_t *packets, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        sds_highway_rounds_avx2(hash, packets, count);
        return;
    }
#endif
    sds_highway_rounds_portable(hash, packets, count);
}

void sds_highway_init(struct sds_highway *hash) {
    for (int i = 0; i < 4; i++) {
        hash->mul0[i] = initial_mul0[i];
        hash->mul1[i] = initial_mul1[i];
        hash->v0[i] = initial_mul0[i] ^ key[i];
        hash->v1[i] = initial_mul1[i] ^ swap_halves(key[i]);
    }
    hash->pending_len = 0;
}

void sds_highway_update(struct sds_highway *hash, const void *data, size_t len) {
    const uint8_t *at = data;
    if (hash->pending_len > 0) {
        size_t room = SDS_HIGHWAY_PACKET - hash->pending_len;
        size_t n = len < room ? len : room;
        memcpy(hash->pending + hash->pending_len, at, n);
        hash->pending_len += n;
        at += n;
        len -= n;
        if (hash->pending_len < SDS_HIGHWAY_PACKET) {
            return;
        }
        rounds(hash, hash->pending, 1);
        hash->pending_len = 0;
    }
    rounds(hash, at, len / SDS_HIGHWAY_PACKET);
    hash->pending_len = len % SDS_HIGHWAY_PACKET;
    if (hash->pending_len > 0) {
        memcpy(hash->pending, at + (len - hash->pending_len), hash->pending_len);
    }
}

// The last, incomplete packet: the whole words stay in front; what is left of them goes to a place
// and into an order that depend on its length.
static void add_remainder(struct sds_highway *hash) {
    const uint8_t *rest = hash->pending;
    size_t len = hash->pending_len;
    for (int i = 0; i < 4; i++) {
        hash->v0[i] += ((uint64_t)len << 32) + len;
        uint32_t low = rotate_left((uint32_t)hash->v1[i], (unsigned)len);
        uint32_t high = rotate_left((uint32_t)(hash->v1[i] >> 32), (unsigned)len);
        hash->v1[i] = (uint64_t)high << 32 | low;
    }
    uint8_t packet[SDS_HIGHWAY_PACKET] = {0};
    size_t whole = len & ~(size_t)3;
    size_t odd = len & 3;
    memcpy(packet, rest, whole);
    if (len & 16) {
        memcpy(packet + 28, rest + len - 4, 4);
    } else if (odd > 0) {
        packet[16] = rest[whole];
        packet[17] = rest[whole + (odd >> 1)];
        packet[18] = rest[len - 1];
    }
    rounds(hash, packet, 1);
}

uint64_t sds_highway_final(struct sds_highway *hash) {
    if (hash->pending_len > 0) {
        add_remainder(hash);
    }
    for (int round = 0; round < 4; round++) {
        uint8_t packet[SDS_HIGHWAY_PACKET];
        for (int i = 0; i < 4; i++) {
            uint64_t word = swap_halves(hash->v0[i ^ 2]);
            for (int k = 0; k < 8; k++) {
                packet[8 * i + k] = (uint8_t)(word >> (8 * k));
            }
        }
        rounds(hash, packet, 1);
    }
    return hash->v0[0] + hash->v1[0] + hash->mul0[0] + hash->mul1[0];
}

uint64_t sds_highway_hash(const void *data, size_t len) {
    struct sds_highway hash;
    sds_highway_init(&hash);
    sds_highway_update(&hash, data, len);
    return sds_highway_final(&hash);
}
