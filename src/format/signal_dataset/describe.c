// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/describe.h"

#include <json-c/printbuf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/wait.h"
#include "format/signal_dataset/ahead.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/records.h"

// A string of a document may have halves of surrogate pairs, which no reader of JSON takes as
// bytes.
static void add_text(struct json_object *to, const char *key, const char *text, size_t len) {
    sds_autofree char *copy = malloc(len + 1);
    if (copy != NULL && len > 0) {
        memcpy(copy, text, len);
        sds_scrub_utf8(copy, len);
    }
    json_object_object_add(to, key,
                           copy != NULL ? json_object_new_string_len(copy, (int)len) : NULL);
}

static void add_number(struct json_object *to, const char *key, uint64_t value) {
    json_object_object_add(to, key, json_object_new_uint64(value));
}

// Lines behind the first one stand as far to the right as the object that the value is in: JSON has
// no line ends inside of tokens.
static int print_verbatim(struct json_object *object, struct printbuf *out, int level, int flags) {
    const char *text = json_object_get_string(object);
    const char *end = text + json_object_get_string_len(object);
    int indent = (flags & JSON_C_TO_STRING_PRETTY) != 0 ? 2 * level : 0;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *next = newline != NULL ? newline + 1 : end;
        if (printbuf_memappend(out, text, (int)(next - text)) < 0 ||
            (newline != NULL && printbuf_memset(out, -1, ' ', indent) < 0)) {
            return -1;
        }
        text = next;
    }
    return 0;
}

// JSON text as a value, printed as it stands: json-c would lose large integers and deep nesting.
static struct json_object *verbatim(const char *text) {
    struct json_object *object = json_object_new_string(text);
    json_object_set_serializer(object, print_verbatim, NULL, NULL);
    return object;
}

static struct json_object *sets_json(struct signal_dataset *ds) {
    struct json_object *sets = json_object_new_array();
    struct annotation_catalog *catalog = annotations_hold(ds);
    for (size_t i = 0; i < catalog->count; i++) {
        const struct annotation_set *set = catalog->sets[i];
        struct json_object *one = json_object_new_object();
        json_object_object_add(one, "name", json_object_new_string(set->name));
        json_object_object_add(one, "publication_id", json_object_new_string(set->publication_id));
        add_number(one, "record_count", set->record_count);
        add_number(one, "shard_count", set->shard_count);
        json_object_array_add(sets, one);
    }
    catalog_unref(catalog);
    return sets;
}

static struct json_object *field_json(const struct sds_field *field) {
    struct json_object *one = json_object_new_object();
    struct json_object *shape = json_object_new_array();
    for (uint32_t i = 0; i < field->rank; i++) {
        json_object_array_add(shape, json_object_new_uint64(field->shape[i]));
    }
    add_text(one, "name", (const char *)field->name.at, field->name.len);
    json_object_object_add(one, "dtype", json_object_new_string(sds_dtype_numpy(field->dtype)));
    json_object_object_add(one, "shape", shape);
    return one;
}

static struct json_object *fields_json(const struct sds_record *record) {
    struct json_object *all = json_object_new_array();
    for (uint32_t i = 0; i < record->field_count; i++) {
        json_object_array_add(all, field_json(&record->fields[i]));
    }
    return all;
}

// Who must not be blocked would have a server asked, and let go of what comes when the description
// is done without it. So it is brought in for the next who asks.
static enum sds_kind fields_of_first(struct signal_dataset *ds, struct record_fields *out) {
    if (ds->chain.snapshot.record_count == 0) {
        return SDS_ERR_CORRUPT;
    }
    if (!sds_task_here() || ds->ahead == NULL || !sds_store_is_remote(ds->store)) {
        return record_fields(ds, 0, out, NULL);
    }
    if (record_fields_at_hand(ds, 0, out)) {
        return SDS_OK;
    }
    ahead_entry(ds->ahead, 0);
    return SDS_ERR_WAITING;
}

// The layout declares no fields for the dataset: those of the first record are what a user wants to
// see. A first record that is bad leaves the list empty; instead of one that cannot be had now,
// or that a server has and that is bad, there is a null. What was seen once is kept, since the
// record may leave the cache.
static struct json_object *first_fields_json(struct signal_dataset *ds) {
    struct record_fields fields;
    const char *seen = atomic_load(&ds->first_fields);
    if (seen != NULL) {
        return verbatim(seen);
    }
    enum sds_kind kind = fields_of_first(ds, &fields);
    if (kind != SDS_OK) {
        return sds_kind_is_verdict(kind) ? json_object_new_array() : NULL;
    }
    struct json_object *all = fields_json(fields.record);
    record_fields_fini(&fields);
    char *text = strdup(json_object_to_json_string_ext(
        all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
    char *none = NULL;
    if (!atomic_compare_exchange_strong(&ds->first_fields, &none, text)) {
        free(text);
    }
    return all;
}

enum sds_kind describe(struct signal_dataset *ds, struct json_object **out, struct sds_err *err) {
    const struct chain *chain = &ds->chain;
    enum sds_kind kind = annotations_follow(ds, err);
    if (kind != SDS_OK && kind != SDS_ERR_WAITING) { // else the sets as they were known last
        return kind;
    }
    struct json_object *facts = json_object_new_object();
    if (facts == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a description");
    }
    add_text(facts, "driver", "signal-dataset", sizeof "signal-dataset" - 1);
    add_text(facts, "dataset_id", chain->root.dataset_id, chain->root.dataset_id_len);
    add_text(facts, "snapshot_id", chain->snapshot.snapshot_id, chain->snapshot.snapshot_id_len);
    add_number(facts, "record_count", chain->snapshot.record_count);
    add_number(facts, "shard_count", chain->snapshot.shard_count);
    add_number(facts, "stored_bytes", chain->snapshot.stored_bytes);
    add_number(facts, "manifest_pages", chain->snapshot.page_count);
    json_object_object_add(facts, "metadata", verbatim(chain->root.metadata));
    json_object_object_add(facts, "fields_of_first_record", first_fields_json(ds));
    json_object_object_add(facts, "annotation_sets", sets_json(ds));
    *out = facts;
    return SDS_OK;
}
