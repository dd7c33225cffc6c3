// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "remote/online/extents.h"

#define BUDGET ((size_t)1 << 20)

static struct sds_cache *ledger;
static atomic_uint_fast64_t ahead, used, wasted;
static atomic_int owners; // references that extents have of their owner

static void hold(void *owner) {
    (void)owner;
    owners++;
}

static void let_go(void *owner) {
    (void)owner;
    owners--;
}

static struct sds_extents_owner how = {
    .hold = hold, .let_go = let_go, .ahead = &ahead, .used = &used, .wasted = &wasted};
static struct sds_extents extents;

static int begin(void **state) {
    (void)state;
    ahead = used = wasted = 0;
    owners = 0;
    how.ledger = ledger = sds_cache_new(BUDGET);
    sds_extents_init(&extents, &how, NULL);
    return ledger == NULL;
}

static size_t charged(void) {
    struct sds_cache_stats stats;
    sds_cache_stats(ledger, &stats);
    return stats.bytes;
}

static int end(void **state) {
    (void)state;
    sds_cache_clear(ledger);
    bool clean =
        owners == 0 && extents.count == 0 && extents.failed == NULL && charged() == 0 && ahead == 0;
    sds_extents_fini(&extents);
    sds_cache_free(ledger);
    return !clean;
}

static struct sds_extent *claim_as(uint64_t pos, uint64_t from, uint64_t to, bool for_nobody,
                                   bool *fresh) {
    struct sds_extent_claim claim = {.pos = pos, .from = from, .to = to, .ahead = for_nobody};
    struct sds_extent_view view;
    assert_int_equal(sds_extents_claim(&extents, &claim, &view, fresh, NULL), SDS_OK);
    assert_true(view.extent->off <= pos && pos < view.end);
    return view.extent;
}

// A fresh one, with two references.
static struct sds_extent *claim(uint64_t pos, uint64_t from, uint64_t to) {
    bool fresh;
    struct sds_extent *extent = claim_as(pos, from, to, false, &fresh);
    assert_true(fresh);
    return extent;
}

static uint8_t byte_at(uint64_t off) {
    return (uint8_t)sds_mix64(off);
}

// Fetches and gives back what the fetch has.
static void there(struct sds_extent *extent, bool keep) {
    extent->blob = sds_blob_new((size_t)extent->len);
    for (uint64_t i = 0; i < extent->len; i++) {
        extent->blob->at[i] = byte_at(extent->off + i);
    }
    sds_extent_there(extent, extent->len, keep);
}

static void fails(struct sds_extent *extent, enum sds_kind kind) {
    struct sds_err err;
    sds_fail(&err, kind, "test", "as told");
    sds_extent_failed(extent, &err);
}

static struct sds_extent *look(uint64_t pos, uint64_t *view_end) {
    struct sds_extent_view view;
    sds_extents_look(&extents, pos, &view);
    if (view_end != NULL) {
        *view_end = view.end;
    }
    return view.extent;
}

static void expect_bytes(struct sds_extent *extent, uint64_t off, size_t len) {
    uint8_t *buf = malloc(len);
    sds_extent_copy(extent, off, buf, len);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(buf[i], byte_at(off + i));
    }
    free(buf);
}

static void claims_fill_gaps(void **state) {
    (void)state;
    bool fresh;
    struct sds_extent *b = claim(2000, 2000, 3000);
    assert_int_equal(owners, 1);
    assert_int_equal(charged(), 1000);
    struct sds_extent *again = claim_as(2500, 0, 9000, false, &fresh);
    assert_false(fresh);
    assert_ptr_equal(again, b);
    sds_extent_unref(again);
    struct sds_extent *a = claim(100, 0, 9000); // cut before b
    assert_int_equal(a->off, 0);
    assert_int_equal(a->len, 2000);
    struct sds_extent *c = claim(5000, 2500, 9000); // cut behind b
    assert_int_equal(c->off, 3000);
    assert_int_equal(c->len, 6000);
    uint64_t gap_end;
    assert_null(look(9000, &gap_end));
    assert_true(gap_end == UINT64_MAX);
    there(b, false);
    sds_extent_unref(b); // nobody has it any more: a gap again
    assert_null(look(2000, &gap_end));
    assert_int_equal(gap_end, 3000);
    there(a, false);
    expect_bytes(a, 10, 1990);
    sds_extent_unref(a);
    there(c, false);
    sds_extent_unref(c);
}

static void kept_ones_are_the_ledgers(void **state) {
    (void)state;
    struct sds_extent *extent = claim(0, 0, 65536);
    there(extent, true);
    sds_extent_unref(extent);
    assert_true(charged() >= 65536 && charged() < 65536 + 4096);
    extent = look(5, NULL);
    assert_non_null(extent);
    expect_bytes(extent, 5, 100);
    sds_cache_make_room(ledger, BUDGET); // evicted, but we still have it, and it counts
    assert_int_equal(charged(), extent->blob->cap);
    expect_bytes(extent, 5, 100);
    sds_extent_unref(extent);
    assert_int_equal(charged(), 0);
    assert_null(look(5, NULL));
}

static void least_recently_read_goes_first(void **state) {
    (void)state;
    uint8_t byte;
    for (uint64_t i = 0; i < 4; i++) {
        struct sds_extent *extent = claim(i << 18, i << 18, (i << 18) + (BUDGET >> 3));
        there(extent, true);
        sds_extent_unref(extent);
    }
    struct sds_extent *first = look(0, NULL);
    sds_extent_copy(first, 0, &byte, 1);
    sds_extent_unref(first);
    sds_cache_make_room(ledger, BUDGET - (BUDGET >> 3) - 8192);
    first = look(0, NULL);
    assert_non_null(first);
    sds_extent_unref(first);
    assert_null(look(3 << 18, NULL));
}

static void what_is_dropped_is_there_no_longer(void **state) {
    (void)state;
    struct sds_extent *kept = claim(0, 0, 100), *read = claim(100, 100, 200);
    struct sds_extent *flying = claim(200, 200, 300), *behind = claim(300, 300, 400);
    there(kept, true);
    there(read, false);
    there(behind, true);
    sds_extent_unref(kept);
    sds_extent_unref(behind);
    sds_extents_drop(&extents, 99, 300);
    uint64_t end;
    assert_null(look(0, &end));
    assert_int_equal(end, 200);
    assert_null(look(150, NULL));
    expect_bytes(read, 100, 100); // by who has it
    assert_int_equal(extents.count, 2);
    struct sds_extent *again = claim(150, 0, 200); // while the old one lives
    assert_int_equal(again->len, 200);
    there(again, false);
    sds_extent_unref(read);
    expect_bytes(again, 0, 200);
    struct sds_extent *found = look(250, NULL), *last = look(350, NULL);
    assert_ptr_equal(found, flying);
    assert_non_null(last);
    sds_extent_unref(found);
    sds_extent_unref(last);
    there(flying, false);
    sds_extent_unref(flying);
    sds_extent_unref(again);
    assert_int_equal(extents.count, 1);
}

static void a_short_one_is_what_came(void **state) {
    (void)state;
    struct sds_extent *extent = claim(0, 0, 65536);
    extent->blob = sds_blob_new(65536);
    sds_extent_there(extent, 10, false);
    struct sds_extent *found = look(9, NULL);
    assert_ptr_equal(found, extent);
    sds_extent_unref(found);
    assert_null(look(10, NULL));
    sds_extent_unref(extent);
}

static void read_ahead_is_let_go_when_it_was_read(void **state) {
    (void)state;
    bool fresh;
    struct sds_extent *extent = claim_as(0, 0, 1000, true, &fresh);
    assert_int_equal(ahead, 1000);
    there(extent, true);
    expect_bytes(extent, 400, 600); // in any order
    assert_int_equal(ahead, 400);
    assert_int_equal(used, 600);
    expect_bytes(extent, 0, 400);
    sds_extent_unref(extent);
    assert_null(look(0, NULL));
    assert_int_equal(used, 1000);
    extent = claim_as(0, 0, 1000, true, &fresh);
    there(extent, true);
    expect_bytes(extent, 0, 100);
    sds_extent_unref(extent);
    sds_cache_clear(ledger);
    assert_int_equal(wasted, 900);
}

static void a_failure_is_told_to_those_who_wait(void **state) {
    (void)state;
    bool fresh;
    struct sds_err err;
    struct sds_extent *extent = claim(0, 0, 100);
    struct sds_extent *joined = claim_as(50, 50, 60, false, &fresh);
    fails(extent, SDS_ERR_TIMEOUT);
    assert_int_equal(sds_extent_wait(extent, &err), SDS_ERR_TIMEOUT);
    assert_string_equal(err.check, "test");
    assert_int_equal(sds_extent_wait(joined, &err), SDS_ERR_TIMEOUT);
    assert_null(look(50, NULL)); // and counts for nothing else
    struct sds_extent *next = claim(50, 0, 100);
    there(next, false);
    sds_extent_unref(next);
    sds_extent_unref(joined);
    sds_extent_unref(extent);
}

// --- tasks

static atomic_int resumed;

static void resume(struct sds_task *task) {
    (void)task;
    resumed++;
}

static void tasks_keep_what_they_wait_for(void **state) {
    (void)state;
    struct sds_task task, other;
    resumed = 0;
    sds_task_init(&task, resume);
    sds_task_init(&other, resume);
    struct sds_extent *good = claim(0, 0, 100), *bad = claim(200, 200, 300);
    sds_task_enter(&task);
    assert_int_equal(sds_extent_wait(good, NULL), SDS_ERR_WAITING);
    assert_int_equal(sds_extent_wait(bad, NULL), SDS_ERR_WAITING);
    sds_task_leave();
    sds_extent_unref(good);
    sds_extent_unref(bad);
    assert_true(sds_task_park(&task));
    there(good, false);
    assert_int_equal(resumed, 0); // it waits for the other one
    fails(bad, SDS_ERR_STORAGE);
    assert_int_equal(resumed, 1);

    sds_task_enter(&task); // the rerun finds both
    struct sds_extent *found = look(50, NULL);
    expect_bytes(found, 50, 10);
    sds_extent_unref(found);
    found = look(250, NULL);
    assert_int_equal(sds_extent_wait(found, NULL), SDS_ERR_STORAGE);
    sds_extent_unref(found);
    sds_task_leave();
    sds_task_enter(&other); // to which the failure is nothing
    assert_null(look(250, NULL));
    sds_task_leave();
    sds_task_fini(&task);
    assert_int_equal(owners, 0);
    sds_task_fini(&other);
}

// --- threads

#define THREADS 4
#define ROUNDS 2000
#define OBJECT 65536U

static void *reader(void *arg) {
    uint64_t seed = *(uint64_t *)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t pos = (seed = sds_mix64(seed + i + 1)) % OBJECT;
        uint64_t from = pos / 4096 * 4096;
        struct sds_extent_claim wanted = {
            .pos = pos, .from = from, .to = from + 4096, .ahead = seed % 5 == 0};
        struct sds_extent_view view;
        bool fresh;
        assert_int_equal(sds_extents_claim(&extents, &wanted, &view, &fresh, NULL), SDS_OK);
        if (fresh && seed % 7 == 0) {
            fails(view.extent, SDS_ERR_STORAGE);
        } else if (fresh) {
            there(view.extent, seed % 3 != 0);
        }
        if (sds_extent_wait(view.extent, NULL) == SDS_OK) {
            expect_bytes(view.extent, pos, (size_t)(view.end - pos));
        }
        sds_extent_unref(view.extent);
        if (i % 50 == 0) {
            sds_cache_make_room(ledger, BUDGET - 20000);
        }
    }
    return NULL;
}

static void many_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        seeds[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &seeds[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(claims_fill_gaps, begin, end),
        cmocka_unit_test_setup_teardown(kept_ones_are_the_ledgers, begin, end),
        cmocka_unit_test_setup_teardown(least_recently_read_goes_first, begin, end),
        cmocka_unit_test_setup_teardown(what_is_dropped_is_there_no_longer, begin, end),
        cmocka_unit_test_setup_teardown(a_short_one_is_what_came, begin, end),
        cmocka_unit_test_setup_teardown(read_ahead_is_let_go_when_it_was_read, begin, end),
        cmocka_unit_test_setup_teardown(a_failure_is_told_to_those_who_wait, begin, end),
        cmocka_unit_test_setup_teardown(tasks_keep_what_they_wait_for, begin, end),
        cmocka_unit_test_setup_teardown(many_threads, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
