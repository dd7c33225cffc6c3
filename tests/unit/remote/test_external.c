// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "remote/backend.h"

static bool allows_from(const char *root, const char *option, const char *uri) {
    struct sds_external_policy policy;
    assert_true(sds_external_parse(option, &policy));
    struct sds_err err;
    enum sds_kind kind = sds_external_allows(&policy, root, uri, &err);
    assert_true(kind == SDS_OK ||
                (kind == SDS_ERR_UNSUPPORTED && strcmp(err.check, "external") == 0));
    return kind == SDS_OK;
}

static bool allows(const char *option, const char *uri) {
    return allows_from("/data/x.sds", option, uri);
}

static void a_bucket_refers_to_its_own_kind(void **state) {
    (void)state;
    const char *root = "s3://bucket/captures.sds";
    assert_true(allows_from(root, "same", "s3://bucket/elsewhere/x"));
    assert_true(allows_from(root, "same", "s3://bucket"));
    assert_false(allows_from(root, "same", "s3://bucket2/x"));
    assert_false(allows_from(root, "same", "s3://buck/x"));
    assert_true(allows_from(root, "any", "s3://bucket2/x"));
    assert_false(allows_from(root, "none", "s3://bucket/x"));
    assert_false(allows_from(root, "any", "gs://bucket/x"));
    assert_false(allows_from(root, "any", "/etc/passwd"));
    assert_false(allows_from("gs://bucket/x", "any", "s3://bucket/x"));
    assert_false(allows_from("http://host/x", "any", "/data/x"));
    assert_true(allows_from(root, "s3://other/public:s3://third", "s3://other/public/x"));
    assert_true(allows_from(root, "s3://other/public:s3://third", "s3://third/x"));
    assert_false(allows_from(root, "s3://other/public:s3://third", "s3://other/x"));
    assert_false(allows_from(root, "s3://other/public", "s3://other/public/../x"));
    assert_false(allows_from(root, "/", "/data/x"));
}

static void words(void **state) {
    (void)state;
    assert_false(allows("none", "/data/x"));
    assert_true(allows("same", "/data/x"));
    assert_true(allows("any", "/data/x"));
    assert_false(allows("same", "s3://bucket/x"));
    struct sds_external_policy policy;
    assert_false(sds_external_parse("", &policy));
    assert_false(sds_external_parse("some", &policy));
    assert_false(sds_external_parse("relative/prefix", &policy));
}

static void prefixes_end_at_components(void **state) {
    (void)state;
    assert_true(allows("/data:/srv/b/", "/data/x"));
    assert_true(allows("/data:/srv/b/", "/srv/b/x"));
    assert_true(allows("/", "/anything"));
    assert_false(allows("/data:/srv/b/", "/database/x"));
    assert_false(allows("/data:/srv/b/", "/srv/bc"));
    assert_false(allows("/data", "/data/../etc/passwd"));
    assert_false(allows("/data", "/data/x/.."));
    assert_true(allows("/data", "/data/..x/y..z"));
}

static void nothing_leads_into_the_mount(void **state) {
    (void)state;
    struct sds_external_policy policy = {.mode = SDS_EXTERNAL_ANY, .mountpoint = "/srv/mnt"};
    static const struct {
        const char *uri;
        enum sds_kind kind;
    } cases[] = {
        {"/srv/mnt", SDS_ERR_UNSUPPORTED},
        {"/srv/mnt/x", SDS_ERR_UNSUPPORTED},
        {"//srv/./mnt//x", SDS_ERR_UNSUPPORTED},
        {"/data/../srv/mnt/x", SDS_ERR_UNSUPPORTED},
        {"/srv/mnt2/x", SDS_OK},
        {"/srv", SDS_OK},
        {"/srv/mn", SDS_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sds_external_allows(&policy, "/data/x.sds", cases[i].uri, NULL),
                         cases[i].kind);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(a_bucket_refers_to_its_own_kind),
        cmocka_unit_test(prefixes_end_at_components),
        cmocka_unit_test(nothing_leads_into_the_mount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
