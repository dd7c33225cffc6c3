// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/disagree.h"

#include <stdio.h>
#include <string.h>

#include "format/signal_dataset/axis.h"

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

// Keeps the first failure of comparing, which can only be want of memory.
static bool told(struct comparison *c, enum sds_kind kind, bool equal) {
    c->kind = c->kind == SDS_OK ? kind : c->kind;
    return kind == SDS_OK && equal;
}

static bool same(struct comparison *c, struct sds_value a, struct sds_value b) {
    bool equal = false;
    enum sds_kind kind = sds_value_equal(a, b, &equal); // absent and null are one
    return told(c, kind, equal);
}

static bool same_metadata(struct comparison *c, struct sds_value a, struct sds_value b) {
    bool equal = false;
    enum sds_kind kind = sds_metadata_equal(a, b, &equal);
    return told(c, kind, equal);
}

static bool same_coordinate(struct comparison *c, const struct sds_axis *a,
                            const struct sds_axis *b) {
    bool equal = false;
    if (!a->has_coordinate || !b->has_coordinate) {
        return a->has_coordinate == b->has_coordinate;
    }
    enum sds_kind kind = sds_coordinate_equal(&a->coordinate, &b->coordinate, &equal);
    return told(c, kind, equal);
}

static bool same_axis(struct comparison *c, struct sds_value x, struct sds_value y) {
    struct sds_axis a, b;
    if (!told(c, sds_axis_read(x, &a, NULL), true) || !told(c, sds_axis_read(y, &b, NULL), true)) {
        return false;
    }
    return same(c, a.name, b.name) && same(c, a.length, b.length) && same(c, a.role, b.role) &&
           same(c, a.id, b.id) && same_coordinate(c, &a, &b) &&
           same_metadata(c, a.metadata, b.metadata);
}

static bool same_axes(struct comparison *c, struct sds_value a, struct sds_value b) {
    struct sds_iter x = sds_value_iter(a), y = sds_value_iter(b);
    if (sds_value_count(a) != sds_value_count(b)) {
        return false;
    }
    while (sds_iter_next(&x) && sds_iter_next(&y)) {
        if (!same_axis(c, x.value, y.value)) {
            return false;
        }
    }
    return true;
}

static void compare_texts(struct comparison *c, const char *what, struct sds_value a,
                          struct sds_value b) {
    if (!same(c, a, b)) {
        char text[384];
        snprintf(text, sizeof text, "%s %s in the payload, %s in the entry", what,
                 SDS_QUOTE_VALUE(a), SDS_QUOTE_VALUE(b));
        c->tell(c->ctx, text);
    }
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
    compare_texts(&c, "id", payload->id, entry->id);
    compare_texts(&c, "scene_id", payload->scene_id, entry->scene_id);
    if (!same_metadata(&c, payload->metadata, entry->metadata)) {
        differ(&c, "other metadata", none);
    }
    compare_fields(&c, payload, entry);
    return c.kind;
}
