// SPDX-License-Identifier: Apache-2.0
//
// A cache directory for tests, and bytes that follow from where they are.
#ifndef SDSFS_TESTS_DISK_TEST_H
#define SDSFS_TESTS_DISK_TEST_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/disk/disk_cache.h"
#include "remote/disk/disk_ledger.h"
#include "remote/disk/disk_segment.h"

#define MIB ((size_t)1 << 20)

static char dir[64]; // the test's own
static char at[128]; // cache_dir below it
static unsigned told_broken, told_works;
static char told[512];

static inline void on_tell(void *ctx, const struct sds_err *why) {
    (void)ctx;
    told_broken += why != NULL;
    told_works += why == NULL;
    if (why != NULL) {
        sds_err_line(why, told, sizeof told);
    }
}

static inline int make_dir(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/disk-cache-XXXXXX");
    told_broken = told_works = 0;
    told[0] = '\0';
    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    snprintf(at, sizeof at, "%s/cache", dir);
    return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline int remove_dir(void **state) {
    (void)state;
    return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline struct sds_disk_cache *open_sized(uint64_t size) {
    struct sds_disk_options options = {.dir = at, .size = size, .tell = on_tell, .retry_ms = 1};
    struct sds_disk_cache *cache;
    struct sds_err err;
    assert_int_equal(sds_disk_cache_open(&options, &cache, &err), SDS_OK);
    return cache;
}

static inline struct sds_disk_cache *open_cache(void) {
    return open_sized(256 * MIB);
}

static inline struct sds_disk_object object(unsigned n) {
    char name[32];
    snprintf(name, sizeof name, "s3://host/b/%u", n);
    return sds_disk_object_of(name, "v1");
}

// The byte at off of object n.
static inline uint8_t byte_of(unsigned n, uint64_t off) {
    return (uint8_t)((off * 0x9e3779b97f4a7c15 + n * 0xd6e8feb86659fd93) >> 40);
}

static inline void write_bytes(struct sds_disk_cache *cache, unsigned n, uint64_t off, size_t len) {
    struct sds_disk_object of = object(n);
    struct sds_blob *blob = sds_blob_new(len + 3);
    assert_non_null(blob);
    for (size_t i = 0; i < len; i++) {
        blob->at[3 + i] = byte_of(n, off + i);
    }
    sds_disk_cache_write(cache, &of, off, blob, 3, len);
    sds_blob_unref(blob);
}

static inline void write_now(struct sds_disk_cache *cache, unsigned n, uint64_t off, size_t len) {
    write_bytes(cache, n, off, len);
    sds_disk_cache_flush(cache);
}

// 1: there and right, 0: not there, -1: there and wrong.
static inline int look(struct sds_disk_cache *cache, unsigned n, uint64_t off, size_t len) {
    struct sds_disk_object of = object(n);
    uint8_t *buf = malloc(len > 0 ? len : 1);
    int found = sds_disk_cache_read(cache, &of, off, buf, len);
    for (size_t i = 0; i < len && found == 1; i++) {
        found = buf[i] == byte_of(n, off + i) ? 1 : -1;
    }
    free(buf);
    return found;
}

#define assert_hit(cache, n, off, len) assert_int_equal(look(cache, n, off, len), 1)
#define assert_miss(cache, n, off, len) assert_int_equal(look(cache, n, off, len), 0)

static inline struct sds_disk_stats stats_of(struct sds_disk_cache *cache) {
    struct sds_disk_stats stats;
    sds_disk_cache_stats(cache, &stats);
    return stats;
}

// Where a segment of object n lies.
static inline const char *path_of(unsigned n, uint64_t number) {
    static char path[256];
    struct sds_disk_object of = object(n);
    struct sds_disk_key key = {.number = number};
    memcpy(key.id, of.id, sizeof key.id);
    char name[SDS_DISK_PATH];
    sds_disk_path(&key, name);
    snprintf(path, sizeof path, "%s/blocks-1/%s", at, name);
    return path;
}

static inline bool exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

// What all of it takes on the disk, as du counts.
static uint64_t du_bytes;
static inline int add_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)path, (void)ftw;
    du_bytes += type == FTW_NS ? 0 : (uint64_t)st->st_blocks * 512;
    return 0;
}
static inline uint64_t du(void) {
    du_bytes = 0;
    nftw(at, add_one, 16, FTW_PHYS);
    return du_bytes;
}

// What the ledger counts.
static inline uint64_t counted(void) {
    char path[256];
    snprintf(path, sizeof path, "%s/blocks-1/usage", at);
    uint8_t file[SDS_DISK_LEDGER_HEAD + 8 * SDS_DISK_COUNTERS];
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, file, sizeof file), sizeof file);
    close(fd);
    uint64_t sum = 0;
    for (unsigned i = 0; i < SDS_DISK_COUNTERS; i++) {
        sum += sds_le64(file + SDS_DISK_LEDGER_HEAD + 8 * (size_t)i);
    }
    return sum;
}

#endif
