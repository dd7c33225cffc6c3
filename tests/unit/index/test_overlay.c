// SPDX-License-Identifier: Apache-2.0
//
// index/ over a copy of the sample dataset, without a file system around it.
#include "../format/signal_dataset/temp_root.h"

#include "index/overlay.h"

struct fixture {
    struct temp_root root;
    struct sds_dataset *ds; // the overlay
    char cache[64];
};

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    temp_root_make(&f->root);
    temp_root_copy(&f->root, SAMPLE);
    temp_root_open(&f->root);
    strcpy(f->cache, "/tmp/sdsfs-cache-XXXXXX");
    assert_non_null(mkdtemp(f->cache));
    assert_int_equal(sds_index_overlay(f->root.ds, f->cache, &f->ds, NULL), SDS_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    sds_dataset_close(f->ds);
    temp_root_remove(&f->root);
    nftw(f->cache, temp_root_unlink, 8, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

static enum sds_kind find(struct fixture *f, const char *path, struct sds_node *out) {
    *out = SDS_NODE_ROOT;
    for (const char *p = path; *p != '\0';) {
        size_t len = strcspn(p, "/");
        enum sds_kind kind = f->ds->ops->lookup(f->ds, *out, sds_span(p, len), out, NULL);
        if (kind != SDS_OK) {
            return kind;
        }
        p += len + (p[len] == '/');
    }
    return SDS_OK;
}

struct names {
    char text[8192]; // each with a space behind it
    uint64_t next;
    size_t left; // how many more are taken
};

static bool note(void *ctx, struct sds_span name, struct sds_node node, enum sds_node_type type,
                 uint64_t next) {
    struct names *names = ctx;
    (void)node, (void)type;
    if (names->left == 0) {
        return false;
    }
    names->left--;
    names->next = next;
    size_t len = strlen(names->text);
    snprintf(names->text + len, sizeof names->text - len, "%.*s ", (int)name.len,
             (const char *)name.at);
    return true;
}

// All names of a directory, taken one by one, each call from where the last one ended.
static void list_all(struct fixture *f, const char *path, struct names *out) {
    struct sds_node dir;
    size_t before;
    assert_int_equal(find(f, path, &dir), SDS_OK);
    *out = (struct names){.next = 0};
    do {
        before = strlen(out->text);
        out->left = 1;
        assert_int_equal(f->ds->ops->list(f->ds, dir, out->next, note, out, NULL), SDS_OK);
    } while (strlen(out->text) > before);
}

static void the_root_has_one_more(void **state) {
    struct fixture *f = *state;
    struct names names;
    list_all(f, "", &names);
    assert_ptr_equal(strstr(names.text, "index "), names.text);
    assert_non_null(strstr(names.text, "records "));
    assert_non_null(strstr(names.text, "root.json "));
    list_all(f, "index", &names);
    assert_string_equal(names.text, "annotations by-id by-scene records.jsonl records.sqlite ");
    list_all(f, "index/annotations", &names);
    assert_string_equal(names.text, "review-v1.jsonl ");
    list_all(f, "index/by-scene", &names);
    assert_string_equal(names.text, "harbour rooftop ");
}

static void every_node_tells_its_path(void **state) {
    struct fixture *f = *state;
    static const char *const paths[] = {"index",
                                        "index/records.jsonl",
                                        "index/records.sqlite",
                                        "index/by-id",
                                        "index/by-id/capture-0007",
                                        "index/by-scene",
                                        "index/by-scene/rooftop",
                                        "index/by-scene/rooftop/000002",
                                        "index/annotations",
                                        "index/annotations/review-v1.jsonl",
                                        "records/000001"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct sds_node node;
        struct sds_attr attr;
        struct sds_buf path = SDS_BUF_INIT(512);
        assert_int_equal(find(f, paths[i], &node), SDS_OK);
        assert_int_equal(f->ds->ops->getattr(f->ds, node, &attr, NULL), SDS_OK);
        f->ds->ops->path(f->ds, node, &path);
        assert_true(sds_span_eq(sds_buf_span(&path), sds_span_str(paths[i])));
        sds_buf_fini(&path);
    }
}

static void what_is_not_there(void **state) {
    struct fixture *f = *state;
    static const char *const paths[] = {"index/x",
                                        "index/by-id/x",
                                        "index/by-scene/x",
                                        "index/by-scene/rooftop/2",
                                        "index/by-scene/harbour/000002",
                                        "index/by-scene/rooftop/00000x",
                                        "index/annotations/review-v1",
                                        "index/annotations/.jsonl",
                                        "index/annotations/other.jsonl",
                                        "index/records.jsonl/x"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct sds_node node;
        assert_int_equal(find(f, paths[i], &node), SDS_ERR_NOT_FOUND);
    }
}

static void reads_fit_together(void **state) {
    struct fixture *f = *state;
    static const char *const paths[] = {"index/records.jsonl", "index/records.sqlite",
                                        "index/annotations/review-v1.jsonl"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct sds_node node;
        struct sds_attr attr;
        assert_int_equal(find(f, paths[i], &node), SDS_OK);
        assert_int_equal(f->ds->ops->getattr(f->ds, node, &attr, NULL), SDS_OK);
        uint64_t total = 0;
        for (size_t got = 1; got > 0; total += got) {
            struct sds_pieces pieces;
            assert_int_equal(f->ds->ops->read(f->ds, node, total, 5000, &pieces, NULL), SDS_OK);
            got = 0;
            for (int k = 0; k < pieces.count; k++) {
                got += pieces.iov[k].iov_len;
            }
            pieces.release(pieces.owner);
        }
        assert_int_equal(total, attr.size);
    }
}

static void a_bad_row_is_told_in_its_line(void **state) {
    struct fixture *f = *state;
    char *command =
        temp_root_format("for f in $(find %s/annotations -name '*.arrayrecord'); do"
                         " printf x | dd of=$f bs=1 seek=200 conv=notrunc status=none; done",
                         f->root.path);
    assert_int_equal(system(command), 0);
    free(command);
    struct sds_node node;
    struct sds_pieces pieces;
    assert_int_equal(find(f, "index/annotations/review-v1.jsonl", &node), SDS_OK);
    assert_int_equal(f->ds->ops->read(f->ds, node, 0, 1 << 20, &pieces, NULL), SDS_OK);
    size_t lines = 0;
    const char *text = pieces.iov[0].iov_base;
    for (size_t i = 0; i < pieces.iov[0].iov_len; i++) {
        lines += text[i] == '\n';
    }
    assert_int_equal(lines, 48);
    assert_non_null(memmem(text, pieces.iov[0].iov_len, "{\"source_index\":0,\"error\":", 26));
    pieces.release(pieces.owner);
}

// As one that cannot be made: its place is a file.
static void without_a_cache_names_are_not_absent(void **state) {
    struct fixture *f = *state;
    char *file = temp_root_format("%s/root.json", f->root.path);
    struct sds_dataset *ds = NULL;
    struct sds_node dir, node;
    struct sds_err err;
    assert_int_equal(sds_index_overlay(f->root.ds, file, &ds, &err), SDS_OK);
    assert_int_equal(ds->ops->lookup(ds, SDS_NODE_ROOT, sds_span_str("index"), &dir, &err), SDS_OK);
    assert_int_equal(ds->ops->lookup(ds, dir, sds_span_str("by-id"), &dir, &err), SDS_OK);
    assert_int_equal(ds->ops->lookup(ds, dir, sds_span_str("capture-0001"), &node, &err),
                     SDS_ERR_STORAGE);
    assert_string_equal(err.check, "cache_dir");
    assert_int_equal(ds->ops->lookup(ds, SDS_NODE_ROOT, sds_span_str("records"), &dir, &err),
                     SDS_OK);
    sds_dataset_close(ds);
    free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_root_has_one_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_node_tells_its_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_fit_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_row_is_told_in_its_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_cache_names_are_not_absent, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("index_overlay", tests, NULL, NULL);
}
