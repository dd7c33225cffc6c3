// SPDX-License-Identifier: Apache-2.0
//
// Which extents of an object there are, for extents.c only. The lock of the extents is held.
#ifndef SDSFS_REMOTE_EXTENTS_INDEX_H
#define SDSFS_REMOTE_EXTENTS_INDEX_H

#include "remote/online/extents.h"

// The live extent that has the byte at pos; NULL: none.
struct sds_extent *sds_extents_live_at(const struct sds_extents *extents, uint64_t pos);
// The gap around pos, in which there is no live extent.
void sds_extents_gap_at(const struct sds_extents *extents, uint64_t pos, uint64_t *start,
                        uint64_t *end);
// One that failed and that this thread's task keeps; NULL: none.
struct sds_extent *sds_extents_failed_at(const struct sds_extents *extents, uint64_t pos);
bool sds_extents_add_live(struct sds_extents *extents,
                          struct sds_extent *extent); // false: no memory
void sds_extents_remove_live(struct sds_extents *extents, const struct sds_extent *extent);
void sds_extents_remove_failed(struct sds_extents *extents, const struct sds_extent *extent);

#endif
