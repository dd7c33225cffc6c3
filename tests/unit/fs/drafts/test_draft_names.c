// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "draft_fixture.h"
#include "unit.h"

static struct sds_drafts *drafts_of(void **state) {
    return ((struct draft_fixture *)*state)->drafts;
}

// --- making

static void drafts_are_named_like_sets(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    static const char *const bad[] = {".hidden", "-x", "a b", "\xc3\xa4", "a/b", "_"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(draft_mkdir_error(drafts, SDS_DRAFTS_TOP, bad[i]), EINVAL);
        assert_int_equal(draft_lookup_error(drafts, SDS_DRAFTS_TOP, bad[i]), ENOENT);
    }
    char name[130];
    memset(name, 'n', sizeof name - 1);
    name[129] = '\0';
    assert_int_equal(draft_mkdir_error(drafts, SDS_DRAFTS_TOP, name), EINVAL);
    name[128] = '\0';
    draft_mkdir(drafts, SDS_DRAFTS_TOP, name);
    assert_int_equal(draft_mkdir_error(drafts, SDS_DRAFTS_TOP, name), EEXIST);
    uint64_t set = draft_mkdir(drafts, SDS_DRAFTS_TOP, "Set.1");
    uint64_t shards = draft_mkdir(drafts, set, "shards");
    assert_int_equal(draft_mkdir_error(drafts, shards, "a b"), EINVAL);
    draft_mkdir(drafts, set, "a b"); // the user's own affair
}

static void a_draft_comes_with_its_files(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t set = draft_mkdir(drafts, SDS_DRAFTS_TOP, "s");
    uint64_t shard = draft_mkdir(drafts, draft_mkdir(drafts, set, "shards"), "east");
    uint64_t dirs[] = {set, shard};
    for (int i = 0; i < 2; i++) {
        char text[512];
        draft_read(drafts, dirs[i], "commit", text, sizeof text);
        assert_string_equal(text, "");
        draft_read(drafts, dirs[i], "status.json", text, sizeof text);
        assert_non_null(strstr(text, "\"set\": \"s\""));
        assert_non_null(strstr(text, "\"state\": \"open\""));
        assert_non_null(strstr(text, i == 0 ? "\"what\": \"set\"" : "\"what\": \"shard\""));
    }
    assert_int_equal(draft_lookup_error(drafts, set, "receipt.json"), ENOENT);
}

static void files_of_ours_are_protected(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t set = draft_mkdir(drafts, SDS_DRAFTS_TOP, "s");
    draft_file(drafts, set, "x", "x");
    static const char *const ours[] = {"status.json", "receipt.json", "pointer.json"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(draft_create_error(drafts, set, ours[i]), EPERM);
        assert_int_equal(draft_mkdir_error(drafts, set, ours[i]), EPERM);
        assert_int_equal(draft_rename(drafts, set, "x", set, ours[i]), EPERM);
    }
    uint64_t status = draft_lookup(drafts, set, "status.json");
    struct timespec times[2] = {{0}};
    assert_int_equal(draft_write_error(drafts, status, "x"), EPERM);
    assert_int_equal(sds_drafts_truncate(drafts, status, 0), EPERM);
    assert_int_equal(sds_drafts_utimes(drafts, status, times), EPERM);
    assert_int_equal(sds_drafts_sync(drafts, status, false), 0);
    assert_int_equal(draft_rename(drafts, set, "status.json", set, "y"), EPERM);
    assert_int_equal(draft_rename(drafts, set, "commit", set, "y"), EPERM);
    assert_int_equal(draft_rename(drafts, set, "x", set, "commit"), EPERM);
    assert_int_equal(draft_mkdir_error(drafts, set, "commit"), EPERM);
    // They may be removed, and commit comes back by being written to.
    assert_int_equal(draft_unlink(drafts, set, "status.json"), 0);
    assert_int_equal(draft_unlink(drafts, set, "commit"), 0);
    assert_int_equal(draft_create_error(drafts, set, "commit"), 0);
    // Elsewhere the names are like any other.
    uint64_t dir = draft_mkdir(drafts, set, "dir");
    draft_file(drafts, dir, "commit", "text");
    draft_file(drafts, dir, "status.json", "text");
    assert_false(sds_drafts_is_commit(drafts, draft_lookup(drafts, dir, "commit")));
}

static void no_files_at_the_top(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t set = draft_mkdir(drafts, SDS_DRAFTS_TOP, "s");
    draft_file(drafts, set, "f", "x");
    assert_int_equal(draft_create_error(drafts, SDS_DRAFTS_TOP, "f"), EPERM);
    assert_int_equal(draft_rename(drafts, set, "f", SDS_DRAFTS_TOP, "f"), EPERM);
}

static void without_a_state_directory(void **state) {
    struct draft_fixture *fixture = *state;
    struct sds_drafts *drafts =
        sds_drafts_new(&fixture->toy->base, fixture->errors, "/proc/none/state", "toy:");
    struct stat st;
    struct sds_draft_stream *stream;
    assert_int_equal(sds_drafts_getattr(drafts, SDS_DRAFTS_TOP, &st), ENOENT);
    assert_int_equal(sds_drafts_open_dir(drafts, SDS_DRAFTS_TOP, &stream), 0);
    assert_null(stream);
    assert_int_equal(draft_lookup_error(drafts, SDS_DRAFTS_TOP, "s"), ENOENT);
    assert_int_equal(sds_errors_total(fixture->errors), 0);
    assert_int_equal(draft_mkdir_error(drafts, SDS_DRAFTS_TOP, "s"), EPERM);
    struct sds_buf text = SDS_BUF_INIT(1 << 16);
    assert_int_equal(sds_errors_render(fixture->errors, &text), SDS_OK);
    assert_int_equal(sds_buf_add(&text, "", 1), SDS_OK);
    assert_non_null(strstr((const char *)text.at, "\"path\":\"control/annotations\""));
    assert_non_null(strstr((const char *)text.at, "\"check\":\"state_dir\""));
    sds_buf_fini(&text);
    sds_drafts_free(drafts);
}

// --- finding

static void dots_are_found(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t set = draft_mkdir(drafts, SDS_DRAFTS_TOP, "s");
    uint64_t dir = draft_mkdir(drafts, set, "d");
    assert_int_equal(draft_lookup(drafts, dir, "."), dir);
    assert_int_equal(draft_lookup(drafts, dir, ".."), set);
    assert_int_equal(draft_lookup(drafts, set, ".."), SDS_DRAFTS_TOP);
    assert_int_equal(draft_lookup_error(drafts, SDS_DRAFTS_TOP, ".."), ESTALE);
    assert_int_equal(draft_lookup_error(drafts, 12345, "."), ESTALE);
}

// Whoever gets at the backing directory cannot lead anybody elsewhere.
static void what_is_neither_file_nor_directory_is_not_there(void **state) {
    struct draft_fixture *fixture = *state;
    uint64_t set = draft_mkdir(fixture->drafts, SDS_DRAFTS_TOP, "s");
    char command[256];
    snprintf(command, sizeof command,
             "cd %s/drafts/*/sets/s && ln -s /etc link && mkfifo fifo && ln -s /etc/passwd file && "
             "ln -s /etc ../top",
             fixture->dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(draft_lookup_error(fixture->drafts, set, "link"), ENOENT);
    assert_int_equal(draft_lookup_error(fixture->drafts, set, "file"), ENOENT);
    assert_int_equal(draft_lookup_error(fixture->drafts, set, "fifo"), ENOENT);
    assert_int_equal(draft_lookup_error(fixture->drafts, SDS_DRAFTS_TOP, "top"), ENOENT);
    assert_int_equal(draft_create_error(fixture->drafts, set, "file"), ELOOP);
}

// --- removing and renaming

static void a_file_that_is_removed_stays_for_those_who_have_it(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t set = draft_mkdir(drafts, SDS_DRAFTS_TOP, "s");
    uint64_t old = draft_file(drafts, set, "f", "old");
    assert_int_equal(draft_unlink(drafts, set, "f"), 0);
    assert_int_equal(draft_lookup_error(drafts, set, "f"), ENOENT);
    uint64_t new = draft_file(drafts, set, "f", "new");
    assert_int_not_equal(new, old);
    struct sds_blob *blob;
    assert_int_equal(sds_drafts_read(drafts, old, 0, 10, &blob), 0);
    assert_memory_equal(blob->at, "old", 3);
    sds_blob_unref(blob);
    assert_int_equal(draft_write_error(drafts, old, "OLD"), 0);
    struct stat st;
    assert_int_equal(sds_drafts_getattr(drafts, old, &st), 0);
    assert_int_equal(st.st_nlink, 0);
    sds_drafts_forget(drafts, old, 1);
    assert_int_equal(sds_drafts_getattr(drafts, old, &st), ESTALE);
    char text[8];
    draft_read(drafts, set, "f", text, sizeof text);
    assert_string_equal(text, "new");
}

static void a_rename_replaces(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t set = draft_mkdir(drafts, SDS_DRAFTS_TOP, "s");
    uint64_t old = draft_file(drafts, set, "rows.jsonl", "old");
    uint64_t new = draft_file(drafts, set, "rows.jsonl.tmp", "new");
    assert_int_equal(sds_drafts_rename(drafts, set, sds_span_str("rows.jsonl.tmp"), set,
                                       sds_span_str("rows.jsonl"), RENAME_NOREPLACE),
                     EEXIST);
    assert_int_equal(draft_rename(drafts, set, "rows.jsonl.tmp", set, "rows.jsonl"), 0);
    assert_int_equal(draft_lookup(drafts, set, "rows.jsonl"), new);
    struct sds_blob *blob;
    assert_int_equal(sds_drafts_read(drafts, old, 0, 10, &blob), 0);
    assert_memory_equal(blob->at, "old", 3);
    sds_blob_unref(blob);
    assert_int_equal(
        sds_drafts_rename(drafts, set, sds_span_str("a"), set, sds_span_str("b"), RENAME_EXCHANGE),
        EINVAL);
    assert_int_equal(draft_rename(drafts, set, "nope", set, "x"), ENOENT);
}

static void things_stay_what_they_are(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t a = draft_mkdir(drafts, SDS_DRAFTS_TOP, "a");
    uint64_t b = draft_mkdir(drafts, SDS_DRAFTS_TOP, "b");
    uint64_t shards = draft_mkdir(drafts, a, "shards");
    draft_mkdir(drafts, shards, "east");
    draft_mkdir(drafts, a, "dir");
    assert_int_equal(draft_rename(drafts, SDS_DRAFTS_TOP, "a", b, "a"), EXDEV);
    assert_int_equal(draft_rename(drafts, a, "dir", SDS_DRAFTS_TOP, "c"), EXDEV);
    assert_int_equal(draft_rename(drafts, a, "dir", shards, "west"), EXDEV);
    assert_int_equal(draft_rename(drafts, shards, "east", SDS_DRAFTS_TOP, "c"), EXDEV);
    assert_int_equal(draft_rename(drafts, a, "shards", a, "other"), EPERM);
    assert_int_equal(draft_rename(drafts, a, "dir", b, "shards"), EPERM);
    assert_int_equal(draft_rename(drafts, SDS_DRAFTS_TOP, "a", SDS_DRAFTS_TOP, "a b"), EINVAL);
    assert_int_equal(draft_rename(drafts, shards, "east", shards, ".x"), EINVAL);
    assert_int_equal(draft_rename(drafts, shards, "east", shards, "west"), 0);
    assert_int_equal(draft_rename(drafts, a, "dir", b, "dir2"), 0);
    draft_lookup(drafts, b, "dir2");
}

static void a_draft_takes_its_name_along(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t a = draft_mkdir(drafts, SDS_DRAFTS_TOP, "a");
    uint64_t file = draft_file(drafts, draft_mkdir(drafts, a, "dir"), "f", "text");
    draft_mkdir(drafts, SDS_DRAFTS_TOP, "b");
    assert_int_equal(draft_rename(drafts, SDS_DRAFTS_TOP, "a", SDS_DRAFTS_TOP, "b"), ENOTEMPTY);
    assert_int_equal(draft_rename(drafts, SDS_DRAFTS_TOP, "a", SDS_DRAFTS_TOP, "c"), 0);
    assert_int_equal(draft_lookup(drafts, SDS_DRAFTS_TOP, "c"), a);
    char text[512];
    draft_read(drafts, a, "status.json", text, sizeof text);
    assert_non_null(strstr(text, "\"set\": \"c\""));
    assert_int_equal(draft_write_error(drafts, file, "more"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, draft_setup, draft_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(drafts_are_named_like_sets),
        TEST(a_draft_comes_with_its_files),
        TEST(files_of_ours_are_protected),
        TEST(no_files_at_the_top),
        TEST(without_a_state_directory),
        TEST(dots_are_found),
        TEST(what_is_neither_file_nor_directory_is_not_there),
        TEST(a_file_that_is_removed_stays_for_those_who_have_it),
        TEST(a_rename_replaces),
        TEST(things_stay_what_they_are),
        TEST(a_draft_takes_its_name_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
