// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/footer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) sds_span(text, sizeof(text) - 1)

static void test_metadata(void **state) {
    (void)state;
    struct sds_ar_metadata m;
    assert_true(sds_ar_metadata_parse(BYTES("\x0a\x0b\x08\x01\x10\x02\x18\xac\x02\x22\x02zz"), &m));
    assert_int_equal(m.version, 1);
    assert_int_equal(m.num_chunks, 2);
    assert_int_equal(m.num_records, 300);
    // What is not there is 0; an unknown field of each kind is skipped.
    assert_true(sds_ar_metadata_parse(BYTES("\x70\x05\x71"
                                            "12345678\x75"
                                            "1234\x7a\x01x\x0a\x02\x08\x01"),
                                      &m));
    assert_int_equal(m.version, 1);
    assert_int_equal(m.num_chunks, 0);
    // The last occurrence counts, also across occurrences of the message.
    assert_true(
        sds_ar_metadata_parse(BYTES("\x0a\x06\x08\x07\x08\x02\x10\x05\x0a\x02\x08\x01"), &m));
    assert_int_equal(m.version, 1);
    assert_int_equal(m.num_chunks, 5);
    // A field of the right number and another wire type is not that field.
    assert_true(sds_ar_metadata_parse(BYTES("\x0a\x06\x08\x01\x12\x02\x10\x05"), &m));
    assert_int_equal(m.num_chunks, 0);
    // There has to be a message.
    assert_false(sds_ar_metadata_parse(BYTES(""), &m));
    assert_false(sds_ar_metadata_parse(BYTES("\x08\x01"), &m));
    assert_false(sds_ar_metadata_parse(BYTES("\x12\x02\x08\x01"), &m));
}

static void assert_bytes(const struct sds_buf *made, struct sds_span expected) {
    assert_int_equal(made->len, expected.len);
    assert_memory_equal(made->at, expected.at, expected.len);
}

// Fields in order, zeros too, and what the reader makes of them.
static void test_made(void **state) {
    (void)state;
    struct sds_buf made = SDS_BUF_INIT(200);
    struct sds_ar_metadata m = {.version = 1, .num_chunks = 0, .num_records = 300};
    assert_int_equal(sds_ar_metadata_make(&m, "zz", &made), SDS_OK);
    assert_bytes(&made, BYTES("\x0a\x0b\x08\x01\x10\x00\x18\xac\x02\x22\x02zz"));
    struct sds_ar_metadata parsed;
    assert_true(sds_ar_metadata_parse(sds_buf_span(&made), &parsed));
    assert_int_equal(parsed.num_records, 300);

    made.len = 0;
    struct sds_ar_entry entry = {.begin = 118, .decoded_size = 0, .num_records = 1};
    assert_int_equal(sds_ar_entry_make(&entry, &made), SDS_OK);
    assert_bytes(&made, BYTES("\x08\x76\x10\x00\x18\x01"));

    made.len = 0;
    struct sds_ar_postscript postscript = {.footer_offset = 304, .magic = SDS_AR_MAGIC};
    assert_int_equal(sds_ar_postscript_make(&postscript, &made), SDS_OK);
    assert_bytes(&made, BYTES("\x08\xb0\x02\x10\xde\xc0\xeb\xfe\x84\xce\xc3\xc9\x71"));

    // Varints of the largest size, and no more room than the buffer has.
    made.len = 0;
    entry = (struct sds_ar_entry){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    assert_int_equal(sds_ar_entry_make(&entry, &made), SDS_OK);
    assert_int_equal(made.len, 33);
    struct sds_ar_entry back;
    assert_true(sds_ar_entry_parse(sds_buf_span(&made), &back));
    assert_true(back.begin == UINT64_MAX && back.num_records == UINT64_MAX);
    sds_buf_fini(&made);
    made = SDS_BUF_INIT(32);
    assert_int_equal(sds_ar_entry_make(&entry, &made), SDS_ERR_LIMIT);
    sds_buf_fini(&made);
}

static void test_no_messages(void **state) {
    (void)state;
    struct sds_ar_metadata m;
    static const struct sds_span bad[] = {
        {(const uint8_t *)"\x0a\x02\x08\x01\x00\x00", 6},     // field 0
        {(const uint8_t *)"\x0a\x02\x08\x01\x0b", 5},         // a group
        {(const uint8_t *)"\x0a\x02\x08\x01\x0c", 5},         // its end
        {(const uint8_t *)"\x0a\x02\x08\x01\x0e\x00", 6},     // wire types that do not exist
        {(const uint8_t *)"\x0a\x02\x08\x01\x0f\x00", 6},     //
        {(const uint8_t *)"\x0a\x03\x08\x01", 4},             // cut in bytes
        {(const uint8_t *)"\x0a\x02\x08\x80", 4},             // cut in a varint inside
        {(const uint8_t *)"\x0a\x02\x08\x01\x08", 5},         // cut behind a tag
        {(const uint8_t *)"\x0a\x02\x08\x01\x0d\x01\x02", 7}, // cut in fixed32
        {(const uint8_t *)"\x0a\x02\x08\x01\x09\x01\x02", 7}, // cut in fixed64
        // A tag of more than 32 bits, a value of more than 64.
        {(const uint8_t *)"\x0a\x02\x08\x01\x88\x80\x80\x80\x10\x00", 10},
        {(const uint8_t *)"\x0a\x02\x08\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 15},
        {(const uint8_t *)"\x0a\x02\x08\x01\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 16},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(sds_ar_metadata_parse(bad[i], &m));
    }
}

static void test_entry(void **state) {
    (void)state;
    struct sds_ar_entry e;
    assert_true(sds_ar_entry_parse(BYTES("\x08\xa1\x01\x10\x64\x18\x01"), &e));
    assert_int_equal(e.begin, 161);
    assert_int_equal(e.decoded_size, 100);
    assert_int_equal(e.num_records, 1);
    // The largest value, and a varint that is longer than it has to be.
    assert_true(sds_ar_entry_parse(
        BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x80\x00\x18\x01"), &e));
    assert_true(e.begin == UINT64_MAX && e.decoded_size == 0);
    // All three fields have to be there.
    assert_false(sds_ar_entry_parse(BYTES("\x10\x64\x18\x01"), &e));
    assert_false(sds_ar_entry_parse(BYTES("\x08\x40\x18\x01"), &e));
    assert_false(sds_ar_entry_parse(BYTES("\x08\x40\x10\x64"), &e));
}

static void test_postscript(void **state) {
    (void)state;
    struct sds_ar_postscript p;
    struct sds_span good = BYTES("\x08\xb0\x02\x10\xde\xc0\xeb\xfe\x84\xce\xc3\xc9\x71");
    assert_true(sds_ar_postscript_parse(good, &p));
    assert_int_equal(p.footer_offset, 304);
    assert_int_equal(p.magic, SDS_AR_MAGIC);
    for (size_t len = 0; len < good.len; len++) {
        assert_false(sds_ar_postscript_parse(sds_span(good.at, len), &p));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata),    cmocka_unit_test(test_made),
        cmocka_unit_test(test_no_messages), cmocka_unit_test(test_entry),
        cmocka_unit_test(test_postscript),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
