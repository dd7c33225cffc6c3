// SPDX-License-Identifier: Apache-2.0
#include "fs/errors.h"

#include <json-c/json.h>
#include <stdio.h>

#include "base/log.h"
#include "unit.h"

static int setup(void **state) {
    sds_log_setup(&(struct sds_log_options){.syslog = true}); // out of the way of the results
    *state = sds_errors_new();
    return *state == NULL;
}

static int teardown(void **state) {
    sds_errors_free(*state);
    return 0;
}

static void add(struct sds_errors *errors, const char *path, const char *check,
                const char *message) {
    struct sds_err err;
    sds_fail(&err, SDS_ERR_CORRUPT, check, "%s", message);
    sds_err_object(&err, "objects/x");
    sds_errors_add(errors, sds_span_str(path), &err);
}

// The journal as text; the caller's.
static char *render(struct sds_errors *errors) {
    struct sds_buf text = SDS_BUF_INIT(8 << 20);
    assert_int_equal(sds_errors_render(errors, &text), SDS_OK);
    assert_int_equal(sds_buf_add(&text, "", 1), SDS_OK);
    return (char *)text.at;
}

static size_t count_lines(const char *text) {
    size_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static const char *member(struct json_object *object, const char *key) {
    struct json_object *value;
    assert_true(json_object_object_get_ex(object, key, &value));
    return json_object_get_string(value);
}

static void a_line_tells_what_and_where(void **state) {
    add(*state, "records/000042/a \"b\"\n\xff.npy", "hash", "it is \"wrong\"");
    char *text = render(*state);
    assert_int_equal(count_lines(text), 1);
    struct json_object *line = json_tokener_parse(text);
    assert_non_null(line);
    assert_int_equal(strlen(member(line, "time")), strlen("2026-01-01T00:00:00.000Z"));
    assert_string_equal(member(line, "path"), "records/000042/a \"b\"\\x0A\\xFF.npy");
    assert_string_equal(member(line, "object"), "objects/x");
    assert_string_equal(member(line, "check"), "hash");
    assert_string_equal(member(line, "message"), "it is \"wrong\"");
    assert_false(json_object_object_get_ex(line, "count", NULL));
    json_object_put(line);
    free(text);
}

static void repeats_are_folded(void **state) {
    add(*state, "a/b", "hash", "wrong");
    add(*state, "a/b", "hash", "wrong");
    add(*state, "a/b", "hash", "wrong");
    add(*state, "a/b", "size", "wrong");
    add(*state, "a/b", "hash", "wrong");
    char *text = render(*state);
    assert_int_equal(count_lines(text), 3);
    struct json_object *line = json_tokener_parse(text);
    assert_string_equal(member(line, "count"), "3");
    json_object_put(line);
    free(text);
    assert_int_equal(sds_errors_total(*state), 5);
}

static void only_the_newest_are_kept(void **state) {
    for (int i = 0; i < 1000; i++) {
        char path[32];
        snprintf(path, sizeof path, "records/%06d", i);
        add(*state, path, "hash", "wrong");
    }
    char *text = render(*state);
    assert_int_equal(count_lines(text), 512);
    assert_null(strstr(text, "records/000487"));
    assert_non_null(strstr(text, "records/000488"));
    assert_non_null(strstr(text, "records/000999"));
    free(text);
    assert_int_equal(sds_errors_total(*state), 1000);
}

struct seen {
    size_t checks;
    uint64_t hash, size;
};

static void see(void *ctx, const char *check, uint64_t count) {
    struct seen *seen = ctx;
    seen->checks++;
    seen->hash += strcmp(check, "hash") == 0 ? count : 0;
    seen->size += strcmp(check, "size") == 0 ? count : 0;
}

static void checks_are_counted(void **state) {
    add(*state, "a", "hash", "wrong");
    add(*state, "b", "hash", "wrong");
    add(*state, "c", "size", "wrong");
    struct seen seen = {0};
    sds_errors_each_check(*state, see, &seen);
    assert_int_equal(seen.checks, 2);
    assert_int_equal(seen.hash, 2);
    assert_int_equal(seen.size, 1);
    for (int i = 0; i < 1000; i++) { // more checks than there are: bounded all the same
        char check[16];
        snprintf(check, sizeof check, "check%d", i);
        add(*state, "d", check, "wrong");
    }
    seen = (struct seen){0};
    sds_errors_each_check(*state, see, &seen);
    assert_true(seen.checks < 200);
}

static void assert_first(struct sds_errors *errors, const char *place, const char *expected) {
    struct sds_buf text = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_errors_first(errors, sds_span_str(place), &text), expected != NULL);
    if (expected != NULL) {
        assert_int_equal(text.len, strlen(expected));
        assert_memory_equal(text.at, expected, text.len);
    }
    sds_buf_fini(&text);
}

static void the_first_failure_of_a_place_is_kept(void **state) {
    add(*state, "records/000042/annotations/s/annotation.json", "row", "first");
    add(*state, "records/000042/samples.npy", "hash", "second");
    add(*state, "records/000043", "manifest", "third");
    assert_first(*state, "records/000042", "annotations/s/annotation.json: row: first");
    assert_first(*state, "records/000042/annotations/s", "annotation.json: row: first");
    assert_first(*state, "records/000042/samples.npy", "samples.npy: hash: second");
    assert_first(*state, "records/000043", "000043: manifest: third");
    assert_first(*state, "records", NULL);
    assert_first(*state, "", NULL);
    assert_first(*state, "records/000044", NULL);
}

static void places_are_bounded(void **state) {
    for (int i = 0; i < 6000; i++) {
        char path[32];
        snprintf(path, sizeof path, "records/%06d", i);
        add(*state, path, "hash", "wrong");
    }
    assert_first(*state, "records/000000", "000000: hash: wrong");
    assert_first(*state, "records/005999", NULL);
}

static void a_path_of_any_length_is_cut(void **state) {
    static char path[5000];
    memset(path, 'a', sizeof path - 1);
    path[100] = '/';
    add(*state, path, "hash", "wrong");
    char *text = render(*state);
    assert_true(strlen(text) < 1500);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_tells_what_and_where, setup, teardown),
        cmocka_unit_test_setup_teardown(repeats_are_folded, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_newest_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(checks_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_failure_of_a_place_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(places_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_path_of_any_length_is_cut, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
