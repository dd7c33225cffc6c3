// SPDX-License-Identifier: Apache-2.0
#include "index/blocks.h"

#include <stdlib.h>

#define BLOCK_BYTES ((size_t)1 << 20)

struct sds_index_block *sds_index_block_new(size_t room) {
    struct sds_index_block *block = calloc(1, sizeof *block);
    if (block == NULL) {
        return NULL;
    }
    block->texts = SDS_BUF_INIT(room > BLOCK_BYTES ? room : BLOCK_BYTES);
    if (sds_buf_reserve(&block->texts, block->texts.max) != SDS_OK) {
        free(block);
        return NULL;
    }
    return block;
}

void sds_index_block_free(struct sds_index_block *block) {
    if (block != NULL) {
        sds_buf_fini(&block->texts);
        free(block->rows);
        free(block);
    }
}

bool sds_index_block_empty(struct sds_index_block *block) {
    block->next = NULL;
    block->texts.len = block->count = 0;
    return block->texts.max == BLOCK_BYTES;
}

bool sds_index_block_fits(const struct sds_index_block *block, size_t room) {
    return room <= block->texts.max - block->texts.len;
}

static bool grow_rows(struct sds_index_block *block) {
    size_t cap = block->cap == 0 ? 256 : block->cap * 2;
    struct sds_index_row *rows = realloc(block->rows, cap * sizeof *rows);
    if (rows == NULL) {
        return false;
    }
    block->rows = rows;
    block->cap = cap;
    return true;
}

enum sds_kind sds_index_block_add(struct sds_index_block *block, const struct sds_scanned *entry,
                                  struct sds_err *err) {
    if (block->count == block->cap && !grow_rows(block)) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for rows of the index");
    }
    enum sds_kind kind = sds_index_row_make(entry, &block->texts, &block->rows[block->count]);
    if (kind != SDS_OK) {
        return sds_buf_failed(&block->texts, kind, err);
    }
    block->count++;
    return SDS_OK;
}
