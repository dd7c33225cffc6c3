// SPDX-License-Identifier: Apache-2.0
//
// Many writers on one root, as threads of one store and as processes with stores of their own.
#include "unit.h"

#include <pthread.h>
#include <sys/wait.h>

#include "local_root.h"

#define WRITERS 8
#define ROUNDS 25
#define COUNTER "deep/down/counter"

// One more, by compare and swap, until it succeeds.
static bool increment(struct sds_store *store) {
    for (;;) {
        struct sds_version seen;
        struct sds_blob *blob = NULL;
        char text[32] = "0";
        enum sds_kind kind = sds_store_read_version(store, COUNTER, 16, &blob, &seen, NULL);
        if (kind == SDS_OK) {
            memcpy(text, blob->at, blob->len);
            text[blob->len] = '\0';
            sds_blob_unref(blob);
        } else if (kind != SDS_ERR_NOT_FOUND) {
            return false;
        }
        snprintf(text, sizeof text, "%d", atoi(text) + 1);
        kind = swap(store, COUNTER, text, &seen, NULL);
        if (kind != SDS_ERR_CONFLICT) {
            return kind == SDS_OK;
        }
    }
}

struct writer {
    pthread_t thread;
    struct sds_store *store;
    unsigned number;
    bool good;
    unsigned won;
};

static void *count_up(void *arg) {
    struct writer *writer = arg;
    writer->good = true;
    for (int i = 0; i < ROUNDS && writer->good; i++) {
        writer->good = increment(writer->store);
    }
    return NULL;
}

// Names of one's own in directories that all make, and names that all want.
static void *create_all(void *arg) {
    struct writer *writer = arg;
    writer->good = true;
    for (int i = 0; i < ROUNDS && writer->good; i++) {
        char own[64], wanted[64], text[16];
        snprintf(own, sizeof own, "d%d/e/own-%u", i, writer->number);
        snprintf(wanted, sizeof wanted, "d%d/f/wanted", i);
        snprintf(text, sizeof text, "%u", writer->number);
        enum sds_kind kind = create(writer->store, wanted, text, NULL);
        writer->won += kind == SDS_OK;
        writer->good = (kind == SDS_OK || kind == SDS_ERR_CONFLICT) &&
                       create(writer->store, own, text, NULL) == SDS_OK;
    }
    return NULL;
}

// Runs WRITERS threads; returns how often they won.
static unsigned run_threads(struct sds_store *store, void *(*work)(void *)) {
    struct writer writers[WRITERS];
    unsigned won = 0;
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.store = store, .number = i};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, work, &writers[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
        assert_true(writers[i].good);
        won += writers[i].won;
    }
    return won;
}

static void threads_swap(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    run_threads(store, count_up);
    char total[16];
    snprintf(total, sizeof total, "%d", WRITERS * ROUNDS);
    expect_file(COUNTER, total);
    assert_int_equal(count_files(), 1);
    sds_store_close(store);
}

static void threads_create(void **state) {
    (void)state;
    struct sds_store *store = open_store(top, "same");
    assert_int_equal(run_threads(store, create_all), ROUNDS);
    assert_int_equal(count_files(), ROUNDS * (WRITERS + 1));
    sds_store_close(store);
}

static void processes_swap(void **state) {
    (void)state;
    pid_t pids[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct writer writer = {.store = open_store(top, "same")};
            count_up(&writer);
            sds_store_close(writer.store);
            _exit(writer.good ? 0 : 1);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    char total[16];
    snprintf(total, sizeof total, "%d", WRITERS * ROUNDS);
    expect_file(COUNTER, total);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_swap, make_root, remove_root),
        cmocka_unit_test_setup_teardown(threads_create, make_root, remove_root),
        cmocka_unit_test_setup_teardown(processes_swap, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
