// SPDX-License-Identifier: Apache-2.0
//
// A root in a local directory. The directory is opened once; objects are opened below it without
// following symbolic links (docs/stores.md). Writing stands in local_write.c, versions in
// local_version.c.
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "remote/local/local_internal.h"

struct local_object {
    struct sds_object base;
    int fd;
    struct stat opened;
    _Atomic int64_t ctime_ns; // the newest status change that was found harmless
    bool external;
    bool replaceable;
};

static int64_t ns(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           ns(a->st_mtim) == ns(b->st_mtim);
}

static uint64_t version_of(const struct stat *st) {
    uint64_t v = sds_mix64((uint64_t)st->st_dev) ^ (uint64_t)st->st_ino;
    v = sds_mix64(v) ^ (uint64_t)st->st_size;
    return sds_mix64(sds_mix64(v) ^ (uint64_t)ns(st->st_mtim));
}

enum sds_kind sds_local_open_failed(int error, struct sds_err *err) {
    switch (error) {
    case ENOENT:
        return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "there is no such object");
    case ELOOP:
    case EXDEV:
        return sds_fail(err, SDS_ERR_CORRUPT, "path", "symbolic links are not allowed");
    case ENOTDIR:
        return sds_fail(err, SDS_ERR_CORRUPT, "path", "a part of the path is not a directory");
    case ENAMETOOLONG:
        return sds_fail(err, SDS_ERR_CORRUPT, "path", "the path is too long for a file");
    case ENXIO:
    case ENODEV:
        return sds_fail(err, SDS_ERR_CORRUPT, "path", "it is not a regular file");
    case EACCES:
    case EPERM:
        return sds_fail(err, SDS_ERR_DENIED, "permission", "%s", strerror(error));
    default:
        return sds_fail(err, SDS_ERR_STORAGE, "open", "%s", strerror(error));
    }
}

// O_NONBLOCK: a FIFO in an object's place must not hang the opener.
#define OBJECT_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

// Takes over fd, which stays open only when it is a regular file.
static enum sds_kind check_regular(int fd, struct stat *st, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    if (fstat(fd, st) != 0) {
        kind = sds_fail(err, SDS_ERR_STORAGE, "open", "%s", strerror(errno));
    } else if (!S_ISREG(st->st_mode)) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "path", "it is not a regular file");
    }
    if (kind != SDS_OK) {
        close(fd);
    }
    return kind;
}

enum sds_kind sds_local_open_file(int dir, const char *path, int *fd, struct stat *st,
                                  struct sds_err *err) {
    *fd = sds_open_beneath(dir, path, OBJECT_FLAGS, 0);
    if (*fd < 0) {
        return sds_local_open_failed(errno, err);
    }
    enum sds_kind kind = check_regular(*fd, st, err);
    if (kind != SDS_OK) {
        *fd = -1;
    }
    return kind;
}

// Takes over fd, a regular file.
static enum sds_kind object_of(struct sds_store *store, int fd, const struct stat *opened,
                               const char *name, struct local_object **out, struct sds_err *err) {
    struct local_object *object = calloc(1, sizeof *object);
    if (object == NULL || (object->base.name = strdup(name)) == NULL) {
        free(object);
        close(fd);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an object");
    }
    object->base.store = store;
    object->base.info = (struct sds_object_info){
        .size = (uint64_t)opened->st_size, .mtime = opened->st_mtim, .uid = opened->st_uid};
    object->fd = fd;
    object->opened = *opened;
    object->ctime_ns = ns(opened->st_ctim);
    *out = object;
    return SDS_OK;
}

void sds_local_pin(struct sds_store *store, const char *path, const struct stat *st) {
    sds_pins_set(store->pins, sds_hash_stable(sds_span_str(path)), version_of(st));
}

static enum sds_kind check_pin(struct local_object *object, struct sds_err *err) {
    uint64_t name = sds_hash_stable(sds_span_str(object->base.name));
    if (sds_pins_check(object->base.store->pins, name, version_of(&object->opened))) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_STORAGE, "changed",
                    "the object was replaced since it was first read");
}

static enum sds_kind local_object(struct sds_store *store, const char *path,
                                  enum sds_mutability mutability,
                                  const struct sds_expected *expected, struct sds_object **out,
                                  struct sds_err *err) {
    (void)expected; // what is there is known: the caller compares
    struct sds_local_store *local = (struct sds_local_store *)store;
    struct local_object *object = NULL;
    struct stat st;
    int fd;
    enum sds_kind kind = sds_local_open_file(local->root_fd, path, &fd, &st, err);
    if (kind == SDS_OK) {
        kind = object_of(store, fd, &st, path, &object, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    object->replaceable = mutability == SDS_REPLACEABLE;
    if (!object->replaceable && (kind = check_pin(object, err)) != SDS_OK) {
        sds_object_close(&object->base);
        return kind;
    }
    *out = &object->base;
    return SDS_OK;
}

// The part of policy "same" that depends on the file: a dataset must not make the daemon show a
// file that its publisher could not have read.
static enum sds_kind check_owner(const struct sds_local_store *local,
                                 const struct local_object *object, struct sds_err *err) {
    const struct stat *st = &object->opened;
    if (local->base.external.mode != SDS_EXTERNAL_SAME || (st->st_mode & S_IROTH) != 0 ||
        (local->has_owner && st->st_uid == local->owner)) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_UNSUPPORTED, "external",
                    "the file is neither world-readable nor owned by the owner of root.json "
                    "(option external=)");
}

// Follows links, but not those of /proc, which lead to what a process has open. realpath(3) takes
// these for text.
static int follow_outside(const char *path) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (fd >= 0 || errno != ENOSYS) {
        return fd;
    }
    sds_autofree char *real = realpath(path, NULL);
    sds_autofd int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return real != NULL && top >= 0 ? sds_open_stepwise(top, real + 1, O_PATH, 0) : -1;
}

// Opens a file outside the root. Only what is a regular file is opened at all, since opening a
// device may do something.
static int open_outside(const char *path) {
    int fd = follow_outside(path);
    struct stat st;
    char again[64];
    if (fd < 0) {
        return -1;
    }
    snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
    int opened = -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        opened = open(again, OBJECT_FLAGS);
    } else {
        errno = ENXIO;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return opened;
}

static enum sds_kind local_external(struct sds_store *store, const char *uri,
                                    const struct sds_expected *expected, struct sds_object **out,
                                    struct sds_err *err) {
    (void)expected;
    struct sds_local_store *local = (struct sds_local_store *)store;
    int fd = open_outside(uri);
    if (fd < 0) {
        return sds_local_open_failed(errno, err);
    }
    struct local_object *object = NULL;
    struct stat st;
    enum sds_kind kind = check_regular(fd, &st, err);
    if (kind == SDS_OK) {
        kind = object_of(store, fd, &st, uri, &object, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    object->external = true;
    kind = check_owner(local, object, err);
    if (kind == SDS_OK) {
        kind = check_pin(object, err);
    }
    if (kind != SDS_OK) {
        sds_object_close(&object->base);
        return kind;
    }
    *out = &object->base;
    return SDS_OK;
}

// A status change without a new mtime: chmod and link(2) are harmless, a rename or removal is not.
// Opens the name again to tell.
static bool still_named(struct local_object *object) {
    struct sds_local_store *local = (struct sds_local_store *)object->base.store;
    int fd = object->external
                 ? open_outside(object->base.name)
                 : sds_open_beneath(local->root_fd, object->base.name, OBJECT_FLAGS, 0);
    struct stat st;
    bool same = fd >= 0 && fstat(fd, &st) == 0 && same_file(&st, &object->opened);
    if (fd >= 0) {
        close(fd);
    }
    return same;
}

static enum sds_kind check_unchanged(struct local_object *object, struct sds_err *err) {
    struct stat now;
    if (fstat(object->fd, &now) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "read", "%s", strerror(errno));
    }
    if (object->replaceable) { // an open descriptor keeps the version that was opened
        return SDS_OK;
    }
    bool same = same_file(&now, &object->opened) && now.st_nlink > 0;
    if (same && ns(now.st_ctim) != object->ctime_ns) {
        same = still_named(object);
        if (same) {
            object->ctime_ns = ns(now.st_ctim);
        }
    }
    if (same) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_STORAGE, "changed",
                    "the object was changed, replaced or removed while mounted");
}

enum sds_kind sds_local_pread(int fd, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(off + done));
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0) {
            return sds_fail(err, SDS_ERR_STORAGE, "changed",
                            "the object ends at byte %llu, before its size when opened",
                            (unsigned long long)(off + done));
        } else if (errno != EINTR) {
            return sds_fail(err, SDS_ERR_STORAGE, "read", "%s at byte %llu", strerror(errno),
                            (unsigned long long)(off + done));
        }
    }
    return SDS_OK;
}

static enum sds_kind local_read(struct sds_object *base, uint64_t off, void *buf, size_t len,
                                struct sds_err *err) {
    struct local_object *object = (struct local_object *)base;
    enum sds_kind kind = sds_local_pread(object->fd, off, buf, len, err);
    return kind == SDS_OK ? check_unchanged(object, err) : kind;
}

static void local_close_object(struct sds_object *base) {
    struct local_object *object = (struct local_object *)base;
    close(object->fd);
    free(object);
}

static void local_close(struct sds_store *store) {
    struct sds_local_store *local = (struct sds_local_store *)store;
    close(local->root_fd);
    free(local->real_root);
    free(local);
}

static const struct sds_store_ops local_ops = {
    .object = local_object,
    .external = local_external,
    .read = local_read,
    .close_object = local_close_object,
    .can_publish = sds_local_can_publish,
    .create = sds_local_create,
    .read_version = sds_local_read_version,
    .version = sds_local_version,
    .swap = sds_local_swap,
    .close = local_close,
};

static enum sds_kind no_directory(const char *root, struct sds_err *err) {
    struct stat st;
    if (lstat(root, &st) != 0 || !S_ISLNK(st.st_mode)) {
        return sds_fail(err, SDS_ERR_INVALID, "root", "it is a file, not a directory");
    }
    sds_autofree char *target = realpath(root, NULL);
    return target == NULL
               ? sds_fail(err, SDS_ERR_INVALID, "root", "it is a symbolic link that leads nowhere")
               : sds_fail(err, SDS_ERR_INVALID, "root",
                          "it is a symbolic link; what it leads to can be given: %s",
                          SDS_QUOTE(target, strlen(target)));
}

static enum sds_kind root_failed(const char *root, int error, struct sds_err *err) {
    switch (error) {
    case ENOENT:
        return sds_fail(err, SDS_ERR_NOT_FOUND, "root", "there is no such directory");
    case ENOTDIR:
    case ELOOP:
        return no_directory(root, err);
    case EACCES:
        return sds_fail(err, SDS_ERR_DENIED, "root", "%s", strerror(error));
    case ENOMEM:
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a store");
    default:
        return sds_fail(err, SDS_ERR_STORAGE, "root", "%s", strerror(error));
    }
}

enum sds_kind sds_local_open(const char *root, struct sds_store **out, struct sds_err *err) {
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return root_failed(root, errno, err);
    }
    struct sds_local_store *local = calloc(1, sizeof *local);
    char *real_root = local != NULL ? realpath(root, NULL) : NULL;
    if (real_root == NULL) {
        enum sds_kind kind = root_failed(root, errno, err);
        free(local);
        close(fd);
        return kind;
    }
    struct stat st;
    local->base.ops = &local_ops;
    local->real_root = real_root;
    local->root_fd = fd;
    local->has_owner = fstatat(fd, "root.json", &st, AT_SYMLINK_NOFOLLOW) == 0;
    local->owner = local->has_owner ? st.st_uid : 0;
    *out = &local->base;
    return SDS_OK;
}
