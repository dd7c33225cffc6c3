// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"

#define SETS 3

// Whatever the mask: the second has the largest slot, and the first wanted it too.
static struct annotation_set sets[SETS] = {
    {.name = (char *)"late", .hash = 0x32345678ffffffff, .slot = 0},
    {.name = (char *)"a", .hash = 0x1234567800000001, .slot = 1},
    {.name = (char *)"b", .hash = 0x22345678ffffffff},
};
static struct annotation_set *known[SETS] = {&sets[0], &sets[1], &sets[2]};
static struct annotation_catalog catalog = {.refs = 1, .known = known, .known_count = SETS};

static struct signal_dataset with_records(uint64_t count) {
    struct signal_dataset ds = {.follow = {.lock = PTHREAD_MUTEX_INITIALIZER, .current = &catalog}};
    ds.chain.snapshot.record_count = count;
    sets[2].slot = nodes_slot_mask(&ds);
    return ds;
}

static void expect_row(struct signal_dataset *ds, const struct annotation_set *set,
                       uint64_t ordinal, uint32_t field) {
    struct sds_node n = row_field_node(ds, set, ordinal, &(struct view_file){.field = field});
    uint32_t found = 0;
    assert_int_equal(n.key >> SDS_NODE_KEY_BITS, 0);
    assert_int_equal(node_ordinal(ds, n, &found), ordinal);
    assert_int_equal(found, field);
    assert_ptr_equal(node_set(ds, n), set);
}

// Every size of dataset, also those whose rows need the wide form.
static void rows_round_trip(void **state) {
    (void)state;
    for (unsigned bits = 0; bits <= 40; bits++) {
        uint64_t count = 1ULL << bits;
        for (uint64_t n = count > 1 ? count - 1 : 1; n <= count + 1 && n <= SDS_MAX_RECORDS; n++) {
            struct signal_dataset ds = with_records(n);
            for (size_t s = 0; s < SETS; s++) {
                expect_row(&ds, &sets[s], 0, 0);
                expect_row(&ds, &sets[s], n - 1, SDS_MAX_FIELDS - 1);
                expect_row(&ds, &sets[s], n / 2, 1);
            }
        }
    }
}

static void a_million_records_need_no_wide_nodes(void **state) {
    (void)state;
    struct signal_dataset ds = with_records(1000000);
    assert_int_equal(row_node(&ds, NODE_ROW, &sets[0], 999999, 0).wide, 0);
    assert_int_equal(nodes_slot_mask(&ds), (1u << 22) - 1);
    struct signal_dataset huge = with_records(SDS_MAX_RECORDS);
    assert_int_equal(row_node(&huge, NODE_ROW, &sets[0], 1, 0).wide, sets[0].hash);
}

static void there_are_slots_for_all_sets(void **state) {
    (void)state;
    for (unsigned bits = 0; bits <= 40; bits++) {
        struct signal_dataset ds = with_records(1ULL << bits);
        assert_true(nodes_slot_mask(&ds) > MAX_ANNOTATION_SETS);
    }
}

static void fields_and_records(void **state) {
    (void)state;
    struct signal_dataset ds = with_records(SDS_MAX_RECORDS);
    uint32_t field = 0;
    uint64_t last = SDS_MAX_RECORDS - 1;
    assert_int_equal(
        node_ordinal(&ds, field_node(&ds, last, &(struct view_file){.field = SDS_MAX_FIELDS - 1}),
                     &field),
        last);
    assert_int_equal(field, SDS_MAX_FIELDS - 1);
    assert_int_equal(node_ordinal(&ds, node(NODE_RECORD, last), &field), last);
}

// Every part of every size of dataset, also those that need the wide form; and no second node for
// the same file.
static void parts_of_fields(void **state) {
    (void)state;
    for (unsigned bits = 0; bits <= 40; bits++) {
        struct signal_dataset ds = with_records(1ULL << bits);
        uint64_t last = (1ULL << bits) - 1;
        for (uint32_t part = 0; part < VIEW_MAX_PARTS; part++) {
            struct view_file file = {.field = SDS_MAX_FIELDS - 1, .view = 2, .part = part};
            struct sds_node n = field_node(&ds, last, &file);
            struct view_file found = node_file(&ds, n);
            uint32_t field;
            assert_int_equal(n.key >> SDS_NODE_KEY_BITS, 0);
            assert_true(node_is_ours(&ds, n));
            assert_int_equal(node_ordinal(&ds, n, &field), last);
            assert_int_equal(found.field, file.field);
            assert_int_equal(found.view, file.view);
            assert_int_equal(found.part, part);
            assert_true(bits > 34 || n.wide == 0);
            n.wide = n.wide != 0 ? 1 : VIEW_MAX_PARTS;
            assert_false(node_is_ours(&ds, n));
        }
    }
    struct signal_dataset ds = with_records(1000);
    struct view_file beyond = {.part = VIEW_MAX_PARTS};
    assert_false(node_is_ours(&ds, field_node(&ds, 0, &beyond)));
    assert_false(node_is_ours(&ds, node(NODE_FIELD + (enum node_kind)view_count, 0)));
    assert_false(node_is_ours(&ds, node(NODE_ROW_FIELD + (enum node_kind)view_count, 0)));
}

static void an_unknown_set_is_nobody(void **state) {
    (void)state;
    struct signal_dataset ds = with_records(1000);
    struct annotation_set other = {.slot = 77, .hash = 0x42345678ffffffff};
    assert_null(node_set(&ds, row_node(&ds, NODE_ROW, &other, 3, 0)));
    struct signal_dataset huge = with_records(SDS_MAX_RECORDS);
    assert_null(node_set(&huge, row_node(&huge, NODE_ROW, &other, 3, 0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_round_trip),
        cmocka_unit_test(a_million_records_need_no_wide_nodes),
        cmocka_unit_test(there_are_slots_for_all_sets),
        cmocka_unit_test(fields_and_records),
        cmocka_unit_test(parts_of_fields),
        cmocka_unit_test(an_unknown_set_is_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
