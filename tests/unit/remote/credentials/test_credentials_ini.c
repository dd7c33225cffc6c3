// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "remote/credentials/ini.h"

static struct sds_ini *parsed(const char *text) {
    struct sds_ini *ini = NULL;
    struct sds_err err;
    assert_int_equal(sds_ini_parse(sds_span_str(text), &ini, &err), SDS_OK);
    return ini;
}

static const struct sds_ini_section plain = {NULL, "default"};

static void says(const struct sds_ini *ini, struct sds_ini_section section, const char *key,
                 const char *sub, const char *value) {
    struct sds_span got = {0};
    assert_int_equal(sds_ini_get(ini, section, key, sub, &got),
                     value != NULL ? SDS_INI_FOUND : SDS_INI_ABSENT);
    if (value != NULL) {
        assert_int_equal(got.len, strlen(value));
        assert_memory_equal(got.at, value, got.len);
    }
}

static void properties_are_read_as_written(void **state) {
    (void)state;
    struct sds_ini *ini = parsed("# a comment\n"
                                 "[default]\n"
                                 "Region = eu-west-1\r\n"
                                 "; another = comment\n"
                                 "secret: a=b:c # d\n"
                                 "empty =\n"
                                 "\n"
                                 "region = us-east-2\n"
                                 "[ other ] # behind\n"
                                 "x=1");
    says(ini, plain, "region", NULL, "us-east-2"); // the last one holds
    says(ini, plain, "secret", NULL, "a=b:c # d");
    says(ini, plain, "empty", NULL, "");
    says(ini, plain, "x", NULL, NULL);
    says(ini, (struct sds_ini_section){NULL, "other"}, "x", NULL, "1");
    assert_true(sds_ini_has(ini, plain));
    assert_false(sds_ini_has(ini, (struct sds_ini_section){NULL, "Default"}));
    sds_ini_free(ini);
}

static void sections_have_types_and_quoted_names(void **state) {
    (void)state;
    struct sds_ini *ini = parsed("[profile a]\nk=1\n"
                                 "[profile \"b c\"]\nk=2\n"
                                 "[profile\t'd']\nk=3\n"
                                 "[profilee]\nk=4\n"
                                 "[sso-session a]\nk=5\n"
                                 "[profile a]\nl=6\n");
    says(ini, (struct sds_ini_section){"profile", "a"}, "k", NULL, "1");
    says(ini, (struct sds_ini_section){"profile", "a"}, "l", NULL, "6");
    says(ini, (struct sds_ini_section){"profile", "b c"}, "k", NULL, "2");
    says(ini, (struct sds_ini_section){"profile", "d"}, "k", NULL, "3");
    says(ini, (struct sds_ini_section){"profile", "e"}, "k", NULL, NULL);
    says(ini, (struct sds_ini_section){"profile", ""}, "k", NULL, NULL);
    says(ini, (struct sds_ini_section){NULL, "profilee"}, "k", NULL, "4");
    says(ini, (struct sds_ini_section){"sso-session", "a"}, "k", NULL, "5");
    sds_ini_free(ini);
}

static void indented_lines_belong_to_their_property(void **state) {
    (void)state;
    struct sds_ini *ini = parsed("[default]\n"
                                 "s3 =\n"
                                 "  endpoint_url = http://a\n"
                                 "  # not this\n"
                                 "  max = 3\n"
                                 "sts =\n"
                                 "\tendpoint_url = http://b\n"
                                 "long = one\n"
                                 "   two\n"
                                 "after = 1\n"
                                 "[indented]\n"
                                 "   a = 1\n"
                                 "   b = 2\n"
                                 "     c = 3\n"
                                 " d = 4\n");
    struct sds_ini_section indented = {NULL, "indented"};
    struct sds_span got;
    says(ini, plain, "s3", "endpoint_url", "http://a");
    says(ini, plain, "s3", "max", "3");
    says(ini, plain, "sts", "endpoint_url", "http://b");
    says(ini, plain, "endpoint_url", NULL, NULL);
    assert_int_equal(sds_ini_get(ini, plain, "long", NULL, &got), SDS_INI_SEVERAL_LINES);
    says(ini, plain, "after", NULL, "1");
    says(ini, indented, "a", NULL, "1");
    assert_int_equal(sds_ini_get(ini, indented, "b", NULL, &got), SDS_INI_SEVERAL_LINES);
    says(ini, indented, "c", NULL, NULL);
    says(ini, indented, "d", NULL, "4");
    sds_ini_free(ini);
}

static void what_is_no_configuration_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t len;
        const char *message;
    } cases[] = {
        {"a = 1\n", 6, "line 1 stands before the first section"},
        {"[x]\nsecretword\n", 15, "line 2 is neither a section nor \"key = value\""},
        {"[x]\n= 1\n", 8, "line 2 is neither a section nor \"key = value\""},
        {"[x\na = 1\n", 9, "line 1 is no \"[section]\""},
        {"[ ]\n", 4, "line 1 is no \"[section]\""},
        {"[x]\n\0\n", 6, "it is no text: it holds a NUL byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_ini *ini = NULL;
        struct sds_err err;
        assert_int_equal(sds_ini_parse(sds_span(cases[i].text, cases[i].len), &ini, &err),
                         SDS_ERR_INVALID);
        assert_string_equal(err.check, "ini");
        assert_string_equal(err.message, cases[i].message);
        assert_null(ini);
    }
}

static void it_is_bounded(void **state) {
    (void)state;
    struct sds_ini *ini = NULL;
    char *text = malloc(SDS_INI_BYTES_MAX + 1);
    assert_non_null(text);
    memset(text, '#', SDS_INI_BYTES_MAX + 1);
    assert_int_equal(sds_ini_parse(sds_span(text, SDS_INI_BYTES_MAX + 1), &ini, NULL),
                     SDS_ERR_LIMIT);
    assert_int_equal(sds_ini_parse(sds_span(text, SDS_INI_BYTES_MAX), &ini, NULL), SDS_OK);
    sds_ini_free(ini);
    memset(text, '\n', SDS_INI_LINES_MAX + 1);
    assert_int_equal(sds_ini_parse(sds_span(text, SDS_INI_LINES_MAX + 1), &ini, NULL),
                     SDS_ERR_LIMIT);
    assert_int_equal(sds_ini_parse(sds_span(text, SDS_INI_LINES_MAX), &ini, NULL), SDS_OK);
    sds_ini_free(ini);
    assert_int_equal(sds_ini_parse(sds_span(NULL, 0), &ini, NULL), SDS_OK);
    assert_false(sds_ini_has(ini, plain));
    sds_ini_free(ini);
    free(text);
}

static void a_byte_order_mark_is_passed_over(void **state) {
    (void)state;
    struct sds_ini *ini = parsed("\xef\xbb\xbf[default]\na = 1\n");
    says(ini, plain, "a", NULL, "1");
    sds_ini_free(ini);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_are_read_as_written),
        cmocka_unit_test(sections_have_types_and_quoted_names),
        cmocka_unit_test(indented_lines_belong_to_their_property),
        cmocka_unit_test(what_is_no_configuration_is_refused),
        cmocka_unit_test(it_is_bounded),
        cmocka_unit_test(a_byte_order_mark_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
