// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/highway_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Input: bytes 00 01 02 ... of the given length.
static const struct {
    size_t len;
    uint64_t hash;
} vectors[] = {
    {0, 0x72c3b1e9c0139fe1},  {1, 0x2cd57bc47907559d},  {2, 0x79f89e5c740f5e3b},
    {3, 0x3bbb8da470c80319},  {4, 0x4d9e82979ab17ce7},  {7, 0x81d00cb703e09f52},
    {8, 0x28aad15071ce9aff},  {15, 0x3402cb26fb217163}, {16, 0x3e13be3a4140f4a7},
    {17, 0xa7084c614077eaca}, {24, 0x5ee2c131eacabcb6}, {31, 0x4d262a709c34ae7d},
    {32, 0xb73f6df550f9dce4}, {33, 0xec2f920014eaa741}, {63, 0xbea28b7a087e1493},
    {64, 0xe34b1e100f1322af}, {65, 0xb4125566520ce871}, {100, 0xe809487465a44f74},
};

static void counting(uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)i;
    }
}

static void test_vectors(void **state) {
    (void)state;
    uint8_t bytes[100];
    counting(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        assert_int_equal(sds_highway_hash(bytes, vectors[i].len), vectors[i].hash);
    }
}

static void test_in_two_pieces(void **state) {
    (void)state;
    uint8_t bytes[100];
    counting(bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        struct sds_highway hash;
        sds_highway_init(&hash);
        sds_highway_update(&hash, bytes, cut);
        sds_highway_update(&hash, bytes + cut, sizeof bytes - cut);
        assert_int_equal(sds_highway_final(&hash), 0xe809487465a44f74);
    }
}

static void test_in_random_pieces(void **state) {
    (void)state;
    static uint8_t bytes[5000];
    unsigned seed = 1;
    for (int turn = 0; turn < 500; turn++) {
        size_t len = (size_t)rand_r(&seed) % sizeof bytes;
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (uint8_t)rand_r(&seed);
        }
        struct sds_highway hash;
        sds_highway_init(&hash);
        for (size_t at = 0; at < len;) {
            size_t n = 1 + (size_t)rand_r(&seed) % 100;
            n = n < len - at ? n : len - at;
            sds_highway_update(&hash, bytes + at, n);
            at += n;
        }
        assert_int_equal(sds_highway_final(&hash), sds_highway_hash(bytes, len));
    }
}

static void test_paths_agree(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) {
        skip();
    }
    static uint8_t packets[64 * SDS_HIGHWAY_PACKET + 1];
    unsigned seed = 2;
    for (int turn = 0; turn < 1000; turn++) {
        size_t count = (size_t)rand_r(&seed) % 65;
        for (size_t i = 0; i < sizeof packets; i++) {
            packets[i] = (uint8_t)rand_r(&seed);
        }
        struct sds_highway portable, avx2;
        sds_highway_init(&portable);
        sds_highway_init(&avx2);
        sds_highway_rounds_portable(&portable, packets + 1, count); // not aligned
        sds_highway_rounds_avx2(&avx2, packets + 1, count);
        assert_memory_equal(portable.v0, avx2.v0, sizeof avx2.v0);
        assert_memory_equal(portable.v1, avx2.v1, sizeof avx2.v1);
        assert_memory_equal(portable.mul0, avx2.mul0, sizeof avx2.mul0);
        assert_memory_equal(portable.mul1, avx2.mul1, sizeof avx2.mul1);
        assert_int_equal(sds_highway_final(&portable), sds_highway_final(&avx2));
    }
#else
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_in_two_pieces),
        cmocka_unit_test(test_in_random_pieces),
        cmocka_unit_test(test_paths_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
