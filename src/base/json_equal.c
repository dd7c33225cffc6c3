// SPDX-License-Identifier: Apache-2.0
//
// Equality of values, as Python's == has it. Recursive; the depth of a document is bounded.
#include <stdlib.h>

#include "base/json_internal.h"

static bool scalars_equal(struct sds_value a, struct sds_value b) {
    enum sds_json_type type = sds_value_type(a);
    if (sds_is_number(type)) {
        return sds_is_number(sds_value_type(b)) && sds_number_equal(a, b);
    }
    if (type != sds_value_type(b)) {
        return false;
    }
    return type == SDS_JSON_NULL || sds_string_eq(a, b);
}

static enum sds_kind arrays_equal(struct sds_value a, struct sds_value b, bool *equal) {
    struct sds_iter left = sds_value_iter(a);
    struct sds_iter right = sds_value_iter(b);
    enum sds_kind kind = SDS_OK;
    *equal = true;
    while (kind == SDS_OK && *equal && sds_iter_next(&left) && sds_iter_next(&right)) {
        kind = sds_value_equal(left.value, right.value, equal);
    }
    return kind;
}

// Compares count members on each side whose keys stand in different orders.
static enum sds_kind members_equal(struct sds_iter left, struct sds_iter right, size_t count,
                                   bool *equal) {
    uint32_t *keys = malloc(2 * count * sizeof keys[0]);
    if (keys == NULL) {
        return SDS_ERR_NO_MEMORY;
    }
    sds_json_sort_keys(left, keys);
    sds_json_sort_keys(right, keys + count);
    enum sds_kind kind = SDS_OK;
    *equal = true;
    for (size_t i = 0; kind == SDS_OK && *equal && i < count; i++) {
        struct sds_value a = {.doc = left.doc, .token = keys[i]};
        struct sds_value b = {.doc = right.doc, .token = keys[count + i]};
        *equal = sds_string_eq(a, b);
        if (*equal) { // the values stand behind the keys
            a.token++;
            b.token++;
            kind = sds_value_equal(a, b, equal);
        }
    }
    free(keys);
    return kind;
}

// Two objects mostly come from one writer, with their keys in one order, and then need no sorting.
static enum sds_kind objects_equal(struct sds_value a, struct sds_value b, bool *equal) {
    struct sds_iter left = sds_value_iter(a);
    struct sds_iter right = sds_value_iter(b);
    *equal = true;
    for (size_t count = sds_value_count(a); count > 0; count--) {
        struct sds_iter left_rest = left;
        struct sds_iter right_rest = right;
        sds_iter_next(&left);
        sds_iter_next(&right);
        if (!sds_string_eq(left.key, right.key)) {
            return members_equal(left_rest, right_rest, count, equal);
        }
        enum sds_kind kind = sds_value_equal(left.value, right.value, equal);
        if (kind != SDS_OK || !*equal) {
            return kind;
        }
    }
    return SDS_OK;
}

enum sds_kind sds_value_equal(struct sds_value a, struct sds_value b, bool *equal) {
    enum sds_json_type type = sds_value_type(a);
    if (type != SDS_JSON_ARRAY && type != SDS_JSON_OBJECT) {
        *equal = scalars_equal(a, b);
        return SDS_OK;
    }
    if (type != sds_value_type(b) || sds_value_count(a) != sds_value_count(b)) {
        *equal = false;
        return SDS_OK;
    }
    return type == SDS_JSON_ARRAY ? arrays_equal(a, b, equal) : objects_equal(a, b, equal);
}
