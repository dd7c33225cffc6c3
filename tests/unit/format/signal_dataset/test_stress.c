// SPDX-License-Identifier: Apache-2.0
//
// Many readers of one dataset at once, with a cache so small that everything is loaded again and
// again: each gets the bytes that a single reader got, also while annotation sets are published.
// Run under the thread sanitizer too.
#include <pthread.h>

#include "publish_by_hand.h"

#include "format/signal_dataset/dataset.h"

#define SAMPLE PUBLISH_SAMPLE
#define READERS 6
#define RECORDS 48
#define ROUNDS 150

static const char *const files[] = {"samples.npy",
                                    "samples.1.sigmf-data",
                                    "samples.0.sigmf-meta",
                                    "gain.npy",
                                    "metadata.json",
                                    "record.safetensors",
                                    "annotations/review-v1/annotation.json"};
#define FILES (sizeof files / sizeof files[0])

static uint64_t expected[RECORDS][FILES];

// A hash of a whole file of a record; 0 when it could not be read.
static uint64_t hash_path(struct temp_root *root, unsigned record, const char *file) {
    char path[192];
    struct sds_node node;
    struct sds_pieces pieces;
    snprintf(path, sizeof path, "records/%06u/%s", record, file);
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

static uint64_t hash_file(struct temp_root *root, unsigned record, size_t file) {
    return hash_path(root, record, files[file]);
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
    temp_root_close(&root);
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

// ---- publication

#define FOLLOWERS 8
#define PUBLISHED 40

struct follower {
    struct temp_root *root;
    atomic_bool *ended;
    unsigned wrong, seen;
    uint64_t row; // hash of annotation.json of record 7, of every set
};

// An entry of records/000007/annotations: its row is the one of all sets.
static bool check_entry(void *ctx, struct sds_span name, struct sds_node row,
                        enum sds_node_type type, uint64_t next) {
    struct follower *follower = ctx;
    char path[128];
    (void)row, (void)type, (void)next;
    snprintf(path, sizeof path, "annotations/%.*s/annotation.json", (int)name.len,
             (const char *)name.at);
    follower->wrong += hash_path(follower->root, 7, path) != follower->row;
    follower->seen++;
    return true;
}

// What catalog.json names can be opened, though another catalog may be there by now.
static bool catalog_leads_on(struct temp_root *root) {
    struct sds_node node;
    struct sds_pieces pieces;
    char text[256] = "", revision[128];
    if (temp_root_find(root, "annotations/catalog.json", &node) != SDS_OK ||
        root->ds->ops->read(root->ds, node, 0, sizeof text - 1, &pieces, NULL) != SDS_OK) {
        return false;
    }
    memcpy(text, pieces.iov[0].iov_base, pieces.iov[0].iov_len);
    pieces.release(pieces.owner);
    return sscanf(text, "{\"revision\":{\"generation\":null,\"path\":\"%127[^\"]", revision) == 1 &&
           temp_root_find(root, revision, &node) == SDS_OK;
}

static void *follow_on(void *arg) {
    struct follower *follower = arg;
    const struct sds_driver_ops *ops = follower->root->ds->ops;
    struct sds_dataset *ds = follower->root->ds;
    for (bool last = false; !last;) {
        struct sds_node dir;
        unsigned entries = 0, before = follower->seen;
        last = atomic_load(follower->ended); // one more round, to see all
        follower->seen = 0;
        follower->wrong +=
            temp_root_find(follower->root, "records/000007/annotations", &dir) != SDS_OK ||
            ops->list(ds, dir, 0, check_entry, follower, NULL) != SDS_OK;
        follower->wrong += follower->seen < before; // none goes away
        follower->wrong += temp_root_find(follower->root, "annotations/sets", &dir) != SDS_OK ||
                           ops->list(ds, dir, 0, count_entry, &entries, NULL) != SDS_OK;
        follower->wrong += entries < follower->seen; // looked at later
        follower->wrong += !catalog_leads_on(follower->root);
    }
    return NULL;
}

static void readers_follow_publications(void **state) {
    (void)state;
    struct temp_root root = {0};
    atomic_bool ended = false;
    struct follower followers[FOLLOWERS];
    pthread_t threads[FOLLOWERS];
    char *sets = strdup(PUBLISH_SAMPLE_SET);
    temp_root_make(&root);
    temp_root_copy(&root, SAMPLE);
    temp_root_open_with(&root, 64 << 10);
    uint64_t row = hash_path(&root, 7, "annotations/review-v1/annotation.json");
    for (unsigned i = 0; i < FOLLOWERS; i++) {
        followers[i] = (struct follower){.root = &root, .ended = &ended, .row = row};
        assert_int_equal(pthread_create(&threads[i], NULL, follow_on, &followers[i]), 0);
    }
    for (unsigned i = 0; i < PUBLISHED; i++) {
        char name[16];
        snprintf(name, sizeof name, "set-%u", i);
        publish_set(&root, &sets, name);
        if (i % 2 == 0) { // as our own publisher would
            assert_int_equal(annotations_reload((struct signal_dataset *)root.ds, NULL), SDS_OK);
        }
    }
    atomic_store(&ended, true);
    for (unsigned i = 0; i < FOLLOWERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(followers[i].wrong, 0);
        assert_int_equal(followers[i].seen, PUBLISHED + 1);
    }
    temp_root_remove(&root);
    free(sets);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers_never_see_other_bytes),
                                       cmocka_unit_test(readers_follow_publications)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
