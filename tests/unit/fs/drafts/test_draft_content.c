// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "draft_fixture.h"
#include "unit.h"

static struct sds_drafts *drafts_of(void **state) {
    return ((struct draft_fixture *)*state)->drafts;
}

static void assert_content(struct sds_drafts *drafts, uint64_t id, uint64_t off, size_t len,
                           const void *expected, size_t expected_len) {
    struct sds_blob *blob;
    assert_int_equal(sds_drafts_read(drafts, id, off, len, &blob), 0);
    assert_int_equal(blob->len, expected_len);
    assert_memory_equal(blob->at, expected, expected_len);
    sds_blob_unref(blob);
}

static void write_read_truncate(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t set = draft_mkdir(drafts, SDS_DRAFTS_TOP, "s");
    uint64_t file = draft_file(drafts, set, "f", "hello");
    size_t written;
    assert_int_equal(sds_drafts_write(drafts, file, 8, sds_span_str("x"), &written), 0);
    assert_content(drafts, file, 0, 100, "hello\0\0\0x", 9);
    assert_content(drafts, file, 4, 2, "o\0", 2);
    assert_content(drafts, file, 9, 10, "", 0);
    assert_content(drafts, file, 1000, 10, "", 0);
    assert_int_equal(sds_drafts_truncate(drafts, file, 4), 0);
    assert_int_equal(sds_drafts_truncate(drafts, file, 6), 0);
    assert_content(drafts, file, 0, 100, "hell\0\0", 6);
    struct timespec times[2] = {{.tv_sec = 1, .tv_nsec = 2}, {.tv_sec = 3, .tv_nsec = 4}};
    assert_int_equal(sds_drafts_utimes(drafts, file, times), 0);
    struct stat st;
    assert_int_equal(sds_drafts_getattr(drafts, file, &st), 0);
    assert_int_equal(st.st_size, 6);
    assert_int_equal(st.st_mtim.tv_sec, 3);
    assert_int_equal(sds_drafts_sync(drafts, file, true), 0);
    assert_int_equal(sds_drafts_sync(drafts, set, false), 0);
    assert_int_equal(sds_drafts_sync(drafts, SDS_DRAFTS_TOP, false), 0);
    assert_int_equal(sds_drafts_truncate(drafts, set, 0), EISDIR);
    struct sds_blob *blob;
    assert_int_equal(sds_drafts_read(drafts, set, 0, 1, &blob), EISDIR);
}

struct seen {
    char names[64][16];
    unsigned count, most;
    uint64_t next;
};

static bool see(void *ctx, const struct sds_draft_entry *entry) {
    struct seen *seen = ctx;
    if (seen->count == seen->most) {
        return false;
    }
    snprintf(seen->names[seen->count++], 16, "%.*s", (int)entry->name.len,
             (const char *)entry->name.at);
    seen->next = entry->next;
    return true;
}

static int compare(const void *a, const void *b) {
    return strcmp(a, b);
}

static struct sds_draft_stream *open_dir(struct sds_drafts *drafts, uint64_t dir) {
    struct sds_draft_stream *stream;
    assert_int_equal(sds_drafts_open_dir(drafts, dir, &stream), 0);
    assert_non_null(stream);
    return stream;
}

static void listed_in_pieces_while_names_go(void **state) {
    struct sds_drafts *drafts = drafts_of(state);
    uint64_t dir = draft_mkdir(drafts, draft_mkdir(drafts, SDS_DRAFTS_TOP, "s"), "d");
    char name[16];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "f%02d", i);
        draft_file(drafts, dir, name, "");
    }
    struct sds_draft_stream *stream = open_dir(drafts, dir);
    struct seen all = {.most = 64}, again = {.most = 64};
    uint64_t next = 0;
    unsigned before;
    do {
        before = all.count;
        all.most = before + 5;
        assert_int_equal(sds_draft_stream_list(stream, next, see, &all), 0);
        next = all.next;
        for (unsigned i = before; i < all.count; i++) { // as rm -r does
            if (all.names[i][0] != '.') {
                assert_int_equal(draft_unlink(drafts, dir, all.names[i]), 0);
            }
        }
    } while (all.count > before);
    qsort(all.names, all.count, sizeof all.names[0], compare);
    assert_int_equal(all.count, 32);
    assert_string_equal(all.names[0], ".");
    assert_string_equal(all.names[31], "f29");
    assert_int_equal(sds_draft_stream_list(stream, 0, see, &again), 0); // rewound
    assert_int_equal(again.count, 2);
    sds_draft_stream_close(stream);
}

static void the_top_shows_what_can_be_found(void **state) {
    struct draft_fixture *fixture = *state;
    draft_mkdir(fixture->drafts, SDS_DRAFTS_TOP, "s");
    char command[128];
    snprintf(command, sizeof command, "cd %s/drafts/*/sets && mkdir .x 'a b' && ln -s s link",
             fixture->dir);
    assert_int_equal(system(command), 0);
    struct sds_draft_stream *stream = open_dir(fixture->drafts, SDS_DRAFTS_TOP);
    struct seen all = {.most = 64};
    assert_int_equal(sds_draft_stream_list(stream, 0, see, &all), 0);
    assert_int_equal(all.count, 3);
    sds_draft_stream_close(stream);
}

static void drafts_are_there_after_a_remount(void **state) {
    struct draft_fixture *fixture = *state;
    draft_file(fixture->drafts, draft_mkdir(fixture->drafts, SDS_DRAFTS_TOP, "s"), "f", "text");
    sds_drafts_free(fixture->drafts);
    fixture->drafts = draft_mount(fixture);
    char text[8];
    draft_read(fixture->drafts, draft_lookup(fixture->drafts, SDS_DRAFTS_TOP, "s"), "f", text,
               sizeof text);
    assert_string_equal(text, "text");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, draft_setup, draft_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(write_read_truncate),
        TEST(listed_in_pieces_while_names_go),
        TEST(the_top_shows_what_can_be_found),
        TEST(drafts_are_there_after_a_remount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
