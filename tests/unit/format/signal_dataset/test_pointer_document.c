// SPDX-License-Identifier: Apache-2.0
//
// Worker pointers: what is taken, and under which key the others are refused.
#include "unit.h"

#include <stdlib.h>

#include "format/signal_dataset/documents.h"

static const char sound[] =
    "{\"first_ordinal\":2,\"generation\":null,\"logical_shard_id\":\"tail\",\"name\":\"delta\","
    "\"publication_id\":\"w1\",\"record_ids\":[\"a\",\"b\"],\"source_snapshot_id\":\"s\","
    "\"statuses\":[\"success\",\"failed\"],\"stored_bytes\":131072,\"terminal_statuses\":[\"x\","
    "\"failed\"],\"uri\":\"root/annotations/x\"}";

// The sound pointer with one piece of its text replaced.
static char *edited(const char *from, const char *to) {
    const char *at = strstr(sound, from);
    assert_non_null(at);
    char *text = calloc(1, sizeof sound + strlen(to));
    assert_non_null(text);
    memcpy(text, sound, (size_t)(at - sound));
    strcat(text, to);
    strcat(text, at + strlen(from));
    return text;
}

static void a_sound_pointer(void **state) {
    (void)state;
    struct sds_pointer_doc pointer;
    assert_int_equal(sds_pointer_parse(sds_span_str(sound), &pointer, NULL), SDS_OK);
    assert_true(sds_value_is(pointer.name, "delta"));
    assert_true(sds_value_is(pointer.publication_id, "w1"));
    assert_true(sds_value_is(pointer.source_snapshot_id, "s"));
    assert_true(sds_value_is(pointer.logical_shard_id, "tail"));
    assert_true(sds_value_is(pointer.uri, "root/annotations/x"));
    assert_int_equal(pointer.first_ordinal, 2);
    assert_int_equal(pointer.stored_bytes, 131072);
    assert_int_equal(pointer.record_count, 2);
    assert_int_equal(sds_value_count(pointer.record_ids), 2);
    assert_false(pointer.pinned);
    sds_pointer_doc_fini(&pointer);
    assert_null(pointer.json);
}

static void generations_pin(void **state) {
    (void)state;
    static const char *const generations[] = {"\"generation\":0", "\"generation\":-1"};
    for (size_t i = 0; i < 2; i++) {
        struct sds_pointer_doc pointer;
        char *text = edited("\"generation\":null", generations[i]);
        assert_int_equal(sds_pointer_parse(sds_span_str(text), &pointer, NULL), SDS_OK);
        assert_true(pointer.pinned);
        sds_pointer_doc_fini(&pointer);
        free(text);
    }
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *check;
    } cases[] = {
        {"{", "[", "json"},
        {"\"uri\":", "\"URI\":", "keys"},
        {"\"uri\":", "\"more\":1,\"uri\":", "keys"},
        {",\"uri\":\"root/annotations/x\"", "", "uri"},
        {"\"uri\":\"root/annotations/x\"", "\"uri\":\"\"", "uri"},
        {"\"name\":\"delta\"", "\"name\":1", "name"},
        {"\"publication_id\":\"w1\"", "\"publication_id\":null", "publication_id"},
        {"\"source_snapshot_id\":\"s\"", "\"source_snapshot_id\":\"\"", "source_snapshot_id"},
        {"\"logical_shard_id\":\"tail\"", "\"logical_shard_id\":[]", "logical_shard_id"},
        {"\"first_ordinal\":2", "\"first_ordinal\":-2", "first_ordinal"},
        {"\"first_ordinal\":2", "\"first_ordinal\":true", "first_ordinal"},
        {"\"first_ordinal\":2", "\"first_ordinal\":2.0", "first_ordinal"},
        {"\"stored_bytes\":131072", "\"stored_bytes\":null", "stored_bytes"},
        {"\"generation\":null", "\"generation\":1.0", "generation"},
        {"\"generation\":null", "\"generation\":false", "generation"},
        {"\"generation\":null,", "", "generation"},
        {"[\"a\",\"b\"]", "[]", "record_ids"},
        {"[\"a\",\"b\"]", "{}", "record_ids"},
        {"[\"a\",\"b\"]", "[\"a\",\"\"]", "record_ids"},
        {"[\"a\",\"b\"]", "[\"a\",1]", "record_ids"},
        {"[\"a\",\"b\"]", "[\"a\"]", "statuses"},
        {"[\"success\",\"failed\"]", "[\"success\"]", "statuses"},
        {"[\"success\",\"failed\"]", "[\"success\",\"late\"]", "statuses"},
        {"[\"success\",\"failed\"]", "[\"success\",[]]", "statuses"},
        {"[\"x\",\"failed\"]", "[\"x\",\"\"]", "terminal_statuses"},
        {"[\"x\",\"failed\"]", "[\"x\",\"y\",\"z\"]", "terminal_statuses"},
        {"[\"x\",\"failed\"]", "\"xy\"", "terminal_statuses"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_pointer_doc pointer;
        struct sds_err err;
        char *text = edited(cases[i].from, cases[i].to);
        assert_int_equal(sds_pointer_parse(sds_span_str(text), &pointer, &err), SDS_ERR_CORRUPT);
        if (strcmp(err.check, cases[i].check) != 0) {
            fail_msg("%s: %s: %s", text, err.check, err.message);
        }
        free(text);
    }
}

static void cut_at_every_byte(void **state) {
    (void)state;
    for (size_t len = 0; len < sizeof sound - 1; len++) {
        struct sds_pointer_doc pointer;
        assert_int_equal(sds_pointer_parse(sds_span(sound, len), &pointer, NULL), SDS_ERR_CORRUPT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_pointer),
        cmocka_unit_test(generations_pin),
        cmocka_unit_test(refusals),
        cmocka_unit_test(cut_at_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
