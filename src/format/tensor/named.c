// SPDX-License-Identifier: Apache-2.0
#include "format/tensor/named.h"

#include <stdlib.h>

static int compare(const void *left, const void *right) {
    const struct sds_named *a = left, *b = right;
    int order = sds_span_cmp(a->name, b->name);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

void sds_named_sort(struct sds_named *items, size_t count) {
    if (count > 1) {
        qsort(items, count, sizeof *items, compare);
    }
}

const struct sds_named *sds_named_find(const struct sds_named *items, size_t count,
                                       struct sds_span name) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sds_span_cmp(items[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && sds_span_eq(items[low].name, name) ? &items[low] : NULL;
}

enum sds_kind sds_named_reserve(struct sds_value object, struct sds_buf *buf) {
    size_t total = 0;
    for (struct sds_iter it = sds_value_iter(object); sds_iter_next(&it);) {
        size_t quoted = sds_value_text(it.key).len;
        size_t len = sds_value_string_len(it.key);
        total += len + 2 == quoted ? 0 : len;
    }
    return sds_buf_reserve(buf, total);
}
