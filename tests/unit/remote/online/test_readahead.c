// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "base/hash.h"
#include "remote/online/readahead.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)

// What a reader had fetched ahead.
struct seen {
    uint64_t asked; // bytes ahead
    unsigned pieces;
    uint64_t largest;
};

static void read_at(struct sds_readahead *readahead, uint64_t off, uint64_t len, uint64_t size,
                    uint64_t window, struct seen *seen) {
    struct sds_ahead ahead;
    if (!sds_readahead_note(readahead, off, len, size, window, &ahead)) {
        return;
    }
    assert_true(ahead.start < ahead.end && ahead.end <= size);
    assert_true(ahead.piece > 0 && ahead.piece <= SDS_READAHEAD_PIECE_MAX);
    for (uint64_t at = ahead.start; at < ahead.end;) {
        uint64_t n = ahead.end - at < ahead.piece ? ahead.end - at : ahead.piece;
        seen->asked += n;
        seen->pieces++;
        seen->largest = n > seen->largest ? n : seen->largest;
        at += n;
    }
    sds_readahead_reached(readahead, ahead.start, ahead.end);
}

static void a_sequential_reader_is_fed(void **state) {
    (void)state;
    struct sds_readahead readahead = {0};
    struct seen seen = {0};
    uint64_t size = 64 * MIB, len = 64 * KIB;
    for (uint64_t off = 0; off < size; off += len) {
        uint64_t before = seen.asked;
        read_at(&readahead, off, len, size, 16U << 20, &seen);
        // Two reads before it shows; then no byte is asked for twice, and ahead of the bytes that
        // are being read no more than was read.
        assert_true(off >= 2 * len || seen.asked == 0);
        assert_true(seen.asked - before <= off + 2 * len);
    }
    assert_int_equal(seen.asked, size - 2 * len);
    assert_int_equal(seen.largest, SDS_READAHEAD_PIECE_MAX);
    assert_true(seen.pieces < 60);
}

static void the_window_is_kept(void **state) {
    (void)state;
    struct sds_readahead readahead = {0};
    uint64_t size = 64 * MIB, len = 64 * KIB;
    for (uint64_t off = 0; off < size; off += len) {
        struct sds_ahead ahead;
        if (sds_readahead_note(&readahead, off, len, size, MIB, &ahead)) {
            assert_true(ahead.end <= off + len + MIB + MIB / 4); // a short rest goes along
            sds_readahead_reached(&readahead, ahead.start, ahead.end);
        }
    }
}

static void what_was_refused_is_asked_for_again(void **state) {
    (void)state;
    struct sds_readahead readahead = {0};
    struct sds_ahead ahead, again;
    uint64_t size = 16 * MIB, len = 256 * KIB;
    assert_false(sds_readahead_note(&readahead, 0, len, size, MIB, &ahead));
    assert_false(sds_readahead_note(&readahead, len, len, size, MIB, &ahead));
    assert_true(sds_readahead_note(&readahead, 2 * len, len, size, MIB, &ahead));
    assert_int_equal(ahead.start, 2 * len);
    sds_readahead_reached(&readahead, ahead.start, ahead.start + 10); // the rest found no memory
    assert_true(sds_readahead_note(&readahead, 2 * len, len, size, MIB, &again)); // a task's rerun
    assert_int_equal(again.start, 2 * len + 10);
    assert_true(again.end > again.start && again.end <= ahead.end + 10); // pieces are whole
}

static void random_and_strided_readers_get_nothing(void **state) {
    (void)state;
    struct sds_readahead random = {0}, strided = {0}, backwards = {0};
    struct seen seen = {0};
    uint64_t size = 1024 * MIB, len = 64 * KIB;
    for (uint64_t i = 0; i < 1000; i++) {
        read_at(&random, sds_mix64(i + 1) % (size / len) * len, len, size, 16 * MIB, &seen);
        read_at(&strided, i * 2 * len % size, len, size, 16 * MIB, &seen);
    }
    assert_int_equal(seen.asked, 0);
    for (uint64_t i = 1000; i > 0; i--) {
        read_at(&backwards, i * len, len, size, 16 * MIB, &seen);
    }
    assert_int_equal(seen.asked, 0);
}

static void short_runs_are_no_reader(void **state) {
    (void)state;
    struct sds_readahead readahead = {0};
    struct seen seen = {0};
    for (uint64_t off = 0; off < 120 * KIB; off += 4 * KIB) {
        read_at(&readahead, off, 4 * KIB, MIB, 16 * MIB, &seen);
    }
    assert_int_equal(seen.asked, 0);
}

static void readers_side_by_side(void **state) {
    (void)state;
    struct sds_readahead readahead = {0};
    struct seen seen = {0};
    uint64_t part = 32 * MIB, size = 4 * part, len = 128 * KIB;
    for (uint64_t off = 0; off < part; off += len) {
        for (uint64_t reader = 0; reader < 4; reader++) {
            read_at(&readahead, reader * part + off, len, size, 4 * MIB, &seen);
        }
    }
    // Each gets its part and, but for the last, the beginning of the next one's, once.
    assert_true(seen.asked >= 4 * (part - 3 * len));
    assert_true(seen.asked <= size + 4 * 4 * MIB);
}

static void a_little_out_of_order(void **state) {
    (void)state;
    struct sds_readahead readahead = {0};
    struct seen seen = {0};
    static const unsigned order[4] = {1, 0, 3, 2};
    uint64_t size = 16 * MIB, len = 64 * KIB;
    for (uint64_t i = 0; i < size / len; i++) {
        read_at(&readahead, (i / 4 * 4 + order[i % 4]) * len, len, size, 4 * MIB, &seen);
    }
    assert_true(seen.asked > size - MIB && seen.asked <= size);
}

static void a_short_rest_goes_along(void **state) {
    (void)state;
    struct sds_readahead readahead = {0};
    struct sds_ahead ahead = {0};
    uint64_t len = 256 * KIB, size = 6 * len + 10;
    assert_false(sds_readahead_note(&readahead, 0, len, size, 16 * MIB, &ahead));
    assert_false(sds_readahead_note(&readahead, len, len, size, 16 * MIB, &ahead));
    assert_true(sds_readahead_note(&readahead, 2 * len, len, size, 16 * MIB, &ahead));
    assert_int_equal(ahead.end, size);
}

static void at_the_end_there_is_nothing_ahead(void **state) {
    (void)state;
    struct sds_readahead readahead = {0};
    struct seen seen = {0};
    for (uint64_t i = 0; i < 8; i++) {
        read_at(&readahead, i * 50 * KIB, 50 * KIB, 400 * KIB, 16 * MIB, &seen);
    }
    assert_int_equal(seen.asked, 300 * KIB); // once
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sequential_reader_is_fed),
        cmocka_unit_test(the_window_is_kept),
        cmocka_unit_test(what_was_refused_is_asked_for_again),
        cmocka_unit_test(random_and_strided_readers_get_nothing),
        cmocka_unit_test(short_runs_are_no_reader),
        cmocka_unit_test(readers_side_by_side),
        cmocka_unit_test(a_little_out_of_order),
        cmocka_unit_test(a_short_rest_goes_along),
        cmocka_unit_test(at_the_end_there_is_nothing_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
