// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "base/wait.h"
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
    reading_init(&reading, 100, NULL);
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
    reading_init(&reading, 50000, NULL);
    assert_true(read_piece(cache, &reading, 1, 10, false));
    assert_int_equal(reading.used, 0);
    reading_fini(&reading);
    sds_cache_free(cache);
}

static void the_table_has_an_end(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(0);
    struct reading reading;
    reading_init(&reading, 1, NULL);
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

static void let_go_of_what_is_old(void *ctx) {
    reading_sweep(ctx);
}

static void resumed(struct sds_task *task) {
    (void)task;
}

#define MIB ((size_t)1 << 20)

// Somebody waits for the memory: what is read counts, a reader that stops is not waited for as long
// as else, and values that would be left to the cache stay while they are read.
static void others_wait_for_the_memory(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(4 * MIB);
    struct reading reading;
    struct admission admission;
    admission_init(&admission, cache, let_go_of_what_is_old, &reading);
    reading_init(&reading, 2 * MIB, &admission);
    read_piece(cache, &reading, 1, 3 * MIB, false);
    read_piece(cache, &reading, 1, 3 * MIB, false);
    read_piece(cache, &reading, 2, MIB, false);
    assert_int_equal(admission.in, 1);
    assert_true(admission.used >= 3 * MIB && admission.used < 4 * MIB);
    struct sds_task task;
    sds_task_init(&task, resumed);
    sds_task_enter(&task);
    assert_int_equal(admission_enter(&admission, 9, 2 * MIB, NULL), SDS_ERR_WAITING);
    sds_task_leave();
    read_piece(cache, &reading, 2, MIB, false);
    assert_int_equal(admission.in, 2);
    enum sds_kind kind = SDS_ERR_WAITING;
    for (int i = 0; i < 1500 && kind == SDS_ERR_WAITING; i++) { // well below the two seconds
        wait_ms(1);
        sds_task_enter(&task);
        kind = admission_enter(&admission, 9, 2 * MIB, NULL);
        sds_task_leave();
    }
    assert_int_equal(kind, SDS_OK);
    sds_task_fini(&task);
    admission_stop(&admission);
    reading_fini(&reading);
    assert_int_equal(admission.in, 0);
    assert_int_equal(admission.used, 0);
    admission_fini(&admission);
    sds_cache_free(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_value_is_loaded_once),
        cmocka_unit_test(small_values_are_left_to_the_cache),
        cmocka_unit_test(the_table_has_an_end),
        cmocka_unit_test(others_wait_for_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
