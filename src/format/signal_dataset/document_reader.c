// SPDX-License-Identifier: Apache-2.0
//
// The document, what outlives it, and typed reads.
#include "format/signal_dataset/document_reader.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_DEPTH 128 // section 3, policy "control"
#define MAX_NODES 1000000

struct sds_item sds_document_open(struct sds_document *doc, struct sds_span text,
                                  struct sds_err *err) {
    const struct sds_json_limits limits = {SDS_MAX_DOCUMENT_BYTES, MAX_DEPTH, MAX_NODES};
    *doc = (struct sds_document){.err = err};
    struct sds_item top = {.doc = doc};
    doc->kind = sds_json_parse(text, &limits, &doc->json, err);
    if (doc->kind == SDS_OK) {
        top.value = sds_json_top(doc->json);
        if (sds_value_type(top.value) != SDS_JSON_OBJECT) {
            sds_item_unexpected(&top, "an object");
        }
    }
    return top;
}

void sds_document_close(struct sds_document *doc) {
    sds_json_free(doc->json);
    sds_buf_fini(&doc->strings);
}

static void check_text(const struct sds_item *object, const char *key, const char *text) {
    struct sds_item item = sds_item_member(object, key);
    if (!sds_value_is(item.value, text)) {
        sds_item_unexpected(&item, SDS_QUOTE(text, strlen(text)));
    }
}

void sds_check_format(const struct sds_item *top, const char *format) {
    check_text(top, "format", format);
    check_text(top, "layout_version", "0.1");
}

static void out_of_memory(struct sds_document *doc, uint64_t bytes) {
    const struct sds_item top = {.doc = doc};
    sds_item_fail(&top, SDS_ERR_NO_MEMORY, "memory", "no memory for %" PRIu64 " bytes", bytes);
}

void *sds_document_array(struct sds_document *doc, uint64_t count, size_t size) {
    if (doc->kind != SDS_OK || count == 0) {
        return NULL;
    }
    // A document has at most MAX_NODES values, so the product is far from overflow.
    void *array = calloc(count, size);
    if (array == NULL) {
        out_of_memory(doc, count * size);
    }
    doc->memory += count * size;
    return array;
}

void sds_document_reserve(struct sds_document *doc, size_t string_room) {
    if (doc->kind != SDS_OK) {
        return;
    }
    doc->strings = SDS_BUF_INIT(string_room);
    if (sds_buf_reserve(&doc->strings, string_room) != SDS_OK) {
        out_of_memory(doc, string_room);
    }
    doc->memory += doc->strings.cap;
}

char *sds_document_strings(struct sds_document *doc) {
    char *strings = (char *)doc->strings.at;
    doc->strings = SDS_BUF_INIT(0);
    return strings;
}

size_t sds_string_room(struct sds_value string) {
    bool is_string = sds_value_there(string) && sds_value_type(string) == SDS_JSON_STRING;
    return is_string ? sds_value_string_len(string) + 1 : 0;
}

void sds_check_keys(const struct sds_item *object, const char *const keys[]) {
    if (!sds_item_is(object, SDS_JSON_OBJECT)) {
        sds_item_unexpected(object, "an object");
        return;
    }
    for (struct sds_iter it = sds_value_iter(object->value); sds_iter_next(&it);) {
        size_t i = 0;
        while (keys[i] != NULL && !sds_value_is(it.key, keys[i])) {
            i++;
        }
        if (keys[i] == NULL) {
            struct sds_span text = sds_value_text(it.key);
            sds_item_fail(object, SDS_ERR_CORRUPT, "keys", "unexpected key %s",
                          SDS_QUOTE(text.at + 1, text.len - 2));
            return;
        }
    }
}

static bool check_nonnegative(const struct sds_item *item) {
    if (!sds_item_is(item, SDS_JSON_INTEGER) || sds_value_is_negative(item->value)) {
        sds_item_unexpected(item, "a nonnegative integer");
        return false;
    }
    return true;
}

uint64_t sds_read_count(const struct sds_item *object, const char *key, uint64_t max) {
    struct sds_item item = sds_item_member(object, key);
    uint64_t count;
    if (!check_nonnegative(&item)) {
        return 0;
    }
    if (!sds_value_u64(item.value, &count) || count > max) {
        sds_item_over_limit(&item, max);
        return 0;
    }
    return count;
}

uint64_t sds_read_saturated(const struct sds_item *item) {
    uint64_t number;
    if (!check_nonnegative(item)) {
        return 0;
    }
    return sds_value_u64(item->value, &number) ? number : UINT64_MAX;
}

char *sds_read_string(const struct sds_item *item, size_t *len) {
    struct sds_buf *strings = &item->doc->strings;
    size_t start = strings->len;
    *len = 0;
    if (!sds_item_is(item, SDS_JSON_STRING)) {
        sds_item_unexpected(item, "a string");
    }
    if (item->doc->kind != SDS_OK) {
        return NULL;
    }
    enum sds_kind kind = sds_value_string_add(item->value, strings);
    if (kind == SDS_OK) {
        *len = strings->len - start;
        kind = sds_buf_add(strings, "", 1);
    }
    if (kind != SDS_OK) {
        sds_item_fail(item, SDS_ERR_INTERNAL, "memory", "more strings than were counted");
        return NULL;
    }
    return (char *)strings->at + start;
}

char *sds_read_nonempty(const struct sds_item *object, const char *key, size_t *len) {
    struct sds_item item = sds_item_member(object, key);
    char *text = sds_read_string(&item, len);
    if (*len == 0) {
        sds_item_unexpected(&item, "a string that is not empty");
    }
    return text;
}

char *sds_read_portable(const struct sds_item *object, const char *key) {
    struct sds_item item = sds_item_member(object, key);
    size_t len;
    char *text = sds_read_string(&item, &len);
    if (!sds_is_portable(sds_span(text, len))) {
        sds_item_unexpected(&item, "a portable identifier");
    }
    return text;
}

bool sds_read_generation(const struct sds_item *object, uint64_t *generation) {
    struct sds_item item = sds_item_member(object, "generation");
    *generation = 0;
    if (sds_item_is_none(&item)) {
        return false;
    }
    *generation = sds_read_saturated(&item);
    return true;
}

struct sds_item sds_read_sequence(const struct sds_item *object, const char *key) {
    struct sds_item item = sds_item_member(object, key);
    bool empty_instead =
        (sds_item_is(&item, SDS_JSON_OBJECT) && sds_value_count(item.value) == 0) ||
        (sds_item_is(&item, SDS_JSON_STRING) && sds_value_string_len(item.value) == 0);
    if (!sds_item_is(&item, SDS_JSON_ARRAY) && !empty_instead) {
        sds_item_unexpected(&item, "an array");
    }
    return item;
}

void sds_check_first(const struct sds_item *entry, uint64_t first, uint64_t expected) {
    if (first != expected) {
        struct sds_item item = sds_item_member(entry, "first_ordinal");
        sds_item_refuse(&item,
                        "expected %" PRIu64 ", where the ordinals so far end, found %" PRIu64,
                        expected, first);
    }
}

void sds_check_total(const struct sds_item *object, const char *key, uint64_t declared,
                     uint64_t sum) {
    if (declared != sum) {
        struct sds_item item = sds_item_member(object, key);
        sds_item_refuse(&item, "%" PRIu64 " is declared, the entries add up to %" PRIu64, declared,
                        sum);
    }
}

struct sds_item sds_read_metadata(const struct sds_item *object) {
    struct sds_item item = sds_item_member(object, "metadata");
    if (sds_value_is_falsy(item.value)) {
        item.value = (struct sds_value){0};
    } else if (!sds_item_is(&item, SDS_JSON_OBJECT)) {
        sds_item_unexpected(&item, "an object");
    } else if (sds_value_has_infinity(item.value)) {
        sds_item_refuse(&item, "a number beyond the range of double");
    }
    return item;
}
