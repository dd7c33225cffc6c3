// SPDX-License-Identifier: Apache-2.0
#include "base/blob.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

// Large blocks come in size classes of a quarter power of two, so that a freed one fits the next
// record of about the same size; at most KEPT_BYTES of them wait on the free lists.
#define SMALLEST_KEPT ((size_t)64 << 10)
#define LARGEST_KEPT ((size_t)32 << 20)
#define KEPT_BYTES ((size_t)32 << 20)
#define CLASSES 40
#define ALIGNMENT 64
#define HUGE_PAGE ((size_t)2 << 20)

static struct {
    pthread_mutex_t lock; // protects the lists; nothing is allocated or freed under it
    struct kept {
        struct kept *next;
        size_t cap;
    } * lists[CLASSES];
    size_t bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The class of a block: 0 for the smallest kept size, four classes for each doubling. Rounds *cap
// up to the size of the class. -1: a size that is never kept.
static int size_class(size_t *cap) {
    if (*cap < SMALLEST_KEPT || *cap > LARGEST_KEPT) {
        return -1;
    }
    size_t base = SMALLEST_KEPT;
    int class = 0;
    while (*cap > base * 2) {
        base *= 2;
        class += 4;
    }
    size_t step = base / 4;
    size_t steps = (*cap - base + step - 1) / step;
    *cap = base + steps * step;
    return class + (int)steps;
}

static uint8_t *take_kept(int class) {
    pthread_mutex_lock(&kept.lock);
    struct kept *block = kept.lists[class];
    if (block != NULL) {
        kept.lists[class] = block->next;
        kept.bytes -= block->cap;
    }
    pthread_mutex_unlock(&kept.lock);
    return (uint8_t *)block;
}

static void keep_or_free(uint8_t *at, size_t cap) {
    size_t rounded = cap;
    int class = size_class(&rounded);
    bool taken = false;
    if (class >= 0) {
        pthread_mutex_lock(&kept.lock);
        taken = kept.bytes + cap <= KEPT_BYTES;
        if (taken) {
            struct kept *block = (struct kept *)(void *)at;
            *block = (struct kept){.next = kept.lists[class], .cap = cap};
            kept.lists[class] = block;
            kept.bytes += cap;
        }
        pthread_mutex_unlock(&kept.lock);
    }
    if (!taken) {
        free(at);
    }
}

// Asks for huge pages in a large block: one fault instead of 512.
static void use_huge_pages(uint8_t *at, size_t cap) {
    uintptr_t first = ((uintptr_t)at + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)at + cap) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (first < end) {
        madvise(at + (first - (uintptr_t)at), end - first, MADV_HUGEPAGE);
    }
}

// A small block stands right behind its blob: one allocation.
static struct sds_blob *new_small(size_t len) {
    struct sds_blob *blob = malloc(sizeof *blob + len);
    if (blob != NULL) {
        *blob = (struct sds_blob){.refs = 1, .len = len, .cap = len, .at = (uint8_t *)(blob + 1)};
    }
    return blob;
}

struct sds_blob *sds_blob_new(size_t len) {
    if (len > SIZE_MAX / 2) {
        return NULL;
    }
    if (len < SMALLEST_KEPT) {
        return new_small(len);
    }
    struct sds_blob *blob = malloc(sizeof *blob);
    if (blob == NULL) {
        return NULL;
    }
    size_t cap = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    int class = size_class(&cap);
    uint8_t *at = class >= 0 ? take_kept(class) : NULL;
    if (at == NULL) {
        at = aligned_alloc(ALIGNMENT, cap);
        if (at == NULL) {
            free(blob);
            return NULL;
        }
        use_huge_pages(at, cap);
    }
    *blob = (struct sds_blob){.refs = 1, .len = len, .cap = cap, .at = at};
    return blob;
}

struct sds_blob *sds_blob_ref(struct sds_blob *blob) {
    atomic_fetch_add_explicit(&blob->refs, 1, memory_order_relaxed);
    return blob;
}

void sds_blob_unref(struct sds_blob *blob) {
    if (blob != NULL && atomic_fetch_sub_explicit(&blob->refs, 1, memory_order_acq_rel) == 1) {
        if (blob->cap >= SMALLEST_KEPT) {
            keep_or_free(blob->at, blob->cap);
        }
        free(blob);
    }
}

void sds_blob_release(void *blob) {
    sds_blob_unref(blob);
}

void sds_blob_trim(void) {
    for (int class = 0; class < CLASSES; class ++) {
        for (uint8_t *at; (at = take_kept(class)) != NULL;) {
            free(at);
        }
    }
}
