// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "format/signal_dataset/streams.h"

static struct stream *note_all(struct streams *streams, const uint64_t *ordinals, size_t count) {
    struct stream *last = NULL;
    for (size_t i = 0; i < count; i++) {
        last = streams_note(streams, ordinals[i]);
    }
    return last;
}

static void orders_are_found(void **state) {
    (void)state;
    static const struct {
        uint64_t ordinals[5];
        size_t count;
        uint64_t next; // UINT64_MAX: not an order
    } cases[] = {
        {{7, 8, 9}, 3, 10},
        {{7, 8}, 2, UINT64_MAX},
        {{7, 9, 8}, 3, UINT64_MAX},
        {{9, 8, 7, 6}, 4, 5},
        {{9, 8, 7}, 3, UINT64_MAX},
        {{0, 10, 20, 30, 40}, 5, 50},
        {{0, 10, 20, 30}, 4, UINT64_MAX},
        {{99, 80, 61, 42, 23}, 5, 4},
        {{80, 60, 40, 20, 0}, 5, UINT64_MAX}, // found, and at its end
        {{1, 2, 4, 8, 16}, 5, UINT64_MAX},
        {{5, 5, 5, 5, 5}, 5, UINT64_MAX},
        {{97, 98, 99}, 3, UINT64_MAX}, // at its end, too
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct streams streams = {0};
        uint64_t next = UINT64_MAX;
        struct stream *s = note_all(&streams, cases[i].ordinals, cases[i].count);
        bool found = s != NULL && stream_next(s, 100, &next);
        assert_int_equal(found ? next : UINT64_MAX, cases[i].next);
    }
}

static void a_stream_moves_on(void **state) {
    (void)state;
    struct streams streams = {0};
    struct stream *s = note_all(&streams, (uint64_t[]){0, 1, 2}, 3);
    uint64_t next;
    s->ahead = 4;
    assert_true(stream_next(s, 100, &next));
    assert_int_equal(next, 7);
    assert_ptr_equal(streams_note(&streams, 3), s);
    assert_int_equal(s->ahead, 3);
    assert_null(streams_note(&streams, 3));         // another field of the same record
    assert_ptr_equal(streams_note(&streams, 5), s); // two threads
    assert_int_equal(s->ahead, 1);
    assert_null(streams_note(&streams, 4));
    assert_ptr_equal(streams_note(&streams, 6), s);
    assert_int_equal(s->ahead, 0);
    assert_null(streams_note(&streams, 9)); // nothing was ordered that far
    assert_ptr_equal(streams_note(&streams, 7), s);
    assert_true(stream_next(s, 100, &next));
    assert_int_equal(next, 8);
}

static void readers_are_told_apart(void **state) {
    (void)state;
    struct streams streams = {0};
    struct stream *of[STREAMS] = {0};
    for (unsigned step = 0; step < 20; step++) {
        for (unsigned reader = 0; reader < STREAMS; reader++) {
            struct stream *s = streams_note(&streams, reader * reader * 100003 + step);
            assert_true((s != NULL) == (step >= 2));
            assert_true(step < 3 || s == of[reader]);
            of[reader] = s;
        }
    }
}

// Of 10,000 ordinals in epochs of shuffled ones, how many are taken for an order.
static unsigned false_orders(unsigned records) {
    struct streams streams = {0};
    uint64_t order[4096], x = 88172645463325252ULL;
    unsigned found = 0;
    for (unsigned i = 0; i < 10000; i++) {
        unsigned place = i % records;
        for (unsigned k = 0; place == 0 && k < records; k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            unsigned other = (unsigned)(x % (k + 1));
            order[k] = order[other];
            order[other] = k;
        }
        struct stream *s = streams_note(&streams, order[place]);
        if (s != NULL) {
            s->ahead = 8; // as whoever uses it would
            found++;
        }
    }
    return found;
}

static void a_random_reader_is_none(void **state) {
    (void)state;
    unsigned few = false_orders(64), some = false_orders(1000), many = false_orders(4000);
    assert_true(few < 50 && some < 10 && many < 5);
}

static void large_numbers(void **state) {
    (void)state;
    struct streams streams = {0};
    const uint64_t end = 1ULL << 40, step = 1ULL << 37;
    struct stream *s = note_all(
        &streams,
        (uint64_t[]){end - 5 * step, end - 4 * step, end - 3 * step, end - 2 * step, end - step},
        5);
    uint64_t next;
    assert_non_null(s);
    assert_false(stream_next(s, end, &next));
    s->ahead = UINT32_MAX;
    assert_false(stream_next(s, end, &next));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_found),       cmocka_unit_test(a_stream_moves_on),
        cmocka_unit_test(readers_are_told_apart), cmocka_unit_test(a_random_reader_is_none),
        cmocka_unit_test(large_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
