// SPDX-License-Identifier: Apache-2.0
//
// Lookup by name in a table that holds its items in another order: the names sorted bytewise, each
// with the place of its item. Sorted rather than hashed, so that no choice of names makes it slow.
#ifndef SDSFS_FORMAT_TENSOR_NAMED_H
#define SDSFS_FORMAT_TENSOR_NAMED_H

#include "base/json.h"

struct sds_named {
    struct sds_span name; // lives elsewhere
    uint32_t at;
};

// Sorts by name, and by place where names are equal.
void sds_named_sort(struct sds_named *items, size_t count);
// The first item with this name, or NULL.
const struct sds_named *sds_named_find(const struct sds_named *items, size_t count,
                                       struct sds_span name);

// Makes room in buf for the unescaped keys of an object, so that the spans which sds_value_string
// gives for them stay where they are. Keys without escapes need none.
SDS_MUST_CHECK enum sds_kind sds_named_reserve(struct sds_value object, struct sds_buf *buf);

#endif
