// SPDX-License-Identifier: Apache-2.0
//
// A root in a directory of its own, for the tests of the local store.
#ifndef SDSFS_TESTS_LOCAL_ROOT_H
#define SDSFS_TESTS_LOCAL_ROOT_H

#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/store.h"

static char top[] = "/tmp/sdsfs-store-XXXXXX";
static char path_buf[512];

// The path of a name below the root, until the next call.
static inline const char *at(const char *name) {
    snprintf(path_buf, sizeof path_buf, "%s/%s", top, name);
    return path_buf;
}

static inline void write_file(const char *name, const char *text) {
    FILE *f = fopen(at(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline int make_root(void **state) {
    (void)state;
    strcpy(top + sizeof top - 7, "XXXXXX");
    return mkdtemp(top) == NULL;
}

// What is below the root, by name, but the locks that stay behind; temporary files count.
static unsigned files_below;
static inline int count_one(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)st;
    files_below += type != FTW_D && strstr(path + where->base, ".lock") == NULL;
    return 0;
}
static inline unsigned count_files(void) {
    files_below = 0;
    assert_int_equal(nftw(top, count_one, 8, FTW_PHYS), 0);
    return files_below;
}

static inline int unlink_one(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static inline int remove_root(void **state) {
    (void)state;
    return nftw(top, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void expect_file(const char *name, const char *text) {
    char got[256] = {0};
    FILE *f = fopen(at(name), "r");
    assert_non_null(f);
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(got, text);
}

// The writing calls with strings.
static inline enum sds_kind create(struct sds_store *store, const char *path, const char *text,
                                   struct sds_err *err) {
    struct sds_span bytes = sds_span_str(text);
    struct sds_content content = sds_content_of(&bytes);
    return sds_store_create(store, path, &content, err);
}

static inline enum sds_kind swap(struct sds_store *store, const char *path, const char *text,
                                 const struct sds_version *seen, struct sds_err *err) {
    return sds_store_swap(store, path, sds_span_str(text), seen, err);
}

static inline struct sds_store *open_store(const char *root, const char *external) {
    struct sds_external_policy policy;
    assert_true(sds_external_parse(external, &policy));
    struct sds_store *store = NULL;
    assert_int_equal(
        sds_store_open(root, &(struct sds_store_options){.external = policy}, &store, NULL),
        SDS_OK);
    return store;
}

#endif
