// SPDX-License-Identifier: Apache-2.0
//
// The mount table of this process, and taking mounts out of it.
#ifndef SDSFS_FS_MOUNTS_H
#define SDSFS_FS_MOUNTS_H

#include <stdbool.h>

#include "base/err.h"

#define SDS_MOUNT_TYPE "fuse.sdsfs"

struct sds_mount {
    char type[64];
    char source[512]; // cut if longer
};

// The topmost mount at exactly this path (absolute, without links). NOT_FOUND when nothing is
// mounted there; STORAGE when /proc cannot tell.
SDS_MUST_CHECK enum sds_kind sds_mount_find(const char *path, struct sds_mount *out,
                                            struct sds_err *err);

// Unmounts, through fusermount3 where the kernel does not let us. lazy: even if in use. Kinds:
// CONFLICT (in use; check "busy"), DENIED, STORAGE (check "umount").
SDS_MUST_CHECK enum sds_kind sds_unmount(const char *path, bool lazy, struct sds_err *err);

#endif
