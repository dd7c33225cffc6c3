// SPDX-License-Identifier: Apache-2.0
//
// A store on an object_server, made anew for each test.
#ifndef SDSFS_TESTS_REMOTE_ROOT_H
#define SDSFS_TESTS_REMOTE_ROOT_H

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/wait.h"
#include "remote/online/object_server.h"
#include "remote/store.h"

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)

static struct object_server server;
static struct sds_cache *ledger;
static struct sds_store *store;
static char root[64], endpoint[64];
static struct sds_store_options options;

SCRIPTED void open_root(const char *which) {
    options.cache = ledger;
    options.external = (struct sds_external_policy){.mode = SDS_EXTERNAL_SAME};
    options.remote.endpoint = which[0] == 's' ? endpoint : NULL;
    assert_int_equal(sds_store_open(which, &options, &store, NULL), SDS_OK);
}

SCRIPTED void open_store(void) {
    open_root(root);
}

SCRIPTED int begin(void **state) {
    (void)state;
    object_server_start(&server);
    ledger = sds_cache_new(64 * MIB);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", server.server->port);
    snprintf(root, sizeof root, "http://127.0.0.1:%u/b", server.server->port);
    options = (struct sds_store_options){.remote = {.read_ahead = 16 * MIB,
                                                    .timeout_ms = 5000,
                                                    .retries = 5,
                                                    .path_style = true,
                                                    .no_sign_request = true}};
    store = NULL;
    return 0;
}

SCRIPTED int end(void **state) {
    (void)state;
    struct sds_cache_stats stats;
    sds_store_close(store);
    sds_cache_stats(ledger, &stats);
    sds_cache_free(ledger);
    object_server_stop(&server);
    return stats.bytes != 0;
}

SCRIPTED struct sds_object *open_object(const char *path, uint64_t size, bool whole) {
    struct sds_object *object = NULL;
    struct sds_expected expected = {.sized = true, .size = size, .whole = whole};
    assert_int_equal(sds_store_object(store, path, SDS_IMMUTABLE, &expected, &object, NULL),
                     SDS_OK);
    return object;
}

SCRIPTED uint8_t buffer[24 << 20];

SCRIPTED void expect_bytes(const uint8_t *bytes, uint64_t seed, uint64_t off, uint64_t len) {
    for (uint64_t i = 0; i < len; i++) {
        if (bytes[i] != served_byte(seed, off + i)) {
            fail_msg("byte %llu is wrong", (unsigned long long)(off + i));
        }
    }
}

SCRIPTED void read_good(struct sds_object *object, uint64_t seed, uint64_t off, uint64_t len) {
    struct sds_err err = {.message = ""};
    if (sds_object_read(object, off, buffer, (size_t)len, &err) != SDS_OK) {
        fail_msg("%s: %s", err.check, err.message);
    }
    expect_bytes(buffer, seed, off, len);
}

SCRIPTED void read_fails(struct sds_object *object, enum sds_kind kind, const char *check) {
    struct sds_err err = {.check = ""};
    assert_int_equal(sds_object_read(object, 0, buffer, 10, &err), kind);
    assert_string_equal(err.check, check);
}

SCRIPTED void expect_all(const char *path, const struct sds_expected *expected, enum sds_kind kind,
                         const char *check) {
    struct sds_err err = {.check = ""};
    struct sds_blob *blob = NULL;
    enum sds_kind got =
        sds_store_read_all(store, path, expected, 64 * MIB, SDS_IMMUTABLE, &blob, &err);
    if (got != kind || strcmp(err.check, check) != 0) {
        fail_msg("%s: %d %s %s", path, got, err.check, err.message);
    }
    sds_blob_unref(blob);
}

#endif
