// SPDX-License-Identifier: Apache-2.0
//
// Many readers of one dataset at once, with a cache so small that everything is loaded again and
// again: each gets the bytes that a single reader got. Run under the thread sanitizer too.
#include <pthread.h>

#include "temp_root.h"

#include "base/hash.h"

#define SAMPLE SDSFS_TEST_DATA "/sample.sds"
#define READERS 6
#define RECORDS 48
#define ROUNDS 150

static const char *const files[] = {"samples.npy", "gain.npy", "metadata.json",
                                    "record.safetensors", "annotations/review-v1/annotation.json"};
#define FILES (sizeof files / sizeof files[0])

static uint64_t expected[RECORDS][FILES];

// A hash of a whole file; 0 when it could not be read.
static uint64_t hash_file(struct temp_root *root, unsigned record, size_t file) {
    char path[128];
    struct sds_node node;
    struct sds_pieces pieces;
    snprintf(path, sizeof path, "records/%06u/%s", record, files[file]);
    if (temp_root_find(root, path, &node) != SDS_OK ||
        root->ds->ops->read(root->ds, node, 0, 1 << 20, &pieces, NULL) != SDS_OK) {
        return 0;
    }
    uint64_t hash = 1;
    for (int i = 0; i < pieces.count; i++) {
        hash = hash * 31 + sds_hash_stable(sds_span(pieces.iov[i].iov_base, pieces.iov[i].iov_len));
    }
    pieces.release(pieces.owner);
    return hash;
}

static bool count_entry(void *ctx, struct sds_span name, struct sds_node child,
                        enum sds_node_type type, uint64_t next) {
    (void)name, (void)child, (void)type, (void)next;
    ++*(unsigned *)ctx;
    return true;
}

struct reader {
    struct temp_root *root;
    unsigned number;
    unsigned wrong;
};

static void *read_many(void *arg) {
    struct reader *reader = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        // Some go in order, so that decoding ahead takes part; the others jump.
        unsigned record =
            reader->number % 2 == 0 ? i % RECORDS : (i * 31 + reader->number * 7) % RECORDS;
        size_t file = (i + reader->number) % FILES;
        unsigned entries = 0;
        struct sds_node dir;
        reader->wrong += hash_file(reader->root, record, file) != expected[record][file];
        reader->wrong += temp_root_find(reader->root, "objects/data", &dir) != SDS_OK;
        reader->wrong += reader->root->ds->ops->list(reader->root->ds, dir, 0, count_entry,
                                                     &entries, NULL) != SDS_OK;
        reader->wrong += entries == 0;
    }
    return NULL;
}

static void readers_never_see_other_bytes(void **state) {
    (void)state;
    struct temp_root root = {0};
    temp_root_make(&root);
    temp_root_copy(&root, SAMPLE);
    temp_root_open_with(&root, 64 << 10);
    for (unsigned record = 0; record < RECORDS; record++) {
        for (size_t file = 0; file < FILES; file++) {
            expected[record][file] = hash_file(&root, record, file);
            assert_int_not_equal(expected[record][file], 0);
        }
    }
    sds_dataset_close(root.ds);
    sds_store_close(root.store);
    temp_root_open_with(&root, 64 << 10);
    struct reader readers[READERS];
    pthread_t threads[READERS];
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.root = &root, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &readers[i]), 0);
    }
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    temp_root_remove(&root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers_never_see_other_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
