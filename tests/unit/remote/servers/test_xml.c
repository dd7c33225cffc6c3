// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "remote/servers/xml.h"

static const char *code_of(const char *document) {
    static char out[16];
    bool found = sds_xml_child(sds_span_str(document), "Error", "Code", out, sizeof out);
    return found ? out : NULL;
}

static void finds(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"<Error><Code>NoSuchKey</Code></Error>", "NoSuchKey"},
        {"<?xml version=\"1.0\"?>\n<Error>\n <A>x</A>\n <Code>Y</Code></Error>", "Y"},
        {"<!-- <Error><Code>no</Code> --><Error a='>' b=\">\"><Code>yes</Code>", "yes"},
        {"<Error><A><Code>deep</Code></A><Code>top</Code></Error>", "top"},
        {"<Error><A/><Code >a&amp;&lt;&gt;&quot;&apos;</Code ></Error>", "a&<>\"'"},
        {"<Error><Code>&#65;&#x42;&#xe9;</Code></Error>", "AB\xc3\xa9"},
        {"<Error><Code>&#x20AC;&#x1F600;</Code></Error>", "\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"<Error><Code></Code></Error>", ""},
        {"<Error><Code>first</Code><Code>second</Code></Error>", "first"},
        {"<Error><Code>cut</Code><Mess", "cut"},
        {"<Error><Code>0123456789abcde</Code></Error>", "0123456789abcde"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *code = code_of(cases[i][0]);
        assert_non_null(code);
        assert_string_equal(code, cases[i][1]);
    }
}

static void refuses(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        "<",
        "</",
        "<Error>",
        "<Error/>",
        "<Code>x</Code>",
        "<Other><Code>x</Code></Other>",
        "<Error></Error><Code>x</Code>",
        "<Error><Code>x",
        "<Error><Code>x</Cod></Error>",
        "<Error><Code>x<b/></Code></Error>",
        "<Error><Code/></Error>",
        "<Error><Code>0123456789abcdef</Code></Error>",
        "<Error><Code>&unknown;</Code></Error>",
        "<Error><Code>&#0;</Code></Error>",
        "<Error><Code>&#xd800;</Code></Error>",
        "<Error><Code>&#x110000;</Code></Error>",
        "<Error><Code>&#99999999;</Code></Error>",
        "<Error><Code>&amp</Code></Error>",
        "<!DOCTYPE Error [<!ENTITY x \"y\">]><Error><Code>&x;</Code></Error>",
        "<!-- never ends <Error><Code>x</Code></Error>",
        "<Error a=\"><Code>x</Code></Error>",
        "<html><body>503</body></html>",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (code_of(cases[i]) != NULL) {
            fail_msg("%s: %s", cases[i], code_of(cases[i]));
        }
    }
    char out[8] = "old";
    assert_false(sds_xml_child(sds_span(NULL, 0), "Error", "Code", out, sizeof out));
    assert_string_equal(out, "");
    assert_false(sds_xml_child(sds_span("<Error><Code>a\0b</Code></Error>", 31), "Error", "Code",
                               out, sizeof out));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds), cmocka_unit_test(refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
