// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <stdio.h>
#include <unistd.h>

#include "unit.h"

static bool add(void *ctx, unsigned line, const char *name, const char *value, char *why,
                size_t size) {
    struct sds_buf *out = ctx;
    if (strcmp(name, "bad") == 0) {
        snprintf(why, size, "bad: unknown option");
        return false;
    }
    return sds_buf_printf(out, "%u %s=%s|", line, name, value != NULL ? value : "(none)") == SDS_OK;
}

// What is read of a text, or why not.
static const char *read_text(const char *text, char out[512]) {
    struct sds_buf all = SDS_BUF_INIT(4096);
    char why[256] = "";
    bool ok = sds_config_parse("x.conf", sds_span_str(text), add, &all, why, sizeof why);
    assert_true(ok == (why[0] == '\0'));
    snprintf(out, 512, "%.*s", ok ? (int)all.len : 255, ok ? (const char *)all.at : why);
    sds_buf_fini(&all);
    return out;
}

static void what_is_read(void **state) {
    (void)state;
    static const struct {
        const char *text, *read;
    } cases[] = {
        {"", ""},
        {"# nothing\n\n; here\n", ""},
        {"[mount]\nlog = debug\n", "2 log=debug|"},
        {"\xef\xbb\xbf[mount]\r\nlog=debug\r\n", "2 log=debug|"},
        {"  [mount]  # it\n\t a\t=  b c  # not this\n", "2 a=b c|"},
        {"[mount]\nallow_other\nro # yes\n", "2 allow_other=(none)|3 ro=(none)|"},
        {"[mount]\na=x#y\nb=#\n", "2 a=x#y|3 b=|"},
        {"[mount]\na=\" x # y\\\\\\\" \" # z\n", "2 a= x # y\\\" |"},
        {"[mount]\na=p,q=r\n[mount]\nc=d", "2 a=p,q=r|4 c=d|"},
        {"a = b\n", "x.conf:1: expected [mount] before the first setting"},
        {"[mount]\n\n[other]\n", "x.conf:3: the only section there is is [mount]"},
        {"[mount]\n= b\n", "x.conf:2: expected \"name = value\""},
        {"[mount]\ntwo words\n", "x.conf:2: expected \"name = value\""},
        {"[mount]\na=\"b\n", "x.conf:2: the value does not end with its quotes"},
        {"[mount]\na=\"b\"c\n", "x.conf:2: the value does not end with its quotes"},
        {"[mount]\na=\"b\\", "x.conf:2: the value does not end with its quotes"},
        {"[mount]\na=1\nbad=2\n", "x.conf:3: bad: unknown option"},
    };
    char out[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(read_text(cases[i].text, out), cases[i].read);
    }
}

static void no_text(void **state) {
    (void)state;
    char why[256] = "";
    assert_false(sds_config_parse("x", sds_span("[mount]\n\0", 9), add, NULL, why, sizeof why));
    assert_string_equal(why, "x: it is no text: it holds a NUL byte");
}

static void values_come_back(void **state) {
    (void)state;
    static const char *const values[] = {"plain", "",       " a ",  "a # b",     "#",
                                         "\"",    "a\\\"b", "/x#y", "\"a\" # \\"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct sds_buf text = SDS_BUF_INIT(4096);
        char out[512], expected[512];
        assert_int_equal(sds_buf_add_str(&text, "[mount]\nv = "), SDS_OK);
        assert_int_equal(sds_config_write_value(values[i], &text), SDS_OK);
        assert_int_equal(sds_buf_add(&text, "  # said\n", 10), SDS_OK);
        snprintf(expected, sizeof expected, "2 v=%s|", values[i]);
        assert_string_equal(read_text((const char *)text.at, out), expected);
        sds_buf_fini(&text);
    }
}

static void files(void **state) {
    (void)state;
    char why[256] = "";
    assert_true(sds_config_read("/nonexistent.conf", true, add, NULL, why, sizeof why));
    assert_false(sds_config_read("/nonexistent.conf", false, add, NULL, why, sizeof why));
    assert_string_equal(why, "/nonexistent.conf: No such file or directory");
    assert_false(sds_config_read("/", true, add, NULL, why, sizeof why));
    assert_string_equal(why, "/: Is a directory");
    assert_false(sds_config_read("/dev/zero", false, add, NULL, why, sizeof why));
    assert_string_equal(why, "/dev/zero: File too large");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read),
        cmocka_unit_test(no_text),
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
