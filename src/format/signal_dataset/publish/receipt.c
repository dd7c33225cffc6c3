// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/receipt.h"

#include <json-c/printbuf.h>
#include <stdio.h>

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

static int print_verbatim(struct json_object *object, struct printbuf *out, int level, int flags) {
    (void)level, (void)flags;
    return printbuf_memappend(out, json_object_get_string(object),
                              json_object_get_string_len(object));
}

// JSON text as a value that is printed as it stands.
static struct json_object *verbatim(const char *text, size_t len) {
    struct json_object *object = json_object_new_string_len(text, (int)len);
    json_object_set_serializer(object, print_verbatim, NULL, NULL);
    return object;
}

// An object is kept as its text: a set may have a hundred thousand of them, and json-c takes three
// times as much memory for one with members.
void receipt_add(struct json_object *receipt, const char *path, const char *sha256,
                 uint64_t stored_bytes, const char *outcome) {
    char text[768]; // a path of ours has nothing to escape
    char digest[96] = "";
    if (sha256 != NULL) {
        snprintf(digest, sizeof digest, ", \"sha256\": \"%s\"", sha256);
    }
    int len = snprintf(text, sizeof text,
                       "{\"path\": \"%s\"%s, \"stored_bytes\": %llu, \"outcome\": \"%s\"}", path,
                       digest, (unsigned long long)stored_bytes, outcome);
    json_object_array_add(json_object_object_get(receipt, "objects"), verbatim(text, (size_t)len));
}

void receipt_add_bytes(struct json_object *receipt, const char *path, struct sds_span bytes,
                       const char *outcome) {
    char sha256[SDS_SHA256_HEX];
    sds_sha256_hex(bytes, sha256);
    receipt_add(receipt, path, sha256, bytes.len, outcome);
}

void receipt_set_pointer(struct json_object *receipt, struct sds_span text) {
    json_object_object_add(receipt, "pointer",
                           verbatim((const char *)text.at, text.len)); // at most 64 MiB
}
