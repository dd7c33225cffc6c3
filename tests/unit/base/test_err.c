// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "base/err.h"

static void quote_escapes_what_is_not_text(void **state) {
    (void)state;
    char buf[64];
    assert_string_equal(sds_quote(buf, sizeof buf, "a\nb\x7f\xff\xc3\xa9", 7),
                        "\"a\\x0Ab\\x7F\\xFF\xc3\xa9\"");
    assert_string_equal(sds_quote(buf, sizeof buf, "\xed\xa0\x80", 3), "\"\\xED\\xA0\\x80\"");
    assert_string_equal(sds_quote(buf, sizeof buf, "\xc0\x80\xf5\x80\x80\x80", 6),
                        "\"\\xC0\\x80\\xF5\\x80\\x80\\x80\"");
    assert_string_equal(sds_quote(buf, sizeof buf, "", 0), "\"\"");
}

static void quote_cuts_to_fit(void **state) {
    (void)state;
    for (size_t size = 0; size < 40; size++) {
        char buf[64];
        memset(buf, 'X', sizeof buf);
        sds_quote(buf, size, "\xc3\xa9\xc3\xa9\xc3\xa9 and a long tail of text behind it", 36);
        assert_int_equal(buf[size], 'X'); // nothing beyond what was given
        assert_true(size == 0 || strlen(buf) < size);
    }
}

static void message_is_one_printable_line(void **state) {
    (void)state;
    struct sds_err err;
    assert_int_equal(sds_fail(&err, SDS_ERR_CORRUPT, "check", "a\nb%s", "\xff"), SDS_ERR_CORRUPT);
    sds_err_object(&err, "obj\r%d", 1);
    sds_err_object(&err, "another"); // the first name stays
    sds_err_context(&err, "read %d", 2);
    sds_err_hint(&err, "try\t%s", "that");
    char line[200];
    assert_string_equal(sds_err_line(&err, line, sizeof line),
                        "obj?1: check: read 2: a?b? (try?that)");
}

static void long_messages_are_cut(void **state) {
    (void)state;
    struct sds_err err;
    char text[4096];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)!sds_fail(&err, SDS_ERR_LIMIT, text, "%s\xc3\xa9", text);
    sds_err_object(&err, "%s", text);
    sds_err_context(&err, "%s", text);
    sds_err_hint(&err, "%s", text);
    assert_int_equal(strlen(err.check), sizeof err.check - 1);
    assert_int_equal(strlen(err.object), sizeof err.object - 1);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void nobody_needs_to_listen(void **state) {
    (void)state;
    assert_int_equal(sds_fail(NULL, SDS_ERR_STORAGE, "check", "text"), SDS_ERR_STORAGE);
    sds_err_object(NULL, "x");
    sds_err_context(NULL, "x");
    sds_err_hint(NULL, "x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quote_escapes_what_is_not_text), cmocka_unit_test(quote_cuts_to_fit),
        cmocka_unit_test(message_is_one_printable_line),  cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(nobody_needs_to_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
