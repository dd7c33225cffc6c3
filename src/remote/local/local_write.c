// SPDX-License-Identifier: Apache-2.0
//
// Creating and replacing objects of a local root (docs/stores.md): a temporary file beside the
// name, written and made durable, then linked to a name that is free or, under the object's lock,
// renamed over the version that was seen.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "remote/local/local_internal.h"
#include "remote/local/local_lock.h"
#include "remote/local/local_temp.h"

#define LOCK_PATIENCE_MS 30000

// Buckets mounted as directories are declared, not found out: what they lack shows too late.
#define MOUNT_ROOTS "SIGNAL_DATASET_MOUNT_ROOTS"

enum sds_kind sds_local_can_publish(struct sds_store *store, struct sds_err *err) {
    const struct sds_local_store *local = (struct sds_local_store *)store;
    const char *buckets = getenv(MOUNT_ROOTS);
    if (buckets != NULL && sds_path_below_any(store->root, buckets)) {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "conditional_writes",
                        "it is a mounted bucket (" MOUNT_ROOTS "), where a catalog cannot be "
                        "replaced safely: use the bucket's own URI");
    }
    return sds_local_can_lock(local->root_fd, err);
}

static enum sds_kind link_failed(int error, struct sds_err *err) {
    switch (error) {
    case ENOSYS:
    case EOPNOTSUPP:
    case EPERM:
    case EACCES: // a file that we made a moment ago, in a directory that took it
    case EINVAL:
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "conditional_writes",
                        "the file system has no hard links (link: %s), without which creating is "
                        "not safe here",
                        strerror(error));
    default:
        return sds_local_write_failed(error, "cannot link", err);
    }
}

// What it means that a name is taken. The caller goes by what is there, so that has to last.
static enum sds_kind name_taken(int dir, const struct stat *st, struct sds_err *err) {
    if (!S_ISREG(st->st_mode)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "path", "something there is not a regular file");
    }
    enum sds_kind kind = sds_local_sync(dir, err);
    return kind == SDS_OK ? sds_fail(err, SDS_ERR_CONFLICT, "exists", "the object exists already")
                          : kind;
}

static enum sds_kind check_free(int dir, const char *name, struct sds_err *err) {
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return name_taken(dir, &st, err);
    }
    return errno == ENOENT ? SDS_OK : sds_local_write_failed(errno, "cannot look", err);
}

// Where an object goes.
struct target {
    int dir;
    const char *name;
    mode_t readers; // the bits that let others read it
};

// The directory is to be closed, also after a failure.
static enum sds_kind open_target(struct sds_store *store, const char *path, struct target *out,
                                 struct sds_err *err) {
    const struct sds_local_store *local = (const struct sds_local_store *)store;
    *out = (struct target){.dir = -1};
    enum sds_kind kind = sds_local_parent(local, path, &out->dir, &out->name, err);
    out->readers = kind == SDS_OK ? sds_local_readers(local) : 0;
    return kind;
}

static void close_target(struct target *target) {
    if (target->dir >= 0) {
        close(target->dir);
    }
}

// Gives the file its name if that is free. Over a network a link may be made and its answer lost,
// so the second link tells, not the answer.
static enum sds_kind link_to(const struct sds_local_temp *temp, const char *name,
                             struct sds_err *err) {
    struct stat st;
    if (linkat(temp->dir, temp->name, temp->dir, name, 0) == 0) {
        return sds_local_sync(temp->dir, err);
    }
    int error = errno;
    if (fstat(temp->fd, &st) == 0 && st.st_nlink == 2) {
        return sds_local_sync(temp->dir, err);
    }
    if (error != EEXIST) {
        return link_failed(error, err);
    }
    if (fstatat(temp->dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return sds_local_write_failed(errno, "cannot look at what has the name", err);
    }
    return name_taken(temp->dir, &st, err);
}

// A temporary file with the content; there is none unless this returns OK.
static enum sds_kind prepare(const struct target *target, const struct sds_content *content,
                             struct sds_local_temp *temp, struct sds_err *err) {
    enum sds_kind kind = sds_local_temp_make(target->dir, target->name, target->readers, temp, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = sds_local_temp_fill(temp, content, err);
    if (kind != SDS_OK) {
        sds_local_temp_drop(temp);
    }
    return kind;
}

static enum sds_kind create_at(const struct target *target, const struct sds_content *content,
                               enum sds_mutability mutability, struct stat *made,
                               struct sds_err *err) {
    struct sds_local_temp temp;
    enum sds_kind kind = prepare(target, content, &temp, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (mutability == SDS_REPLACEABLE) {
        kind = sds_local_temp_stamp(&temp, NULL, err);
    }
    if (kind == SDS_OK) {
        kind = sds_local_sync(temp.fd, err);
    }
    if (kind == SDS_OK && fstat(temp.fd, made) != 0) {
        kind = sds_local_write_failed(errno, "cannot look at what was written", err);
    }
    if (kind == SDS_OK) {
        kind = link_to(&temp, target->name, err);
    }
    sds_local_temp_drop(&temp);
    return kind;
}

enum sds_kind sds_local_create(struct sds_store *store, const char *path,
                               const struct sds_content *content, struct sds_err *err) {
    struct target target;
    struct stat made;
    enum sds_kind kind = open_target(store, path, &target, err);
    if (kind == SDS_OK) {
        kind = check_free(target.dir, target.name, err);
    }
    if (kind == SDS_OK) {
        kind = create_at(&target, content, SDS_IMMUTABLE, &made, err);
    }
    if (kind == SDS_OK) {
        sds_local_pin(store, path, &made);
    }
    close_target(&target);
    return kind;
}

static enum sds_kind changed(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_CONFLICT, "changed", "another writer has replaced it meanwhile");
}

static enum sds_kind check_seen(int dir, const char *name, const struct sds_version *seen,
                                struct timespec *mtime, struct sds_err *err) {
    struct sds_version now;
    enum sds_kind kind = sds_local_version_at(dir, name, &now, mtime, err);
    return kind != SDS_OK || sds_version_eq(&now, seen) ? kind : changed(err);
}

// The part that the lock is for.
static enum sds_kind rename_over(const struct sds_local_temp *temp, const struct target *target,
                                 const struct sds_version *seen, struct sds_err *err) {
    sds_autofd int lock = -1;
    struct timespec mtime;
    enum sds_kind kind =
        sds_local_lock(target->dir, target->name, target->readers, LOCK_PATIENCE_MS, &lock, err);
    if (kind == SDS_OK) {
        kind = check_seen(target->dir, target->name, seen, &mtime, err);
    }
    if (kind == SDS_OK && renameat(temp->dir, temp->name, target->dir, target->name) != 0) {
        kind = sds_local_write_failed(errno, "cannot rename", err);
    }
    return kind == SDS_OK ? sds_local_sync(target->dir, err) : kind;
}

// The slow steps come before the lock: others wait for it, and what was seen is compared again.
static enum sds_kind replace_at(const struct target *target, const struct sds_content *content,
                                const struct sds_version *seen, struct sds_err *err) {
    struct timespec replaced;
    struct sds_local_temp temp;
    enum sds_kind kind = check_seen(target->dir, target->name, seen, &replaced, err);
    if (kind == SDS_OK) {
        kind = prepare(target, content, &temp, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    kind = sds_local_temp_stamp(&temp, &replaced, err);
    if (kind == SDS_OK) {
        kind = sds_local_sync(temp.fd, err);
    }
    if (kind == SDS_OK) {
        kind = rename_over(&temp, target, seen, err);
    }
    sds_local_temp_drop(&temp);
    return kind;
}

enum sds_kind sds_local_swap(struct sds_store *store, const char *path, struct sds_span bytes,
                             const struct sds_version *seen, struct sds_err *err) {
    struct sds_content content = sds_content_of(&bytes);
    struct target target;
    struct stat made;
    enum sds_kind kind = open_target(store, path, &target, err);
    if (kind == SDS_OK && seen->there) {
        kind = replace_at(&target, &content, seen, err);
    } else if (kind == SDS_OK) {
        kind = create_at(&target, &content, SDS_REPLACEABLE, &made, err);
        kind = kind == SDS_ERR_CONFLICT ? changed(err) : kind;
    }
    close_target(&target);
    return kind;
}
