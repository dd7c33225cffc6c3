// SPDX-License-Identifier: Apache-2.0
// What the parsers of control documents return, and under which check, with which words, they
// refuse.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "parse_document.h"

#define REF(path) "{\"path\":\"" path "\",\"stored_bytes\":3}"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char root_text[] =
    "{\"format\":\"signal-dataset.dataset\",\"layout_version\":\"0.1\",\"dataset_id\":"
    "\"d\\u0000\\ud800\","
    "\"snapshot\":{\"path\":\"snapshots//./s/"
    "\",\"stored_bytes\":99999999999999999999,\"generation\":0},"
    "\"record_codec\":{\"name\":\"safetensors\"},\"shard_format\":{\"name\":\"array_record\"},"
    "\"min_reader_version\":\"0.3.0\",\"metadata\":{\"a\":[1,1e2],\"b\":{}}}";

static const char snapshot_text[] =
    "{\"format\":\"signal-dataset.snapshot\",\"layout_version\":\"0.1\",\"snapshot_id\":\"s\","
    "\"record_count\":3,\"shard_count\":4,\"stored_bytes\":30,\"manifests\":["
    "{\"first_ordinal\":0,\"record_count\":2,\"shard_count\":1,\"stored_bytes\":10,\"object\":" REF(
        "m/0") "},"
               "{\"first_ordinal\":2,\"record_count\":0,\"shard_count\":1,\"stored_bytes\":0,"
               "\"object\":" REF("/m/1") "},"
                                         "{\"first_ordinal\":2,\"record_count\":1,\"shard_count\":"
                                         "2,\"stored_bytes\":20,\"object\":" REF("s3://m/2") "}]}";

static const char manifest_text[] =
    "{\"format\":\"signal-dataset.manifest\",\"layout_version\":\"0.1\",\"first_ordinal\":5,"
    "\"record_count\":3,"
    "\"shards\":["
    "{\"first_ordinal\":5,\"record_count\":2,\"data\":" REF("d/0") ",\"metadata\":" REF(
        "m/0") ","
               "\"record_indices\":[7,99999999999999999999]},"
               "{\"first_ordinal\":7,\"record_count\":1,\"data\":" REF("d/1") ",\"metadata\":" REF(
                   "m/1") ","
                          "\"record_indices\":null}]}";

static const char catalog_text[] =
    "{\"revision\":{\"path\":\"annotations/catalogs/" HASH ".json\",\"generation\":7}}";

static const char revision_text[] = "{\"sets\":{\"beta\":" REF(
    "annotations/sets/beta/p1//root.json") ","
                                           "\"alpha\":" REF(
                                               "annotations/sets/alpha/p2/root.json") "}}";

static const char set_text[] =
    "{\"name\":\"alpha\",\"publication_id\":\"p1\",\"source_snapshot_id\":\"s\\u0000\",\"record_"
    "count\":3,"
    "\"metadata\":null,\"shards\":["
    "{\"first_ordinal\":0,\"record_count\":2,\"object\":" REF(
        "o/0") "},"
               "{\"first_ordinal\":2,\"record_count\":1,\"object\":" REF("o/1") "}]}";

static void assert_reference(const struct sds_reference *reference, const char *path,
                             bool absolute) {
    assert_string_equal(reference->path, path);
    assert_int_equal(reference->path_len, strlen(path));
    assert_int_equal(reference->absolute, absolute);
    assert_false(reference->pinned);
    assert_int_equal(reference->stored_bytes, 3);
}

static void root_members(void **state) {
    (void)state;
    struct sds_root_doc root;
    assert_int_equal(sds_root_parse(sds_span_str(root_text), &root, NULL), SDS_OK);
    assert_int_equal(root.dataset_id_len, 5);
    assert_memory_equal(root.dataset_id, "d\0\xED\xA0\x80", 6);
    assert_string_equal(root.snapshot.path, "snapshots/s");
    assert_int_equal(root.snapshot.path_len, 11);
    assert_false(root.snapshot.absolute);
    assert_true(root.snapshot.pinned);
    assert_int_equal(root.snapshot.generation, 0);
    assert_true(root.snapshot.stored_bytes == UINT64_MAX);
    assert_string_equal(root.metadata, "{\n  \"a\": [\n    1,\n    1e2\n  ],\n  \"b\": {}\n}");
    sds_root_doc_fini(&root);
}

static void snapshot_members(void **state) {
    (void)state;
    struct sds_snapshot_doc snapshot;
    assert_int_equal(sds_snapshot_parse(sds_span_str(snapshot_text), &snapshot, NULL), SDS_OK);
    assert_string_equal(snapshot.snapshot_id, "s");
    assert_int_equal(snapshot.snapshot_id_len, 1);
    assert_int_equal(snapshot.record_count, 3);
    assert_int_equal(snapshot.shard_count, 4);
    assert_int_equal(snapshot.stored_bytes, 30);
    assert_int_equal(snapshot.page_count, 3);
    static const uint64_t first_ordinals[] = {0, 2, 2}, first_shards[] = {0, 1, 2};
    static const char *const paths[] = {"m/0", "/m/1", "s3://m/2"};
    for (size_t i = 0; i < snapshot.page_count; i++) {
        assert_int_equal(snapshot.pages[i].first_ordinal, first_ordinals[i]);
        assert_int_equal(snapshot.pages[i].first_shard, first_shards[i]);
        assert_reference(&snapshot.pages[i].object, paths[i], i > 0);
    }
    assert_int_equal(snapshot.pages[2].record_count, 1);
    assert_int_equal(snapshot.pages[2].shard_count, 2);
    assert_int_equal(snapshot.pages[2].stored_bytes, 20);
    assert_true(snapshot.memory >= 3 * sizeof *snapshot.pages);
    sds_snapshot_doc_fini(&snapshot);
}

static void manifest_members(void **state) {
    (void)state;
    struct sds_manifest_doc manifest;
    assert_int_equal(sds_manifest_parse(sds_span_str(manifest_text), &manifest, NULL), SDS_OK);
    assert_int_equal(manifest.first_ordinal, 5);
    assert_int_equal(manifest.record_count, 3);
    assert_int_equal(manifest.stored_bytes, 12);
    assert_int_equal(manifest.shard_count, 2);
    const struct sds_shard_entry *shards = manifest.shards;
    assert_int_equal(shards[0].record_count, 2);
    assert_int_equal(shards[0].record_indices[0], 7);
    assert_true(shards[0].record_indices[1] == UINT64_MAX);
    assert_reference(&shards[0].data, "d/0", false);
    assert_reference(&shards[0].metadata, "m/0", false);
    assert_int_equal(shards[1].first_ordinal, 7);
    assert_int_equal(shards[1].record_count, 1);
    assert_null(shards[1].record_indices);
    assert_reference(&shards[1].data, "d/1", false);
    assert_reference(&shards[1].metadata, "m/1", false);
    sds_manifest_doc_fini(&manifest);
}

static void sizes_of_shards_saturate(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\":\"signal-dataset.manifest\",\"layout_version\":\"0.1\",\"first_ordinal\":0,"
        "\"record_count\":0,\"shards\":[{\"first_ordinal\":0,\"record_count\":0,"
        "\"data\":{\"path\":\"a\",\"stored_bytes\":18446744073709551615},"
        "\"metadata\":{\"path\":\"b\",\"stored_bytes\":2}}]}";
    struct sds_manifest_doc manifest;
    assert_int_equal(sds_manifest_parse(sds_span_str(text), &manifest, NULL), SDS_OK);
    assert_true(manifest.stored_bytes == UINT64_MAX);
    sds_manifest_doc_fini(&manifest);
}

static void catalog_members(void **state) {
    (void)state;
    struct sds_catalog_doc catalog;
    assert_int_equal(sds_catalog_parse(sds_span_str(catalog_text), &catalog, NULL), SDS_OK);
    assert_string_equal(catalog.revision_path, "annotations/catalogs/" HASH ".json");
    assert_string_equal(catalog.revision_hash, HASH);
    assert_true(catalog.pinned);
}

static void revision_members(void **state) {
    (void)state;
    struct sds_revision_doc revision;
    assert_int_equal(sds_revision_parse(sds_span_str(revision_text), &revision, NULL), SDS_OK);
    assert_int_equal(revision.count, 2);
    assert_string_equal(revision.sets[0].name, "beta");
    assert_reference(&revision.sets[0].object, "annotations/sets/beta/p1/root.json", false);
    assert_string_equal(revision.sets[1].name, "alpha");
    assert_reference(&revision.sets[1].object, "annotations/sets/alpha/p2/root.json", false);
    sds_revision_doc_fini(&revision);
}

static void set_members(void **state) {
    (void)state;
    struct sds_set_doc set;
    assert_int_equal(sds_set_parse(sds_span_str(set_text), &set, NULL), SDS_OK);
    assert_string_equal(set.name, "alpha");
    assert_string_equal(set.publication_id, "p1");
    assert_int_equal(set.source_snapshot_id_len, 2);
    assert_memory_equal(set.source_snapshot_id, "s\0", 3);
    assert_int_equal(set.record_count, 3);
    assert_int_equal(set.shard_count, 2);
    assert_int_equal(set.shards[0].record_count, 2);
    assert_int_equal(set.shards[1].first_ordinal, 2);
    assert_int_equal(set.shards[1].record_count, 1);
    assert_reference(&set.shards[0].object, "o/0", false);
    assert_reference(&set.shards[1].object, "o/1", false);
    assert_true(set.memory >= 2 * sizeof *set.shards);
    sds_set_doc_fini(&set);
}

// Refusals: text with the first occurrence of old replaced by new.

struct refusal {
    const char *old, *new;
    enum sds_kind kind;
    const char *check;
    const char *message; // a part of it
};

static char *edit(const char *text, const char *old, const char *new) {
    const char *at = strstr(text, old);
    assert_non_null(at);
    size_t size = strlen(text) + strlen(new) + 1;
    char *edited = malloc(size);
    snprintf(edited, size, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return edited;
}

static void check_refusals(enum kind kind, const char *text, const struct refusal *rows,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *edited = edit(text, rows[i].old, rows[i].new);
        struct sds_err err = {0};
        enum sds_kind result = parse_document(kind, sds_span_str(edited), &err);
        if (result != rows[i].kind || strcmp(err.check, rows[i].check) != 0 ||
            strstr(err.message, rows[i].message) == NULL) {
            fail_msg("%s -> %s: %s: %s: %s", rows[i].old, rows[i].new, sds_kind_name(result),
                     err.check, err.message);
        }
        assert_int_equal(parse_document(kind, sds_span_str(edited), NULL), result);
        free(edited);
    }
}

#define CHECK_REFUSALS(kind, text, rows)                                                           \
    check_refusals(kind, text, rows, sizeof(rows) / sizeof(rows)[0])

static void root_refusals(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"\"signal-dataset.dataset\"", "\"x\"", SDS_ERR_CORRUPT, "format",
         "format: expected \"signal-dataset.dataset\", found the string \"x\""},
        {"\"layout_version\":\"0.1\"", "\"layout_version\":0.1", SDS_ERR_CORRUPT, "layout_version",
         "found the number 0.1"},
        {"\"layout_version\":\"0.1\",", "", SDS_ERR_CORRUPT, "layout_version", "found nothing"},
        {"\"d\\u0000\\ud800\"", "\"\"", SDS_ERR_CORRUPT, "dataset_id", "found the string \"\""},
        {"{\"path\":\"snapshots//./s/\"", "{\"PATH\":\"\"", SDS_ERR_CORRUPT, "path",
         "snapshot.path: expected a string, found nothing"},
        {"snapshots//./s/", "a/../b", SDS_ERR_CORRUPT, "path", "found the string \"a/../b\""},
        {"snapshots//./s/", "/a\\u0000b", SDS_ERR_CORRUPT, "path", "without NUL"},
        {"99999999999999999999", "-1", SDS_ERR_CORRUPT, "stored_bytes",
         "snapshot.stored_bytes: expected a nonnegative integer, found the number -1"},
        {"99999999999999999999", "true", SDS_ERR_CORRUPT, "stored_bytes", "found true"},
        {"\"generation\":0", "\"generation\":1.0", SDS_ERR_CORRUPT, "generation", "1.0"},
        {"\"name\":\"safetensors\"", "\"name\":\"safetensors\",\"v\":1", SDS_ERR_CORRUPT,
         "record_codec", "record_codec: expected {\"name\": \"safetensors\"} and nothing else"},
        {"\"array_record\"", "\"riegeli\"", SDS_ERR_CORRUPT, "shard_format", "array_record"},
        {"{\"name\":\"array_record\"}", "[]", SDS_ERR_CORRUPT, "shard_format", "array_record"},
        {"\"0.3.0\"", "3", SDS_ERR_CORRUPT, "min_reader_version", "expected a string"},
        {"\"0.3.0\"", "\"v1\"", SDS_ERR_CORRUPT, "min_reader_version", "expected a version"},
        {"\"0.3.0\"", "\"0.4.1\"", SDS_ERR_CORRUPT, "min_reader_version",
         "signal-dataset \"0.4.1\" or newer is needed, this program reads like 0.4.0"},
        {"1e2", "1e999", SDS_ERR_CORRUPT, "metadata", "metadata: a number beyond"},
        {"{\"a\":[1,1e2],\"b\":{}}", "[0]", SDS_ERR_CORRUPT, "metadata", "found array"},
        {"{\"a\"", "{\"b\":0,\"a\"", SDS_ERR_CORRUPT, "json", "b"},
        {"{\"format\"", "[{\"format\"", SDS_ERR_CORRUPT, "json", ""},
    };
    CHECK_REFUSALS(ROOT, root_text, rows);
}

static void snapshot_refusals(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"signal-dataset.snapshot", "signal-dataset.manifest", SDS_ERR_CORRUPT, "format", ""},
        {"\"s\"", "\"\"", SDS_ERR_CORRUPT, "snapshot_id", "snapshot_id: "},
        {"\"record_count\":3", "\"record_count\":4", SDS_ERR_CORRUPT, "record_count",
         "record_count: 4 is declared, the entries add up to 3"},
        {"\"shard_count\":4", "\"shard_count\":3", SDS_ERR_CORRUPT, "shard_count", "add up to 4"},
        {"\"stored_bytes\":30", "\"stored_bytes\":31", SDS_ERR_CORRUPT, "stored_bytes", "30"},
        {"\"first_ordinal\":2", "\"first_ordinal\":3", SDS_ERR_CORRUPT, "first_ordinal",
         "manifests[1].first_ordinal: expected 2, where the ordinals so far end, found 3"},
        {"\"path\":\"m/0\"", "\"path\":\"m#\"", SDS_ERR_CORRUPT, "path",
         "manifests[0].object.path: "},
        {"{\"path\":\"m/0\",\"stored_bytes\":3}", "7", SDS_ERR_CORRUPT, "object",
         "manifests[0].object: expected an object, found the number 7"},
        {"{\"first_ordinal\":0", "7,{\"first_ordinal\":0", SDS_ERR_CORRUPT, "manifests",
         "manifests[0]: expected an object"},
        {"\"manifests\":[", "\"pages\":[", SDS_ERR_CORRUPT, "manifests",
         "manifests: expected an array, found nothing"},
        {"\"record_count\":3", "\"record_count\":1099511627777", SDS_ERR_LIMIT, "limit",
         "record_count: 1099511627777 is more than 1099511627776"},
        {"\"stored_bytes\":10", "\"stored_bytes\":9223372036854775808", SDS_ERR_LIMIT, "limit",
         "manifests[0].stored_bytes: 9223372036854775808 is more"},
        {"\"shard_count\":2", "\"shard_count\":99999999999999999999", SDS_ERR_LIMIT, "limit",
         "manifests[2].shard_count: 99999999999999999999"},
    };
    CHECK_REFUSALS(SNAPSHOT, snapshot_text, rows);
}

static void manifest_refusals(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"\"layout_version\":\"0.1\"", "\"layout_version\":\"0.2\"", SDS_ERR_CORRUPT,
         "layout_version", "found the string \"0.2\""},
        {"\"first_ordinal\":5", "\"first_ordinal\":6", SDS_ERR_CORRUPT, "first_ordinal",
         "shards[0].first_ordinal: expected 6"},
        {"\"first_ordinal\":5", "\"first_ordinal\":1099511627777", SDS_ERR_LIMIT, "limit", ""},
        {"\"record_count\":3", "\"record_count\":2", SDS_ERR_CORRUPT, "record_count", "3"},
        {"\"record_count\":1", "\"record_count\":false", SDS_ERR_CORRUPT, "record_count",
         "shards[1].record_count: expected a nonnegative integer, found false"},
        {"[7,99999999999999999999]", "[7]", SDS_ERR_CORRUPT, "record_indices",
         "shards[0].record_indices: 1 indices for 2 records"},
        {"[7,99999999999999999999]", "[7,-1]", SDS_ERR_CORRUPT, "record_indices",
         "shards[0].record_indices[1]: expected a nonnegative integer"},
        {"[7,99999999999999999999]", "0", SDS_ERR_CORRUPT, "record_indices", "expected an array"},
        {"\"path\":\"m/1\"", "\"path\":null", SDS_ERR_CORRUPT, "path",
         "shards[1].metadata.path: expected a string, found null"},
        {"\"data\":{\"path\":\"d/1\",", "\"data\":{", SDS_ERR_CORRUPT, "path", "shards[1].data"},
        {"\"shards\":[", "\"shards\":{\"x\":[", SDS_ERR_CORRUPT, "json", ""},
    };
    CHECK_REFUSALS(MANIFEST, manifest_text, rows);
}

static void catalog_refusals(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"{\"revision\"", "{\"x\\u001f\":0,\"revision\"", SDS_ERR_CORRUPT, "keys",
         "unexpected key \"x"},
        {"{\"revision\"", "{\"Revision\"", SDS_ERR_CORRUPT, "keys", "\"Revision\""},
        {"\"generation\"", "\"stored_bytes\"", SDS_ERR_CORRUPT, "keys",
         "revision: unexpected key \"stored_bytes\""},
        {"\"path\":", "\"generation\":", SDS_ERR_CORRUPT, "json", ""},
        {HASH, "x", SDS_ERR_CORRUPT, "path", "revision.path: expected annotations/catalogs/"},
        {".json", ".json\\n", SDS_ERR_CORRUPT, "path", ""},
        {"0123456789abcdef", "0123456789ABCDEF", SDS_ERR_CORRUPT, "path", ""},
        {":7", ":-7", SDS_ERR_CORRUPT, "generation", "revision.generation: "},
    };
    CHECK_REFUSALS(CATALOG, catalog_text, rows);
}

static void revision_refusals(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"{\"sets\"", "{\"x\":0,\"sets\"", SDS_ERR_CORRUPT, "keys", "unexpected key \"x\""},
        {"{\"sets\":{", "{\"sets\":[{", SDS_ERR_CORRUPT, "json", ""},
        {"{\"beta\":", "{\"b/\":", SDS_ERR_CORRUPT, "sets", "sets: expected a portable identifier"},
        {"/beta/", "/alpha/", SDS_ERR_CORRUPT, "path",
         "sets.beta.path: expected annotations/sets/"},
        {"/alpha/p2", "/alpha/p2/x", SDS_ERR_CORRUPT, "path", "sets.alpha.path"},
        {"\"path\":\"a", "\"path\":\"/a", SDS_ERR_CORRUPT, "path", "sets.beta.path"},
        {"\"stored_bytes\":3", "\"stored_bytes\":3.0", SDS_ERR_CORRUPT, "stored_bytes", "3.0"},
        {"\"stored_bytes\":3", "\"stored_bytes\":3,\"etag\":0", SDS_ERR_CORRUPT, "keys",
         "sets.beta: unexpected key \"etag\""},
    };
    CHECK_REFUSALS(REVISION, revision_text, rows);
}

static void set_refusals(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"\"metadata\":null,", "", SDS_ERR_CORRUPT, "metadata", "found nothing"},
        {"\"metadata\":null", "\"metadata\":\"x\"", SDS_ERR_CORRUPT, "metadata",
         "expected an object"},
        {"\"metadata\":null", "\"metadata\":null,\"x\":0", SDS_ERR_CORRUPT, "keys", "\"x\""},
        {"\"alpha\"", "\"al pha\"", SDS_ERR_CORRUPT, "name",
         "name: expected a portable identifier"},
        {"\"p1\"", "\"\"", SDS_ERR_CORRUPT, "publication_id", "publication_id: "},
        {"\"s\\u0000\"", "5", SDS_ERR_CORRUPT, "source_snapshot_id", "found the number 5"},
        {"\"record_count\":3", "\"record_count\":2", SDS_ERR_CORRUPT, "record_count",
         "add up to 3"},
        {"\"record_count\":1", "\"record_count\":0", SDS_ERR_CORRUPT, "record_count",
         "shards[1].record_count: expected a positive integer, found the number 0"},
        {"\"first_ordinal\":2", "\"first_ordinal\":1", SDS_ERR_CORRUPT, "first_ordinal",
         "shards[1]"},
        {"\"path\":\"o/1\"", "\"path\":\"\"", SDS_ERR_CORRUPT, "path", "shards[1].object.path"},
        {"\"shards\":[", "\"shards\":\"\",\"more\":[", SDS_ERR_CORRUPT, "keys", "more"},
    };
    CHECK_REFUSALS(SET, set_text, rows);
}

static void shards_of_a_set_must_be_an_array(void **state) {
    (void)state;
    // Elsewhere the empty object and string pass as empty arrays; here the reference looks.
    static const char text[] =
        "{\"name\":\"a\",\"publication_id\":\"p\",\"source_snapshot_id\":\"s\","
        "\"record_count\":0,\"metadata\":{},\"shards\":{}}";
    struct sds_err err = {0};
    assert_int_equal(parse_document(SET, sds_span_str(text), &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "shards");
    assert_string_equal(err.message, "shards: expected an array, found object");
}

static void only_objects_are_documents(void **state) {
    (void)state;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct sds_err err = {0};
        assert_int_equal(parse_document(kind, sds_span_str("[]"), &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "document");
        assert_string_equal(err.message, "expected an object, found array");
    }
}

// Indented, this metadata would be larger than any document may be.
static void deep_metadata_is_kept_as_written(void **state) {
    (void)state;
    const size_t zeros = 400000;
    struct sds_buf metadata = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_buf_add_str(&metadata, "{\"a\":"), SDS_OK);
    for (int i = 0; i < 120; i++) {
        assert_int_equal(sds_buf_add_str(&metadata, "["), SDS_OK);
    }
    for (size_t i = 0; i < zeros; i++) {
        assert_int_equal(sds_buf_add_str(&metadata, i > 0 ? ",0" : "0"), SDS_OK);
    }
    for (int i = 0; i < 120; i++) {
        assert_int_equal(sds_buf_add_str(&metadata, "]"), SDS_OK);
    }
    assert_int_equal(sds_buf_add(&metadata, "}", 2), SDS_OK);
    char *text = edit(root_text, "{\"a\":[1,1e2],\"b\":{}}", (char *)metadata.at);
    struct sds_root_doc root;
    assert_int_equal(sds_root_parse(sds_span_str(text), &root, NULL), SDS_OK);
    assert_string_equal(root.metadata, (char *)metadata.at);
    sds_root_doc_fini(&root);
    free(text);
    sds_buf_fini(&metadata);
}

static void falsy_metadata_is_an_empty_object(void **state) {
    (void)state;
    static const char *const values[] = {"null",   "false", "0",  "-0.0",
                                         "1e-999", "\"\"",  "[]", "{}"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char *text = edit(root_text, "{\"a\":[1,1e2],\"b\":{}}", values[i]);
        struct sds_root_doc root;
        assert_int_equal(sds_root_parse(sds_span_str(text), &root, NULL), SDS_OK);
        assert_string_equal(root.metadata, "{}");
        sds_root_doc_fini(&root);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_members),
        cmocka_unit_test(snapshot_members),
        cmocka_unit_test(manifest_members),
        cmocka_unit_test(sizes_of_shards_saturate),
        cmocka_unit_test(catalog_members),
        cmocka_unit_test(revision_members),
        cmocka_unit_test(set_members),
        cmocka_unit_test(root_refusals),
        cmocka_unit_test(snapshot_refusals),
        cmocka_unit_test(manifest_refusals),
        cmocka_unit_test(catalog_refusals),
        cmocka_unit_test(revision_refusals),
        cmocka_unit_test(set_refusals),
        cmocka_unit_test(shards_of_a_set_must_be_an_array),
        cmocka_unit_test(only_objects_are_documents),
        cmocka_unit_test(deep_metadata_is_kept_as_written),
        cmocka_unit_test(falsy_metadata_is_an_empty_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
