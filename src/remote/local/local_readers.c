// SPDX-License-Identifier: Apache-2.0
//
// Who may read what is written: whoever may read the dataset (docs/stores.md).
#include <errno.h>
#include <fcntl.h>

#include "remote/local/local_internal.h"

mode_t sds_local_readers(const struct sds_local_store *local) {
    struct stat st;
    if (fstatat(local->root_fd, "root.json", &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode)) {
        return 0;
    }
    return st.st_mode & (S_IRGRP | S_IROTH);
}

enum sds_kind sds_local_let_read(int fd, mode_t readers, struct sds_err *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return sds_local_write_failed(errno, "cannot look at what was made", err);
    }
    if ((st.st_mode & readers) == readers || fchmod(fd, (st.st_mode & 07777) | readers) == 0) {
        return SDS_OK;
    }
    switch (errno) {
    case EPERM: // another user's lock, or a file system with modes of its own
    case ENOSYS:
    case EOPNOTSUPP:
        return SDS_OK;
    default:
        return sds_local_write_failed(errno, "cannot set the mode", err);
    }
}
