// SPDX-License-Identifier: Apache-2.0
//
// The scan over all metadata, of the sample dataset and of damaged copies: each record is told
// once, in order, and what is bad is told as such.
#include "temp_root.h"

enum { RECORDS = 48 };

struct seen {
    uint64_t next, stop_at;
    unsigned bad;
    bool is_bad[RECORDS];
    char check[40]; // of the last bad one
};

static bool note(void *ctx, const struct sds_scanned *entry) {
    struct seen *seen = ctx;
    if (entry->ordinal == seen->stop_at) {
        return false;
    }
    assert_int_equal(entry->ordinal, seen->next++);
    if (entry->problem != NULL) {
        seen->bad++;
        seen->is_bad[entry->ordinal] = true;
        snprintf(seen->check, sizeof seen->check, "%s", entry->problem->check);
        assert_true(entry->problem->object[0] != '\0');
    } else {
        char id[32];
        snprintf(id, sizeof id, "capture-%04u", (unsigned)entry->ordinal);
        assert_true(sds_value_is(entry->id, id));
        assert_int_equal(sds_value_type(entry->fields), SDS_JSON_OBJECT);
    }
    return true;
}

static int set_up(void **state) {
    struct temp_root *root = calloc(1, sizeof *root);
    temp_root_make(root);
    temp_root_copy(root, SAMPLE);
    *state = root;
    return 0;
}

static int tear_down(void **state) {
    temp_root_remove(*state);
    free(*state);
    return 0;
}

static struct seen scan(struct temp_root *root, uint64_t first, uint64_t end) {
    struct seen seen = {.next = first, .stop_at = UINT64_MAX};
    struct sds_err err;
    assert_int_equal(root->ds->ops->scan(root->ds, first, end, note, &seen, &err), SDS_OK);
    return seen;
}

// Runs a shell command in the root, $f being its first metadata shard.
static void damage(struct temp_root *root, const char *command) {
    char *line = temp_root_format(
        "cd %s && f=$(find objects/metadata -type f | sort | head -1) && %s", root->path, command);
    assert_int_equal(system(line), 0);
    free(line);
}

static void every_record_is_told_in_order(void **state) {
    struct temp_root *root = *state;
    temp_root_open(root);
    struct seen seen = scan(root, 0, RECORDS);
    assert_int_equal(seen.next, RECORDS);
    assert_int_equal(seen.bad, 0);
    for (uint64_t first = 0; first < RECORDS; first += 5) {
        for (uint64_t end = first; end <= RECORDS; end += 7) {
            assert_int_equal(scan(root, first, end).next, end);
        }
    }
}

static void stretches_make_up_the_whole(void **state) {
    struct temp_root *root = *state;
    temp_root_open(root);
    uint64_t at = 0;
    while (at < RECORDS) {
        uint64_t end = root->ds->ops->scan_end(root->ds, at);
        assert_in_range(end, at + 1, RECORDS);
        assert_int_equal(scan(root, at, end).next, end);
        at = end;
    }
}

static void it_stops_when_nobody_wants_more(void **state) {
    struct temp_root *root = *state;
    temp_root_open(root);
    struct seen seen = {.stop_at = 7};
    assert_int_equal(root->ds->ops->scan(root->ds, 0, RECORDS, note, &seen, NULL), SDS_OK);
    assert_int_equal(seen.next, 7);
}

static void a_bad_entry_is_bad_alone(void **state) {
    struct temp_root *root = *state;
    damage(root, "printf x | dd of=$f bs=1 seek=150 conv=notrunc status=none");
    temp_root_open(root);
    struct seen seen = scan(root, 0, RECORDS);
    assert_int_equal(seen.next, RECORDS);
    assert_int_equal(seen.bad, 1);
}

static void a_bad_shard_is_bad_as_a_whole(void **state) {
    static const char *const commands[] = {
        "head -c $(stat -c %s $f) /dev/zero > $f.new && mv $f.new $f", // as long, and nothing in it
        "truncate -s -1 $f",
        "printf more >> $f",
        ": > $f",
        "rm $f",
        "rm $f && mkdir $f",
        "rm $f && ln -s /etc/passwd $f",
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct temp_root root;
        (void)state;
        temp_root_make(&root);
        temp_root_copy(&root, SAMPLE);
        damage(&root, commands[i]);
        temp_root_open(&root);
        struct seen seen = scan(&root, 0, RECORDS);
        assert_int_equal(seen.next, RECORDS);
        assert_in_range(seen.bad, 1, RECORDS - 1);
        uint64_t first = 0;
        while (!seen.is_bad[first]) {
            first++;
        }
        uint64_t end = root.ds->ops->scan_end(root.ds, first);
        assert_int_equal(seen.bad, end - first);
        assert_int_equal(scan(&root, first + 1, end).bad, end - first - 1);
        temp_root_remove(&root);
    }
}

static void a_bad_page_is_bad_for_all_its_records(void **state) {
    struct temp_root *root = *state;
    damage(root, "for p in $(find manifests -type f); do head -c $(stat -c %s $p) /dev/zero > new; "
                 "mv new $p; done");
    temp_root_open(root);
    struct seen seen = scan(root, 0, RECORDS);
    assert_int_equal(seen.next, RECORDS);
    assert_int_equal(seen.bad, RECORDS);
    assert_in_range(root->ds->ops->scan_end(root->ds, 3), 4, RECORDS);
    assert_int_equal(scan(root, 5, 9).bad, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_record_is_told_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stretches_make_up_the_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_stops_when_nobody_wants_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_entry_is_bad_alone, set_up, tear_down),
        cmocka_unit_test(a_bad_shard_is_bad_as_a_whole),
        cmocka_unit_test_setup_teardown(a_bad_page_is_bad_for_all_its_records, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
