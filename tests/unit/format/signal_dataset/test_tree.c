// SPDX-License-Identifier: Apache-2.0
//
// The driver's tree: the sample dataset as nodes, and roots that name odd paths.
#include "temp_root.h"

#define SAMPLE SDSFS_TEST_DATA "/sample.sds"

struct names {
    char text[1 << 16];
    unsigned count, stop_after;
    uint64_t next;
};

static bool collect(void *ctx, struct sds_span name, struct sds_node child, enum sds_node_type type,
                    uint64_t next) {
    struct names *names = ctx;
    (void)child, (void)type;
    if (names->count == names->stop_after) {
        return false;
    }
    strncat(names->text, (const char *)name.at, name.len);
    strcat(names->text, "\n");
    names->count++;
    names->next = next;
    return true;
}

static void list(struct temp_root *root, const char *path, struct names *names) {
    struct sds_node dir;
    *names = (struct names){.stop_after = UINT32_MAX};
    assert_int_equal(temp_root_find(root, path, &dir), SDS_OK);
    assert_int_equal(root->ds->ops->list(root->ds, dir, 0, collect, names, NULL), SDS_OK);
}

// The same listing taken in steps of any size, each from the cookie that the last one left.
static void expect_steps(struct temp_root *root, const char *path) {
    struct names whole;
    struct sds_node dir;
    list(root, path, &whole);
    assert_int_equal(temp_root_find(root, path, &dir), SDS_OK);
    for (unsigned step = 1; step <= whole.count; step++) {
        struct names parts = {.stop_after = 0};
        do {
            parts.stop_after += step;
            assert_int_equal(root->ds->ops->list(root->ds, dir, parts.next, collect, &parts, NULL),
                             SDS_OK);
        } while (parts.count == parts.stop_after);
        assert_string_equal(parts.text, whole.text);
    }
}

static void listings_go_on_from_any_cookie(void **state) {
    (void)state;
    static const char *const directories[] = {"",
                                              "records",
                                              "records/000003",
                                              "records/000003/annotations",
                                              "records/000003/annotations/review-v1",
                                              "shards",
                                              "shards/000000",
                                              "shards/000000/records",
                                              "objects",
                                              "objects/data",
                                              "annotations",
                                              "annotations/sets"};
    struct temp_root root = {0};
    temp_root_make(&root);
    temp_root_copy(&root, SAMPLE);
    temp_root_open(&root);
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        expect_steps(&root, directories[i]);
    }
    temp_root_remove(&root);
}

static void names_that_are_not_there(void **state) {
    (void)state;
    static const char *const paths[] = {"nope",
                                        "records/0",
                                        "records/0000000",
                                        "records/999999",
                                        "records/-00001",
                                        "records/00000x",
                                        "records/000000/nope.npy",
                                        "records/000000/.npy",
                                        "records/000000/samples",
                                        "records/000000/samples.bin",
                                        "records/000000/samples.sigmf-data",
                                        "records/000000/samples.2.sigmf-data",
                                        "records/000000/gain.sigmf-meta",
                                        "records/000000/annotations/review-v1/mask.sigmf-meta",
                                        "records/000000/annotations/nope",
                                        "records/000000/annotations/review-v1/nope.npy",
                                        "shards/999999",
                                        "shards/000000/nope",
                                        "shards/000000/records/999999",
                                        "objects/nope",
                                        "annotations/nope",
                                        "control",
                                        "index"};
    struct temp_root root = {0};
    temp_root_make(&root);
    temp_root_copy(&root, SAMPLE);
    temp_root_open(&root);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct sds_node found;
        assert_int_equal(temp_root_find(&root, paths[i], &found), SDS_ERR_NOT_FOUND);
    }
    temp_root_remove(&root);
}

// Whole content of a file, read in steps of `step`; checks that it has the size that was told.
static struct sds_buf read_file(struct temp_root *root, const char *path, size_t step) {
    struct sds_node file;
    struct sds_attr attr;
    struct sds_buf text = SDS_BUF_INIT(SIZE_MAX / 2);
    assert_int_equal(temp_root_find(root, path, &file), SDS_OK);
    assert_int_equal(root->ds->ops->getattr(root->ds, file, &attr, NULL), SDS_OK);
    for (size_t got = 1; got > 0;) {
        struct sds_pieces pieces;
        assert_int_equal(root->ds->ops->read(root->ds, file, text.len, step, &pieces, NULL),
                         SDS_OK);
        got = 0;
        for (int i = 0; i < pieces.count; i++) {
            got += pieces.iov[i].iov_len;
            assert_int_equal(sds_buf_add(&text, pieces.iov[i].iov_base, pieces.iov[i].iov_len),
                             SDS_OK);
        }
        assert_true(got <= step);
        pieces.release(pieces.owner);
    }
    assert_int_equal(text.len, attr.size);
    return text;
}

static void any_range_gives_the_same_bytes(void **state) {
    (void)state;
    static const char *const files[] = {"records/000003/samples.npy",
                                        "records/000003/samples.0.sigmf-meta",
                                        "records/000003/samples.1.sigmf-data",
                                        "records/000003/metadata.json",
                                        "records/000003/record.safetensors",
                                        "root.json",
                                        "records/000003/annotations/review-v1/annotation.json",
                                        "annotations/catalog.json",
                                        "shards/000000/shard.json"};
    struct temp_root root = {0};
    temp_root_make(&root);
    temp_root_copy(&root, SAMPLE);
    temp_root_open(&root);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct sds_buf whole = read_file(&root, files[i], 1 << 20);
        static const size_t steps[] = {1, 7, 64, 127, 4096};
        for (size_t k = whole.len > 10000 ? 1 : 0; k < 5; k++) {
            struct sds_buf parts = read_file(&root, files[i], steps[k]);
            assert_true(sds_span_eq(sds_buf_span(&whole), sds_buf_span(&parts)));
            sds_buf_fini(&parts);
        }
        sds_buf_fini(&whole);
    }
    temp_root_remove(&root);
}

// Fields are shown as it was asked for, below annotations too, and nothing else changes.
static void views_as_asked_for(void **state) {
    (void)state;
    static const struct {
        const char *views, *record, *row;
    } cases[] = {
        {NULL,
         "gain.npy\nsamples.npy\nsamples.0.sigmf-meta\nsamples.1.sigmf-meta\n"
         "samples.0.sigmf-data\nsamples.1.sigmf-data\n",
         "mask.npy\n"},
        {"npy", "gain.npy\nsamples.npy\n", "mask.npy\n"},
        {"npy:bin", "gain.npy\ngain.bin\nsamples.npy\nsamples.bin\n", "mask.npy\nmask.bin\n"},
        {"bin", "gain.bin\nsamples.bin\n", "mask.bin\n"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct temp_root root = {0};
        struct names names;
        char expected[512];
        temp_root_make(&root);
        temp_root_copy(&root, SAMPLE);
        temp_root_open_how(
            &root, &(struct sds_open_options){.max_record = 1 << 30, .views = cases[i].views});
        list(&root, "records/000003", &names);
        snprintf(expected, sizeof expected, "record.safetensors\nmetadata.json\nannotations\n%s",
                 cases[i].record);
        assert_string_equal(names.text, expected);
        expect_steps(&root, "records/000003");
        list(&root, "records/000003/annotations/review-v1", &names);
        snprintf(expected, sizeof expected, "annotation.json\n%s", cases[i].row);
        assert_string_equal(names.text, expected);
        expect_steps(&root, "records/000003/annotations/review-v1");
        temp_root_remove(&root);
    }
}

static void expect_same(struct temp_root *root, const char *path, struct sds_span bytes) {
    struct sds_buf text = read_file(root, path, 1000);
    assert_true(sds_span_eq(sds_buf_span(&text), bytes));
    sds_buf_fini(&text);
}

static void recordings_are_slices(void **state) {
    (void)state;
    struct temp_root root = {0};
    temp_root_make(&root);
    temp_root_copy(&root, SAMPLE);
    temp_root_open_how(&root,
                       &(struct sds_open_options){.max_record = 1 << 30, .views = "npy,bin,sigmf"});
    struct sds_buf npy = read_file(&root, "records/000003/samples.npy", 1 << 20);
    assert_int_equal(npy.len, 128 + 2 * 512 * 8);
    expect_same(&root, "records/000003/samples.bin", sds_span(npy.at + 128, 2 * 512 * 8));
    expect_same(&root, "records/000003/samples.0.sigmf-data", sds_span(npy.at + 128, 512 * 8));
    expect_same(&root, "records/000003/samples.1.sigmf-data",
                sds_span(npy.at + 128 + 512 * 8, 512 * 8));
    sds_buf_fini(&npy);
    struct sds_node node;
    struct sds_buf path = SDS_BUF_INIT(1000);
    assert_int_equal(temp_root_find(&root, "records/000003/samples.1.sigmf-data", &node), SDS_OK);
    root.ds->ops->path(root.ds, node, &path);
    assert_true(
        sds_span_eq(sds_buf_span(&path), sds_span_str("records/000003/samples.1.sigmf-data")));
    sds_buf_fini(&path);
    temp_root_remove(&root);
}

#define ENTRY(first, path)                                                                         \
    "{\"first_ordinal\":" first ",\"record_count\":1,\"data\":{\"path\":\"" path                   \
    "\",\"stored_bytes\":1},\"metadata\":{\"path\":\"m/x\",\"stored_bytes\":1}}"

static void raw_paths_of_all_kinds(void **state) {
    (void)state;
    char *shards = temp_root_format(
        "%s,%s,%s,%s,%s,%s,%s,%s", ENTRY("0", "records/hidden"), ENTRY("1", "deep/er/./file"),
        ENTRY("2", "deep"), ENTRY("3", "deep/er/file/below"), ENTRY("4", "annotations/extra"),
        ENTRY("5", "/absolute/x"), ENTRY("6", "control"), ENTRY("7", "root.json/x"));
    struct temp_root root = {0};
    temp_root_make(&root);
    temp_root_documents(&root, TEMP_ROOT_PAGE, shards, 8, 8, 16);
    temp_root_open(&root);
    struct names names;
    list(&root, "", &names);
    assert_string_equal(names.text,
                        "records\nshards\nannotations\nroot.json\nsnapshots\nmanifests\nm\ndeep\n");
    list(&root, "deep/er", &names);
    assert_string_equal(names.text, "file\n");
    list(&root, "annotations", &names);
    assert_string_equal(names.text, "extra\n");
    struct sds_node found;
    struct sds_attr attr;
    assert_int_equal(temp_root_find(&root, "root.json/x", &found), SDS_ERR_INTERNAL);
    // What has a raw path is a link, the rest is served under shards/.
    assert_int_equal(temp_root_find(&root, "shards/000001/data.arrayrecord", &found), SDS_OK);
    assert_int_equal(root.ds->ops->getattr(root.ds, found, &attr, NULL), SDS_OK);
    assert_int_equal(attr.type, SDS_LINK);
    assert_int_equal(temp_root_find(&root, "shards/000000/data.arrayrecord", &found), SDS_OK);
    assert_int_equal(root.ds->ops->getattr(root.ds, found, &attr, NULL), SDS_OK);
    assert_int_equal(attr.type, SDS_FILE);
    temp_root_remove(&root);
    free(shards);
}

// An absolute manifest path counts when it leads below the root, and is shown as the relative one.
static void absolute_manifest_paths(void **state) {
    (void)state;
    struct temp_root root = {0};
    struct sds_node found;
    struct names names;
    temp_root_make(&root);
    char *below = temp_root_format("%s//manifests/./00/s-0.json", root.path);
    temp_root_documents(&root, below, ENTRY("0", "d/x"), 1, 1, 2);
    temp_root_open(&root);
    list(&root, "manifests/00", &names);
    assert_string_equal(names.text, "s-0.json\n");
    list(&root, "shards/000000/records", &names);
    assert_string_equal(names.text, "000000\n");
    temp_root_remove(&root);
    free(below);

    temp_root_make(&root);
    char *beside = temp_root_format("%s-beside/manifests/00/s-0.json", root.path);
    temp_root_documents(&root, beside, ENTRY("0", "d/x"), 1, 1, 2);
    temp_root_open(&root);
    assert_int_equal(temp_root_find(&root, "shards/000000/records/000000", &found),
                     SDS_ERR_CORRUPT);
    temp_root_remove(&root);
    free(beside);
}

static bool ignore_entry(void *ctx, struct sds_span name, struct sds_node child,
                         enum sds_node_type type, uint64_t next) {
    (void)ctx, (void)name, (void)child, (void)type, (void)next;
    return true;
}

static bool ignore_xattr(void *ctx, const char *name, struct sds_span value) {
    (void)ctx, (void)name, (void)value;
    return true;
}

// Every operation on one node, whatever it is: nothing may crash.
static void poke(struct sds_dataset *ds, struct sds_node n) {
    struct sds_attr attr;
    struct sds_node child;
    struct sds_pieces pieces;
    struct sds_buf text = SDS_BUF_INIT(1 << 16);
    (void)!ds->ops->getattr(ds, n, &attr, NULL);
    (void)!ds->ops->lookup(ds, n, sds_span_str("annotation.json"), &child, NULL);
    (void)!ds->ops->list(ds, n, 0, ignore_entry, NULL, NULL);
    (void)!ds->ops->list(ds, n, UINT64_MAX / 2, ignore_entry, NULL, NULL);
    (void)!ds->ops->readlink(ds, n, &text, NULL);
    (void)!ds->ops->xattrs(ds, n, ignore_xattr, NULL, NULL);
    ds->ops->path(ds, n, &text);
    if (ds->ops->read(ds, n, 0, 4096, &pieces, NULL) == SDS_OK) {
        pieces.release(pieces.owner);
    }
    sds_buf_fini(&text);
}

// Nodes that no look-up ever gave: the kernel passes on what a file handle says.
static void made_up_nodes(void **state) {
    (void)state;
    struct temp_root root = {0};
    temp_root_make(&root);
    temp_root_copy(&root, SAMPLE);
    temp_root_open(&root);
    static const uint64_t keys[] = {
        0, 1, 47, 48, 1 << 14, 47 << 14 | 9999, 1ULL << 40, (1ULL << 56) - 1};
    for (unsigned kind = 0; kind < 256; kind++) {
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            poke(root.ds, (struct sds_node){.kind = (uint8_t)kind, .key = keys[i]});
            poke(root.ds, (struct sds_node){.kind = (uint8_t)kind, .key = keys[i], .wide = 7});
        }
    }
    temp_root_remove(&root);
}

static void a_replaced_shard_is_an_error(void **state) {
    (void)state;
    struct temp_root root = {0};
    temp_root_make(&root);
    temp_root_copy(&root, SAMPLE);
    temp_root_open(&root);
    struct sds_buf before = read_file(&root, "records/000000/samples.npy", 1 << 20);
    char *command = temp_root_format(
        "for f in $(find %s/objects -type f); do cp $f $f.new; mv $f.new $f; done", root.path);
    assert_int_equal(system(command), 0);
    struct sds_node file;
    struct sds_pieces pieces;
    struct sds_err err = {0};
    // Another record of the same shard, equal bytes in a new file: still not what was opened.
    enum sds_kind kind = temp_root_find(&root, "records/000001/samples.npy", &file);
    if (kind == SDS_OK) {
        kind = root.ds->ops->read(root.ds, file, 0, 4096, &pieces, &err);
        assert_string_equal(err.check, "changed");
    }
    assert_int_equal(kind, SDS_ERR_STORAGE);
    sds_buf_fini(&before);
    free(command);
    temp_root_remove(&root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listings_go_on_from_any_cookie),
        cmocka_unit_test(names_that_are_not_there),
        cmocka_unit_test(views_as_asked_for),
        cmocka_unit_test(recordings_are_slices),
        cmocka_unit_test(any_range_gives_the_same_bytes),
        cmocka_unit_test(raw_paths_of_all_kinds),
        cmocka_unit_test(absolute_manifest_paths),
        cmocka_unit_test(made_up_nodes),
        cmocka_unit_test(a_replaced_shard_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
