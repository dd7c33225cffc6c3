// SPDX-License-Identifier: Apache-2.0
//
// Where a mount goes: what has to hold of the directory before anything is mounted there.
#ifndef SDSFS_CLI_MOUNTPOINT_H
#define SDSFS_CLI_MOUNTPOINT_H

#include "base/err.h"

// The absolute path of a mountpoint without links, as the mount table has it. Works where the mount
// there is dead. *out is the caller's. NOT_FOUND, STORAGE, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_mountpoint_resolve(const char *typed, char **out,
                                                    struct sds_err *err);

// Fails when nothing can be mounted at path: it does not exist, is no directory, is mounted by us
// already, or holds a mount that does not answer or a dead one of something else. A dead mount of
// ours is fine.
SDS_MUST_CHECK enum sds_kind sds_mountpoint_check(const char *path, struct sds_err *err);

// Takes away dead mounts of ours, left by a daemon that was killed.
SDS_MUST_CHECK enum sds_kind sds_mountpoint_clear(const char *path, struct sds_err *err);

// Has other commands that are about to mount at path wait, until the descriptor is closed; whoever
// has it clears and checks. It is a lock on the directory above, waited for as long as mounting
// takes; without one (-1) there is no such protection, which is no reason not to mount.
int sds_mountpoint_hold(const char *path);

#endif
