// SPDX-License-Identifier: Apache-2.0
//
// Publishes annotation sets into a copy of the sample dataset, without a publisher: each has the
// rows of the sample's own set, under another name. Names stay in the order of publication, as
// other writers may have them.
#ifndef SDSFS_TESTS_PUBLISH_BY_HAND_H
#define SDSFS_TESTS_PUBLISH_BY_HAND_H

#include "temp_root.h"

#include "base/hash.h"

#define PUBLISH_SAMPLE SDSFS_TEST_DATA "/sample.sds"
#define PUBLISH_SAMPLE_SET                                                                         \
    "\"review-v1\":{\"generation\":null,\"path\":\"annotations/sets/review-v1/"                    \
    "0f334badc0032b1b9c337d48120ca7ea/root.json\",\"stored_bytes\":416}"

// Atomically, as publishers do.
static inline void publish_replace(struct temp_root *root, const char *name, const char *text) {
    char from[512], to[512];
    temp_root_write(root, "annotations/new", text);
    snprintf(from, sizeof from, "%s/annotations/new", root->path);
    snprintf(to, sizeof to, "%s/%s", root->path, name);
    assert_int_equal(rename(from, to), 0);
}

// Writes a revision of these sets (JSON members) and points the catalog at it.
static inline void publish_catalog(struct temp_root *root, const char *sets) {
    char *revision = temp_root_format("{\"sets\":{%s}}", sets);
    char hash[SDS_SHA256_HEX];
    sds_sha256_hex(sds_span_str(revision), hash);
    char *path = temp_root_format("annotations/catalogs/%s.json", hash);
    char *pointer = temp_root_format("{\"revision\":{\"generation\":null,\"path\":\"%s\"}}", path);
    char there[512];
    snprintf(there, sizeof there, "%s/%s", root->path, path);
    if (access(there, F_OK) != 0) {
        temp_root_write(root, path, revision);
    }
    publish_replace(root, "annotations/catalog.json", pointer);
    free(pointer);
    free(path);
    free(revision);
}

// Writes the root of a set; returns its member of a revision, to be freed.
static inline char *publish_set_root(struct temp_root *root, const char *name) {
    char *path = temp_root_format("annotations/sets/%s/p/root.json", name);
    char *text = temp_root_format(
        "{\"metadata\":{},\"name\":\"%s\",\"publication_id\":\"p\",\"record_count\":48,"
        "\"shards\":[{\"first_ordinal\":0,\"object\":{\"path\":\"annotations/sets/review-v1/"
        "0f334badc0032b1b9c337d48120ca7ea/objects/d7/"
        "d7d8dba841a911b723bc28260bcd2019afd96a2060935b682356d44046e8f764.arrayrecord\","
        "\"stored_bytes\":131072},\"record_count\":48}],"
        "\"source_snapshot_id\":\"v1\"}",
        name);
    size_t bytes = temp_root_write(root, path, text);
    char *member = temp_root_format(
        "\"%s\":{\"generation\":null,\"path\":\"%s\",\"stored_bytes\":%zu}", name, path, bytes);
    free(text);
    free(path);
    return member;
}

// Adds a set to those that *sets names.
static inline void publish_set(struct temp_root *root, char **sets, const char *name) {
    char *member = publish_set_root(root, name);
    char *more = temp_root_format("%s,%s", *sets, member);
    publish_catalog(root, more);
    free(member);
    free(*sets);
    *sets = more;
}

#endif
