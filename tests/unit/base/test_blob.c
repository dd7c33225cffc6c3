// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <pthread.h>

#include "base/blob.h"

static void sizes_are_what_was_asked(void **state) {
    (void)state;
    const size_t sizes[] = {0,     1,     63,     64,     65,      65535,
                            65536, 65537, 131072, 200000, 8 << 20, (32 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sds_blob *blob = sds_blob_new(sizes[i]);
        assert_non_null(blob);
        assert_int_equal(blob->len, sizes[i]);
        assert_true(blob->cap >= sizes[i] && blob->cap <= sizes[i] + sizes[i] / 4 + 64);
        assert_int_equal((uintptr_t)blob->at % (sizes[i] < 65536 ? 16 : 64), 0);
        memset(blob->at, 0xA5, blob->cap);
        sds_blob_unref(blob);
    }
    assert_null(sds_blob_new(SIZE_MAX));
    sds_blob_trim();
}

static void large_blocks_come_back(void **state) {
    (void)state;
    struct sds_blob *first = sds_blob_new(1 << 20);
    uint8_t *at = first->at;
    sds_blob_unref(first);
    struct sds_blob *second = sds_blob_new((1 << 20) - 1000);
    assert_ptr_equal(second->at, at);
    sds_blob_unref(sds_blob_ref(second));
    memset(second->at, 1, second->len); // still referenced
    sds_blob_unref(second);
    sds_blob_trim();
}

static void *churn(void *arg) {
    (void)arg;
    for (size_t i = 0; i < 2000; i++) {
        struct sds_blob *blob = sds_blob_new(60000 + i * 37 % 300000);
        blob->at[0] = (uint8_t)i;
        struct sds_blob *again = sds_blob_ref(blob);
        sds_blob_unref(blob);
        if (again->at[0] != (uint8_t)i) {
            return again;
        }
        sds_blob_unref(again);
    }
    return NULL;
}

static void threads_share_the_lists(void **state) {
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    sds_blob_trim();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_what_was_asked),
        cmocka_unit_test(large_blocks_come_back),
        cmocka_unit_test(threads_share_the_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
