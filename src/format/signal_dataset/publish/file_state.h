// SPDX-License-Identifier: Apache-2.0
//
// What tells whether an input file was written to while it was read.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_FILE_STATE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_FILE_STATE_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"

struct file_state {
    dev_t dev;
    ino_t ino;
    mode_t mode;
    uint64_t size;
    struct timespec mtime;
};

// The state of an open file, before anything is read. A file that was written a moment ago is
// waited for, since the clock that stamps files moves in steps: what is written in the same step
// would not show. INVALID, check "changed", when it is written to again and again; STORAGE.
SDS_MUST_CHECK enum sds_kind file_state_take(int fd, struct file_state *out, struct sds_err *err);

// INVALID, check "changed", unless the file is the same one and was not written to since then.
SDS_MUST_CHECK enum sds_kind file_state_unchanged(int fd, const struct file_state *then,
                                                  struct sds_err *err);

#endif
