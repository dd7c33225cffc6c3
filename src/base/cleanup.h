// SPDX-License-Identifier: Apache-2.0
//
// Scope cleanup: `sds_autofree char *p = ...;` frees p at the end of the block; SDS_STEAL(p) hands
// it on. A function uses either this or a single `goto out`, not both.
#ifndef SDSFS_BASE_CLEANUP_H
#define SDSFS_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void sds_cleanup_free(void *slot) {
    free(*(void **)slot);
}

static inline void sds_cleanup_fd(int *fd) {
    if (*fd >= 0) {
        close(*fd);
    }
}

#define sds_autofree __attribute__((cleanup(sds_cleanup_free)))
#define sds_autofd __attribute__((cleanup(sds_cleanup_fd)))

// The value of a pointer variable, which is NULL afterwards.
#define SDS_STEAL(p)                                                                               \
    __extension__({                                                                                \
        __typeof__(p) stolen_ = (p);                                                               \
        (p) = NULL;                                                                                \
        stolen_;                                                                                   \
    })

#endif
