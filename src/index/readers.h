// SPDX-License-Identifier: Apache-2.0
//
// The reading half of a build: several threads read and decode metadata entries (driver.h, scan), a
// stretch of ordinals each, and one thread takes their rows in order. Rows travel in blocks of
// about a megabyte; a thread that is too far ahead waits, so memory is bounded.
#ifndef SDSFS_INDEX_READERS_H
#define SDSFS_INDEX_READERS_H

#include "index/blocks.h"
#include "index/build.h"

struct sds_index_readers;

// Begins with ordinal first of total. work outlives it.
SDS_MUST_CHECK enum sds_kind sds_index_readers_start(const struct sds_index_work *work,
                                                     uint64_t first, uint64_t total,
                                                     struct sds_index_readers **out,
                                                     struct sds_err *err);
// The next block in the order of ordinals, the caller's to give back; NULL when all were taken.
// Fails with what a reader failed with, after all blocks before that.
SDS_MUST_CHECK enum sds_kind sds_index_readers_take(struct sds_index_readers *readers,
                                                    struct sds_index_block **out,
                                                    struct sds_err *err);
// Gives a block back, to be filled again.
void sds_index_readers_give(struct sds_index_readers *readers, struct sds_index_block *block);
void sds_index_readers_stop(struct sds_index_readers *readers); // and frees; NULL is fine

#endif
