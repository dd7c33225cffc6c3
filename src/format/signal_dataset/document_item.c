// SPDX-License-Identifier: Apache-2.0
//
// Values with their place: walking from one to the next, and refusing one.
#include "format/signal_dataset/document_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_PLACE 256 // of a place in a message; the longest key is a set name of 128 bytes
#define MAX_NUMBER 40 // digits of a number in a message

struct sds_item sds_item_member(const struct sds_item *object, const char *key) {
    struct sds_item member = {.doc = object->doc, .outer = object, .key = key};
    if (!sds_item_is(object, SDS_JSON_OBJECT)) {
        sds_item_unexpected(object, "an object");
    } else {
        member.value = sds_value_get(object->value, key);
    }
    return member;
}

struct sds_item sds_item_element(const struct sds_item *array, uint64_t index,
                                 struct sds_value value) {
    return (struct sds_item){.doc = array->doc, .value = value, .outer = array, .index = index};
}

// "manifests[3].object.path", "" for the document itself; returns its length.
static size_t print_place(const struct sds_item *item, char *buf, size_t size) {
    if (item->outer == NULL) {
        buf[0] = '\0';
        return 0;
    }
    size_t len = print_place(item->outer, buf, size);
    int n = item->key == NULL
                ? snprintf(buf + len, size - len, "[%" PRIu64 "]", item->index)
                : snprintf(buf + len, size - len, "%s%s", len > 0 ? "." : "", item->key);
    size_t room = size - len - 1;
    return len + ((size_t)n < room ? (size_t)n : room);
}

static const char *nearest_key(const struct sds_item *item) {
    while (item->key == NULL && item->outer != NULL) {
        item = item->outer;
    }
    return item->key != NULL ? item->key : "document";
}

static void fail(const struct sds_item *item, enum sds_kind kind, const char *check,
                 const char *fmt, va_list args) SDS_PRINTF(4, 0);

static void fail(const struct sds_item *item, enum sds_kind kind, const char *check,
                 const char *fmt, va_list args) {
    if (item->doc->kind != SDS_OK) {
        return;
    }
    char place[MAX_PLACE];
    char what[384];
    print_place(item, place, sizeof place);
    vsnprintf(what, sizeof what, fmt, args);
    item->doc->kind =
        sds_fail(item->doc->err, kind, check, "%s%s%s", place, place[0] != '\0' ? ": " : "", what);
}

void sds_item_fail(const struct sds_item *item, enum sds_kind kind, const char *check,
                   const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fail(item, kind, check, fmt, args);
    va_end(args);
}

void sds_item_refuse(const struct sds_item *item, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fail(item, SDS_ERR_CORRUPT, nearest_key(item), fmt, args);
    va_end(args);
}

// As much of a number as a message takes.
static int number_len(struct sds_span text) {
    return text.len < MAX_NUMBER ? (int)text.len : MAX_NUMBER;
}

void sds_item_unexpected(const struct sds_item *item, const char *what) {
    struct sds_value value = item->value;
    if (!sds_value_there(value)) {
        sds_item_refuse(item, "expected %s, found nothing", what);
        return;
    }
    struct sds_span text = sds_value_text(value);
    switch (sds_value_type(value)) {
    case SDS_JSON_STRING:
        sds_item_refuse(item, "expected %s, found the string %s", what,
                        SDS_QUOTE(text.at + 1, text.len - 2));
        break;
    case SDS_JSON_INTEGER:
    case SDS_JSON_REAL:
        sds_item_refuse(item, "expected %s, found the number %.*s", what, number_len(text),
                        (const char *)text.at);
        break;
    default:
        sds_item_refuse(item, "expected %s, found %s", what, sds_value_type_name(value));
    }
}

void sds_item_over_limit(const struct sds_item *item, uint64_t max) {
    struct sds_span text = sds_value_text(item->value);
    sds_item_fail(item, SDS_ERR_LIMIT, "limit", "%.*s is more than %" PRIu64, number_len(text),
                  (const char *)text.at, max);
}
