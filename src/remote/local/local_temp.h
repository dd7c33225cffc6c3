// SPDX-License-Identifier: Apache-2.0
//
// A file that is written under a temporary name and gets its own when it is whole.
#ifndef SDSFS_REMOTE_LOCAL_TEMP_H
#define SDSFS_REMOTE_LOCAL_TEMP_H

#include <limits.h>
#include <sys/types.h>
#include <time.h>

#include "remote/store.h"

struct sds_local_temp {
    int dir; // borrowed: where it is and will be
    int fd;
    char name[NAME_MAX + 1]; // ".<name>.<32 hex digits>"
};

// Makes an empty one for a name (mode 0640 & ~umask, and the bits of readers). To be dropped,
// whatever happens to it.
SDS_MUST_CHECK enum sds_kind sds_local_temp_make(int dir, const char *name, mode_t readers,
                                                 struct sds_local_temp *out, struct sds_err *err);
// Removes the temporary name and closes.
void sds_local_temp_drop(struct sds_local_temp *temp);

SDS_MUST_CHECK enum sds_kind sds_local_temp_fill(struct sds_local_temp *temp,
                                                 const struct sds_content *content,
                                                 struct sds_err *err);

// Gives it an mtime that no other version of a replaceable object has: later than that of the one
// that it replaces (NULL: none), and past on the file system's clock when this returns, so that
// whatever replaces it is later still. Bounded: a clock that stands still or is behind is overruled
// where that is possible.
SDS_MUST_CHECK enum sds_kind sds_local_temp_stamp(struct sds_local_temp *temp,
                                                  const struct timespec *replaced,
                                                  struct sds_err *err);

#endif
