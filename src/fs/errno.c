// SPDX-License-Identifier: Apache-2.0
#include "fs/errno.h"

#include <errno.h>

int sds_errno(enum sds_kind kind) {
    switch (kind) {
    case SDS_OK:
        return 0;
    case SDS_ERR_NOT_FOUND:
        return ENOENT;
    case SDS_ERR_TIMEOUT:
        return ETIMEDOUT;
    case SDS_ERR_DENIED:
        return EACCES;
    case SDS_ERR_CONFLICT:
        return EEXIST;
    case SDS_ERR_INVALID:
        return EINVAL;
    case SDS_ERR_NO_MEMORY:
        return ENOMEM;
    case SDS_ERR_WAITING:
        return ERESTART; // never answered: the request is run again
    case SDS_ERR_CORRUPT:
    case SDS_ERR_STORAGE:
    case SDS_ERR_LIMIT:
    case SDS_ERR_UNSUPPORTED:
    case SDS_ERR_INTERNAL:
        break;
    }
    return EIO;
}

int sds_errno_inside(enum sds_kind kind) {
    return kind == SDS_ERR_NOT_FOUND ? EIO : sds_errno(kind);
}

int sds_errno_publish(enum sds_kind kind) {
    return kind == SDS_ERR_UNSUPPORTED ? EPERM : sds_errno_inside(kind);
}
