// SPDX-License-Identifier: Apache-2.0
#include "index/blocks.h"

#include <pthread.h>
#include <stdlib.h>

#define BLOCK_BYTES ((size_t)1 << 20)

enum { WAITING_BLOCKS = 4 };

struct sds_index_blocks {
    pthread_mutex_t lock; // protects all below but `filling`
    pthread_cond_t changed;
    struct sds_index_block *first, **last;
    unsigned waiting;
    bool ended, given_up;
    struct sds_index_block *filling; // the reading side's
};

struct sds_index_blocks *sds_index_blocks_new(void) {
    struct sds_index_blocks *blocks = calloc(1, sizeof *blocks);
    if (blocks != NULL) {
        pthread_mutex_init(&blocks->lock, NULL);
        pthread_cond_init(&blocks->changed, NULL);
        blocks->last = &blocks->first;
    }
    return blocks;
}

void sds_index_block_free(struct sds_index_block *block) {
    if (block != NULL) {
        sds_buf_fini(&block->texts);
        free(block->rows);
        free(block);
    }
}

void sds_index_blocks_free(struct sds_index_blocks *blocks) {
    if (blocks == NULL) {
        return;
    }
    while (blocks->first != NULL) {
        struct sds_index_block *next = blocks->first->next;
        sds_index_block_free(blocks->first);
        blocks->first = next;
    }
    sds_index_block_free(blocks->filling);
    pthread_cond_destroy(&blocks->changed);
    pthread_mutex_destroy(&blocks->lock);
    free(blocks);
}

static struct sds_index_block *new_block(size_t room) {
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

// Hands the filled block over; false when nobody wants it.
static bool put(struct sds_index_blocks *blocks) {
    struct sds_index_block *block = blocks->filling;
    blocks->filling = NULL;
    pthread_mutex_lock(&blocks->lock);
    while (blocks->waiting >= WAITING_BLOCKS && !blocks->given_up) {
        pthread_cond_wait(&blocks->changed, &blocks->lock);
    }
    bool wanted = !blocks->given_up;
    if (wanted) {
        *blocks->last = block;
        blocks->last = &block->next;
        blocks->waiting++;
        pthread_cond_broadcast(&blocks->changed);
    }
    pthread_mutex_unlock(&blocks->lock);
    if (!wanted) {
        sds_index_block_free(block);
    }
    return wanted;
}

// A block with room for one more row with so many bytes of texts.
static enum sds_kind make_room(struct sds_index_blocks *blocks, size_t room, struct sds_err *err) {
    struct sds_index_block *block = blocks->filling;
    bool full = block != NULL && room > block->texts.max - block->texts.len;
    if (full && !put(blocks)) {
        return sds_fail(err, SDS_ERR_STORAGE, "index", "the index cannot be written");
    }
    if (blocks->filling == NULL) {
        blocks->filling = new_block(room);
    }
    block = blocks->filling;
    if (block == NULL || (block->count == block->cap && !grow_rows(block))) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for rows of the index");
    }
    return SDS_OK;
}

enum sds_kind sds_index_blocks_add(struct sds_index_blocks *blocks, const struct sds_scanned *entry,
                                   struct sds_err *err) {
    enum sds_kind kind = make_room(blocks, sds_index_row_room(entry), err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_index_block *block = blocks->filling;
    kind = sds_index_row_make(entry, &block->texts, &block->rows[block->count]);
    if (kind != SDS_OK) {
        return sds_buf_failed(&block->texts, kind, err);
    }
    block->count++;
    return SDS_OK;
}

void sds_index_blocks_end(struct sds_index_blocks *blocks) {
    if (blocks->filling != NULL) {
        put(blocks);
    }
    pthread_mutex_lock(&blocks->lock);
    blocks->ended = true;
    pthread_cond_broadcast(&blocks->changed);
    pthread_mutex_unlock(&blocks->lock);
}

struct sds_index_block *sds_index_blocks_take(struct sds_index_blocks *blocks) {
    pthread_mutex_lock(&blocks->lock);
    while (blocks->first == NULL && !blocks->ended) {
        pthread_cond_wait(&blocks->changed, &blocks->lock);
    }
    struct sds_index_block *block = blocks->first;
    if (block != NULL) {
        blocks->first = block->next;
        blocks->last = blocks->first == NULL ? &blocks->first : blocks->last;
        blocks->waiting--;
        pthread_cond_broadcast(&blocks->changed);
    }
    pthread_mutex_unlock(&blocks->lock);
    return block;
}

void sds_index_blocks_give_up(struct sds_index_blocks *blocks) {
    pthread_mutex_lock(&blocks->lock);
    blocks->given_up = true;
    pthread_cond_broadcast(&blocks->changed);
    pthread_mutex_unlock(&blocks->lock);
}
