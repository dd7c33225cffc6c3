// SPDX-License-Identifier: Apache-2.0
//
// The one place where an error kind becomes an errno.
#ifndef SDSFS_FS_ERRNO_H
#define SDSFS_FS_ERRNO_H

#include "base/err.h"

// What the kernel is told. NOT_FOUND is ENOENT: a caller that was promised the thing by a verified
// chain asks sds_errno_inside, where it is EIO.
int sds_errno(enum sds_kind kind);
int sds_errno_inside(enum sds_kind kind);
// What a failed publication is: UNSUPPORTED is EPERM here, a store in which nobody can publish.
int sds_errno_publish(enum sds_kind kind);

#endif
