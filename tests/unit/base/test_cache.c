// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/cache.h"

// A value that counts how many of its kind live.
static atomic_int alive, loads;

struct request {
    int number;
    size_t cost;
    bool fail;
    long pause_ns;
};

static enum sds_kind load(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct request *request = ctx;
    atomic_fetch_add(&loads, 1);
    if (request->pause_ns > 0) {
        nanosleep(&(struct timespec){.tv_nsec = request->pause_ns}, NULL);
    }
    if (request->fail) {
        return sds_fail(err, SDS_ERR_STORAGE, "test", "number %d", request->number);
    }
    int *made = malloc(sizeof *made);
    *made = request->number;
    atomic_fetch_add(&alive, 1);
    *value = made;
    *cost = request->cost;
    return SDS_OK;
}

static void unload(void *value) {
    free(value);
    atomic_fetch_sub(&alive, 1);
}

static const struct sds_cache_class class = {.load = load, .free = unload};

static struct sds_cache_key key(int number) {
    return (struct sds_cache_key){.kind_and_owner = 1, .id = (uint64_t)number};
}

static int fetch(struct sds_cache *cache, int number, size_t cost) {
    struct request request = {.number = number, .cost = cost};
    struct sds_cache_ref *ref = NULL;
    void *value = NULL;
    assert_int_equal(sds_cache_get(cache, key(number), &class, &request, &ref, &value, NULL),
                     SDS_OK);
    int found = *(int *)value;
    sds_cache_release(ref);
    return found;
}

static int reset(void **state) {
    (void)state;
    alive = loads = 0;
    return 0;
}

static void keeps_the_budget_oldest_out_first(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(100 << 10);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(fetch(cache, i, 10 << 10), i);
        assert_int_equal(fetch(cache, 0, 10 << 10), 0); // keeps the first one fresh
    }
    assert_true(alive <= 10);
    struct sds_cache_stats stats;
    sds_cache_stats(cache, &stats);
    assert_true(stats.bytes <= stats.budget);
    assert_int_equal(loads, 100);
    assert_int_equal(stats.hits, 100);
    void *value = NULL;
    struct sds_cache_ref *ref = sds_cache_peek(cache, key(0), &value);
    assert_non_null(ref);
    sds_cache_release(ref);
    assert_null(sds_cache_peek(cache, key(1), &value));
    sds_cache_free(cache);
    assert_int_equal(alive, 0);
}

static void another_budget(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(100 << 10);
    for (int i = 0; i < 8; i++) {
        fetch(cache, i, 10 << 10);
    }
    assert_int_equal(alive, 8);
    sds_cache_set_budget(cache, 40 << 10);
    assert_int_equal(alive, 3); // at once
    assert_int_equal(sds_cache_budget(cache), 40 << 10);
    struct sds_cache_stats stats;
    sds_cache_stats(cache, &stats);
    assert_int_equal(stats.budget, 40 << 10);
    sds_cache_set_budget(cache, 100 << 10);
    for (int i = 20; i < 29; i++) {
        fetch(cache, i, 10 << 10);
    }
    assert_int_equal(alive, 8);
    sds_cache_free(cache);
    assert_int_equal(alive, 0);
}

static void a_dropped_value_is_gone_unless_pinned(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(100000);
    void *value = NULL;
    fetch(cache, 0, 100);
    fetch(cache, 1, 100);
    struct sds_cache_ref *ref = sds_cache_peek(cache, key(1), &value);
    sds_cache_drop(cache, key(0));
    sds_cache_drop(cache, key(1)); // pinned
    sds_cache_drop(cache, key(2)); // never was there
    assert_null(sds_cache_peek(cache, key(0), &value));
    assert_int_equal(alive, 1);
    assert_int_equal(*(int *)value, 1);
    sds_cache_release(ref);
    sds_cache_drop(cache, key(1));
    assert_int_equal(alive, 0);
    struct sds_cache_stats stats;
    sds_cache_stats(cache, &stats);
    assert_int_equal(stats.bytes, 0);
    sds_cache_free(cache);
}

static void pinned_values_stay(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(1000);
    struct request request = {.number = 7, .cost = 1 << 20}; // above the budget
    struct sds_cache_ref *ref = NULL;
    void *value = NULL;
    assert_int_equal(sds_cache_get(cache, key(7), &class, &request, &ref, &value, NULL), SDS_OK);
    for (int i = 100; i < 110; i++) {
        fetch(cache, i, 100);
    }
    assert_int_equal(*(int *)value, 7);
    assert_int_equal(fetch(cache, 7, 0), 7); // a second reader
    sds_cache_release(ref);
    assert_int_equal(alive, 0); // nothing fits beside it, and it does not fit either
    sds_cache_free(cache);
}

static void failures_are_told_and_forgotten(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(1000);
    struct request request = {.number = 3, .fail = true};
    struct sds_cache_ref *ref = NULL;
    void *value = NULL;
    struct sds_err err;
    assert_int_equal(sds_cache_get(cache, key(3), &class, &request, &ref, &value, &err),
                     SDS_ERR_STORAGE);
    assert_string_equal(err.message, "number 3");
    assert_null(ref);
    assert_int_equal(fetch(cache, 3, 10), 3); // asked again
    sds_cache_free(cache);
    assert_int_equal(alive, 0);
}

struct reader {
    struct sds_cache *cache;
    struct request request;
    enum sds_kind kind;
    struct sds_err err;
};

static void *read_once(void *arg) {
    struct reader *reader = arg;
    struct sds_cache_ref *ref = NULL;
    void *value = NULL;
    reader->kind =
        sds_cache_get(reader->cache, key(1), &class, &reader->request, &ref, &value, &reader->err);
    sds_cache_release(ref);
    return NULL;
}

static void run_readers(struct reader *readers, size_t count) {
    pthread_t threads[8];
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_once, &readers[i]), 0);
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

// Eight readers of one key, the load takes long enough for all of them to come: one load, and all
// get what it brought, value or error.
static void concurrent_misses_share_a_load(void **state) {
    (void)state;
    for (int fail = 0; fail < 2; fail++) {
        struct sds_cache *cache = sds_cache_new(1000);
        struct reader readers[8];
        for (int i = 0; i < 8; i++) {
            readers[i] = (struct reader){
                .cache = cache,
                .request = {.number = 1, .cost = 1, .fail = fail == 1, .pause_ns = 200000000}};
        }
        loads = 0;
        run_readers(readers, 8);
        assert_true(loads < 8);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(readers[i].kind, fail == 1 ? SDS_ERR_STORAGE : SDS_OK);
            assert_true(fail == 0 || strcmp(readers[i].err.check, "test") == 0);
        }
        sds_cache_free(cache);
    }
    assert_int_equal(alive, 0);
}

static void *churn(void *arg) {
    struct sds_cache *cache = arg;
    uint64_t seed = (uint64_t)(uintptr_t)&seed;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        int number = (int)(seed >> 33) % 50;
        struct request request = {.number = number, .cost = 1000, .fail = number % 7 == 0};
        struct sds_cache_ref *ref = NULL;
        void *value = NULL;
        enum sds_kind kind =
            sds_cache_get(cache, key(number), &class, &request, &ref, &value, NULL);
        if ((kind == SDS_OK) == request.fail || (kind == SDS_OK && *(int *)value != number)) {
            return cache;
        }
        sds_cache_release(ref);
    }
    return NULL;
}

static void threads_never_see_another_value(void **state) {
    (void)state;
    struct sds_cache *cache = sds_cache_new(20000);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, cache), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    sds_cache_free(cache);
    assert_int_equal(alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(keeps_the_budget_oldest_out_first, reset),
        cmocka_unit_test_setup(another_budget, reset),
        cmocka_unit_test_setup(a_dropped_value_is_gone_unless_pinned, reset),
        cmocka_unit_test_setup(pinned_values_stay, reset),
        cmocka_unit_test_setup(failures_are_told_and_forgotten, reset),
        cmocka_unit_test_setup(concurrent_misses_share_a_load, reset),
        cmocka_unit_test_setup(threads_never_see_another_value, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
