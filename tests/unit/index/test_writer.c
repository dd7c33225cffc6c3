// SPDX-License-Identifier: Apache-2.0
//
// Rows go into the database, whatever order their ids are in: what is found by id afterwards, and
// which ids are known to repeat.
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "index/build.h"
#include "index/writer.h"

enum { MOST = 16 };

struct fixture {
    sqlite3 *db;
    struct sds_index_writer writer;
};

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_int_equal(sqlite3_open(":memory:", &f->db), SQLITE_OK);
    assert_int_equal(sds_index_writer_make_tables(f->db, NULL), SDS_OK);
    assert_int_equal(sds_index_writer_init(&f->writer, f->db, NULL), SDS_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    sds_index_writer_fini(&f->writer);
    sqlite3_close(f->db);
    free(f);
    return 0;
}

// A block of records from an ordinal on, one for each letter: an id that begins with it, an empty
// one for '-', none for '0'.
static enum sds_kind add(struct fixture *f, uint64_t first, const char *letters) {
    struct sds_index_row rows[MOST];
    struct sds_index_block block = {.rows = rows, .count = strlen(letters)};
    char ids[MOST][8];
    for (size_t i = 0; i < block.count; i++) {
        snprintf(ids[i], sizeof ids[i], "%s", letters[i] == '-' ? "" : "x-id");
        ids[i][0] = letters[i] == '-' ? '\0' : letters[i];
        rows[i] = (struct sds_index_row){.ordinal = first + i,
                                         .has_id = letters[i] != '0',
                                         .id = sds_span_str(ids[i]),
                                         .metadata = sds_span_str("{}"),
                                         .fields = sds_span_str("{}"),
                                         .line_len = 10};
    }
    return sds_index_writer_add(&f->writer, &block, NULL);
}

// As if the program had been started again.
static void begin_again(struct fixture *f) {
    sds_index_writer_fini(&f->writer);
    assert_int_equal(sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sds_index_writer_init(&f->writer, f->db, NULL), SDS_OK);
}

static uint64_t number(struct fixture *f, const char *sql) {
    uint64_t out = 0;
    assert_int_equal(sds_db_number(f->db, sql, &out, NULL), SDS_OK);
    return out;
}

#define SAME_IDS "SELECT id FROM records WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1"

static void finish(struct fixture *f, bool in_order) {
    assert_int_equal(f->writer.ids_in_order, in_order);
    assert_int_equal(sds_index_writer_commit(&f->writer, NULL), SDS_OK);
    assert_int_equal(sds_index_finish(f->db, NULL, NULL), SDS_OK);
    assert_int_equal(number(f, "SELECT count(*) FROM pragma_integrity_check"
                               " WHERE integrity_check = 'ok'"),
                     1);
    assert_int_equal(number(f, "SELECT count(*) FROM sqlite_schema WHERE name = 'records_by_id'"),
                     1);
    assert_int_equal(
        number(f, "SELECT count(*) FROM (" SAME_IDS " EXCEPT SELECT id FROM repeated)"), 0);
    assert_int_equal(
        number(f, "SELECT count(*) FROM (SELECT id FROM repeated EXCEPT " SAME_IDS ")"), 0);
}

static void ids_in_order_are_indexed_on_the_way(void **state) {
    struct fixture *f = *state;
    assert_int_equal(add(f, 0, "0-ab"), SDS_OK);
    assert_int_equal(add(f, 4, "c0d"), SDS_OK);
    finish(f, true);
    assert_int_equal(number(f, "SELECT ordinal FROM records WHERE id = 'd-id'"), 6);
    assert_int_equal(number(f, "SELECT count(*) FROM repeated"), 0);
}

static void ids_in_disorder_are_indexed_at_the_end(void **state) {
    struct fixture *f = *state;
    assert_int_equal(add(f, 0, "bd"), SDS_OK);
    assert_int_equal(add(f, 2, "eca"), SDS_OK);
    assert_int_equal(add(f, 5, "fgh"), SDS_OK);
    finish(f, false);
    assert_int_equal(number(f, "SELECT ordinal FROM records WHERE id = 'a-id'"), 4);
    assert_int_equal(number(f, "SELECT ordinal FROM records WHERE id = 'd-id'"), 1);
}

static void ids_that_repeat_are_known(void **state) {
    struct fixture *f = *state;
    assert_int_equal(add(f, 0, "ab"), SDS_OK);
    assert_int_equal(add(f, 2, "bc"), SDS_OK);
    finish(f, false);
    assert_int_equal(number(f, "SELECT count(*) FROM repeated WHERE id = 'b-id'"), 1);
}

static void an_empty_id_repeats_like_any(void **state) {
    struct fixture *f = *state;
    assert_int_equal(add(f, 0, "--"), SDS_OK);
    finish(f, false);
    assert_int_equal(number(f, "SELECT count(*) FROM repeated WHERE id = ''"), 1);
}

static void order_is_known_after_a_restart(void **state) {
    struct fixture *f = *state;
    assert_int_equal(add(f, 0, "ac"), SDS_OK);
    assert_int_equal(sds_index_writer_commit(&f->writer, NULL), SDS_OK);
    begin_again(f);
    assert_true(f->writer.ids_in_order);
    assert_int_equal(add(f, 2, "c"), SDS_OK);
    assert_false(f->writer.ids_in_order);
    assert_int_equal(sds_index_writer_commit(&f->writer, NULL), SDS_OK);
    begin_again(f);
    assert_int_equal(add(f, 3, "x"), SDS_OK);
    finish(f, false);
    assert_int_equal(number(f, "SELECT count(*) FROM repeated WHERE id = 'c-id'"), 1);
}

// Disorder in rows that were not committed is forgotten with them.
static void what_was_not_committed_never_was(void **state) {
    struct fixture *f = *state;
    assert_int_equal(add(f, 0, "ab"), SDS_OK);
    assert_int_equal(sds_index_writer_commit(&f->writer, NULL), SDS_OK);
    assert_int_equal(add(f, 2, "a"), SDS_OK);
    begin_again(f);
    assert_int_equal(f->writer.done, 2);
    assert_int_equal(f->writer.line_end, 20);
    assert_int_equal(add(f, 2, "c"), SDS_OK);
    finish(f, true);
}

static void a_block_that_failed_is_not_committed(void **state) {
    struct fixture *f = *state;
    assert_int_equal(add(f, 0, "ab"), SDS_OK);
    assert_int_equal(sds_index_writer_commit(&f->writer, NULL), SDS_OK);
    assert_int_equal(add(f, 2, "cd"), SDS_OK);
    assert_int_equal(add(f, 3, "ef"), SDS_ERR_CORRUPT); // an ordinal that is there
    struct sds_err err;
    assert_int_equal(sds_index_writer_commit(&f->writer, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "index");
    begin_again(f);
    assert_int_equal(f->writer.done, 2);
    assert_int_equal(number(f, "SELECT count(*) FROM records"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ids_in_order_are_indexed_on_the_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_in_disorder_are_indexed_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_that_repeat_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_id_repeats_like_any, set_up, tear_down),
        cmocka_unit_test_setup_teardown(order_is_known_after_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_not_committed_never_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_block_that_failed_is_not_committed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
