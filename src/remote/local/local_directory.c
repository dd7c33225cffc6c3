// SPDX-License-Identifier: Apache-2.0
//
// The directories that objects are created in.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "remote/local/local_internal.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum sds_kind sds_local_write_failed(int error, const char *doing, struct sds_err *err) {
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return sds_fail(err, SDS_ERR_STORAGE, "space", "%s: %s", doing, strerror(error));
    case EROFS:
        return sds_fail(err, SDS_ERR_DENIED, "read_only", "%s: %s", doing, strerror(error));
    case EACCES:
    case EPERM:
        return sds_fail(err, SDS_ERR_DENIED, "permission", "%s: %s", doing, strerror(error));
    case ELOOP:
    case ENOTDIR:
    case ENAMETOOLONG:
        return sds_local_open_failed(error, err);
    default:
        return sds_fail(err, SDS_ERR_STORAGE, "write", "%s: %s", doing, strerror(error));
    }
}

enum sds_kind sds_local_sync(int fd, struct sds_err *err) {
    int done;
    do {
        done = fsync(fd);
    } while (done != 0 && errno == EINTR);
    return done == 0 ? SDS_OK : sds_local_write_failed(errno, "cannot make it durable", err);
}

// A mount over the root (ours, of this very dataset) hides its path and replaces nothing.
static bool covered(const struct sds_local_store *local) {
    const char *mountpoint = local->base.external.mountpoint;
    return mountpoint != NULL && sds_path_below_any(local->real_root, mountpoint);
}

// Other writers go by the root's path: what we wrote into a directory that it led to once would be
// lost to them.
static enum sds_kind check_root(const struct sds_local_store *local, struct sds_err *err) {
    struct stat ours, named;
    if (covered(local)) {
        return SDS_OK;
    }
    if (fstat(local->root_fd, &ours) != 0 || lstat(local->base.root, &named) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "root", "the root directory is gone: %s",
                        strerror(errno));
    }
    if (ours.st_dev != named.st_dev || ours.st_ino != named.st_ino) {
        return sds_fail(err, SDS_ERR_STORAGE, "root",
                        "the root directory was replaced since it was opened");
    }
    return SDS_OK;
}

// Makes a directory and its name durable, since the object's will be. Several may be making it.
static enum sds_kind make(int dir, const char *name, struct sds_err *err) {
    if (mkdirat(dir, name, 0777) == 0) {
        return sds_local_sync(dir, err);
    }
    return errno == EEXIST ? SDS_OK : sds_local_write_failed(errno, "cannot make a directory", err);
}

// Opens a directory in another one, made when it is missing.
static enum sds_kind enter(int dir, const char *name, int *out, struct sds_err *err) {
    *out = sds_open_beneath(dir, name, DIRECTORY_FLAGS, 0);
    if (*out < 0 && errno == ENOENT) {
        enum sds_kind kind = make(dir, name, err);
        if (kind != SDS_OK) {
            return kind;
        }
        *out = sds_open_beneath(dir, name, DIRECTORY_FLAGS, 0);
    }
    return *out >= 0 ? SDS_OK : sds_local_write_failed(errno, "cannot open a directory", err);
}

// Enters the first len bytes of path, component by component.
static enum sds_kind enter_all(int root, const char *path, size_t len, int *out,
                               struct sds_err *err) {
    sds_autofree char *parts = strndup(path, len);
    sds_autofd int dir = sds_open_beneath(root, ".", DIRECTORY_FLAGS, 0);
    if (parts == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a path");
    }
    if (dir < 0) {
        return sds_local_write_failed(errno, "cannot open the root", err);
    }
    char *rest = NULL;
    for (char *part = strtok_r(parts, "/", &rest); part != NULL;
         part = strtok_r(NULL, "/", &rest)) {
        int child = -1;
        enum sds_kind kind = enter(dir, part, &child, err);
        if (kind != SDS_OK) {
            return kind;
        }
        close(dir);
        dir = child;
    }
    *out = dir;
    dir = -1;
    return SDS_OK;
}

enum sds_kind sds_local_parent(const struct sds_local_store *local, const char *path, int *dir,
                               const char **name, struct sds_err *err) {
    const char *slash = strrchr(path, '/');
    enum sds_kind kind = check_root(local, err);
    if (kind == SDS_OK) {
        kind =
            enter_all(local->root_fd, path, slash != NULL ? (size_t)(slash - path) : 0, dir, err);
    }
    if (kind == SDS_OK) {
        *name = slash != NULL ? slash + 1 : path;
    }
    return kind;
}
