// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/bytes.h"

#define POLYNOMIAL 0x82f63b78u // bits reversed

// What a byte does to the remainder when k more bytes follow it.
struct tables {
    uint32_t of[8][256];
};

static const struct tables *tables_get(void);

uint32_t sds_crc32c_portable(uint32_t crc, const void *bytes, size_t len) {
    const struct tables *t = tables_get();
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        uint32_t low = crc ^ sds_le32(p), high = sds_le32(p + 4);
        crc = t->of[7][low & 255] ^ t->of[6][low >> 8 & 255] ^ t->of[5][low >> 16 & 255] ^
              t->of[4][low >> 24] ^ t->of[3][high & 255] ^ t->of[2][high >> 8 & 255] ^
              t->of[1][high >> 16 & 255] ^ t->of[0][high >> 24];
    }
    for (; len > 0; p++, len--) {
        crc = crc >> 8 ^ t->of[0][(crc ^ *p) & 255];
    }
    return ~crc;
}

// --- the tables, made once

static struct tables made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
        }
        made.of[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = made.of[k - 1][byte];
            made.of[k][byte] = before >> 8 ^ made.of[0][before & 255];
        }
    }
}

static const struct tables *tables_get(void) {
    pthread_once(&once, make_tables);
    return &made;
}

// --- the processor's instruction

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t hardware(uint32_t crc, const void *bytes,
                                                           size_t len) {
    const uint8_t *p = bytes;
    uint64_t wide = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        wide = __builtin_ia32_crc32di(wide, sds_le64(p));
    }
    uint32_t rest = (uint32_t)wide;
    for (; len > 0; p++, len--) {
        rest = __builtin_ia32_crc32qi(rest, *p);
    }
    return ~rest;
}

static bool has_hardware(void) {
    return __builtin_cpu_supports("sse4.2") != 0;
}
#else
static uint32_t hardware(uint32_t crc, const void *bytes, size_t len) {
    return sds_crc32c_portable(crc, bytes, len);
}

static bool has_hardware(void) {
    return false;
}
#endif

uint32_t sds_crc32c(uint32_t crc, const void *bytes, size_t len) {
    return has_hardware() ? hardware(crc, bytes, len) : sds_crc32c_portable(crc, bytes, len);
}
