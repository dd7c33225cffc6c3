// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "format/signal_dataset/disagree.h"

#define AXIS(more) "{\"name\":\"t\",\"length\":3" more "}"
#define FIELD(axis, more) "{\"dtype\":\"<f4\",\"shape\":[3],\"axes\":[" axis "]" more "}"
#define ENTRY(top, field) "{\"id\":\"a\"" top ",\"fields\":{\"x\":" field "}}"
#define PLAIN ENTRY("", FIELD(AXIS(""), ""))

static void collect(void *ctx, const char *what) {
    strcat(ctx, what);
    strcat(ctx, "; ");
}

static void expect(const char *a, const char *b, const char *told) {
    struct sds_record x, y;
    char text[1024] = "";
    assert_int_equal(sds_metadata_decode(sds_span_str(a), &x, NULL), SDS_OK);
    assert_int_equal(sds_metadata_decode(sds_span_str(b), &y, NULL), SDS_OK);
    assert_int_equal(disagreements(&x, &y, collect, text), SDS_OK);
    assert_string_equal(text, told);
    sds_record_fini(&x);
    sds_record_fini(&y);
}

static void what_is_the_same_in_other_words(void **state) {
    (void)state;
    expect(PLAIN, PLAIN, "");
    expect(PLAIN, ENTRY(",\"scene_id\":null,\"metadata\":0", FIELD(AXIS(""), ",\"metadata\":[]")),
           "");
    expect(PLAIN, ENTRY("", FIELD(AXIS(",\"role\":null,\"coordinate\":null,\"metadata\":{}"), "")),
           "");
    expect(ENTRY("", FIELD(AXIS(",\"coordinate\":{\"start\":0,\"step\":1}"), "")),
           ENTRY("", FIELD(AXIS(",\"coordinate\":{\"step\":1.0,\"start\":0.0,\"unit\":null}"), "")),
           "");
}

static void what_differs(void **state) {
    (void)state;
    expect(PLAIN, "{\"id\":7,\"fields\":{}}",
           "id \"a\" in the payload, 7 in the entry; field \"x\": only in the payload; ");
    expect(PLAIN, ENTRY(",\"scene_id\":\"s\"", FIELD(AXIS(""), "")),
           "scene_id nothing in the payload, \"s\" in the entry; ");
    expect(PLAIN, ENTRY(",\"metadata\":{\"k\":1}", FIELD(AXIS(""), "")), "other metadata; ");
    expect(PLAIN, ENTRY("", FIELD(AXIS(",\"id\":\"i\""), ",\"metadata\":{\"k\":1}")),
           "field \"x\": other axes; field \"x\": other metadata; ");
    expect(PLAIN, ENTRY("", FIELD(AXIS(",\"coordinate\":{}"), "")), "field \"x\": other axes; ");
    expect(
        PLAIN,
        "{\"id\":\"a\",\"fields\":{\"x\":{\"dtype\":\"<f8\",\"shape\":[],\"axes\":[]},\"y\":" FIELD(
            AXIS(""), "") "}}",
        "field \"x\": another dtype; field \"x\": another shape; field \"x\": other axes; "
        "field \"y\": only in the metadata entry; ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_the_same_in_other_words),
        cmocka_unit_test(what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
