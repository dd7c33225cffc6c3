// SPDX-License-Identifier: Apache-2.0
#include "fs/control.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "toy.h"
#include "unit.h"

struct fixture {
    struct toy *toy;
    struct sds_errors *errors;
    struct sds_nodes *nodes;
    struct sds_requests requests;
    struct sds_control *control;
};

static int setup(void **state) {
    static struct fixture fixture;
    sds_log_setup(&(struct sds_log_options){.syslog = true});
    fixture =
        (struct fixture){.toy = toy_new(3), .errors = sds_errors_new(), .nodes = sds_nodes_new()};
    fixture.control = sds_control_new(&(struct sds_control_sources){.ds = &fixture.toy->base,
                                                                    .errors = fixture.errors,
                                                                    .requests = &fixture.requests,
                                                                    .nodes = fixture.nodes,
                                                                    .version = "1.2.3",
                                                                    .root = "/data/toy"});
    *state = &fixture;
    return fixture.control == NULL;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    sds_control_free(fixture->control);
    sds_nodes_free(fixture->nodes);
    sds_errors_free(fixture->errors);
    toy_free(fixture->toy);
    return 0;
}

static struct sds_rendering render(struct fixture *fixture, enum sds_control_file file,
                                   enum sds_render_for purpose) {
    struct sds_rendering rendering;
    struct sds_err err;
    assert_int_equal(sds_control_render(fixture->control, file, purpose, &rendering, &err), SDS_OK);
    return rendering;
}

// The text of a fresh rendering; the caller's.
static char *text_of(struct fixture *fixture, enum sds_control_file file) {
    struct sds_rendering rendering = render(fixture, file, SDS_RENDER_LOOKUP);
    char *text = strndup((const char *)rendering.text->at, rendering.text->len);
    sds_blob_unref(rendering.text);
    return text;
}

static void note_failure(struct fixture *fixture, const char *path) {
    struct sds_err err;
    sds_fail(&err, SDS_ERR_CORRUPT, "hash", "wrong");
    sds_errors_add(fixture->errors, sds_span_str(path), &err);
}

static void names_are_found(void **state) {
    (void)state;
    enum sds_control_file file;
    assert_true(sds_control_find(sds_span_str("metrics"), &file));
    assert_int_equal(file, SDS_CONTROL_METRICS);
    assert_false(sds_control_find(sds_span_str("metric"), &file));
    assert_false(sds_control_find(sds_span_str(""), &file));
}

static void status_has_the_keys_of_the_contract(void **state) {
    struct fixture *fixture = *state;
    note_failure(fixture, "a/b");
    char *text = text_of(fixture, SDS_CONTROL_STATUS);
    struct json_object *status = json_tokener_parse(text), *value;
    assert_non_null(status);
    assert_true(json_object_object_get_ex(status, "pid", &value));
    assert_int_equal(json_object_get_int(value), getpid());
    assert_true(json_object_object_get_ex(status, "errors", &value));
    assert_int_equal(json_object_get_int(value), 1);
    static const char *const texts[][2] = {{"version", "1.2.3"},
                                           {"driver", "toy"},
                                           {"root", "/data/toy"},
                                           {"dataset_id", "a/b \"c\""}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_true(json_object_object_get_ex(status, texts[i][0], &value));
        assert_string_equal(json_object_get_string(value), texts[i][1]);
    }
    assert_true(json_object_object_get_ex(status, "since", NULL));
    json_object_put(status);
    free(text);
}

static void metrics_are_openmetrics(void **state) {
    struct fixture *fixture = *state;
    note_failure(fixture, "a/b");
    sds_requests_add(&fixture->requests, SDS_OP_READ);
    char *text = text_of(fixture, SDS_CONTROL_METRICS);
    static const char *const lines[] = {
        "# TYPE sdsfs_requests counter\n",
        "\nsdsfs_requests_total{op=\"read\"} 1\n",
        "\nsdsfs_errors_total{check=\"hash\"} 1\n",
        "\n# TYPE sdsfs_toy counter\n# HELP sdsfs_toy Toys.\nsdsfs_toy_total 3\n",
        "\n# TYPE sdsfs_toy_held gauge\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_non_null(strstr(text, lines[i]));
    }
    assert_string_equal(text + strlen(text) - strlen("\n# EOF\n"), "\n# EOF\n");
    free(text);
}

// A reader that asks for the size between two reads stays with its text; a new lookup gets a new
// one.
static void reads_are_served_from_the_rendering(void **state) {
    struct fixture *fixture = *state;
    struct sds_rendering first = render(fixture, SDS_CONTROL_ERRORS, SDS_RENDER_LOOKUP);
    assert_int_equal(first.text->len, 0);
    note_failure(fixture, "a/b");
    struct sds_rendering read = render(fixture, SDS_CONTROL_ERRORS, SDS_RENDER_READ);
    struct sds_rendering stat = render(fixture, SDS_CONTROL_ERRORS, SDS_RENDER_GETATTR);
    assert_ptr_equal(read.text, first.text);
    assert_ptr_equal(stat.text, first.text);
    struct sds_rendering second = render(fixture, SDS_CONTROL_ERRORS, SDS_RENDER_LOOKUP);
    assert_true(second.text->len > 0);
    struct sds_rendering third = render(fixture, SDS_CONTROL_ERRORS, SDS_RENDER_LOOKUP);
    assert_memory_equal(&third.changed, &second.changed, sizeof third.changed); // same text
    assert_memory_not_equal(&second.changed, &first.changed, sizeof first.changed);
    sds_blob_unref(first.text);
    sds_blob_unref(read.text);
    sds_blob_unref(stat.text);
    sds_blob_unref(second.text);
    sds_blob_unref(third.text);
}

static void failure_to_render_is_told(void **state) {
    struct fixture *fixture = *state;
    fixture->toy->down = true;
    struct sds_rendering rendering;
    struct sds_err err;
    assert_int_equal(
        sds_control_render(fixture->control, SDS_CONTROL_STATUS, SDS_RENDER_READ, &rendering, &err),
        SDS_ERR_STORAGE);
    assert_string_equal(err.check, "down");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test_setup_teardown(status_has_the_keys_of_the_contract, setup, teardown),
        cmocka_unit_test_setup_teardown(metrics_are_openmetrics, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_are_served_from_the_rendering, setup, teardown),
        cmocka_unit_test_setup_teardown(failure_to_render_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
