// SPDX-License-Identifier: Apache-2.0
//
// Rows in a block of about a megabyte, as they travel from those who read to who writes. Owned by
// one thread at a time.
#ifndef SDSFS_INDEX_BLOCKS_H
#define SDSFS_INDEX_BLOCKS_H

#include "index/row.h"

struct sds_index_block {
    struct sds_index_block *next; // whoever has it may use this
    struct sds_buf texts;         // never moves
    struct sds_index_row *rows; // of consecutive ordinals, at least one; their texts are in `texts`
    size_t count, cap;
};

// room: bytes of the texts of the first row. NULL: no memory.
struct sds_index_block *sds_index_block_new(size_t room);
void sds_index_block_free(struct sds_index_block *block); // NULL is fine

// Takes all rows out, so that it can be filled again. False when it is larger than most: not worth
// to be kept.
bool sds_index_block_empty(struct sds_index_block *block);

// Whether there is room for the texts of one more row, so many bytes.
bool sds_index_block_fits(const struct sds_index_block *block, size_t room);
// Makes a row of an entry that fits. Kinds: NO_MEMORY, LIMIT.
SDS_MUST_CHECK enum sds_kind sds_index_block_add(struct sds_index_block *block,
                                                 const struct sds_scanned *entry,
                                                 struct sds_err *err);

#endif
