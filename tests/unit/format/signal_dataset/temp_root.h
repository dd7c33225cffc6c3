// SPDX-License-Identifier: Apache-2.0
//
// Datasets in a temporary directory, written from the JSON of their parts.
#ifndef SDSFS_TESTS_TEMP_ROOT_H
#define SDSFS_TESTS_TEMP_ROOT_H

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "format/driver.h"

#define TEMP_ROOT_PAGE "manifests/00/s-0.json"

struct temp_root {
    char path[64];
    size_t mem_cache; // bytes
    struct sds_cache *cache;
    struct sds_store *store;
    struct sds_dataset *ds;
};

static inline void temp_root_make(struct temp_root *root) {
    *root = (struct temp_root){.path = "/tmp/sdsfs-root-XXXXXX", .mem_cache = 16 << 20};
    assert_non_null(mkdtemp(root->path));
}

// Makes the directories above a file.
static inline void temp_root_dirs(char *path) {
    for (char *p = path + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(path, 0755);
        *p = '/';
    }
}

// Writes a file below the root; returns its size.
static inline size_t temp_root_write(struct temp_root *root, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root->path, name);
    temp_root_dirs(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return strlen(text);
}

static inline char *SDS_PRINTF(1, 2) temp_root_format(const char *fmt, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    assert_true(vasprintf(&text, fmt, args) >= 0);
    va_end(args);
    return text;
}

// Writes root, snapshot and one manifest page, which the snapshot names as page_path (the page lies
// at manifests/00/s-0.json). shards: the JSON of the page's shard entries, which hold `records`
// records in `count` shards of together `bytes` bytes.
static inline void temp_root_documents(struct temp_root *root, const char *page_path,
                                       const char *shards, unsigned records, unsigned count,
                                       unsigned bytes) {
    char *page = temp_root_format(
        "{\"format\":\"signal-dataset.manifest\",\"layout_version\":\"0.1\",\"first_ordinal\":0,"
        "\"record_count\":%u,\"shards\":[%s]}",
        records, shards);
    size_t page_bytes = temp_root_write(root, "manifests/00/s-0.json", page);
    char *snapshot = temp_root_format(
        "{\"format\":\"signal-dataset.snapshot\",\"layout_version\":\"0.1\",\"snapshot_id\":\"s\","
        "\"record_count\":%u,\"shard_count\":%u,\"stored_bytes\":%u,\"manifests\":[{"
        "\"first_ordinal\":0,\"record_count\":%u,\"shard_count\":%u,\"stored_bytes\":%u,"
        "\"object\":{\"path\":\"%s\",\"stored_bytes\":%zu}}]}",
        records, count, bytes, records, count, bytes, page_path, page_bytes);
    size_t snapshot_bytes = temp_root_write(root, "snapshots/s/snapshot.json", snapshot);
    char *top = temp_root_format(
        "{\"format\":\"signal-dataset.dataset\",\"layout_version\":\"0.1\",\"dataset_id\":\"d\","
        "\"record_codec\":{\"name\":\"safetensors\"},\"shard_format\":{\"name\":\"array_record\"},"
        "\"snapshot\":{\"path\":\"snapshots/s/snapshot.json\",\"stored_bytes\":%zu}}",
        snapshot_bytes);
    temp_root_write(root, "root.json", top);
    free(page);
    free(snapshot);
    free(top);
}

// A copy of a directory tree, by cp.
static inline void temp_root_copy(struct temp_root *root, const char *from) {
    char *command = temp_root_format("cp -r '%s/.' '%s/'", from, root->path);
    assert_int_equal(system(command), 0);
    free(command);
}

static inline void temp_root_open_how(struct temp_root *root,
                                      const struct sds_open_options *options) {
    struct sds_open_options how = *options;
    struct sds_err err;
    root->cache = sds_cache_new(root->mem_cache);
    how.cache = root->cache;
    assert_int_equal(sds_store_open(root->path,
                                    &(struct sds_store_options){
                                        .external = {.mode = SDS_EXTERNAL_SAME},
                                        .cache = root->cache,
                                    },
                                    &root->store, &err),
                     SDS_OK);
    assert_int_equal(sds_dataset_open(root->store, &how, &root->ds, &err), SDS_OK);
}

static inline void temp_root_open_with(struct temp_root *root, size_t mem_cache) {
    root->mem_cache = mem_cache;
    temp_root_open_how(root,
                       &(struct sds_open_options){.max_record = 1 << 30, .decode_threads = 1, .read_ahead = 24 << 20});
}

static inline void temp_root_open(struct temp_root *root) {
    temp_root_open_with(root, 16 << 20);
}

static inline void temp_root_close(struct temp_root *root) {
    sds_dataset_close(root->ds);
    sds_store_close(root->store);
    sds_cache_free(root->cache);
    root->cache = NULL;
}

static inline int temp_root_unlink(const char *path, const struct stat *st, int type,
                                   struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static inline void temp_root_remove(struct temp_root *root) {
    temp_root_close(root);
    assert_int_equal(nftw(root->path, temp_root_unlink, 8, FTW_DEPTH | FTW_PHYS), 0);
}

// The node of a path, or the kind of failure.
static inline enum sds_kind temp_root_find(struct temp_root *root, const char *path,
                                           struct sds_node *out) {
    *out = SDS_NODE_ROOT;
    for (const char *p = path; *p != '\0';) {
        size_t len = strcspn(p, "/");
        enum sds_kind kind = root->ds->ops->lookup(root->ds, *out, sds_span(p, len), out, NULL);
        if (kind != SDS_OK) {
            return kind;
        }
        p += len + (p[len] == '/');
    }
    return SDS_OK;
}

#endif
