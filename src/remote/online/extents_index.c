// SPDX-License-Identifier: Apache-2.0
#include "remote/online/extents_index.h"

#include <stdlib.h>
#include <string.h>

// How many live extents begin at or before pos.
static size_t upper(const struct sds_extents *extents, uint64_t pos) {
    size_t low = 0, high = extents->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents->live[middle]->off <= pos) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct sds_extent *sds_extents_live_at(const struct sds_extents *extents, uint64_t pos) {
    size_t i = upper(extents, pos);
    struct sds_extent *extent = i > 0 ? extents->live[i - 1] : NULL;
    return extent != NULL && pos - extent->off < extent->len ? extent : NULL;
}

void sds_extents_gap_at(const struct sds_extents *extents, uint64_t pos, uint64_t *start,
                        uint64_t *end) {
    size_t i = upper(extents, pos);
    *start = i > 0 ? extents->live[i - 1]->off + extents->live[i - 1]->len : 0;
    *end = i < extents->count ? extents->live[i]->off : UINT64_MAX;
}

struct sds_extent *sds_extents_failed_at(const struct sds_extents *extents, uint64_t pos) {
    struct sds_extent *extent = extents->failed;
    while (extent != NULL &&
           !(pos >= extent->off && pos - extent->off < extent->len && sds_task_keeps(extent))) {
        extent = extent->next_failed;
    }
    return extent;
}

bool sds_extents_add_live(struct sds_extents *extents, struct sds_extent *extent) {
    if (extents->count == extents->cap) {
        size_t cap = extents->cap == 0 ? 4 : extents->cap * 2;
        struct sds_extent **live = realloc(extents->live, cap * sizeof(struct sds_extent *));
        if (live == NULL) {
            return false;
        }
        extents->live = live;
        extents->cap = cap;
    }
    size_t i = upper(extents, extent->off);
    memmove(&extents->live[i + 1], &extents->live[i],
            (extents->count - i) * sizeof(struct sds_extent *));
    extents->live[i] = extent;
    extents->count++;
    return true;
}

void sds_extents_remove_live(struct sds_extents *extents, const struct sds_extent *extent) {
    size_t i = upper(extents, extent->off);
    while (i > 0 && extents->live[i - 1] != extent) { // empty ones may share an offset
        i--;
    }
    if (i > 0) {
        memmove(&extents->live[i - 1], &extents->live[i],
                (extents->count - i) * sizeof(struct sds_extent *));
        extents->count--;
    }
}

void sds_extents_remove_failed(struct sds_extents *extents, const struct sds_extent *extent) {
    struct sds_extent **link = &extents->failed;
    while (*link != extent) {
        link = &(*link)->next_failed;
    }
    *link = extent->next_failed;
}
