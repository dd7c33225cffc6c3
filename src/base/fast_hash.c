// SPDX-License-Identifier: Apache-2.0
//
// Four lanes of 64 x 64 bit multiplications folded to 64 bits, so that the latency of one is hidden
// behind the others: about a cycle for 8 bytes.
#include "base/hash.h"

__extension__ typedef unsigned __int128 wide;

// Odd numbers without a pattern (digits of pi).
static const uint64_t salt[4] = {0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1,
                                 0x082efa98ec4e6c89};

static uint64_t fold(uint64_t a, uint64_t b) {
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t take(uint64_t lane, const uint8_t *at, uint64_t by) {
    return fold(word(at) ^ by, word(at + 8) ^ lane);
}

uint64_t sds_hash_fast(struct sds_span data, uint64_t key) {
    uint64_t lanes[4];
    for (size_t i = 0; i < 4; i++) {
        lanes[i] = key + salt[(i + 1) % 4]; // not what the other factor has: they would commute
    }
    const uint8_t *at = data.at;
    size_t left = data.len;
    for (; left >= 64; left -= 64, at += 64) {
        for (size_t i = 0; i < 4; i++) {
            lanes[i] = take(lanes[i], at + 16 * i, salt[i]);
        }
    }
    for (size_t i = 0; left >= 16; left -= 16, at += 16, i++) {
        lanes[i] = take(lanes[i], at, salt[i]);
    }
    if (left > 0) {
        uint8_t rest[16] = {0};
        memcpy(rest, at, left);
        lanes[3] = take(lanes[3], rest, salt[3]);
    }
    uint64_t low = fold(lanes[0] ^ salt[1], lanes[1] ^ data.len);
    uint64_t high = fold(lanes[2] ^ salt[0], lanes[3] ^ salt[2]);
    return fold(low ^ salt[3], high ^ key);
}
