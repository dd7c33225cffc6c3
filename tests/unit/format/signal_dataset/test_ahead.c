// SPDX-License-Identifier: Apache-2.0
//
// Records brought in ahead over a store that makes one wait: many on their way with one thread,
// found at hand by whoever comes, and nothing left behind.
#include "slow_store.h"
#include "temp_root.h"

#include <sched.h>
#include <time.h>

#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/records.h"

#define SAMPLE SDSFS_TEST_DATA "/sample.sds"
#define RECORDS 48

struct mounted {
    struct sds_cache *cache;
    struct slow_store *slow;
    struct sds_dataset *ds;
};

static void open_slow(struct mounted *m, unsigned threads) {
    *m = (struct mounted){.cache = sds_cache_new(16 << 20), .slow = slow_store_new(SAMPLE)};
    struct sds_open_options options = {
        .cache = m->cache, .max_record = 1 << 30, .decode_threads = threads, .read_ahead = 24 << 20, .refresh_ms = 3600000};
    assert_int_equal(sds_dataset_open(&m->slow->base, &options, &m->ds, NULL), SDS_OK);
}

static void close_slow(struct mounted *m) {
    sds_dataset_close(m->ds);
    sds_store_close(&m->slow->base);
    sds_cache_free(m->cache);
}

// What is read here belongs to no task, so the store answers at once.
static enum sds_kind read_record(struct mounted *m, uint64_t ordinal) {
    struct sds_pieces pieces;
    struct sds_node payload = {.kind = 4, .key = ordinal};
    enum sds_kind kind = m->ds->ops->read(m->ds, payload, 0, 4096, &pieces, NULL);
    if (kind == SDS_OK) {
        pieces.release(pieces.owner);
    }
    return kind;
}

static unsigned sent(struct mounted *m) {
    pthread_mutex_lock(&m->slow->lock);
    unsigned count = m->slow->sent;
    pthread_mutex_unlock(&m->slow->lock);
    return count;
}

static unsigned waiting(struct mounted *m) {
    pthread_mutex_lock(&m->slow->lock);
    unsigned count = m->slow->waiting;
    pthread_mutex_unlock(&m->slow->lock);
    return count;
}

static void pause_a_little(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void wait_until_waiting(struct mounted *m, unsigned count) {
    for (unsigned i = 0; waiting(m) < count; i++) {
        assert_true(i < 20000);
        pause_a_little();
    }
}

static bool is_cached(struct signal_dataset *ds, enum cached_kind what,
                      const struct sds_reference *shard, uint64_t index) {
    void *value;
    struct sds_cache_ref *ref =
        sds_cache_peek(ds->cache, cached_key(what, reference_key(shard), index), &value);
    sds_cache_release(ref);
    return ref != NULL;
}

static bool at_hand(struct mounted *m, uint64_t ordinal) {
    struct signal_dataset *ds = (struct signal_dataset *)m->ds;
    struct location at;
    if (!chain_locate_at_hand(ds, ordinal, &at)) {
        return false;
    }
    bool both = is_cached(ds, CACHED_PAYLOAD, &at.shard->data, at.physical) &&
                is_cached(ds, CACHED_ENTRY, &at.shard->metadata, at.physical);
    location_fini(&at);
    return both;
}

static void wait_until_at_hand(struct mounted *m, uint64_t ordinal) {
    for (unsigned i = 0; !at_hand(m, ordinal); i++) {
        assert_true(i < 20000);
        slow_release(m->slow);
        pause_a_little();
    }
}

static void expect_ahead(const uint64_t read[], size_t count, uint64_t next, uint64_t not_next) {
    struct mounted m;
    open_slow(&m, 1);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(read_record(&m, read[i]), SDS_OK);
    }
    wait_until_at_hand(&m, next);
    assert_false(at_hand(&m, not_next));
    close_slow(&m);
}

static void readers_in_order_are_expected(void **state) {
    (void)state;
    expect_ahead((uint64_t[]){0, 1, 2}, 3, 3, 40);
    expect_ahead((uint64_t[]){30, 29, 28, 27}, 4, 26, 31);
    expect_ahead((uint64_t[]){0, 5, 10, 15, 20}, 5, 25, 16);
    expect_ahead((uint64_t[]){21, 22, 23}, 3, 25, 20); // in the next shard
}

static void one_thread_has_many_on_their_way(void **state) {
    (void)state;
    struct mounted m;
    open_slow(&m, 1);
    m.slow->no_prefetch = true;                   // else the small shard would be fetched whole
    assert_int_equal(read_record(&m, 0), SDS_OK); // page and shard are known
    static const uint64_t ordinals[8] = {13, 2, 20, 7, 22, 3, 17, 8}; // in no order that goes on
    m.ds->ops->announce(m.ds, ordinals, 8);
    wait_until_waiting(&m, 8);
    for (size_t i = 0; i < 8; i++) {
        wait_until_at_hand(&m, ordinals[i]);
    }
    assert_int_equal(waiting(&m), 0);
    unsigned before = sent(&m);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(read_record(&m, ordinals[i]), SDS_OK);
    }
    assert_int_equal(sent(&m), before);
    close_slow(&m);
}

static void all_that_is_announced_comes(void **state) {
    (void)state;
    struct mounted m;
    uint64_t ordinals[4 * RECORDS];
    for (uint64_t i = 0; i < 4 * RECORDS; i++) {
        ordinals[i] = i * 29 % RECORDS;
    }
    open_slow(&m, 2);
    m.ds->ops->announce(m.ds, ordinals, 4 * RECORDS);
    for (uint64_t i = 0; i < 4 * RECORDS; i++) {
        wait_until_at_hand(&m, ordinals[i]);
        assert_int_equal(read_record(&m, ordinals[i]), SDS_OK);
    }
    close_slow(&m);
}

static unsigned cost_of_random_reading(unsigned threads) {
    struct mounted m;
    open_slow(&m, threads);
    static const uint64_t ordinals[] = {17, 3, 40, 29, 8, 46, 21, 12, 35, 0, 26, 44, 5};
    for (size_t i = 0; i < sizeof ordinals / sizeof ordinals[0]; i++) {
        assert_int_equal(read_record(&m, ordinals[i]), SDS_OK);
    }
    unsigned count = sent(&m);
    close_slow(&m);
    return count;
}

static void reading_at_random_costs_nothing(void **state) {
    (void)state;
    assert_int_equal(cost_of_random_reading(1), cost_of_random_reading(0));
}

static void closing_leaves_nothing_behind(void **state) {
    (void)state;
    for (int released = 0; released < 2; released++) {
        struct mounted m;
        open_slow(&m, 2);
        assert_int_equal(read_record(&m, 0), SDS_OK);
        m.ds->ops->announce(m.ds, (uint64_t[]){2, 4, 6, 30, 31, 32}, 6);
        wait_until_waiting(&m, 3);
        if (released) {
            slow_release(m.slow);
        }
        close_slow(&m); // which knows what is left
    }
}

// ---- all at once

struct reader {
    struct mounted *m;
    unsigned number, wrong;
    atomic_bool *ended;
};

static void *read_on(void *arg) {
    struct reader *reader = arg;
    for (unsigned i = 0; i < 400; i++) {
        uint64_t ordinal = (i * (reader->number + 1) + reader->number * 13) % RECORDS;
        enum sds_kind kind = read_record(reader->m, ordinal);
        reader->wrong += kind != SDS_OK && kind != SDS_ERR_STORAGE;
        if (i % 16 == 0) {
            reader->m->ds->ops->announce(reader->m->ds, &ordinal, 1);
            sds_cache_make_room(reader->m->cache, SIZE_MAX);
            reader->m->ds->ops->sweep(reader->m->ds);
        }
    }
    return NULL;
}

static void *answer_on(void *arg) {
    struct reader *reader = arg;
    for (unsigned i = 0; !atomic_load(reader->ended); i++) {
        pthread_mutex_lock(&reader->m->slow->lock);
        reader->m->slow->outage = i % 8 == 7 ? SDS_ERR_STORAGE : SDS_OK;
        pthread_mutex_unlock(&reader->m->slow->lock);
        slow_release(reader->m->slow);
        sched_yield();
    }
    return NULL;
}

static void readers_and_errands_at_once(void **state) {
    (void)state;
    struct mounted m;
    struct reader readers[5];
    pthread_t threads[5];
    atomic_bool ended = false;
    open_slow(&m, 3);
    for (unsigned i = 0; i < 5; i++) {
        readers[i] = (struct reader){.m = &m, .number = i, .ended = &ended};
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < 4 ? read_on : answer_on, &readers[i]), 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        atomic_store(&ended, i == 4);
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    close_slow(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_in_order_are_expected),
        cmocka_unit_test(one_thread_has_many_on_their_way),
        cmocka_unit_test(all_that_is_announced_comes),
        cmocka_unit_test(reading_at_random_costs_nothing),
        cmocka_unit_test(closing_leaves_nothing_behind),
        cmocka_unit_test(readers_and_errands_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
