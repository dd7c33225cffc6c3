// SPDX-License-Identifier: Apache-2.0
//
// How the parsers of control documents read (private to them). A parser first adds up the room its
// strings need, reserves it in one block, and then reads member after member into its struct:
//
//     struct sds_document doc;
//     struct sds_item top = sds_document_open(&doc, text, err);
//     out->record_count = sds_read_count(&top, "record_count", SDS_MAX_RECORDS);
//     ...
//     enum sds_kind kind = doc.kind;
//     sds_document_close(&doc);
//
// The first failure is kept in the document, with the place in its message
// ("manifests[3].object.path: expected ..."). After it every read returns zeros and reports
// nothing, so a parser asks once, at its end; loops ask each round. Checks are named after the key
// they are about.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_DOCUMENT_READER_H
#define SDSFS_FORMAT_SIGNAL_DATASET_DOCUMENT_READER_H

#include "base/ckd.h"
#include "base/json.h"
#include "format/signal_dataset/documents.h"

struct sds_document {
    struct sds_json *json;
    struct sds_buf strings; // as large as reserved from the start, so that it never moves
    size_t memory;          // bytes of what outlives the document
    enum sds_kind kind;     // SDS_OK, or that of the first failure
    struct sds_err *err;
};

// A value and where in the document it stands.
struct sds_item {
    struct sds_document *doc;
    struct sds_value value;       // absent when there is no such member
    const struct sds_item *outer; // NULL: the document itself
    const char *key;              // of this member of outer; NULL: an element of it
    uint64_t index;               // of the element
};

// document_item.c

struct sds_item sds_item_member(const struct sds_item *object, const char *key);
struct sds_item sds_item_element(const struct sds_item *array, uint64_t index,
                                 struct sds_value value);
static inline bool sds_item_is(const struct sds_item *item, enum sds_json_type type) {
    return sds_value_there(item->value) && sds_value_type(item->value) == type;
}
// Absent or null, which mean the same wherever both are allowed.
static inline bool sds_item_is_none(const struct sds_item *item) {
    return !sds_value_there(item->value) || sds_value_type(item->value) == SDS_JSON_NULL;
}

// Unless something has failed already: CORRUPT, under the name of the nearest key.
void sds_item_refuse(const struct sds_item *item, const char *fmt, ...) SDS_PRINTF(2, 3);
// The same with "expected <what>, found ...".
void sds_item_unexpected(const struct sds_item *item, const char *what);
// LIMIT, for a number.
void sds_item_over_limit(const struct sds_item *item, uint64_t max);
void sds_item_fail(const struct sds_item *item, enum sds_kind kind, const char *check,
                   const char *fmt, ...) SDS_PRINTF(4, 5);

// document_reader.c

// Parses text and insists on an object at the top. Must be closed, also after a failure.
struct sds_item sds_document_open(struct sds_document *doc, struct sds_span text,
                                  struct sds_err *err);
void sds_document_close(struct sds_document *doc);
// The format and layout_version members that documents of the chain begin with.
void sds_check_format(const struct sds_item *top, const char *format);

// Memory that outlives the document. An array is zeroed, NULL when count is 0 or after a failure.
void *sds_document_array(struct sds_document *doc, uint64_t count, size_t size);
void sds_document_reserve(struct sds_document *doc, size_t string_room);
char *sds_document_strings(struct sds_document *doc); // hands the block over
// The room a string needs, NUL included; 0 for other values, which reading will refuse.
size_t sds_string_room(struct sds_value string);
size_t sds_reference_room(struct sds_value reference);

// Refuses any key that is not in keys (NULL-terminated); that those are there is for reading to
// say.
void sds_check_keys(const struct sds_item *object, const char *const keys[]);

// A nonnegative integer of at most max, else LIMIT.
uint64_t sds_read_count(const struct sds_item *object, const char *key, uint64_t max);
// A nonnegative integer; UINT64_MAX stands for larger ones.
uint64_t sds_read_saturated(const struct sds_item *item);
// A string, appended to the document's block with a NUL.
char *sds_read_string(const struct sds_item *item, size_t *len);
char *sds_read_nonempty(const struct sds_item *object, const char *key, size_t *len);
// A portable identifier (section 7).
char *sds_read_portable(const struct sds_item *object, const char *key);
// generation, which is optional and may be null. Returns whether it pins a version.
bool sds_read_generation(const struct sds_item *object, uint64_t *generation);
// An object reference (section 4; reference.c): an item that should be one, or a member.
struct sds_reference sds_item_reference(const struct sds_item *item);
struct sds_reference sds_read_reference(const struct sds_item *object, const char *key);
// What the reference reader iterates over where it wants an array: arrays, but also the empty
// object and the empty string. Returns an item to take elements from.
struct sds_item sds_read_sequence(const struct sds_item *object, const char *key);
// Refuses an entry whose first ordinal is not where the one before it ended.
void sds_check_first(const struct sds_item *entry, uint64_t first, uint64_t expected);
// Refuses a declared total that is not what the entries add up to.
void sds_check_total(const struct sds_item *object, const char *key, uint64_t declared,
                     uint64_t sum);
// metadata: an object of finite numbers, or a falsy value, which means {}. Returns the object, or
// an item whose value is absent.
struct sds_item sds_read_metadata(const struct sds_item *object);

// Sums that pass 64 bits stay at UINT64_MAX, which no declared total reaches.
static inline uint64_t sds_add_saturated(uint64_t a, uint64_t b) {
    uint64_t sum;
    return sds_ckd_add(&sum, a, b) ? UINT64_MAX : sum;
}

#endif
