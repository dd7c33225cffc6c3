// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/disagree.h"

#include <stdio.h>
#include <string.h>

struct comparison {
    void (*tell)(void *ctx, const char *what);
    void *ctx;
    enum sds_kind kind; // of comparing: no memory
};

static void differ(struct comparison *c, const char *what, struct sds_span field) {
    char text[256];
    if (field.at == NULL) {
        snprintf(text, sizeof text, "%s", what);
    } else {
        snprintf(text, sizeof text, "field %s: %s", SDS_QUOTE(field.at, field.len), what);
    }
    c->tell(c->ctx, text);
}

static bool is_null(struct sds_value v) {
    return !sds_value_there(v) || sds_value_type(v) == SDS_JSON_NULL;
}

// What Python's `value or {}` replaces.
static bool is_falsy(struct sds_value v) {
    uint64_t number;
    if (is_null(v)) {
        return true;
    }
    switch (sds_value_type(v)) {
    case SDS_JSON_FALSE:
        return true;
    case SDS_JSON_INTEGER:
        return sds_value_u64(v, &number) && number == 0;
    case SDS_JSON_REAL:
        return sds_value_double(v) == 0;
    case SDS_JSON_STRING:
        return sds_value_string_len(v) == 0;
    case SDS_JSON_ARRAY:
    case SDS_JSON_OBJECT:
        return sds_value_count(v) == 0;
    default:
        return false;
    }
}

static bool same(struct comparison *c, struct sds_value a, struct sds_value b) {
    bool equal = false;
    if (is_null(a) || is_null(b)) {
        return is_null(a) && is_null(b);
    }
    enum sds_kind kind = sds_value_equal(a, b, &equal);
    c->kind = kind != SDS_OK ? kind : c->kind;
    return equal;
}

static bool same_metadata(struct comparison *c, struct sds_value a, struct sds_value b) {
    if (is_falsy(a) || is_falsy(b)) {
        return is_falsy(a) && is_falsy(b);
    }
    return same(c, a, b);
}

static bool same_members(struct comparison *c, struct sds_value a, struct sds_value b,
                         const char *const *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!same(c, sds_value_get(a, keys[i]), sds_value_get(b, keys[i]))) {
            return false;
        }
    }
    return same_metadata(c, sds_value_get(a, "metadata"), sds_value_get(b, "metadata"));
}

static bool same_coordinate(struct comparison *c, struct sds_value a, struct sds_value b) {
    static const char *const keys[] = {"values", "start", "step", "reference", "unit"};
    if (is_null(a) || is_null(b)) {
        return is_null(a) && is_null(b);
    }
    return same_members(c, a, b, keys, sizeof keys / sizeof keys[0]);
}

static bool same_axes(struct comparison *c, struct sds_value a, struct sds_value b) {
    static const char *const keys[] = {"name", "length", "role", "id"};
    uint64_t count = sds_value_there(a) ? sds_value_count(a) : 0;
    if (count != (sds_value_there(b) ? sds_value_count(b) : 0)) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    struct sds_iter x = sds_value_iter(a), y = sds_value_iter(b);
    while (sds_iter_next(&x) && sds_iter_next(&y)) {
        if (!same_members(c, x.value, y.value, keys, sizeof keys / sizeof keys[0]) ||
            !same_coordinate(c, sds_value_get(x.value, "coordinate"),
                             sds_value_get(y.value, "coordinate"))) {
            return false;
        }
    }
    return true;
}

static void compare_field(struct comparison *c, const struct sds_field *a,
                          const struct sds_field *b) {
    if (a->dtype != b->dtype) {
        differ(c, "another dtype", a->name);
    }
    if (a->rank != b->rank || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) != 0) {
        differ(c, "another shape", a->name);
    }
    if (!same_axes(c, a->axes, b->axes)) {
        differ(c, "other axes", a->name);
    }
    if (!same_metadata(c, a->metadata, b->metadata)) {
        differ(c, "other metadata", a->name);
    }
}

static void compare_fields(struct comparison *c, const struct sds_record *payload,
                           const struct sds_record *entry) {
    for (uint32_t i = 0; i < payload->field_count; i++) {
        int32_t k = sds_record_find(entry, payload->fields[i].name);
        if (k < 0) {
            differ(c, "only in the payload", payload->fields[i].name);
        } else {
            compare_field(c, &payload->fields[i], &entry->fields[k]);
        }
    }
    for (uint32_t i = 0; i < entry->field_count; i++) {
        if (sds_record_find(payload, entry->fields[i].name) < 0) {
            differ(c, "only in the metadata entry", entry->fields[i].name);
        }
    }
}

enum sds_kind disagreements(const struct sds_record *payload, const struct sds_record *entry,
                            void (*tell)(void *ctx, const char *what), void *ctx) {
    struct comparison c = {.tell = tell, .ctx = ctx};
    struct sds_span none = {0};
    if (!same(&c, payload->id, entry->id)) {
        differ(&c, "another id", none);
    }
    if (!same(&c, payload->scene_id, entry->scene_id)) {
        differ(&c, "another scene_id", none);
    }
    if (!same_metadata(&c, payload->metadata, entry->metadata)) {
        differ(&c, "other metadata", none);
    }
    compare_fields(&c, payload, entry);
    return c.kind;
}
