// SPDX-License-Identifier: Apache-2.0
#include "base/heap.h"

#include <malloc.h>

void sds_heap_setup(void) {
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 256 << 10); // set by hand, it no longer grows by itself
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
}

void sds_heap_trim(void) {
    malloc_trim(0);
}
