// SPDX-License-Identifier: Apache-2.0
//
// The driver's annotate on copies of the sample dataset (48 records): whole sets, workers and
// coordinator, what is refused and that refusals leave the store as it was.
#include "../temp_root.h"
#include "scratch.h"

#include <pthread.h>

#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/follow.h"

#define SAMPLE SDSFS_TEST_DATA "/sample.sds"
enum { RECORDS = 48 };

// A copy of the sample, rows for it, and what was told.
struct bench {
    struct temp_root root;
    struct scratch scratch; // rows.jsonl, .npy files, temporary files
    struct sds_buf rows;
    struct sds_annotate_request request;
    struct json_object *receipt, *printed; // as it is, and read again
    unsigned problems;
    uint64_t last_line;
    char last_check[40];
    uint64_t done, total;
    char note[512];
    bool warned;
};

static void problem(void *ctx, uint64_t line, const struct sds_err *what) {
    struct bench *bench = ctx;
    bench->problems++;
    bench->last_line = line;
    strcpy(bench->last_check, what->check);
}

static void progress(void *ctx, const char *stage, uint64_t done, uint64_t total) {
    struct bench *bench = ctx;
    assert_true(stage[0] != '\0' && done <= total);
    bench->done = done;
    bench->total = total;
}

static void note(void *ctx, const char *text, bool warning) {
    struct bench *bench = ctx;
    snprintf(bench->note, sizeof bench->note, "%s", text);
    bench->warned = warning;
}

static void begin_rows(struct bench *bench) {
    *bench = (struct bench){.rows = SDS_BUF_INIT(SIZE_MAX)};
    scratch_make(&bench->scratch);
    bench->request = (struct sds_annotate_request){
        .set = "new",
        .rows = scratch_open(&bench->scratch, "rows.jsonl"),
        .directory = bench->scratch.fd,
        .confined = true,
        .spool = bench->scratch.fd,
        .problem = problem,
        .progress = progress,
        .note = note,
        .ctx = bench,
    };
}

static void begin(struct bench *bench) {
    begin_rows(bench);
    temp_root_make(&bench->root);
    temp_root_copy(&bench->root, SAMPLE);
    temp_root_open(&bench->root);
}

static void end_rows(struct bench *bench) {
    json_object_put(bench->receipt);
    json_object_put(bench->printed);
    close(bench->request.rows);
    sds_buf_fini(&bench->rows);
    scratch_remove(&bench->scratch);
}

static void end(struct bench *bench) {
    end_rows(bench);
    temp_root_remove(&bench->root);
}

static void SDS_PRINTF(2, 3) row(struct bench *bench, const char *fmt, ...) {
    va_list args;
    char *text = NULL;
    va_start(args, fmt);
    assert_true(vasprintf(&text, fmt, args) >= 0);
    va_end(args);
    assert_int_equal(sds_buf_add_str(&bench->rows, text), SDS_OK);
    assert_int_equal(sds_buf_add_str(&bench->rows, "\n"), SDS_OK);
    free(text);
}

static void rows_of(struct bench *bench, unsigned first, unsigned end_, const char *label) {
    bench->rows.len = 0;
    for (unsigned i = end_; i-- > first;) { // backwards, as rows come in any order
        row(bench, "{\"ordinal\":%u,\"status\":\"success\",\"values\":{\"label\":\"%s\"}}", i,
            label);
    }
}

static enum sds_kind annotate(struct bench *bench, struct sds_err *err) {
    int fd = bench->request.rows;
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, bench->rows.at, bench->rows.len, 0), bench->rows.len);
    json_object_put(bench->receipt);
    json_object_put(bench->printed);
    bench->printed = NULL;
    bench->problems = 0;
    struct sds_dataset *ds = bench->root.ds;
    enum sds_kind kind = ds->ops->annotate(ds, &bench->request, &bench->receipt, err);
    if (bench->receipt != NULL) {
        bench->printed = json_tokener_parse(json_object_to_json_string(bench->receipt));
        assert_non_null(bench->printed);
    }
    return kind;
}

static void expect_ok(struct bench *bench) {
    struct sds_err err;
    if (annotate(bench, &err) != SDS_OK) {
        fail_msg("%s: %s: %s", err.object, err.check, err.message);
    }
    assert_int_equal(bench->problems, 0);
}

// ---- what lies in the store

static unsigned files;
static int count_file(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)path, (void)st, (void)where;
    files += type == FTW_F;
    return 0;
}

static unsigned stored_files(const struct bench *bench) {
    files = 0;
    assert_int_equal(nftw(bench->root.path, count_file, 8, FTW_PHYS), 0);
    return files;
}

static void expect_failure(struct bench *bench, enum sds_kind kind, const char *check) {
    struct sds_err err;
    unsigned before = stored_files(bench);
    enum sds_kind got = annotate(bench, &err);
    if (got != kind || err.kind != kind || strcmp(err.check, check) != 0) {
        fail_msg("%s \"%s\" (%s: %s), not \"%s\"", sds_kind_name(got), err.check, err.object,
                 err.message, check);
    }
    assert_null(bench->receipt);
    assert_int_equal(stored_files(bench), before);
}

// The path of the i-th object that was written, below the root.
static const char *object_path(const struct bench *bench, size_t i) {
    struct json_object *objects = json_object_object_get(bench->printed, "objects");
    struct json_object *object = json_object_array_get_idx(objects, i);
    return json_object_get_string(json_object_object_get(object, "path"));
}

static char *stored_path(const struct bench *bench, size_t i) {
    return temp_root_format("%s/%s", bench->root.path, object_path(bench, i));
}

static const char *outcome(const struct bench *bench, size_t i) {
    struct json_object *objects = json_object_object_get(bench->printed, "objects");
    struct json_object *object = json_object_array_get_idx(objects, i);
    return object == NULL ? "" : json_object_get_string(json_object_object_get(object, "outcome"));
}

static size_t objects_written(const struct bench *bench) {
    return json_object_array_length(json_object_object_get(bench->printed, "objects"));
}

static bool is_visible(const struct bench *bench, const char *set) {
    return annotations_find((struct signal_dataset *)bench->root.ds, sds_span_str(set)) != NULL;
}

// ---- sets

static void a_set_and_again(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    bench.request.records_per_shard = 20;
    bench.request.metadata = sds_span_str("{\"by\":\"me\"}");
    unsigned before = stored_files(&bench);
    expect_ok(&bench);
    assert_int_equal(bench.done, RECORDS);
    assert_int_equal(objects_written(&bench), 6); // three shards, root, revision, catalog
    assert_int_equal(stored_files(&bench),
                     before + 5 + 1); // the catalog was there; its lock was not
    assert_string_equal(outcome(&bench, 0), "created");
    assert_string_equal(outcome(&bench, 5), "written");
    assert_true(is_visible(&bench, "new"));
    assert_true(is_visible(&bench, "review-v1")); // which the sample has
    before = stored_files(&bench);
    expect_ok(&bench);
    assert_int_equal(stored_files(&bench), before);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(outcome(&bench, i), "exists");
    }
    assert_string_equal(outcome(&bench, 5), "written");
    end(&bench);
}

static void a_check_writes_nothing(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    bench.request.check_only = true;
    bench.request.spool = -1;
    unsigned before = stored_files(&bench);
    expect_ok(&bench);
    assert_null(bench.receipt);
    assert_int_equal(stored_files(&bench), before);
    rows_of(&bench, 0, RECORDS - 1, "x");
    expect_failure(&bench, SDS_ERR_INVALID, "rows");
    end(&bench);
}

static void a_check_looks_at_the_name(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    expect_ok(&bench);
    bench.request.check_only = true;
    bench.request.spool = -1;
    rows_of(&bench, 0, RECORDS, "x");
    expect_ok(&bench); // the same again changes nothing
    rows_of(&bench, 0, RECORDS, "y");
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    rows_of(&bench, 0, RECORDS, "x");
    bench.request.records_per_shard = 7;
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    bench.request.records_per_shard = 0;
    bench.request.metadata = sds_span_str("{\"k\":1}");
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    bench.request.metadata = sds_span_str("");
    bench.request.publication_id = "other";
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    bench.request.what = SDS_ANNOTATE_SHARD; // whose coordinator could not publish
    bench.request.shard_id = "a";
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    bench.request.check_only = false;
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    end(&bench);
}

// A root without a catalog entry, as it is left when a publication is cut short.
static void a_check_looks_at_a_root_without_entry(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    expect_ok(&bench);
    char *catalog = temp_root_format("%s/annotations/catalog.json", bench.root.path);
    assert_int_equal(unlink(catalog), 0);
    bench.request.check_only = true;
    rows_of(&bench, 0, RECORDS, "y");
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    rows_of(&bench, 0, RECORDS, "x");
    expect_ok(&bench);
    free(catalog);
    end(&bench);
}

static void a_taken_name_is_found_out_beforehand(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    expect_ok(&bench);
    rows_of(&bench, 0, RECORDS, "y"); // the same publication id, other content
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    rows_of(&bench, 0, RECORDS, "x");
    bench.request.metadata = sds_span_str("{\"k\":1}");
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    bench.request.metadata = sds_span_str("");
    bench.request.records_per_shard = 7;
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    bench.request.records_per_shard = 0;
    bench.request.publication_id = "other";
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    bench.request.publication_id = NULL;
    expect_ok(&bench);
    end(&bench);
}

// A publication that ended before the catalog is finished by the same call; so is one whose shard
// is gone.
static void what_was_cut_short_converges(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    bench.request.records_per_shard = 20;
    expect_ok(&bench);
    char *shard = stored_path(&bench, 1);
    assert_int_equal(unlink(shard), 0);
    expect_ok(&bench);
    assert_int_equal(access(shard, F_OK), 0);
    free(shard);
    assert_int_equal(objects_written(&bench), 6);
    assert_string_equal(outcome(&bench, 0), "exists");
    assert_string_equal(outcome(&bench, 1), "created");
    assert_string_equal(outcome(&bench, 2), "exists");
    assert_string_equal(outcome(&bench, 3), "exists");
    char *root = stored_path(&bench, 3), *catalog = stored_path(&bench, 5);
    assert_int_equal(unlink(root), 0);
    assert_int_equal(unlink(catalog), 0);
    expect_ok(&bench);
    assert_int_equal(objects_written(&bench), 6);
    assert_string_equal(outcome(&bench, 2), "exists");
    assert_string_equal(outcome(&bench, 3), "created");
    assert_int_equal(access(root, F_OK), 0);
    assert_int_equal(access(catalog, F_OK), 0);
    free(root);
    free(catalog);
    end(&bench);
}

static void a_damaged_shard_is_not_reused(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    expect_ok(&bench);
    char *shard = stored_path(&bench, 0);
    assert_int_equal(chmod(shard, 0600), 0);
    assert_int_equal(truncate(shard, 65536), 0);
    free(shard);
    temp_root_close(&bench.root); // which saw it whole
    temp_root_open(&bench.root);
    expect_failure(&bench, SDS_ERR_CORRUPT, "stored_bytes");
    end(&bench);
}

static void rows_that_are_wrong(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS - 2, "x");
    expect_failure(&bench, SDS_ERR_INVALID, "rows");
    assert_int_equal(bench.problems, 1);
    assert_int_equal(bench.last_line, 0);
    row(&bench, "{\"ordinal\":46,\"status\":\"failed\"}");
    row(&bench, "   ");
    row(&bench, "{\"ordinal\":46,\"status\":\"failed\"}"); // twice
    expect_failure(&bench, SDS_ERR_INVALID, "ordinal");
    assert_int_equal(bench.problems, 1);
    assert_int_equal(bench.last_line, RECORDS - 2 + 3);
    bench.rows.len = 0;
    row(&bench, "{\"ordinal\":48,\"status\":\"failed\"}");
    row(&bench, "{\"status\":\"failed\"}");
    expect_failure(&bench, SDS_ERR_INVALID, "ordinal");
    assert_int_equal(bench.problems, 2);
    assert_int_equal(bench.last_line, 2);
    bench.rows.len = 0;
    for (unsigned i = 0; i < 50; i++) {
        row(&bench, "x");
    }
    expect_failure(&bench, SDS_ERR_INVALID, "json");
    assert_int_equal(bench.problems, SDS_ANNOTATE_MAX_PROBLEMS);
    rows_of(&bench, 0, RECORDS - 1, "x");
    row(&bench, "{\"ordinal\":47,\"status\":\"failed\",\"source_record_id\":\"another\"}");
    expect_failure(&bench, SDS_ERR_INVALID, "source_record_id");
    assert_int_equal(bench.last_line, RECORDS);
    rows_of(&bench, 0, RECORDS - 1, "x");
    row(&bench, "{\"ordinal\":47,\"status\":\"failed\",\"values\":{\"x\":1e999}}");
    expect_failure(&bench, SDS_ERR_INVALID, "infinite");
    assert_int_equal(bench.last_line, RECORDS);
    bench.rows.len = 0;
    expect_failure(&bench, SDS_ERR_INVALID, "rows");
    end(&bench);
}

static void rows_by_id(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 1, RECORDS, "x");
    row(&bench, "{\"source_record_id\":\"none of them\",\"status\":\"failed\"}");
    expect_failure(&bench, SDS_ERR_INVALID, "source_record_id");
    // The id of record 0, as the tree tells it.
    struct sds_node node;
    char id[256] = "";
    assert_int_equal(temp_root_find(&bench.root, "records/000000", &node), SDS_OK);
    struct sds_pieces pieces;
    assert_int_equal(temp_root_find(&bench.root, "records/000000/metadata.json", &node), SDS_OK);
    assert_int_equal(bench.root.ds->ops->read(bench.root.ds, node, 0, 1 << 16, &pieces, NULL),
                     SDS_OK);
    const char *at = memmem(pieces.iov[0].iov_base, pieces.iov[0].iov_len, "\"id\": \"", 7);
    while (at != NULL && memcmp(at - 3, "\n  ", 3) != 0) { // not the id of an axis
        at = memmem(at + 7,
                    pieces.iov[0].iov_len - (size_t)(at + 7 - (char *)pieces.iov[0].iov_base),
                    "\"id\": \"", 7);
    }
    assert_non_null(at);
    memcpy(id, at + 7, strcspn(at + 7, "\""));
    pieces.release(pieces.owner);
    rows_of(&bench, 1, RECORDS, "x");
    row(&bench, "{\"source_record_id\":\"%s\",\"status\":\"failed\"}", id);
    expect_ok(&bench);
    end(&bench);
}

static void requests_that_are_wrong(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    static const char *const names[] = {"", ".dot", "a b", "a/b", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bench.request.set = names[i];
        expect_failure(&bench, SDS_ERR_INVALID, "name");
        bench.request.set = "new";
        bench.request.publication_id = names[i];
        expect_failure(&bench, SDS_ERR_INVALID, "publication_id");
        bench.request.publication_id = "p";
        bench.request.what = SDS_ANNOTATE_SHARD;
        bench.request.shard_id = names[i];
        expect_failure(&bench, SDS_ERR_INVALID, "shard_id");
        bench.request.what = SDS_ANNOTATE_COORDINATE;
        bench.request.shard_ids = &names[i];
        bench.request.shard_id_count = 1;
        expect_failure(&bench, SDS_ERR_INVALID, "shard_id");
        bench.request.shard_id_count = 0;
        bench.request.what = SDS_ANNOTATE_SET;
    }
    assert_int_equal(bench.problems, 0); // nothing is wrong with the rows
    bench.request.publication_id = NULL;
    bench.request.what = SDS_ANNOTATE_SHARD;
    expect_failure(&bench, SDS_ERR_INVALID, "publication_id");
    bench.request.what = SDS_ANNOTATE_SET;
    static const char *const no_objects[] = {"[1]", "[]", "null", "0", "false", "\"\""};
    for (size_t i = 0; i < sizeof no_objects / sizeof no_objects[0]; i++) {
        bench.request.metadata = sds_span_str(no_objects[i]);
        expect_failure(&bench, SDS_ERR_INVALID, "metadata");
    }
    bench.request.metadata = sds_span_str("\xef\xbb\xbf{}");
    expect_failure(&bench, SDS_ERR_INVALID, "encoding");
    bench.request.metadata = sds_span("{\0}\0", 4); // UTF-16
    expect_failure(&bench, SDS_ERR_INVALID, "encoding");
    bench.request.metadata = sds_span_str("{\"a\":1,\"a\":2}");
    expect_failure(&bench, SDS_ERR_INVALID, "json");
    bench.request.metadata = sds_span_str("{\"a\":1e999}");
    expect_failure(&bench, SDS_ERR_INVALID, "metadata");
    end(&bench);
}

static void tensors_stay_in_their_directory(void **state) {
    (void)state;
    static const uint64_t shape[] = {2};
    struct bench bench;
    begin(&bench);
    scratch_npy(&bench.scratch, "m.npy", SDS_U8, shape, 1, sds_span("ab", 2));
    rows_of(&bench, 1, RECORDS, "x");
    row(&bench,
        "{\"ordinal\":0,\"status\":\"success\",\"fields\":{\"m\":{\"npy\":\"%s/"
        "m.npy\",\"axes\":[{\"name\":\"t\"}]}}}",
        bench.scratch.path);
    expect_failure(&bench, SDS_ERR_INVALID, "npy");
    bench.request.confined = false;
    expect_ok(&bench);
    struct sds_node node;
    assert_int_equal(temp_root_find(&bench.root, "records/000000/annotations/new/m.npy", &node),
                     SDS_OK);
    end(&bench);
}

// Several drafts of one mount are committed at once.
enum { AT_ONCE = 4 };

static void *publish_one(void *ctx) {
    struct bench *bench = ctx;
    struct sds_err err;
    bench->problems = (unsigned)annotate(bench, &err);
    return NULL;
}

static void several_sets_at_once(void **state) {
    (void)state;
    static const char *const names[AT_ONCE] = {"a", "b", "c", "d"};
    struct bench benches[AT_ONCE];
    pthread_t threads[AT_ONCE];
    for (unsigned i = 0; i < AT_ONCE; i++) {
        if (i == 0) {
            begin(&benches[i]);
        } else { // the others publish into the dataset of the first
            begin_rows(&benches[i]);
            benches[i].root = benches[0].root;
        }
        benches[i].request.set = names[i];
        benches[i].request.records_per_shard = 10;
        rows_of(&benches[i], 0, RECORDS, names[i]);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, publish_one, &benches[i]), 0);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(benches[i].problems, SDS_OK);
    }
    for (unsigned i = AT_ONCE; i-- > 0;) {
        assert_true(is_visible(&benches[i], names[i]));
        end_rows(&benches[i]);
    }
    temp_root_remove(&benches[0].root);
}

// ---- workers

static const char *pointer_of(const struct bench *bench) {
    return json_object_to_json_string_ext(json_object_object_get(bench->receipt, "pointer"),
                                          JSON_C_TO_STRING_PLAIN);
}

static void begin_workers(struct bench *bench) {
    begin(bench);
    bench->request.what = SDS_ANNOTATE_SHARD;
    bench->request.publication_id = "run-1";
    bench->request.shard_id = "a";
}

static void workers_and_coordinator(void **state) {
    (void)state;
    static const char *const ids[] = {"b", "a", "b"};
    struct bench bench;
    begin_workers(&bench);
    rows_of(&bench, 0, 30, "x");
    expect_ok(&bench);
    assert_int_equal(objects_written(&bench), 2);
    assert_non_null(strstr(pointer_of(&bench), "\"first_ordinal\":0,\"generation\":null,"));
    assert_false(is_visible(&bench, "new"));
    bench.request.what = SDS_ANNOTATE_COORDINATE;
    bench.request.shard_ids = ids;
    bench.request.shard_id_count = 3;
    expect_failure(&bench, SDS_ERR_INVALID, "shard_id"); // b has not reported
    bench.request.shard_ids = ids + 1;
    bench.request.shard_id_count = 1;
    expect_failure(&bench, SDS_ERR_INVALID, "record_count"); // a alone is not all
    bench.request.what = SDS_ANNOTATE_SHARD;
    bench.request.shard_id = "b";
    rows_of(&bench, 30, RECORDS, "x");
    expect_ok(&bench);
    bench.request.what = SDS_ANNOTATE_COORDINATE;
    bench.request.shard_ids = ids + 2;
    expect_failure(&bench, SDS_ERR_INVALID, "first_ordinal"); // b alone does not begin at 0
    assert_int_equal(bench.problems, 1);
    bench.request.shard_ids = ids;
    bench.request.shard_id_count = 3;
    bench.request.check_only = true;
    unsigned before = stored_files(&bench);
    expect_ok(&bench);
    assert_int_equal(stored_files(&bench), before);
    bench.request.check_only = false;
    expect_ok(&bench);
    assert_true(is_visible(&bench, "new"));
    before = stored_files(&bench);
    expect_ok(&bench);
    assert_int_equal(stored_files(&bench), before);
    bench.request.metadata = sds_span_str("{\"k\":1}");
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    bench.request.check_only = true;
    expect_failure(&bench, SDS_ERR_CONFLICT, "exists");
    end(&bench);
}

static void the_first_pointer_wins(void **state) {
    (void)state;
    struct bench bench;
    begin_workers(&bench);
    rows_of(&bench, 0, 30, "x");
    expect_ok(&bench);
    char *first = strdup(pointer_of(&bench));
    unsigned before = stored_files(&bench);
    rows_of(&bench, 0, 30, "y"); // other rows
    expect_ok(&bench);
    assert_string_equal(bench.note, "shard a of new was reported before: records 0 to 29");
    assert_false(bench.warned);
    assert_string_equal(pointer_of(&bench), first);
    rows_of(&bench, 20, 21, "y"); // even another range
    expect_ok(&bench);
    assert_non_null(strstr(bench.note, ": records 0 to 29;"));
    assert_non_null(strstr(bench.note, ", record 20,"));
    assert_true(bench.warned);
    assert_string_equal(pointer_of(&bench), first);
    assert_string_equal(outcome(&bench, 0), "exists");
    assert_int_equal(stored_files(&bench), before);
    bench.note[0] = '\0';
    bench.request.check_only = true;
    expect_ok(&bench); // tells the same
    assert_true(bench.note[0] != '\0' && bench.warned);
    free(first);
    end(&bench);
}

static void ranges_that_are_wrong(void **state) {
    (void)state;
    struct bench bench;
    begin_workers(&bench);
    expect_failure(&bench, SDS_ERR_INVALID, "rows"); // none
    rows_of(&bench, 3, 5, "x");
    row(&bench, "{\"ordinal\":6,\"status\":\"failed\"}");
    expect_failure(&bench, SDS_ERR_INVALID, "rows"); // 5 is missing
    row(&bench, "{\"ordinal\":48,\"status\":\"failed\"}");
    expect_failure(&bench, SDS_ERR_INVALID, "ordinal");
    end(&bench);
}

// A pointer that somebody else wrote: whatever it says is checked.
static void pointers_that_are_wrong(void **state) {
    (void)state;
    static const char *const ids[] = {"a"};
    static const struct {
        const char *from, *to, *check;
    } edits[] = {
        {"\"name\":\"new\"", "\"name\":\"old\"", "name"},
        {"\"publication_id\":\"run-1\"", "\"publication_id\":\"run-2\"", "publication_id"},
        {"\"logical_shard_id\":\"a\"", "\"logical_shard_id\":\"b\"", "logical_shard_id"},
        {"\"source_snapshot_id\":\"", "\"source_snapshot_id\":\"x", "source_snapshot_id"},
        {"\"generation\":null", "\"generation\":0", "generation"},
        {"\"record_ids\":[\"", "\"record_ids\":[\"x", "record_ids"},
        {"\"first_ordinal\":0", "\"first_ordinal\":1", "record_ids"},
        {"/objects/", "/subjects/", "uri"},
        {"/annotations/sets/new/", "/annotations/sets/neu/", "uri"},
        {".arrayrecord", ".arrayrecords", "uri"},
    };
    struct bench bench;
    begin_workers(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    expect_ok(&bench);
    char *path = strdup(object_path(&bench, 1));
    char *text = strdup(pointer_of(&bench));
    bench.request.what = SDS_ANNOTATE_COORDINATE;
    bench.request.shard_ids = ids;
    bench.request.shard_id_count = 1;
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        const char *at = strstr(text, edits[i].from);
        assert_non_null(at);
        char *edited = temp_root_format("%.*s%s%s", (int)(at - text), text, edits[i].to,
                                        at + strlen(edits[i].from));
        temp_root_write(&bench.root, path, edited);
        free(edited);
        temp_root_close(&bench.root); // a store remembers what it saw
        temp_root_open(&bench.root);
        expect_failure(&bench, SDS_ERR_INVALID, edits[i].check);
    }
    // However the root was spelled for the worker, the object is the same.
    const char *uri = strstr(text, "\"uri\":\"");
    char *edited = temp_root_format("%.*s\"uri\":\"./elsewhere%s", (int)(uri - text), text,
                                    strstr(uri, "/annotations"));
    temp_root_write(&bench.root, path, edited);
    free(edited);
    free(text);
    free(path);
    temp_root_close(&bench.root);
    temp_root_open(&bench.root);
    expect_ok(&bench);
    end(&bench);
}

// ---- the catalog

static void reopen_with_catalog(struct bench *bench, const char *text) {
    temp_root_write(&bench->root, "annotations/catalog.json", text);
    temp_root_close(&bench->root);
    temp_root_open_how(&bench->root, &(struct sds_open_options){.max_record = 1 << 30,
                                                                .tolerate_annotations = true});
}

static void a_broken_catalog_is_not_replaced(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench);
    rows_of(&bench, 0, RECORDS, "x");
    reopen_with_catalog(&bench, "{}");
    expect_failure(&bench, SDS_ERR_CORRUPT, "revision");
    reopen_with_catalog(
        &bench, "{\"revision\":{\"path\":\"annotations/catalogs/"
                "0000000000000000000000000000000000000000000000000000000000000000.json\"}}");
    expect_failure(&bench, SDS_ERR_CORRUPT, "absent");
    end(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_and_again),
        cmocka_unit_test(a_check_writes_nothing),
        cmocka_unit_test(a_check_looks_at_the_name),
        cmocka_unit_test(a_check_looks_at_a_root_without_entry),
        cmocka_unit_test(a_taken_name_is_found_out_beforehand),
        cmocka_unit_test(what_was_cut_short_converges),
        cmocka_unit_test(a_damaged_shard_is_not_reused),
        cmocka_unit_test(rows_that_are_wrong),
        cmocka_unit_test(rows_by_id),
        cmocka_unit_test(requests_that_are_wrong),
        cmocka_unit_test(tensors_stay_in_their_directory),
        cmocka_unit_test(several_sets_at_once),
        cmocka_unit_test(workers_and_coordinator),
        cmocka_unit_test(the_first_pointer_wins),
        cmocka_unit_test(ranges_that_are_wrong),
        cmocka_unit_test(pointers_that_are_wrong),
        cmocka_unit_test(a_broken_catalog_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
