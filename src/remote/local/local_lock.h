// SPDX-License-Identifier: Apache-2.0
//
// The lock under which a replaceable object is replaced: flock(2) on ".<name>.lock" beside it,
// which stays behind (docs/stores.md).
#ifndef SDSFS_REMOTE_LOCAL_LOCK_H
#define SDSFS_REMOTE_LOCAL_LOCK_H

#include <sys/types.h>

#include "base/err.h"

// Locks for an object's name in dir; closing *fd unlocks. A lock that is made gets the mode 0640 &
// ~umask, and the bits of readers. TIMEOUT, check "lock", when it is held for all of patience_ms.
// UNSUPPORTED, check "conditional_writes", when there are no locks here.
SDS_MUST_CHECK enum sds_kind sds_local_lock(int dir, const char *name, mode_t readers,
                                            int patience_ms, int *fd, struct sds_err *err);

// Whether the file system of an open directory has such locks (else UNSUPPORTED, as above).
SDS_MUST_CHECK enum sds_kind sds_local_can_lock(int dir, struct sds_err *err);

#endif
