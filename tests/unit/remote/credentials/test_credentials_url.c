// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "remote/credentials/url.h"

static void secrets_go_where_the_rule_lets_them(void **state) {
    (void)state;
    enum { CHOSEN = 1, SECURE = 2, CONTAINER = 4, METADATA = 8, ALL = 15 };
    static const struct {
        const char *url;
        int allowed;
    } cases[] = {
        {"https://example.org/x?y=1", ALL},
        {"HTTPS://example.org", ALL},
        {"http://127.0.0.1:80/x", ALL},
        {"http://127.9.9.9/x", ALL},
        {"http://localhost:1", ALL},
        {"http://[::1]:80/x", ALL},
        {"http://example.org/", CHOSEN},
        {"http://localhost.example.org/", CHOSEN},
        {"http://127.0.0.1.example.org/", CHOSEN},
        {"http://128.0.0.1/", CHOSEN},
        {"http://169.254.170.2/v2", CHOSEN | CONTAINER},
        {"http://169.254.170.23/v1", CHOSEN | CONTAINER},
        {"http://[fd00:ec2:0::23]/v1", CHOSEN | CONTAINER},
        {"http://169.254.170.3/v1", CHOSEN},
        {"http://169.254.169.254/x", CHOSEN | METADATA},
        {"http://metadata.google.internal/x", CHOSEN | METADATA},
        {"ftp://example.org/", 0},
        {"example.org", 0},
        {"http://", 0},
        {"http:///x", 0},
        {"http://[::1/x", 0},
        {"https://user:SECRET@example.org/", 0},
        {"http://example.org@127.0.0.1/", 0},
        {"https://exa mple.org/", 0},
        {"https://example.org/\r\nX: y", 0},
        {"https://example.org/\xc3\xa9", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int rule = SDS_URL_CHOSEN; rule <= SDS_URL_METADATA; rule++) {
            struct sds_err err = {0};
            enum sds_kind kind = sds_url_check(cases[i].url, (enum sds_url_rule)rule, &err);
            bool allowed = (cases[i].allowed & 1 << rule) != 0;
            if (kind != (allowed ? SDS_OK : SDS_ERR_INVALID)) {
                fail_msg("%s by rule %d", cases[i].url, rule);
            }
            assert_null(strstr(err.message, "SECRET"));
        }
    }
}

static void domains_are_compared_by_labels(void **state) {
    (void)state;
    assert_true(sds_url_is_of("https://storage.googleapis.com/x", "googleapis.com"));
    assert_true(sds_url_is_of("https://GoogleAPIs.com", "googleapis.com"));
    assert_false(sds_url_is_of("https://evilgoogleapis.com", "googleapis.com"));
    assert_false(sds_url_is_of("https://googleapis.com.example.org", "googleapis.com"));
    assert_false(sds_url_is_of("storage.googleapis.com", "googleapis.com"));
}

static void paths_are_joined_by_one_slash(void **state) {
    (void)state;
    char out[16];
    assert_true(sds_url_join("http://a", "b", out, sizeof out));
    assert_string_equal(out, "http://a/b");
    assert_true(sds_url_join("http://a//", "//b", out, sizeof out));
    assert_string_equal(out, "http://a/b");
    assert_true(sds_url_join("http://a", "123456", out, sizeof out));
    assert_false(sds_url_join("http://a", "1234567", out, sizeof out));
}

static void forms_are_percent_encoded(void **state) {
    (void)state;
    struct sds_buf form = SDS_BUF_INIT(100);
    assert_int_equal(sds_form_add(&form, "a", "b c&d=e/f+g%\xc3"), SDS_OK);
    assert_int_equal(sds_form_add(&form, "h", "-_.~Zz09"), SDS_OK);
    assert_true(
        sds_span_eq(sds_buf_span(&form), sds_span_str("a=b%20c%26d%3De%2Ff%2Bg%25%C3&h=-_.~Zz09")));
    sds_buf_fini(&form);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_go_where_the_rule_lets_them),
        cmocka_unit_test(domains_are_compared_by_labels),
        cmocka_unit_test(paths_are_joined_by_one_slash),
        cmocka_unit_test(forms_are_percent_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
