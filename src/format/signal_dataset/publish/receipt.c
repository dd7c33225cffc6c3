// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/receipt.h"

#include <json-c/printbuf.h>

#include "base/hash.h"

static void add_text(struct json_object *to, const char *key, const char *text) {
    json_object_object_add(to, key, json_object_new_string(text));
}

struct json_object *receipt_new(const char *set, const char *publication_id) {
    struct json_object *receipt = json_object_new_object();
    if (receipt != NULL) {
        add_text(receipt, "set", set);
        add_text(receipt, "publication_id", publication_id);
        json_object_object_add(receipt, "objects", json_object_new_array());
    }
    return receipt;
}

void receipt_add(struct json_object *receipt, const char *path, const char *sha256,
                 uint64_t stored_bytes, const char *outcome) {
    struct json_object *object = json_object_new_object();
    add_text(object, "path", path);
    if (sha256 != NULL) {
        add_text(object, "sha256", sha256);
    }
    json_object_object_add(object, "stored_bytes", json_object_new_uint64(stored_bytes));
    add_text(object, "outcome", outcome);
    json_object_array_add(json_object_object_get(receipt, "objects"), object);
}

void receipt_add_bytes(struct json_object *receipt, const char *path, struct sds_span bytes,
                       const char *outcome) {
    char sha256[SDS_SHA256_HEX];
    sds_sha256_hex(bytes, sha256);
    receipt_add(receipt, path, sha256, bytes.len, outcome);
}

static int print_verbatim(struct json_object *object, struct printbuf *out, int level, int flags) {
    (void)level, (void)flags;
    return printbuf_memappend(out, json_object_get_string(object),
                              json_object_get_string_len(object));
}

void receipt_set_pointer(struct json_object *receipt, struct sds_span text) {
    struct json_object *pointer =
        json_object_new_string_len((const char *)text.at, (int)text.len); // at most 64 MiB
    json_object_set_serializer(pointer, print_verbatim, NULL, NULL);
    json_object_object_add(receipt, "pointer", pointer);
}
