// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/transposed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct bytes {
    uint8_t at[1 << 20];
    size_t len;
};

static void add(struct bytes *to, const void *bytes, size_t len) {
    assert_true(len <= sizeof to->at - to->len);
    memcpy(to->at + to->len, bytes, len);
    to->len += len;
}

static void add_varint(struct bytes *to, size_t value) {
    for (; value > 0x7f; value >>= 7) {
        to->at[to->len++] = (uint8_t)(value | 0x80);
    }
    to->at[to->len++] = (uint8_t)value;
}

static struct bytes data; // of a chunk

// Puts an uncompressed chunk together.
static void build(struct sds_span header, struct sds_span buckets, struct sds_span transitions) {
    data.len = 0;
    add(&data, "\0", 1);
    add_varint(&data, header.len);
    add(&data, header.at, header.len);
    add(&data, buckets.at, buckets.len);
    add(&data, transitions.at, transitions.len);
}

// Decodes data into memory of exactly the right size, so that a sanitizer sees any byte beyond. out
// has room for the bytes, ends for the ends.
static enum sds_kind decode(struct sds_span chunk, size_t len, size_t count, uint8_t *out,
                            uint64_t *ends, struct sds_err *err) {
    struct sds_ar_records records = {.bytes = malloc(len > 0 ? len : 1),
                                     .len = len,
                                     .ends = malloc((count > 0 ? count : 1) * sizeof *ends),
                                     .count = count};
    assert_true(records.bytes != NULL && records.ends != NULL);
    enum sds_kind kind = sds_ar_transposed_decode(chunk, &records, err);
    if (kind == SDS_OK && out != NULL) {
        memcpy(out, records.bytes, len);
        memcpy(ends, records.ends, count * sizeof *ends);
    }
    free(records.bytes);
    free(records.ends);
    return kind;
}

#define BYTES(text)                                                                                \
    { (const uint8_t *)(text), sizeof(text) - 1 }

// A chunk and the check that has to refuse it.
struct refusal {
    const char *why;
    struct sds_span header, buckets, transitions;
    size_t count, len;
    const char *check;
};

// Three raw records, "a", "" and "bcd": one bucket, two buffers (bytes and lengths), one state.
#define RAW_HEADER "\1\2\7\4\3" RAW_STATES
#define RAW_STATES "\1\1\0\0\0"
#define RAW_BUCKET "bcda\3\0\1"
#define RAW_STEPS "\1"
#define RAW(header) BYTES(header), BYTES(RAW_BUCKET), BYTES(RAW_STEPS), 3, 4
// A machine without buffers that has to put len bytes in count records.
#define BARE(states, steps, count, len) BYTES("\0\0" states), BYTES(""), BYTES(steps), count, len

static const struct refusal refusals[] = {
    // The header, number by number.
    {"the buckets are no varint", RAW("\200"), "transposed"},
    {"more buckets than bytes", RAW("\177\0"), "transposed"},
    {"2^32 - 1 buffers", RAW("\1\377\377\377\377\17\7"), "transposed"},
    {"buffers and no bucket", RAW("\0\2\4\3" RAW_STATES), "transposed"},
    {"a bucket larger than the chunk", RAW("\1\2\11\4\3" RAW_STATES), "transposed"},
    {"a buffer that crosses its bucket", RAW("\1\2\7\4\4" RAW_STATES), "transposed"},
    {"a buffer in two buckets", RAW("\2\2\3\4\4\3" RAW_STATES), "transposed"},
    {"a bucket with bytes left", RAW("\1\2\7\4\2" RAW_STATES), "transposed"},
    {"a bucket without buffers", RAW("\2\2\6\1\4\2" RAW_STATES), "transposed"},
    {"a byte of a bucket left", BYTES("\1\2\10\4\3" RAW_STATES), BYTES(RAW_BUCKET "x"),
     BYTES(RAW_STEPS), 3, 4, "transposed"},
    {"sizes of buffers that wrap around",
     RAW("\1\2\7\377\377\377\377\377\377\377\377\377\1\10" RAW_STATES), "transposed"},
    {"an empty buffer and no bucket", BYTES("\0\1\0\1\3\0\0"), BYTES(""), BYTES(""), 1, 0,
     "transposed"},
    {"two empty buckets and no buffer", BYTES("\2\0\0\0\1\3\0\0"), BYTES(""), BYTES(""), 1, 0,
     "transposed"},
    {"more states than bytes", RAW("\1\2\7\4\3\3\1\1\0\0\0"), "transposed"},
    {"no state", RAW("\1\2\7\4\3\0\0"), "transposed"},
    {"tag 4", RAW("\1\2\7\4\3\1\4\0\0"), "transposed"},
    {"tag 6", RAW("\1\2\7\4\3\1\6\0\0"), "transposed"},
    {"tag 7", RAW("\1\2\7\4\3\1\7\0\0"), "transposed"},
    {"wire type 7", RAW("\1\2\7\4\3\1\17\0\0"), "transposed"},
    {"a tag of 33 bits", RAW("\1\2\7\4\3\1\200\200\200\200\20\0\0\0"), "transposed"},
    {"the next is no state", RAW("\1\2\7\4\3\1\1\2\0\0"), "transposed"},
    {"a subtype missing", RAW("\1\2\7\4\3\1\10\0"), "transposed"},
    {"subtype 138", RAW("\1\2\7\4\3\1\10\0\212\0"), "transposed"},
    {"buffer 2 of 2", RAW("\1\2\7\4\3\1\1\0\2\0"), "transposed"},
    {"a raw record without buffers", BARE("\1\1\0\0\0", "", 1, 0), "transposed"},
    {"state 1 first of 1", RAW("\1\2\7\4\3\1\1\0\0\1"), "transposed"},
    {"a byte behind the header", RAW(RAW_HEADER "\0"), "transposed"},
    {"a state that follows itself", BARE("\1\0\1\0", "", 1, 0), "transposed"},
    {"a cycle of two", BARE("\3\3\0\0\1\5\4\0", "", 1, 0), "transposed"},
    // The blocks behind it.
    {"buffers beyond what the records can be made of", BYTES("\1\2\43\40\3" RAW_STATES),
     BYTES("01234567890123456789012345678901\3\0\1"), BYTES(RAW_STEPS), 3, 4, "sizes"},
    {"a transition to no state", BYTES(RAW_HEADER), BYTES(RAW_BUCKET), BYTES("\4"), 3, 4,
     "transposed"},
    // What comes out.
    {"too many records", BYTES(RAW_HEADER), BYTES(RAW_BUCKET), BYTES(RAW_STEPS), 2, 4, "sizes"},
    {"too few records", BYTES(RAW_HEADER), BYTES(RAW_BUCKET), BYTES(RAW_STEPS), 4, 4, "sizes"},
    {"too many bytes", BYTES(RAW_HEADER), BYTES(RAW_BUCKET), BYTES(RAW_STEPS), 3, 3, "sizes"},
    {"too few bytes", BYTES(RAW_HEADER), BYTES(RAW_BUCKET), BYTES(RAW_STEPS), 3, 5, "sizes"},
    {"a buffer not used up", BYTES(RAW_HEADER), BYTES(RAW_BUCKET), BYTES("\0"), 2, 3, "transposed"},
    {"a buffer exhausted", BYTES(RAW_HEADER), BYTES(RAW_BUCKET), BYTES("\2"), 4, 4, "transposed"},
    {"raw bytes exhausted", BYTES("\1\2\7\3\4" RAW_STATES), BYTES("bcd\4\0\1\0"), BYTES("\1"), 3, 5,
     "transposed"},
    {"a string exhausted", BYTES("\1\1\3\3\1\12\0\0\0"), BYTES("\3ab"), BYTES(""), 1, 5,
     "transposed"},
    {"a varint exhausted", BYTES("\1\1\1\1\1\10\0\1\0\0"), BYTES("a"), BYTES(""), 1, 3,
     "transposed"},
    {"a fixed32 exhausted", BYTES("\1\1\3\3\1\15\0\0\0"), BYTES("abc"), BYTES(""), 1, 5,
     "transposed"},
    {"a byte of a varint with its high bit", BYTES("\1\1\1\1\1\10\0\0\0\0"), BYTES("\200"),
     BYTES(""), 1, 2, "transposed"},
    {"bytes before the first record", BARE("\1\13\0\0", "", 0, 1), "sizes"},
    {"a submessage that did not end", BARE("\1\2\0\0", "", 1, 0), "transposed"},
    {"a submessage that did not start", BARE("\1\16\0\0", "", 0, 0), "transposed"},
    {"a record begins inside a submessage that starts in the one before",
     BARE("\4\16\3\2\3\5\6\7\0\0", "", 2, 2), "transposed"},
    {"a record inside a submessage", BARE("\2\16\3\3\0\0", "", 1, 0), "transposed"},
};

static void test_refusal(void **state) {
    const struct refusal *r = *state;
    build(r->header, r->buckets, r->transitions);
    struct sds_err err;
    enum sds_kind kind = decode(sds_span(data.at, data.len), r->len, r->count, NULL, NULL, &err);
    assert_int_equal(kind, SDS_ERR_CORRUPT);
    assert_string_equal(err.check, r->check);
}

static void check_raw(void) {
    uint8_t out[4];
    uint64_t ends[3];
    assert_int_equal(decode(sds_span(data.at, data.len), 4, 3, out, ends, NULL), SDS_OK);
    assert_memory_equal(out, "abcd", 4);
    assert_true(ends[0] == 1 && ends[1] == 1 && ends[2] == 4);
}

static void test_raw_records(void **state) {
    (void)state;
    const struct sds_span bucket = BYTES(RAW_BUCKET), steps = BYTES(RAW_STEPS);
    static const struct sds_span headers[] = {
        BYTES(RAW_HEADER),
        BYTES("\2\2\4\3\4\3" RAW_STATES),   // a bucket for each buffer
        BYTES("\3\2\4\0\3\4\3" RAW_STATES), // an empty one between them
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        build(headers[i], bucket, steps);
        check_raw();
    }
}

// Every kind of field, twice over, through states that need no transition inside a record.
#define MESSAGE                                                                                    \
    "\x08\x96\x01"                                                                                 \
    "\x10\x03"                                                                                     \
    "\x1d"                                                                                         \
    "abcd"                                                                                         \
    "\x21"                                                                                         \
    "efghijkl"                                                                                     \
    "\x2a\x02hi"                                                                                   \
    "\x32\x02\x08\x01"                                                                             \
    "\x3b\x3c"
#define MESSAGE_LEN (sizeof MESSAGE - 1)

static void build_messages(void) {
    static const struct sds_span header =
        BYTES("\1\4\x22\6\x10\x08\4" // a bucket of 34 bytes, four buffers
              "\x0b\x3c\x3b\x36\x08\x02\x2a\x21\x1d\x10\x08\x03" // states, last field first
              "\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\0"       // each but the last implicit
              "\x0b\x0d\x01"                                     // inline 1, inline 3, two bytes
              "\0\1\2\3\0");
    static const struct sds_span bucket = BYTES("\2hi\2hi"
                                                "efghijklefghijkl"
                                                "abcdabcd"
                                                "\x16\x01\x16\x01");
    static const struct sds_span steps = BYTES("\0");
    build(header, bucket, steps);
}

static void test_messages(void **state) {
    (void)state;
    uint8_t out[2 * MESSAGE_LEN];
    uint64_t ends[2];
    build_messages();
    assert_int_equal(decode(sds_span(data.at, data.len), sizeof out, 2, out, ends, NULL), SDS_OK);
    assert_memory_equal(out, MESSAGE MESSAGE, sizeof out);
    assert_true(ends[0] == MESSAGE_LEN && ends[1] == 2 * MESSAGE_LEN);
}

static void test_cut_anywhere(void **state) {
    (void)state;
    build_messages();
    for (size_t len = 0; len < data.len; len++) {
        enum sds_kind kind = decode(sds_span(data.at, len), 2 * MESSAGE_LEN, 2, NULL, NULL, NULL);
        assert_int_equal(kind, SDS_ERR_CORRUPT);
    }
}

// Any value in any byte: whatever comes of it, it comes within bounds.
static void test_any_byte(void **state) {
    (void)state;
    build_messages();
    for (size_t i = 0; i < data.len; i++) {
        uint8_t kept = data.at[i];
        for (unsigned value = 0; value < 256; value++) {
            data.at[i] = (uint8_t)value;
            (void)!decode(sds_span(data.at, data.len), 2 * MESSAGE_LEN, 2, NULL, NULL, NULL);
        }
        data.at[i] = kept;
    }
}

static void test_compression_type(void **state) {
    (void)state;
    struct sds_err err;
    assert_int_equal(decode(sds_span("", 0), 0, 1, NULL, NULL, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "transposed");
    assert_int_equal(decode(sds_span("q\0", 2), 0, 1, NULL, NULL, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "compression");
}

static void test_transitions_are_bounded(void **state) {
    (void)state;
    // 8 * (decoded + 2 * records) + 64 bytes may be right, and fail later.
    static const uint8_t steps[145] = {0};
    const struct sds_span header = BYTES(RAW_HEADER), bucket = BYTES(RAW_BUCKET);
    struct sds_err err;
    for (size_t len = 144; len <= 145; len++) {
        build(header, bucket, sds_span(steps, len));
        assert_int_equal(decode(sds_span(data.at, data.len), 4, 3, NULL, NULL, &err),
                         SDS_ERR_CORRUPT);
        assert_string_equal(err.check, len == 144 ? "transposed" : "sizes");
    }
}

static void test_depth_is_bounded(void **state) {
    (void)state;
    // One state that ends submessages, four times for each byte.
    static uint8_t steps[1 << 18];
    memset(steps, 3, sizeof steps);
    const struct sds_span header = BYTES("\0\0\1\16\0\0"), none = BYTES("");
    struct sds_err err;
    size_t decoded = 1 << 20;
    build(header, none, sds_span(steps, sizeof steps));
    assert_int_equal(decode(sds_span(data.at, data.len), decoded, 0, NULL, NULL, &err),
                     SDS_ERR_LIMIT);
    assert_string_equal(err.check, "limit");
    steps[sizeof steps - 1] = 2; // one less
    build(header, none, sds_span(steps, sizeof steps));
    assert_int_equal(decode(sds_span(data.at, data.len), decoded, 0, NULL, NULL, &err),
                     SDS_ERR_CORRUPT); // deep enough, and never started
    assert_string_equal(err.check, "transposed");
}

static void test_steps_are_bounded(void **state) {
    (void)state;
    // Idle states in a row, the last of which is left by a transition byte.
    enum { STATES = 1100 };
    static struct bytes header;
    header.len = 0;
    add(&header, "\0\0", 2);
    add_varint(&header, STATES);
    for (size_t i = 0; i < STATES; i++) {
        add_varint(&header, 0);
    }
    for (size_t i = 0; i < STATES; i++) {
        add_varint(&header, i + 1 < STATES ? STATES + i + 1 : 0);
    }
    add_varint(&header, 0);
    build(sds_span(header.at, header.len), sds_span("", 0), sds_span("", 0));
    struct sds_err err;
    assert_int_equal(decode(sds_span(data.at, data.len), 0, 1, NULL, NULL, &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "limit");
}

int main(void) {
    const struct CMUnitTest others[] = {
        cmocka_unit_test(test_raw_records),      cmocka_unit_test(test_messages),
        cmocka_unit_test(test_cut_anywhere),     cmocka_unit_test(test_any_byte),
        cmocka_unit_test(test_compression_type), cmocka_unit_test(test_transitions_are_bounded),
        cmocka_unit_test(test_depth_is_bounded), cmocka_unit_test(test_steps_are_bounded),
    };
    enum {
        REFUSALS = sizeof refusals / sizeof refusals[0],
        OTHERS = sizeof others / sizeof others[0],
    };
    struct CMUnitTest tests[OTHERS + REFUSALS];
    memcpy(tests, others, sizeof others);
    for (size_t i = 0; i < REFUSALS; i++) {
        tests[OTHERS + i] = (struct CMUnitTest){.name = refusals[i].why,
                                                .test_func = test_refusal,
                                                .initial_state = (void *)(uintptr_t)&refusals[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
