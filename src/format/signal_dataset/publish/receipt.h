// SPDX-License-Identifier: Apache-2.0
//
// What a publication wrote, in the order in which it did. Meant to be printed: the objects and the
// pointer in it are texts.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_RECEIPT_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_RECEIPT_H

#include <json-c/json.h>
#include <stdint.h>

#include "base/bytes.h"

// A receipt with "set", "publication_id" and an empty list of "objects"; NULL when there is no
// memory.
struct json_object *receipt_new(const char *set, const char *publication_id);
// sha256 in hex, of the object's bytes; NULL for an object that was there already and was not read.
void receipt_add(struct json_object *receipt, const char *path, const char *sha256,
                 uint64_t stored_bytes, const char *outcome);
// The same for an object whose bytes are at hand.
void receipt_add_bytes(struct json_object *receipt, const char *path, struct sds_span bytes,
                       const char *outcome);
// Adds the pointer, printed as it stands in the store.
void receipt_set_pointer(struct json_object *receipt, struct sds_span text);

#endif
