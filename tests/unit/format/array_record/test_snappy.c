// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/snappy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Decodes into memory of exactly len bytes, so that a sanitizer sees any byte beyond.
static const char *decode(const char *stream, size_t stream_len, char *out, size_t len) {
    uint8_t *exact = malloc(len > 0 ? len : 1);
    assert_non_null(exact);
    const char *wrong = sds_snappy_decode(sds_span(stream, stream_len), exact, len);
    if (wrong == NULL) {
        memcpy(out, exact, len);
    }
    free(exact);
    return wrong;
}

#define DECODE(stream, out, len) decode(stream, sizeof(stream) - 1, out, len)

static void test_elements(void **state) {
    (void)state;
    char out[16];
    assert_null(DECODE("\0", out, 0));
    assert_null(DECODE("\3\10abc", out, 3));
    assert_memory_equal(out, "abc", 3);
    // A copy of four bytes with an offset of eleven bits (form 1), and with one and two more bytes
    // of offset (forms 2 and 3).
    assert_null(DECODE("\10\14abcd\1\4", out, 8));
    assert_memory_equal(out, "abcdabcd", 8);
    assert_null(DECODE("\10\14abcd\16\4\0", out, 8));
    assert_memory_equal(out, "abcdabcd", 8);
    assert_null(DECODE("\10\14abcd\17\4\0\0\0", out, 8));
    assert_memory_equal(out, "abcdabcd", 8);
    // Copies that reach into themselves.
    assert_null(DECODE("\10\0x\32\1\0", out, 8));
    assert_memory_equal(out, "xxxxxxxx", 8);
    assert_null(DECODE("\11\10abc\26\3\0", out, 9));
    assert_memory_equal(out, "abcabcabc", 9);
}

static void test_form_1_offset(void **state) {
    (void)state;
    // 300 bytes, then a copy from 257 before: three bits of the offset are in the tag.
    char stream[320], out[304];
    stream[0] = (char)((304 & 0x7f) | 0x80);
    stream[1] = 304 >> 7;
    stream[2] = (char)(61 << 2);
    stream[3] = (char)(299 & 0xff);
    stream[4] = 299 >> 8;
    for (int i = 0; i < 300; i++) {
        stream[5 + i] = (char)(i * 7);
    }
    stream[305] = 1 << 5 | 1;
    stream[306] = 1;
    assert_null(decode(stream, 307, out, 304));
    assert_memory_equal(out, stream + 5, 300);
    assert_memory_equal(out + 300, stream + 5 + 300 - 257, 4);
}

static void test_long_literals(void **state) {
    (void)state;
    // Lengths in the tag, and in one to four bytes behind it.
    static const size_t lens[] = {1, 59, 60, 61, 256, 257, 65536, 65537};
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        for (unsigned width = 0; width <= 4; width++) {
            size_t len = lens[i];
            bool fits = width == 0 ? len <= 60 : width == 4 || (len - 1) >> (8 * width) == 0;
            if (!fits) {
                continue;
            }
            char *stream = malloc(len + 16), *out = malloc(len);
            assert_true(stream != NULL && out != NULL);
            size_t n = 0;
            size_t rest = len;
            for (; rest > 0x7f; rest >>= 7) {
                stream[n++] = (char)(rest | 0x80);
            }
            stream[n++] = (char)rest;
            stream[n++] = (char)(width == 0 ? (len - 1) << 2 : (59 + width) << 2);
            for (unsigned k = 0; k < width; k++) {
                stream[n++] = (char)((len - 1) >> (8 * k));
            }
            for (size_t k = 0; k < len; k++) {
                stream[n + k] = (char)(k * 31);
            }
            assert_null(decode(stream, n + len, out, len));
            assert_memory_equal(out, stream + n, len);
            assert_non_null(decode(stream, n + len - 1, out, len));
            free(stream);
            free(out);
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    char out[16];
    assert_non_null(DECODE("", out, 0));                          // no length
    assert_non_null(DECODE("\200", out, 0));                      // cut in the length
    assert_non_null(DECODE("\377\377\377\377\177", out, 3));      // more than 32 bits
    assert_non_null(DECODE("\4\10abc", out, 3));                  // another length
    assert_non_null(DECODE("\3\4ab", out, 3));                    // ends early
    assert_non_null(DECODE("\3\14abcd", out, 3));                 // a literal too many bytes
    assert_non_null(DECODE("\3\374\377\377\377\377abc", out, 3)); // 2^32 bytes
    assert_non_null(DECODE("\10\14abcd\1\0", out, 8));            // offset 0
    assert_non_null(DECODE("\10\14abcd\1\5", out, 8));            // offset before the begin
    assert_non_null(DECODE("\10\14abcd\5\4", out, 8));            // a copy too many bytes
    assert_non_null(DECODE("\10\14abcd\1", out, 8));              // a copy cut short
    assert_non_null(DECODE("\10\14abcd\16\4", out, 8));
    assert_non_null(DECODE("\10\14abcd\17\4\0\0", out, 8));
    assert_non_null(DECODE("\3\10abc\0x", out, 3)); // bytes behind the end
    assert_non_null(DECODE("\3\1\1", out, 3));      // a copy of nothing
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_form_1_offset),
        cmocka_unit_test(test_long_literals),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
