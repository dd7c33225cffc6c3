// SPDX-License-Identifier: Apache-2.0
#include "fs/nodes.h"

#include <pthread.h>

#include "unit.h"

static struct sds_node wide(uint64_t value) {
    return (struct sds_node){.kind = 9, .key = 3, .wide = value};
}

static int setup(void **state) {
    *state = sds_nodes_new();
    return *state == NULL;
}

static int teardown(void **state) {
    sds_nodes_free(*state);
    return 0;
}

static void found_only_while_held(void **state) {
    struct sds_nodes *nodes = *state;
    uint64_t number, again;
    struct sds_node node;
    assert_true(sds_nodes_hold(nodes, wide(1), &number));
    assert_true(sds_nodes_hold(nodes, wide(1), &again));
    assert_int_equal(number, again);
    assert_int_equal(sds_nodes_count(nodes), 1);
    sds_nodes_drop(nodes, number, 1);
    assert_true(sds_nodes_find(nodes, number, &node));
    assert_int_equal(node.kind, 9);
    assert_int_equal(node.key, 3);
    assert_int_equal(node.wide, 1);
    sds_nodes_drop(nodes, number, 1);
    assert_false(sds_nodes_find(nodes, number, &node));
    assert_int_equal(sds_nodes_count(nodes), 0);
}

static void forgotten_in_one_go(void **state) {
    struct sds_nodes *nodes = *state;
    uint64_t number;
    for (int i = 0; i < 5; i++) {
        assert_true(sds_nodes_hold(nodes, wide(1), &number));
    }
    sds_nodes_drop(nodes, number, 5);
    assert_int_equal(sds_nodes_count(nodes), 0);
    sds_nodes_drop(nodes, number, 5); // a forget too many is ignored
    assert_int_equal(sds_nodes_count(nodes), 0);
}

static void number_is_what_a_listing_shows(void **state) {
    struct sds_nodes *nodes = *state;
    uint64_t number;
    assert_true(sds_nodes_hold(nodes, wide(77), &number));
    assert_int_equal(number, sds_nodes_number(wide(77)));
    assert_true(number < UINT64_C(1) << SDS_NODE_KEY_BITS);
}

// Kind, key and wide all count.
static void different_nodes_have_different_numbers(void **state) {
    (void)state;
    const struct sds_node base = {.kind = 1, .key = 2, .wide = 3};
    const struct sds_node others[] = {{.kind = 2, .key = 2, .wide = 3},
                                      {.kind = 1, .key = 3, .wide = 3},
                                      {.kind = 1, .key = 2, .wide = 4},
                                      {.kind = 1, .key = 3, .wide = 2}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_not_equal(sds_nodes_number(base), sds_nodes_number(others[i]));
    }
}

// Many are held and given back in another order; the table grows and shrinks on the way.
static void many_come_and_go(void **state) {
    struct sds_nodes *nodes = *state;
    enum { COUNT = 20000 };
    static uint64_t numbers[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_true(sds_nodes_hold(nodes, wide(i + 1), &numbers[i]));
    }
    assert_int_equal(sds_nodes_count(nodes), COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct sds_node node;
        assert_true(sds_nodes_find(nodes, numbers[i], &node));
        assert_int_equal(node.wide, i + 1);
    }
    for (uint64_t i = COUNT; i-- > 0;) {
        sds_nodes_drop(nodes, numbers[i], 1);
    }
    assert_int_equal(sds_nodes_count(nodes), 0);
}

static void *hold_and_drop(void *arg) {
    struct sds_nodes *nodes = arg;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t number;
        struct sds_node node;
        if (!sds_nodes_hold(nodes, wide(i % 100 + 1), &number) ||
            !sds_nodes_find(nodes, number, &node) || node.wide != i % 100 + 1) {
            return nodes;
        }
        sds_nodes_drop(nodes, number, 1);
    }
    return NULL;
}

static void threads_agree(void **state) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hold_and_drop, *state), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(sds_nodes_count(*state), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(found_only_while_held, setup, teardown),
        cmocka_unit_test_setup_teardown(forgotten_in_one_go, setup, teardown),
        cmocka_unit_test_setup_teardown(number_is_what_a_listing_shows, setup, teardown),
        cmocka_unit_test(different_nodes_have_different_numbers),
        cmocka_unit_test_setup_teardown(many_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_agree, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
