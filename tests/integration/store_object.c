// SPDX-License-Identifier: Apache-2.0
//
// One operation of a store, for test_store.py, which holds it against the reference's store:
//
//   store_object ROOT can-publish
//   store_object ROOT create PATH            the content from standard input
//   store_object ROOT version PATH           prints the token, "-" where there is nothing
//   store_object ROOT swap PATH TOKEN        the content from standard input
//   store_object ROOT count PATH TIMES       adds one to the number in the object, so many times
//
// A failure prints its kind and check and exits with 1.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/store.h"

static struct sds_err err;
static uint8_t content_buf[1 << 20];

static int answer(enum sds_kind kind) {
    if (kind != SDS_OK) {
        printf("%s %s\n", sds_kind_name(kind), err.check);
    }
    return kind == SDS_OK ? 0 : 1;
}

static enum sds_kind add_one(struct sds_store *store, const char *path) {
    char text[32] = "0";
    struct sds_version seen;
    struct sds_blob *blob = NULL;
    enum sds_kind kind = sds_store_read_version(store, path, sizeof text - 1, &blob, &seen, &err);
    if (kind == SDS_OK) {
        memcpy(text, blob->at, blob->len);
        text[blob->len] = '\0';
        sds_blob_unref(blob);
    } else if (kind != SDS_ERR_NOT_FOUND) {
        return kind;
    }
    snprintf(text, sizeof text, "%d", atoi(text) + 1);
    return sds_store_swap(store, path, sds_span_str(text), &seen, &err);
}

static enum sds_kind count(struct sds_store *store, const char *path, int times) {
    enum sds_kind kind = SDS_OK;
    while (times > 0 && (kind == SDS_OK || kind == SDS_ERR_CONFLICT)) {
        kind = add_one(store, path);
        times -= kind == SDS_OK;
    }
    return kind;
}

static enum sds_kind run(struct sds_store *store, char **argv) {
    const char *operation = argv[0], *path = argv[1];
    if (strcmp(operation, "can-publish") == 0) {
        return sds_store_can_publish(store, &err);
    }
    if (strcmp(operation, "count") == 0) {
        return count(store, path, atoi(argv[2]));
    }
    struct sds_version version = {.there = false};
    if (strcmp(operation, "version") == 0) {
        enum sds_kind kind = sds_store_version(store, path, &version, &err);
        if (kind == SDS_OK) {
            puts(version.there ? version.token : "-");
        }
        return kind;
    }
    struct sds_span bytes = sds_span(content_buf, fread(content_buf, 1, sizeof content_buf, stdin));
    if (strcmp(operation, "create") == 0) {
        struct sds_content content = sds_content_of(&bytes);
        return sds_store_create(store, path, &content, &err);
    }
    version.there = strcmp(argv[2], "-") != 0;
    snprintf(version.token, sizeof version.token, "%s", version.there ? argv[2] : "");
    return sds_store_swap(store, path, bytes, &version, &err);
}

int main(int argc, char **argv) {
    struct sds_external_policy policy = {.mode = SDS_EXTERNAL_SAME};
    struct sds_store *store = NULL;
    if (argc < 3) {
        return 2;
    }
    if (sds_store_open(argv[1], &(struct sds_store_options){.external = policy}, &store, &err) !=
        SDS_OK) {
        return answer(err.kind);
    }
    int code = answer(run(store, argv + 2));
    sds_store_close(store);
    return code;
}
