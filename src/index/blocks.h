// SPDX-License-Identifier: Apache-2.0
//
// Rows on their way from the thread that reads and decodes to the one that writes the database: in
// blocks of about a megabyte, a few at a time, so that neither waits for the other and memory is
// bounded.
#ifndef SDSFS_INDEX_BLOCKS_H
#define SDSFS_INDEX_BLOCKS_H

#include "index/row.h"

struct sds_index_block {
    struct sds_index_block *next;
    struct sds_buf texts;
    struct sds_index_row *rows; // their texts are in `texts`, which never moves
    size_t count, cap;
};

struct sds_index_blocks;

struct sds_index_blocks *sds_index_blocks_new(void); // NULL: no memory
void sds_index_blocks_free(struct sds_index_blocks *blocks);

// The reading side. add copies a row in; a full block is handed over, for which it may have to
// wait. Fails when the writing side has given up. end hands over what is left.
SDS_MUST_CHECK enum sds_kind sds_index_blocks_add(struct sds_index_blocks *blocks,
                                                  const struct sds_scanned *entry,
                                                  struct sds_err *err);
void sds_index_blocks_end(struct sds_index_blocks *blocks);

// The writing side: the next block, the caller's, or NULL at the end.
struct sds_index_block *sds_index_blocks_take(struct sds_index_blocks *blocks);
void sds_index_block_free(struct sds_index_block *block);
// Nothing is taken any more: add fails with STORAGE, check "index".
void sds_index_blocks_give_up(struct sds_index_blocks *blocks);

#endif
