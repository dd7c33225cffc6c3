// SPDX-License-Identifier: Apache-2.0
//
// The index of a made-up dataset, whose entries are given as JSON.
#include "unit.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index/build.h"
#include "index/index.h"
#include "index/internal.h"

// --- a dataset

struct fake {
    struct sds_dataset base;
    const char *const *entries; // JSON; NULL: a bad one
    uint64_t count;
    uint64_t fail_at;      // the entry that the store does not give; UINT64_MAX: none
    uint64_t lowest_asked; // ordinal
    const char *identity;
    pthread_mutex_t lock;
};

static const struct sds_json_limits limits = {.bytes = 8 << 20, .depth = 100, .nodes = 10000};

static bool emit_entry(struct fake *fake, uint64_t ordinal, sds_scan_fn emit, void *ctx) {
    struct sds_scanned entry = {.ordinal = ordinal, .shard = ordinal / 3};
    const char *text = fake->entries[ordinal];
    if (text == NULL) {
        struct sds_err problem;
        (void)!sds_fail(&problem, SDS_ERR_CORRUPT, "json", "no \"JSON\"");
        sds_err_object(&problem, "objects/x");
        entry.problem = &problem;
        return emit(ctx, &entry);
    }
    struct sds_json *doc = NULL;
    assert_int_equal(sds_json_parse(sds_span_str(text), &limits, &doc, NULL), SDS_OK);
    struct sds_value top = sds_json_top(doc);
    entry.id = sds_value_get(top, "id");
    entry.scene_id = sds_value_get(top, "scene_id");
    entry.metadata = sds_value_get(top, "metadata");
    entry.fields = sds_value_get(top, "fields");
    bool more = emit(ctx, &entry);
    sds_json_free(doc);
    return more;
}

static enum sds_kind fake_scan(struct sds_dataset *ds, uint64_t first, uint64_t end,
                               sds_scan_fn emit, void *ctx, struct sds_err *err) {
    struct fake *fake = (struct fake *)ds;
    pthread_mutex_lock(&fake->lock);
    fake->lowest_asked = first < fake->lowest_asked ? first : fake->lowest_asked;
    pthread_mutex_unlock(&fake->lock);
    for (uint64_t i = first; i < end; i++) {
        if (i == fake->fail_at) {
            return sds_fail(err, SDS_ERR_TIMEOUT, "read", "no answer");
        }
        if (!emit_entry(fake, i, emit, ctx)) {
            break;
        }
    }
    return SDS_OK;
}

static uint64_t fake_scan_end(struct sds_dataset *ds, uint64_t first) {
    struct fake *fake = (struct fake *)ds;
    uint64_t end = first - first % 3 + 3;
    return end < fake->count ? end : fake->count;
}

static void fake_identity(struct sds_dataset *ds, char out[SDS_SHA256_HEX]) {
    struct fake *fake = (struct fake *)ds;
    sds_sha256_hex(sds_span_str(fake->identity), out);
}

static void fake_totals(struct sds_dataset *ds, struct sds_totals *out) {
    *out = (struct sds_totals){.records = ((struct fake *)ds)->count};
}

static const struct sds_driver_ops fake_ops = {.name = "fake",
                                               .scan = fake_scan,
                                               .scan_end = fake_scan_end,
                                               .identity = fake_identity,
                                               .totals = fake_totals};

#define LONG_ID                                                                                    \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"     \
    "8901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"     \
    "6789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"

static const char *const entries[] = {
    "{\"id\": \"plain\", \"scene_id\": \"roof\", \"metadata\": {\"rate\": 2e6, \"a b\": \"c  d\"},"
    " \"fields\": {\"x\": {\"dtype\": \"<f4\"}}}",
    "{\"id\": \"twice\", \"scene_id\": \"roof\", \"metadata\": {\"rate\": 1e3}, \"fields\": {}}",
    NULL,
    "{\"id\": \"twice\", \"scene_id\": null, \"metadata\": null, \"fields\": {}}",
    "{\"id\": \"a/b\", \"scene_id\": \"\", \"fields\": {}}",
    "{\"id\": \"like@7\", \"scene_id\": \"\\u00e9\\/x\", \"metadata\": {}, \"fields\": {}}",
    "{\"id\": 12.50, \"scene_id\": [1, 2], \"metadata\": {}, \"fields\": {}}",
    "{\"id\": \"\\ud800\", \"scene_id\": \"roof\", \"metadata\": {}, \"fields\": {}}",
    "{\"id\": \"" LONG_ID "\", \"scene_id\": \"" LONG_ID "\", \"metadata\": {}, \"fields\": {}}",
    "{\"id\": \"\", \"scene_id\": \"roof\", \"metadata\": {}, \"fields\": {}}",
    "{\"id\": \"twice@000001\", \"scene_id\": \"roof\", \"metadata\": {}, \"fields\": {}}",
};
enum { ENTRIES = sizeof entries / sizeof entries[0], WIDTH = 6 };

static const char *const expected_lines =
    "{\"ordinal\":0,\"id\":\"plain\",\"scene_id\":\"roof\",\"metadata\":{\"rate\":2e6,\"a b\":\"c  "
    "d\"},\"fields\":{\"x\":{\"dtype\":\"<f4\"}}}\n"
    "{\"ordinal\":1,\"id\":\"twice\",\"scene_id\":\"roof\",\"metadata\":{\"rate\":1e3},\"fields\":{"
    "}}\n"
    "{\"ordinal\":2,\"id\":null,\"scene_id\":null,\"metadata\":null,\"fields\":null,\"error\":"
    "\"objects/x: json: no \\\"JSON\\\"\"}\n"
    "{\"ordinal\":3,\"id\":\"twice\",\"scene_id\":null,\"metadata\":{},\"fields\":{}}\n"
    "{\"ordinal\":4,\"id\":\"a/b\",\"scene_id\":\"\",\"metadata\":{},\"fields\":{}}\n"
    "{\"ordinal\":5,\"id\":\"like@7\",\"scene_id\":\"\\u00e9\\/x\",\"metadata\":{},\"fields\":{}}\n"
    "{\"ordinal\":6,\"id\":12.50,\"scene_id\":[1,2],\"metadata\":{},\"fields\":{}}\n"
    "{\"ordinal\":7,\"id\":\"\\ud800\",\"scene_id\":\"roof\",\"metadata\":{},\"fields\":{}}\n"
    "{\"ordinal\":8,\"id\":\"" LONG_ID "\",\"scene_id\":\"" LONG_ID
    "\",\"metadata\":{},\"fields\":{}}\n"
    "{\"ordinal\":9,\"id\":\"\",\"scene_id\":\"roof\",\"metadata\":{},\"fields\":{}}\n"
    "{\"ordinal\":10,\"id\":\"twice@000001\",\"scene_id\":\"roof\",\"metadata\":{},\"fields\":{}}"
    "\n";

// --- a cache directory of its own for each test

struct fixture {
    struct fake fake;
    char dir[64];
};

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    f->fake = (struct fake){.base.ops = &fake_ops,
                            .entries = entries,
                            .count = ENTRIES,
                            .fail_at = UINT64_MAX,
                            .lowest_asked = UINT64_MAX,
                            .identity = "one",
                            .lock = PTHREAD_MUTEX_INITIALIZER};
    strcpy(f->dir, "/tmp/sdsfs-index-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    nftw(f->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

static enum sds_kind build(struct fixture *f, struct sds_err *err) {
    struct sds_index_work work = {.ds = &f->fake.base, .cache_dir = f->dir};
    return sds_index_build(&work, err);
}

static struct sds_index *built(struct fixture *f) {
    struct sds_index *index = NULL;
    struct sds_err err;
    assert_int_equal(build(f, &err), SDS_OK);
    assert_int_equal(sds_index_open(&f->fake.base, f->dir, &index, &err), SDS_OK);
    return index;
}

// The one file in the index directory that ends in a suffix; "" when there is none.
static char *file_ending(struct fixture *f, const char *suffix, char *out, size_t size) {
    char command[256];
    snprintf(command, sizeof command, "ls %s/index/*%s 2>/dev/null", f->dir, suffix);
    FILE *ls = popen(command, "r");
    if (fgets(out, (int)size, ls) == NULL) {
        out[0] = '\0';
    }
    out[strcspn(out, "\n")] = '\0';
    pclose(ls);
    return out;
}

// --- lines

static void any_range_of_the_lines_is_right(void **state) {
    struct sds_index *index = built(*state);
    size_t total = strlen(expected_lines);
    assert_int_equal(sds_index_facts(index)->lines_bytes, total);
    assert_int_equal(sds_index_facts(index)->records, ENTRIES);
    assert_int_equal(sds_index_facts(index)->bad, 1);
    for (size_t off = 0; off <= total + 1; off += 7) {
        for (size_t len = 0; len < total + 20; len += 61) {
            struct sds_buf out = SDS_BUF_INIT(1 << 20);
            assert_int_equal(sds_index_lines(index, off, len, &out, NULL), SDS_OK);
            size_t left = off < total ? total - off : 0;
            assert_int_equal(out.len, left < len ? left : len);
            assert_memory_equal(out.len > 0 ? out.at : (const uint8_t *)"",
                                expected_lines + (off < total ? off : total), out.len);
            sds_buf_fini(&out);
        }
    }
    sds_index_close(index);
}

static void many_lines_are_found_by_their_place(void **state) {
    struct fixture *f = *state;
    enum { MANY = 2000 };
    static const char *many[MANY];
    for (size_t i = 0; i < MANY; i++) {
        many[i] = entries[i % 2];
    }
    f->fake.entries = many;
    f->fake.count = MANY;
    struct sds_index *index = built(f);
    struct sds_buf all = SDS_BUF_INIT(1 << 22);
    uint64_t total = sds_index_facts(index)->lines_bytes;
    assert_int_equal(sds_index_lines(index, 0, (size_t)total + 1, &all, NULL), SDS_OK);
    assert_int_equal(all.len, total);
    for (size_t off = 1; off < total; off += total / 97) {
        struct sds_buf out = SDS_BUF_INIT(1 << 22);
        assert_int_equal(sds_index_lines(index, off, 300, &out, NULL), SDS_OK);
        assert_int_equal(out.len, off + 300 < total ? 300 : total - off);
        assert_memory_equal(out.at, all.at + off, out.len);
        sds_buf_fini(&out);
    }
    sds_buf_fini(&all);
    sds_index_close(index);
}

// Makes an entry whose metadata is a text of so many letters.
static char *long_entry(const char *id, size_t letters) {
    char *entry = malloc(letters + 128);
    int head = sprintf(entry, "{\"id\": \"%s\", \"metadata\": {\"text\": \"", id);
    for (size_t i = 0; i < letters; i++) {
        entry[(size_t)head + i] = (char)('a' + i * i % 26);
    }
    strcpy(entry + head + letters, "\"}, \"fields\": {}}");
    return entry;
}

static void check_lines(struct sds_index *index, const struct sds_buf *whole, size_t off,
                        size_t len) {
    struct sds_buf out = SDS_BUF_INIT(16 << 20);
    size_t left = off < whole->len ? whole->len - off : 0;
    assert_int_equal(sds_index_lines(index, off, len, &out, NULL), SDS_OK);
    assert_int_equal(out.len, len < left ? len : left);
    assert_true(out.len == 0 || memcmp(out.at, whole->at + off, out.len) == 0);
    sds_buf_fini(&out);
}

// A line that is long is made once for all reads that go through it, in whatever order.
static void a_long_line_is_held(void **state) {
    struct fixture *f = *state;
    enum { PIECE = 128 << 10 };
    char *texts[] = {long_entry("a", 10), long_entry("b", 3 << 20), long_entry("c", 2 << 20),
                     long_entry("d", 10)};
    f->fake.entries = (const char *const *)texts;
    f->fake.count = 4;
    struct sds_index *index = built(f);
    struct sds_buf whole = SDS_BUF_INIT(16 << 20);
    assert_int_equal(sds_index_lines(index, 0, 16 << 20, &whole, NULL), SDS_OK);
    assert_int_equal(whole.len, sds_index_facts(index)->lines_bytes);
    assert_int_equal(index->held.text.len, 0); // nothing was read in part
    for (size_t off = 0; off < whole.len + PIECE; off += PIECE) {
        check_lines(index, &whole, off, PIECE);
        if (off == PIECE || off == 2 * PIECE) {
            assert_int_equal(index->held.next_ordinal, 2);
            assert_in_range(index->held.text.len, 3 << 20, (3 << 20) + 100);
        }
    }
    for (size_t off = whole.len; off > PIECE; off -= PIECE) {
        check_lines(index, &whole, off - PIECE, PIECE);
    }
    check_lines(index, &whole, PIECE, 4 << 20); // from the middle of one into the next
    assert_int_equal(index->held.next_ordinal, 3);
    check_lines(index, &whole, 0, 10); // far from it
    assert_int_equal(index->held.text.len, 0);
    sds_buf_fini(&whole);
    sds_index_close(index);
    for (size_t i = 0; i < 4; i++) {
        free(texts[i]);
    }
}

// --- names

struct listed {
    char names[32][300];
    uint64_t numbers[32];
    size_t count, stop_after;
    uint64_t next;
};

static bool note(void *ctx, struct sds_span name, uint64_t number, uint64_t next) {
    struct listed *listed = ctx;
    if (listed->count == listed->stop_after) {
        return false;
    }
    snprintf(listed->names[listed->count], 300, "%.*s", (int)name.len, (const char *)name.at);
    listed->numbers[listed->count++] = number;
    listed->next = next;
    return true;
}

static void every_listed_id_is_found(void **state) {
    struct sds_index *index = built(*state);
    static const char *const names[] = {"plain",
                                        "twice@000001",
                                        "twice@000003",
                                        "a%2Fb",
                                        "like@7@000005",
                                        "\xed\xa0\x80",
                                        NULL /* cut */,
                                        "%",
                                        "twice@000001@000010"};
    static const uint64_t ordinals[] = {0, 1, 3, 4, 5, 7, 8, 9, 10};
    struct listed listed = {.stop_after = 32};
    assert_int_equal(sds_index_list_ids(index, 0, WIDTH, note, &listed, NULL), SDS_OK);
    assert_int_equal(listed.count, 9);
    for (size_t i = 0; i < 9; i++) {
        uint64_t found = UINT64_MAX;
        assert_int_equal(listed.numbers[i], ordinals[i]);
        if (names[i] != NULL) {
            assert_string_equal(listed.names[i], names[i]);
        } else {
            assert_int_equal(strlen(listed.names[i]), 255);
        }
        assert_int_equal(
            sds_index_find_id(index, sds_span_str(listed.names[i]), WIDTH, &found, NULL), SDS_OK);
        assert_int_equal(found, ordinals[i]);
    }
    sds_index_close(index);
}

static void ids_that_are_not_there(void **state) {
    struct sds_index *index = built(*state);
    static const char *const names[] = {"twice",        "twice@1", "twice@000000",
                                        "twice@000002", "like@7",  "plain@000000",
                                        "a/b",          "a%2fb",   "12.5",
                                        "%70lain",      "",        "%2",
                                        "@1",           "@000002", "twice@99999999999999999999",
                                        LONG_ID};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t found;
        assert_int_equal(sds_index_find_id(index, sds_span_str(names[i]), WIDTH, &found, NULL),
                         SDS_ERR_NOT_FOUND);
    }
    sds_index_close(index);
}

static void listings_go_on_where_they_stopped(void **state) {
    struct sds_index *index = built(*state);
    struct listed listed = {.stop_after = 4};
    assert_int_equal(sds_index_list_ids(index, 0, WIDTH, note, &listed, NULL), SDS_OK);
    assert_int_equal(listed.count, 4);
    uint64_t position = listed.next;
    listed = (struct listed){.stop_after = 32};
    assert_int_equal(sds_index_list_ids(index, position, WIDTH, note, &listed, NULL), SDS_OK);
    assert_int_equal(listed.count, 5);
    assert_string_equal(listed.names[0], "like@7@000005");
    sds_index_close(index);
}

static void scenes_hold_their_records(void **state) {
    struct sds_index *index = built(*state);
    struct listed scenes = {.stop_after = 32};
    assert_int_equal(sds_index_list_scenes(index, 0, note, &scenes, NULL), SDS_OK);
    assert_int_equal(scenes.count, 4); // "", the long one, "roof", "é/x"
    assert_string_equal(scenes.names[0], "%");
    assert_string_equal(scenes.names[2], "roof");
    assert_string_equal(scenes.names[3], "\xc3\xa9%2Fx");
    for (size_t i = 0; i < scenes.count; i++) {
        uint64_t scene = 0;
        assert_int_equal(sds_index_find_scene(index, sds_span_str(scenes.names[i]), &scene, NULL),
                         SDS_OK);
        assert_int_equal(scene, scenes.numbers[i]);
    }
    struct listed records = {.stop_after = 32};
    uint64_t roof = scenes.numbers[2];
    assert_int_equal(sds_index_list_scene(index, roof, 0, WIDTH, note, &records, NULL), SDS_OK);
    assert_int_equal(records.count, 5);
    assert_string_equal(records.names[4], "000010");
    bool belongs = false;
    assert_int_equal(sds_index_in_scene(index, roof, 9, &belongs, NULL), SDS_OK);
    assert_true(belongs);
    assert_int_equal(sds_index_in_scene(index, roof, 4, &belongs, NULL), SDS_OK);
    assert_false(belongs);
    uint64_t none;
    assert_int_equal(sds_index_find_scene(index, sds_span_str("cellar"), &none, NULL),
                     SDS_ERR_NOT_FOUND);
    sds_index_close(index);
}

// --- queries

struct found {
    uint64_t ordinals[32];
    size_t count;
};

static bool note_found(void *ctx, uint64_t ordinal, struct sds_span line) {
    struct found *found = ctx;
    (void)line;
    found->ordinals[found->count++] = ordinal;
    return true;
}

static void a_condition_finds_records(void **state) {
    struct sds_index *index = built(*state);
    struct found found = {0};
    assert_int_equal(sds_index_query(index, "metadata->>'$.rate' > 100 -- all that have one", false,
                                     note_found, &found, NULL),
                     SDS_OK);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.ordinals[1], 1);
    found.count = 0;
    assert_int_equal(sds_index_query(index, "error IS NOT NULL", true, note_found, &found, NULL),
                     SDS_OK);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.ordinals[0], 2);
    sds_index_close(index);
}

static void what_is_no_condition_is_refused(void **state) {
    struct sds_index *index = built(*state);
    static const char *const wrong[] = {"", "no_such_column = 1", "1); DELETE FROM records; --",
                                        "1; SELECT 1", "ordinal ="};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct found found = {0};
        struct sds_err err;
        assert_int_equal(sds_index_query(index, wrong[i], false, note_found, &found, &err),
                         SDS_ERR_INVALID);
        assert_string_equal(err.check, "where");
    }
    sds_index_close(index);
}

// --- building

static void nothing_is_there_before_it_is_built(void **state) {
    struct fixture *f = *state;
    struct sds_index *index = NULL;
    assert_int_equal(sds_index_open(&f->fake.base, f->dir, &index, NULL), SDS_ERR_NOT_FOUND);
    sds_index_close(built(f));
    f->fake.identity = "another";
    assert_int_equal(sds_index_open(&f->fake.base, f->dir, &index, NULL), SDS_ERR_NOT_FOUND);
}

static void it_is_built_once(void **state) {
    struct fixture *f = *state;
    sds_index_close(built(f));
    f->fake.lowest_asked = UINT64_MAX;
    assert_int_equal(build(f, NULL), SDS_OK);
    assert_int_equal(f->fake.lowest_asked, 2); // the bad one, which still is
}

static void what_was_put_right_is_indexed_anew(void **state) {
    struct fixture *f = *state;
    const char *mended[ENTRIES];
    sds_index_close(built(f));
    memcpy(mended, entries, sizeof mended);
    mended[2] = entries[0];
    f->fake.entries = mended;
    f->fake.fail_at = 2; // what cannot be had tells nothing
    struct sds_index *index = built(f);
    assert_int_equal(sds_index_facts(index)->bad, 1);
    sds_index_close(index);
    f->fake.fail_at = UINT64_MAX;
    index = built(f);
    assert_int_equal(sds_index_facts(index)->bad, 0);
    sds_index_close(index);
    f->fake.lowest_asked = UINT64_MAX;
    assert_int_equal(build(f, NULL), SDS_OK);
    assert_int_equal(f->fake.lowest_asked, UINT64_MAX);
}

static void an_interrupted_build_goes_on(void **state) {
    struct fixture *f = *state;
    struct sds_err err;
    char path[256];
    f->fake.fail_at = 7;
    assert_int_equal(build(f, &err), SDS_ERR_TIMEOUT);
    assert_string_equal(err.check, "read");
    assert_string_equal(file_ending(f, ".sqlite", path, sizeof path), "");
    f->fake.fail_at = UINT64_MAX;
    f->fake.lowest_asked = UINT64_MAX;
    struct sds_index *index = built(f);
    assert_int_equal(f->fake.lowest_asked, 7); // nothing that was read is lost
    struct sds_buf out = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_index_lines(index, 0, 1 << 20, &out, NULL), SDS_OK);
    assert_memory_equal(out.at, expected_lines, strlen(expected_lines));
    sds_buf_fini(&out);
    sds_index_close(index);
    assert_string_equal(file_ending(f, ".building", path, sizeof path), "");
    assert_string_equal(file_ending(f, "-journal", path, sizeof path), "");
}

static void a_damaged_file_is_made_anew(void **state) {
    struct fixture *f = *state;
    char path[256];
    f->fake.fail_at = 7;
    assert_int_equal(build(f, NULL), SDS_ERR_TIMEOUT);
    FILE *file = fopen(file_ending(f, ".building", path, sizeof path), "r+");
    assert_non_null(file);
    for (int i = 0; i < 4096; i++) {
        fputc('x', file);
    }
    fclose(file);
    f->fake.fail_at = UINT64_MAX;
    sds_index_close(built(f));
    file = fopen(file_ending(f, ".sqlite", path, sizeof path), "w");
    assert_non_null(file);
    fputs("no database", file);
    fclose(file);
    struct sds_index *index = NULL;
    assert_int_equal(sds_index_open(&f->fake.base, f->dir, &index, NULL), SDS_ERR_NOT_FOUND);
    sds_index_close(built(f));
}

static void it_stops_when_told_to(void **state) {
    struct fixture *f = *state;
    atomic_bool stop = true;
    struct sds_err err;
    struct sds_index_work work = {.ds = &f->fake.base, .cache_dir = f->dir, .stop = &stop};
    assert_int_equal(sds_index_build(&work, &err), SDS_ERR_INVALID);
    assert_string_equal(err.check, "stopped");
}

static void *build_beside(void *arg) {
    struct fixture *f = arg;
    return build(f, NULL) == SDS_OK ? arg : NULL;
}

static void several_builders_agree(void **state) {
    struct fixture *f = *state;
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, build_beside, f), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, f);
    }
    sds_index_close(built(f));
}

static void a_dataset_without_records(void **state) {
    struct fixture *f = *state;
    f->fake.count = 0;
    struct sds_index *index = built(f);
    struct sds_buf out = SDS_BUF_INIT(64);
    assert_int_equal(sds_index_lines(index, 0, 64, &out, NULL), SDS_OK);
    assert_int_equal(out.len, 0);
    sds_index_close(index);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_range_of_the_lines_is_right, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_lines_are_found_by_their_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_line_is_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_listed_id_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_that_are_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listings_go_on_where_they_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scenes_hold_their_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_condition_finds_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_condition_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_there_before_it_is_built, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_built_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_put_right_is_indexed_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interrupted_build_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_made_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_stops_when_told_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_builders_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dataset_without_records, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
