// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "format/signal_dataset/reading.h"

static int loads;

static enum sds_kind load(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    (void)err;
    loads++;
    *value = malloc(1);
    *cost = *(size_t *)ctx;
    return SDS_OK;
}

static const struct sds_cache_class class = {.load = load, .free = free};

// One piece of the value `id` is read; tells whether that took a load.
static bool read_piece(struct sds_cache *cache, struct reading *reading, uint64_t id, size_t cost,
                       bool at_end) {
    struct sds_cache_ref *ref = NULL;
    void *value = NULL;
    int before = loads;
    struct sds_cache_key key = {.kind_and_owner = 1, .id = id};
    assert_int_equal(sds_cache_get(cache, key, &class, &cost, &ref, &value, NULL), SDS_OK);
    reading_touch(reading, ref, at_end);
    sds_cache_release(ref);
    return loads > before;
}

static void wait_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

// Values above the whole budget: loaded once for all their pieces, and gone after the last.
static void a_large_value_is_loaded_once(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(1000);
    struct reading reading;
    reading_init(&reading, 100);
    for (uint64_t id = 0; id < 4; id++) {
        assert_true(read_piece(cache, &reading, id, 5000, false));
    }
    for (int piece = 0; piece < 100; piece++) {
        for (uint64_t id = 0; id < 4; id++) {
            assert_false(read_piece(cache, &reading, id, 5000, piece == 99));
        }
    }
    wait_ms(300);
    reading_sweep(&reading);
    assert_int_equal(reading.used, 0);
    struct sds_cache_stats stats;
    sds_cache_stats(cache, &stats);
    assert_int_equal(stats.bytes, 0);
    reading_fini(&reading);
    sds_cache_free(cache);
}

static void small_values_are_left_to_the_cache(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(100000);
    struct reading reading;
    reading_init(&reading, 50000);
    assert_true(read_piece(cache, &reading, 1, 10, false));
    assert_int_equal(reading.used, 0);
    reading_fini(&reading);
    sds_cache_free(cache);
}

static void the_table_has_an_end(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(0);
    struct reading reading;
    reading_init(&reading, 1);
    for (uint64_t id = 0; id < READING_MAX + 5; id++) {
        read_piece(cache, &reading, id, 10, false);
    }
    assert_int_equal(reading.used, READING_MAX);
    assert_true(read_piece(cache, &reading, 0, 10, false));                // made room
    assert_false(read_piece(cache, &reading, READING_MAX + 4, 10, false)); // is still read
    reading_fini(&reading);
    assert_int_equal(reading.used, 0);
    sds_cache_free(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_value_is_loaded_once),
        cmocka_unit_test(small_values_are_left_to_the_cache),
        cmocka_unit_test(the_table_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
