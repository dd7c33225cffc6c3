// SPDX-License-Identifier: Apache-2.0
//
// A temporary file without a name, written from first to last byte and then stored as an object.
// Gone when it is closed, and when the process dies.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_SPOOL_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_SPOOL_H

#include "base/hash.h"
#include "remote/store.h"

struct spool {
    int fd; // -1: what is written is measured and forgotten
    uint64_t size;
    struct sds_digest *digest; // of what was written
};

// directory: a descriptor of the one that holds the file; -1 to measure only. STORAGE, check
// "spool"; NO_MEMORY.
SDS_MUST_CHECK enum sds_kind spool_open(int directory, struct spool *out, struct sds_err *err);
void spool_close(struct spool *spool);

SDS_MUST_CHECK enum sds_kind spool_write(void *spool, const void *bytes, size_t len,
                                         struct sds_err *err);
struct sds_content spool_content(struct spool *spool);

#endif
