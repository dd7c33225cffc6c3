// SPDX-License-Identifier: Apache-2.0
// The JSON reader without memory: each allocation fails once. Linked with --wrap for the allocator.
#include "base/json_write.h"
#include "json_cases.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned allocations_left = UINT32_MAX; // until one fails
static bool failed;

static bool fails_now(void) {
    if (allocations_left == UINT32_MAX) {
        return false;
    }
    failed = failed || allocations_left == 0;
    return allocations_left == 0 || allocations_left-- == 0;
}

void *__wrap_malloc(size_t size) {
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return fails_now() ? NULL : __real_realloc(old, size);
}

// Parses with each allocation but the first n failing, for n = 0, 1, 2... until none did. Returns
// n.
static unsigned parse_with_failures(struct sds_span text) {
    for (unsigned n = 0;; n++) {
        struct sds_json *doc = NULL;
        struct sds_err err = {0};
        failed = false;
        allocations_left = n;
        enum sds_kind kind = sds_json_parse(text, &format_limits, &doc, &err);
        allocations_left = UINT32_MAX;
        if (kind == SDS_OK) { // also where only the spare memory could not be given back
            sds_json_free(doc);
        } else {
            assert_true(failed);
            assert_null(doc);
            assert_int_equal(kind, SDS_ERR_NO_MEMORY);
            assert_int_equal(err.kind, SDS_ERR_NO_MEMORY);
        }
        if (!failed) {
            return n;
        }
    }
}

static void parses_or_says_no_memory(void **state) {
    (void)state;
    // The document, its tokens; for many of them also a larger table; the table of keys; a
    // transcoded text.
    assert_true(parse_with_failures(BYTES("[1,2]")) >= 2);
    assert_true(parse_with_failures(BYTES("[\0001\0,\0002\0]\0")) >= 3);
    char text[1200];
    size_t len = 0;
    for (unsigned i = 0; i < 100; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\"%u\":0", i == 0 ? "{" : ",", i);
    }
    text[len++] = '}';
    assert_true(parse_with_failures(sds_span(text, len)) >= 4);
}

static void compares_or_says_no_memory(void **state) {
    (void)state;
    struct sds_json *a = must_parse(BYTES("{\"a\":{\"b\":1,\"c\":2},\"d\":0}"));
    struct sds_json *b = must_parse(BYTES("{\"d\":0,\"a\":{\"c\":2,\"b\":1}}"));
    for (unsigned n = 0; n <= 2; n++) { // one list of keys for either level
        bool equal = false;
        allocations_left = n;
        enum sds_kind kind = sds_value_equal(sds_json_top(a), sds_json_top(b), &equal);
        allocations_left = UINT32_MAX;
        assert_int_equal(kind, n < 2 ? SDS_ERR_NO_MEMORY : SDS_OK);
        assert_true(n < 2 || equal);
    }
    sds_json_free(a);
    sds_json_free(b);
}

// Keys beyond those that are sorted on the stack, and the text.
static void writes_or_says_no_memory(void **state) {
    (void)state;
    struct sds_buf text = SDS_BUF_INIT(1000);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(sds_buf_printf(&text, "%s\"%u\":0", i == 0 ? "{" : ",", i), SDS_OK);
    }
    assert_int_equal(sds_buf_add_str(&text, "}"), SDS_OK);
    struct sds_json *doc = must_parse(sds_buf_span(&text));
    for (unsigned n = 0;; n++) {
        struct sds_buf out = SDS_BUF_INIT(1000);
        struct sds_err err = {.check = "nothing"};
        failed = false;
        allocations_left = n;
        enum sds_kind kind = sds_json_write(sds_json_top(doc), SDS_JSON_COMPACT, &out, &err);
        allocations_left = UINT32_MAX;
        assert_int_equal(kind, failed ? SDS_ERR_NO_MEMORY : SDS_OK);
        assert_string_equal(err.check, failed ? "memory" : "nothing");
        sds_buf_fini(&out);
        if (!failed) {
            assert_true(n >= 2);
            break;
        }
    }
    sds_json_free(doc);
    sds_buf_fini(&text);
}

static void unescapes_or_says_no_memory(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("\"\\n\""));
    struct sds_buf scratch = SDS_BUF_INIT(100);
    struct sds_span out;
    allocations_left = 0;
    enum sds_kind kind = sds_value_string(sds_json_top(doc), &scratch, &out);
    allocations_left = UINT32_MAX;
    assert_int_equal(kind, SDS_ERR_NO_MEMORY);
    sds_buf_fini(&scratch);
    sds_json_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_or_says_no_memory),
        cmocka_unit_test(compares_or_says_no_memory),
        cmocka_unit_test(writes_or_says_no_memory),
        cmocka_unit_test(unescapes_or_says_no_memory),
    };
    return cmocka_run_group_tests_name("json_memory", tests, NULL, NULL);
}
