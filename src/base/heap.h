// SPDX-License-Identifier: Apache-2.0
//
// How the C library's heap behaves in this program.
#ifndef SDSFS_BASE_HEAP_H
#define SDSFS_BASE_HEAP_H

// Called once, before there are threads. Large blocks (texts, parsed documents, payloads) come as
// mappings of their own, so that freeing them gives their memory back at once; and few arenas, so
// that what one thread freed another can use. With glibc's defaults a daemon of ten threads that
// parsed documents of 28 MB was seen to keep 1.8 GB.
void sds_heap_setup(void);

// Gives free memory back to the system.
void sds_heap_trim(void);

#endif
