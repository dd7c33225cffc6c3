// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "draft_fixture.h"
#include "unit.h"

static struct draft_fixture *fixture_of(void **state) {
    return *state;
}

static uint64_t draft_with_rows(struct sds_drafts *drafts, const char *name, const char *rows) {
    uint64_t draft = draft_mkdir(drafts, SDS_DRAFTS_TOP, name);
    draft_file(drafts, draft, "rows.jsonl", rows);
    return draft;
}

static void assert_told(struct sds_drafts *drafts, uint64_t draft, const char *file,
                        const char *part) {
    char text[4096];
    draft_read(drafts, draft, file, text, sizeof text);
    if (strstr(text, part) == NULL) {
        print_message("%s is not in %s", part, text);
        fail();
    }
}

static void lines_that_are_commands(void **state) {
    struct sds_drafts *drafts = fixture_of(state)->drafts;
    uint64_t draft = draft_with_rows(drafts, "s", "rows\n");
    static const char *const bad[] = {"", " \n", "publis", "publish it", "CHECK", "check\ncheck\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(draft_command(drafts, draft, bad[i]), EINVAL);
    }
    assert_told(drafts, draft, "status.json", "\"state\": \"open\"");
    assert_int_equal(draft_command(drafts, draft, " check \r\n"), 0);
    assert_told(drafts, draft, "status.json", "\"state\": \"open\"");
    assert_int_equal(draft_lookup_error(drafts, draft, "receipt.json"), ENOENT);
    assert_int_equal(draft_command(drafts, draft, "\tpublish"), 0);
    assert_told(drafts, draft, "status.json", "\"state\": \"published\"");
}

static void failures_and_their_numbers(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    static const struct {
        const char *rows;
        int e;
        bool journal;
    } cases[] = {{"invalid", EINVAL, false},   {"conflict", EEXIST, false},
                 {"unsupported", EPERM, true}, {"timeout", ETIMEDOUT, true},
                 {"denied", EACCES, true},     {"storage", EIO, true},
                 {"corrupt", EIO, true},       {"absent", EIO, true}};
    uint64_t noted = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t draft = draft_with_rows(fixture->drafts, cases[i].rows, cases[i].rows);
        assert_int_equal(draft_command(fixture->drafts, draft, "publish"), cases[i].e);
        assert_told(fixture->drafts, draft, "status.json", "\"state\": \"failed\"");
        assert_told(fixture->drafts, draft, "status.json", "\"line\": 3");
        assert_told(fixture->drafts, draft, "status.json", "the rows say so");
        noted += cases[i].journal;
        assert_int_equal(sds_errors_total(fixture->errors), noted);
        // It can be mended and tried again.
        draft_file(fixture->drafts, draft, "rows.jsonl", "rows");
        assert_int_equal(draft_command(fixture->drafts, draft, "publish"), 0);
    }
}

// Size and bytes of a document that was looked up belong together, whatever is written meanwhile.
static void a_status_that_is_read_stays_one_text(void **state) {
    struct sds_drafts *drafts = fixture_of(state)->drafts;
    uint64_t draft = draft_with_rows(drafts, "s", "invalid\n");
    uint64_t before = draft_lookup(drafts, draft, "status.json");
    assert_int_equal(draft_command(drafts, draft, "publish"), EINVAL);
    assert_told(drafts, draft, "status.json", "\"state\": \"failed\"");
    struct stat st;
    struct sds_blob *text = NULL;
    assert_int_equal(sds_drafts_getattr(drafts, before, &st), 0);
    assert_int_equal(sds_drafts_read(drafts, before, 0, 4096, &text), 0);
    assert_int_equal(st.st_size, text->len);
    assert_non_null(memmem(text->at, text->len, "\"open\"", 6));
    assert_int_equal(text->at[text->len - 1], '\n');
    sds_blob_unref(text);
}

static void what_is_wrong_with_the_files(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    struct sds_drafts *drafts = fixture->drafts;
    static const struct {
        const char *file, *text, *error;
    } cases[] = {
        {"options.json", "{", "options.json: json"},
        {"options.json", "[]", "options.json: options: it is not an object"},
        {"options.json", "{\"publication_id\": 7}", "options.json: publication_id"},
        {"options.json", "{\"publication_id\": \"a\\u0000b\"}", "options.json: publication_id"},
        {"options.json", "{\"records_per_shard\": 0}", "options.json: records_per_shard"},
        {"options.json", "{\"records_per_shard\": \"1\"}", "options.json: records_per_shard"},
        {"options.json", "{\"records_per_shard\": 1.0}", "options.json: records_per_shard"},
        {"options.json", "{\"publication\": \"x\"}", "options.json: options: there is no option"},
        {"options.json", "{\"records_per_shard\": 1, \"records_per_shard\": 1}",
         "options.json: json"},
        {"metadata.json", "", "metadata.json: metadata"},
        {"logical-shards", "a\n", "rows.jsonl: rows: either the rows or"},
        {"logical-shards", " \n\n", "logical-shards: logical_shards: it names none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%zu", i);
        uint64_t draft = draft_with_rows(drafts, name, "rows");
        draft_file(drafts, draft, cases[i].file, cases[i].text);
        assert_int_equal(draft_command(drafts, draft, "publish"), EINVAL);
        assert_told(drafts, draft, "status.json", cases[i].error);
    }
    uint64_t draft = draft_mkdir(drafts, SDS_DRAFTS_TOP, "empty");
    assert_int_equal(draft_command(drafts, draft, "check"), EINVAL);
    assert_told(drafts, draft, "status.json", "rows.jsonl: rows: there is no such file");
    draft_mkdir(drafts, draft, "rows.jsonl");
    assert_int_equal(draft_command(drafts, draft, "check"), EINVAL);
    assert_told(drafts, draft, "status.json", "rows.jsonl: file: it is not a regular file");
    assert_int_equal(fixture->toy->published, 0); // nobody was asked
}

static void large_options_are_refused(void **state) {
    struct sds_drafts *drafts = fixture_of(state)->drafts;
    uint64_t draft = draft_with_rows(drafts, "s", "rows");
    uint64_t options = draft_file(drafts, draft, "options.json", "{}");
    assert_int_equal(sds_drafts_truncate(drafts, options, 64 << 10), 0);
    assert_int_equal(draft_command(drafts, draft, "check"), EINVAL);
    assert_told(drafts, draft, "status.json", "json");
    assert_int_equal(sds_drafts_truncate(drafts, options, (64 << 10) + 1), 0);
    assert_int_equal(draft_command(drafts, draft, "check"), EINVAL);
    assert_told(drafts, draft, "status.json", "size: options.json has more than 65536 bytes");
}

static void what_is_asked_for(void **state) {
    struct sds_drafts *drafts = fixture_of(state)->drafts;
    uint64_t set = draft_with_rows(drafts, "s", "rows");
    draft_file(drafts, set, "options.json",
               "{\"publication_id\": \"p\", \"records_per_shard\": 7}");
    draft_file(drafts, set, "metadata.json", "{\"a\": 1}");
    uint64_t shards = draft_mkdir(drafts, set, "shards");
    uint64_t east = draft_mkdir(drafts, shards, "east"), west = draft_mkdir(drafts, shards, "west");
    draft_file(drafts, east, "rows.jsonl", "rows");
    draft_file(drafts, west, "rows.jsonl", "rows");
    draft_file(drafts, west, "options.json", "{\"publication_id\": \"own\"}");
    assert_int_equal(draft_command(drafts, east, "publish"), 0);
    assert_int_equal(draft_command(drafts, west, "publish"), 0);
    assert_told(drafts, east, "receipt.json", "\"what\": \"shard\"");
    assert_told(drafts, east, "receipt.json", "\"publication_id\": \"p\"");
    assert_told(drafts, east, "pointer.json", "\"logical_shard_id\": \"east\"");
    assert_told(drafts, west, "receipt.json", "\"publication_id\": \"own\"");
    assert_int_equal(draft_lookup_error(drafts, set, "receipt.json"), ENOENT);
    assert_int_equal(draft_unlink(drafts, set, "rows.jsonl"), 0);
    draft_file(drafts, set, "logical-shards", "east\r\n\n  west \n");
    assert_int_equal(draft_command(drafts, set, "publish"), 0);
    assert_told(drafts, set, "receipt.json", "\"what\": \"coordinate\"");
    assert_told(drafts, set, "receipt.json", "\"records_per_shard\": 7");
    assert_told(drafts, set, "receipt.json", "\"metadata\": \"{\\\"a\\\": 1}\"");
    assert_told(drafts, set, "receipt.json", "\"east\",\n    \"west\"\n");
    assert_told(drafts, set, "status.json", "\"what\": \"coordinate\"");
}

static void after_publication_only_removal_is_left(void **state) {
    struct sds_drafts *drafts = fixture_of(state)->drafts;
    uint64_t draft = draft_with_rows(drafts, "s", "rows");
    uint64_t other = draft_with_rows(drafts, "t", "rows");
    uint64_t rows = draft_lookup(drafts, draft, "rows.jsonl");
    struct timespec times[2] = {{0}};
    assert_int_equal(draft_command(drafts, draft, "publish"), 0);
    assert_int_equal(draft_command(drafts, draft, "publish"), 0);
    assert_int_equal(draft_command(drafts, draft, "check"), 0);
    assert_int_equal(draft_write_error(drafts, rows, "x"), EROFS);
    assert_int_equal(sds_drafts_truncate(drafts, rows, 0), EROFS);
    assert_int_equal(sds_drafts_utimes(drafts, rows, times), EROFS);
    assert_int_equal(draft_create_error(drafts, draft, "x"), EROFS);
    assert_int_equal(draft_mkdir_error(drafts, draft, "x"), EROFS);
    assert_int_equal(draft_mkdir_error(drafts, draft, "shards"), EROFS);
    assert_int_equal(draft_rename(drafts, draft, "rows.jsonl", draft, "x"), EROFS);
    assert_int_equal(draft_rename(drafts, other, "rows.jsonl", draft, "x"), EROFS);
    assert_int_equal(draft_rename(drafts, SDS_DRAFTS_TOP, "s", SDS_DRAFTS_TOP, "u"), EROFS);
    assert_int_equal(draft_rename(drafts, SDS_DRAFTS_TOP, "t", SDS_DRAFTS_TOP, "s"), EROFS);
    assert_int_equal(draft_rmdir(drafts, SDS_DRAFTS_TOP, "s"), ENOTEMPTY);
    draft_with_rows(drafts, "u", "rows");
    uint64_t discarded = draft_lookup(drafts, SDS_DRAFTS_TOP, "u");
    assert_int_equal(draft_command(drafts, discarded, "publish"), 0);
    assert_int_equal(draft_command(drafts, discarded, "discard"), 0);
    assert_int_equal(draft_lookup_error(drafts, SDS_DRAFTS_TOP, "u"), ENOENT);
    static const char *const names[] = {"rows.jsonl", "commit", "status.json", "receipt.json"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(draft_unlink(drafts, draft, names[i]), 0);
    }
    assert_int_equal(draft_rmdir(drafts, SDS_DRAFTS_TOP, "s"), 0);
}

// The dataset may no longer be the one that a draft was published into.
static void a_published_draft_is_published_again(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    struct sds_drafts *drafts = fixture->drafts;
    static const char *const lines[] = {"publish", "check"};
    for (int i = 0; i < 2; i++) {
        char name[8], script[256];
        snprintf(name, sizeof name, "s%d", i);
        uint64_t set = draft_with_rows(drafts, name, "rows");
        uint64_t draft = draft_mkdir(drafts, draft_mkdir(drafts, set, "shards"), "east");
        uint64_t rows = draft_file(drafts, draft, "rows.jsonl", "rows");
        draft_file(drafts, set, "options.json", "{\"publication_id\": \"p\"}");
        assert_int_equal(draft_command(drafts, draft, "publish"), 0);
        uint64_t old = draft_lookup(drafts, draft, "receipt.json");
        unsigned asked = fixture->toy->published;
        assert_int_equal(draft_command(drafts, draft, lines[i]), 0);
        assert_int_equal(fixture->toy->published, asked + 1);
        assert_told(drafts, draft, "status.json", "\"state\": \"published\"");
        assert_int_equal(draft_write_error(drafts, rows, "x"), EROFS);
        snprintf(script, sizeof script,
                 "cd %s/drafts/*/sets/%s/shards/east && echo conflict > rows.jsonl", fixture->dir,
                 name);
        assert_int_equal(system(script), 0);
        assert_int_equal(draft_command(drafts, draft, lines[i]), EEXIST);
        assert_told(drafts, draft, "status.json", "\"state\": \"failed\"");
        assert_told(drafts, draft, "status.json", "conflict: the rows say so");
        assert_int_equal(draft_lookup_error(drafts, draft, "receipt.json"), ENOENT);
        assert_int_equal(draft_lookup_error(drafts, draft, "pointer.json"), ENOENT);
        struct sds_blob *text; // for who has it open
        assert_int_equal(sds_drafts_read(drafts, old, 0, 4096, &text), 0);
        sds_blob_unref(text);
        draft_file(drafts, draft, "rows.jsonl", "rows");
        assert_int_equal(draft_command(drafts, draft, "publish"), 0);
        assert_told(drafts, draft, "pointer.json", "east");
    }
}

// What the kernel is asked to write back.
struct kernel {
    struct sds_drafts *drafts;
    struct sds_buf numbers; // of the files, each with a space
    uint64_t file;          // is written to when it is asked for, with
    const char *text;
    int e; // the answer
};

static int write_back(void *ctx, uint64_t id) {
    struct kernel *kernel = ctx;
    struct stat st;
    assert_int_equal(sds_drafts_getattr(kernel->drafts, id, &st), 0);
    if (S_ISREG(st.st_mode)) {
        assert_false(sds_drafts_is_commit(kernel->drafts, id));
        assert_int_equal(sds_buf_printf(&kernel->numbers, "%ju ", (uintmax_t)id), SDS_OK);
    }
    if (id == kernel->file && kernel->text != NULL) {
        assert_int_equal(draft_write_error(kernel->drafts, id, kernel->text), 0);
    }
    return kernel->e;
}

static void set_kernel(struct sds_drafts *drafts, struct kernel *kernel) {
    *kernel = (struct kernel){.drafts = drafts, .numbers = SDS_BUF_INIT(4096)};
    sds_drafts_set_write_back(drafts, &(struct sds_write_back){.file = write_back, .ctx = kernel});
}

static void assert_written_back(struct kernel *kernel, uint64_t id, bool expected) {
    char number[24];
    snprintf(number, sizeof number, "%ju ", (uintmax_t)id);
    bool found = memmem(kernel->numbers.at, kernel->numbers.len, number, strlen(number)) != NULL;
    assert_int_equal(found, expected);
}

static void what_the_kernel_holds_is_written_back_first(void **state) {
    struct sds_drafts *drafts = fixture_of(state)->drafts;
    uint64_t set = draft_with_rows(drafts, "s", "rows"),
             other = draft_with_rows(drafts, "t", "rows");
    uint64_t options = draft_file(drafts, set, "options.json", "{\"publication_id\": \"old\"}");
    uint64_t shards = draft_mkdir(drafts, set, "shards");
    uint64_t east = draft_mkdir(drafts, shards, "east");
    uint64_t rows = draft_file(drafts, east, "rows.jsonl", "invalid");
    uint64_t deep = draft_file(drafts, draft_mkdir(drafts, east, "deep"), "x.npy", "x");
    uint64_t set_rows = draft_lookup(drafts, set, "rows.jsonl");
    uint64_t other_rows = draft_lookup(drafts, other, "rows.jsonl");
    uint64_t commit = draft_lookup(drafts, east, "commit");
    struct kernel kernel;
    set_kernel(drafts, &kernel);
    kernel.file = rows;
    kernel.text = "conflict";
    assert_int_equal(draft_command(drafts, east, "check"), EEXIST);
    assert_written_back(&kernel, rows, true);
    assert_written_back(&kernel, deep, true);
    assert_written_back(&kernel, options, true); // which the worker's draft has none of
    assert_written_back(&kernel, set_rows, false);
    assert_written_back(&kernel, other_rows, false);
    assert_written_back(&kernel, commit, false); // the kernel waits for us there
    kernel.text = NULL;
    kernel.numbers.len = 0;
    assert_int_equal(draft_command(drafts, set, "publish"), 0);
    assert_written_back(&kernel, set_rows, true);
    assert_written_back(&kernel, rows, true);
    kernel.numbers.len = 0;
    assert_int_equal(draft_command(drafts, other, "discard"), 0);
    assert_int_equal(kernel.numbers.len, 0);
    sds_buf_fini(&kernel.numbers);
}

static void what_cannot_be_written_back_is_not_published(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    struct sds_drafts *drafts = fixture->drafts;
    uint64_t draft = draft_with_rows(drafts, "s", "rows");
    struct kernel kernel;
    set_kernel(drafts, &kernel);
    kernel.e = EIO;
    assert_int_equal(draft_command(drafts, draft, "publish"), EIO);
    assert_int_equal(fixture->toy->published, 0);
    assert_told(drafts, draft, "status.json", "\"state\": \"open\"");
    kernel.e = 0;
    assert_int_equal(draft_command(drafts, draft, "publish"), 0);
    sds_buf_fini(&kernel.numbers);
}

static void frozen_while_a_command_is_at_work(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    struct sds_drafts *drafts = fixture->drafts;
    uint64_t draft = draft_with_rows(drafts, "s", "wait");
    uint64_t rows = draft_lookup(drafts, draft, "rows.jsonl");
    struct sds_drafts *elsewhere = draft_mount(fixture);
    uint64_t there = draft_lookup(elsewhere, SDS_DRAFTS_TOP, "s");
    atomic_int first, second;
    assert_int_equal(draft_command_begin(drafts, draft, "publish", &first), 0);
    while (fixture->toy->publishing == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_told(drafts, draft, "status.json", "\"state\": \"publishing\"");
    assert_int_equal(draft_write_error(drafts, rows, "x"), EBUSY);
    assert_int_equal(draft_create_error(drafts, draft, "x"), EBUSY);
    assert_int_equal(draft_unlink(drafts, draft, "rows.jsonl"), EBUSY);
    assert_int_equal(draft_rename(drafts, SDS_DRAFTS_TOP, "s", SDS_DRAFTS_TOP, "t"), EBUSY);
    assert_int_equal(draft_command(drafts, draft, "check"), EBUSY);
    assert_int_equal(draft_command(drafts, draft, "discard"), EBUSY);
    draft_mkdir(drafts, SDS_DRAFTS_TOP, "another"); // is not concerned
    // Nor can another mount get at it.
    assert_int_equal(draft_create_error(elsewhere, there, "x"), EBUSY);
    assert_int_equal(draft_rename(elsewhere, SDS_DRAFTS_TOP, "s", SDS_DRAFTS_TOP, "t"), EBUSY);
    assert_int_equal(draft_command(elsewhere, there, "publish"), EBUSY);
    assert_told(elsewhere, there, "status.json", "\"state\": \"publishing\""); // not "interrupted"
    // The same command joins.
    assert_int_equal(draft_command_begin(drafts, draft, "publish", &second), 0);
    fixture->toy->go = true;
    assert_int_equal(draft_await(&first), 0);
    assert_int_equal(draft_await(&second), 0);
    assert_int_equal(fixture->toy->published, 1);
    assert_int_equal(draft_create_error(elsewhere, there, "x"), EROFS);
    sds_drafts_free(elsewhere);
}

static void a_set_waits_for_its_workers(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    struct sds_drafts *drafts = fixture->drafts;
    uint64_t set = draft_with_rows(drafts, "s", "rows");
    uint64_t shards = draft_mkdir(drafts, set, "shards");
    uint64_t east = draft_mkdir(drafts, shards, "east"), west = draft_mkdir(drafts, shards, "west");
    draft_file(drafts, east, "rows.jsonl", "wait");
    draft_file(drafts, west, "rows.jsonl", "wait");
    atomic_int answers[2];
    assert_int_equal(draft_command_begin(drafts, east, "publish", &answers[0]), 0);
    assert_int_equal(draft_command_begin(drafts, west, "publish", &answers[1]), 0);
    while (fixture->toy->publishing < 2) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    draft_file(drafts, set, "more", "the set itself is not frozen");
    assert_int_equal(draft_create_error(drafts, east, "x"), EBUSY);
    assert_int_equal(draft_command(drafts, set, "publish"), EBUSY);
    assert_int_equal(draft_rename(drafts, SDS_DRAFTS_TOP, "s", SDS_DRAFTS_TOP, "t"), EBUSY);
    fixture->toy->go = true;
    assert_int_equal(draft_await(&answers[0]), 0);
    assert_int_equal(draft_await(&answers[1]), 0);
    assert_int_equal(draft_command(drafts, set, "publish"), 0);
    assert_int_equal(draft_create_error(drafts, west, "x"), EROFS);
}

static void discarded_drafts_are_gone(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    struct sds_drafts *drafts = fixture->drafts;
    uint64_t draft = draft_with_rows(drafts, "s", "rows");
    uint64_t below = draft;
    for (int i = 0; i < 50; i++) {
        below = draft_mkdir(drafts, below, "deeper");
        draft_file(drafts, below, "f", "x");
    }
    assert_int_equal(draft_command(drafts, draft, "discard"), 0);
    assert_int_equal(draft_lookup_error(drafts, SDS_DRAFTS_TOP, "s"), ENOENT);
    struct stat st;
    assert_int_equal(sds_drafts_getattr(drafts, below, &st), ESTALE);
    char command[128];
    snprintf(command, sizeof command, "test -z \"$(ls -A %s/drafts/*/tmp)\"", fixture->dir);
    assert_int_equal(system(command), 0);
    // A new draft of the name has nothing to do with the old one.
    uint64_t again = draft_mkdir(drafts, SDS_DRAFTS_TOP, "s");
    assert_int_not_equal(again, draft);
    assert_int_equal(sds_drafts_getattr(drafts, draft, &st), ESTALE);
    uint64_t shards = draft_mkdir(drafts, again, "shards");
    uint64_t east = draft_mkdir(drafts, shards, "east");
    assert_int_equal(draft_command(drafts, east, "discard\n"), 0);
    assert_int_equal(draft_lookup_error(drafts, shards, "east"), ENOENT);
    draft_lookup(drafts, SDS_DRAFTS_TOP, "s");
}

static void work_that_was_cut_off_is_interrupted(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    uint64_t set = draft_with_rows(fixture->drafts, "s", "rows");
    draft_mkdir(fixture->drafts, draft_mkdir(fixture->drafts, set, "shards"), "east");
    draft_mkdir(fixture->drafts, SDS_DRAFTS_TOP, "open");
    draft_mkdir(fixture->drafts, SDS_DRAFTS_TOP, "done");
    sds_drafts_free(fixture->drafts);
    char command[256];
    snprintf(command, sizeof command,
             "cd %s/drafts/*/sets && sed -i 's/\"open\"/\"publishing\"/' s/status.json && "
             "sed -i 's/\"open\"/\"checking\"/' s/shards/east/status.json && "
             "sed -i 's/\"open\"/\"publishing\"/' done/status.json && touch done/receipt.json",
             fixture->dir);
    assert_int_equal(system(command), 0);
    struct sds_drafts *drafts = fixture->drafts = draft_mount(fixture);
    set = draft_lookup(drafts, SDS_DRAFTS_TOP, "s");
    assert_told(drafts, set, "status.json", "\"state\": \"interrupted\"");
    uint64_t east = draft_lookup(drafts, draft_lookup(drafts, set, "shards"), "east");
    assert_told(drafts, east, "status.json", "\"state\": \"interrupted\"");
    assert_told(drafts, draft_lookup(drafts, SDS_DRAFTS_TOP, "open"), "status.json",
                "\"state\": \"open\"");
    assert_told(drafts, draft_lookup(drafts, SDS_DRAFTS_TOP, "done"), "status.json",
                "\"state\": \"published\"");
    assert_int_equal(draft_command(drafts, set, "publish"), 0);
}

static void damaged_files_of_ours_do_no_harm(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    uint64_t draft = draft_with_rows(fixture->drafts, "s", "rows");
    sds_drafts_free(fixture->drafts);
    char command[256];
    snprintf(command, sizeof command,
             "cd %s/drafts/*/sets/s && printf '[\"publishing' > status.json && rm commit",
             fixture->dir);
    assert_int_equal(system(command), 0);
    fixture->drafts = draft_mount(fixture);
    draft = draft_lookup(fixture->drafts, SDS_DRAFTS_TOP, "s");
    assert_int_equal(draft_create_error(fixture->drafts, draft, "commit"), 0);
    assert_int_equal(draft_command(fixture->drafts, draft, "publish"), 0);
    assert_told(fixture->drafts, draft, "status.json", "\"state\": \"published\"");
}

static void several_drafts_at_once(void **state) {
    struct sds_drafts *drafts = fixture_of(state)->drafts;
    uint64_t ids[12];
    atomic_int answers[12];
    for (int i = 0; i < 12; i++) {
        char name[8];
        snprintf(name, sizeof name, "d%d", i);
        ids[i] = draft_with_rows(drafts, name, i % 3 == 0 ? "conflict" : "rows");
    }
    for (int i = 0; i < 12; i++) {
        assert_int_equal(draft_command_begin(drafts, ids[i], "publish", &answers[i]), 0);
    }
    for (int i = 0; i < 12; i++) {
        assert_int_equal(draft_await(&answers[i]), i % 3 == 0 ? EEXIST : 0);
    }
}

static void a_layout_without_annotations(void **state) {
    struct draft_fixture *fixture = fixture_of(state);
    struct sds_driver_ops without = *fixture->toy->base.ops;
    const struct sds_driver_ops *with = fixture->toy->base.ops;
    without.annotate = NULL;
    fixture->toy->base.ops = &without;
    assert_int_equal(draft_mkdir_error(fixture->drafts, SDS_DRAFTS_TOP, "s"), EPERM);
    assert_int_equal(sds_errors_total(fixture->errors), 1);
    fixture->toy->base.ops = with;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, draft_setup, draft_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(lines_that_are_commands),
        TEST(failures_and_their_numbers),
        TEST(a_status_that_is_read_stays_one_text),
        TEST(what_is_wrong_with_the_files),
        TEST(large_options_are_refused),
        TEST(what_is_asked_for),
        TEST(after_publication_only_removal_is_left),
        TEST(a_published_draft_is_published_again),
        TEST(what_the_kernel_holds_is_written_back_first),
        TEST(what_cannot_be_written_back_is_not_published),
        TEST(frozen_while_a_command_is_at_work),
        TEST(a_set_waits_for_its_workers),
        TEST(discarded_drafts_are_gone),
        TEST(work_that_was_cut_off_is_interrupted),
        TEST(damaged_files_of_ours_do_no_harm),
        TEST(several_drafts_at_once),
        TEST(a_layout_without_annotations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
