// SPDX-License-Identifier: Apache-2.0
#include "remote/disk/disk_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/program_dir.h"

#define BELOW "blocks-1" // another format would have another number

bool sds_disk_dir_init(struct sds_disk_dir *dir, const char *path) {
    *dir = (struct sds_disk_dir){.path = strdup(path)};
    pthread_mutex_init(&dir->lock, NULL);
    return dir->path != NULL;
}

void sds_disk_dir_fini(struct sds_disk_dir *dir) {
    sds_disk_root_put(dir->root);
    pthread_mutex_destroy(&dir->lock);
    free(dir->path);
}

enum sds_kind sds_disk_failed(struct sds_err *err, const char *doing) {
    int e = errno;
    bool denied = e == EACCES || e == EPERM || e == EROFS;
    return sds_fail(err,
                    denied        ? SDS_ERR_DENIED
                    : e == ENOMEM ? SDS_ERR_NO_MEMORY
                                  : SDS_ERR_STORAGE,
                    "cache_dir", "%s: %s", doing, strerror(e));
}

// --- the directory

static struct sds_disk_root *swap(struct sds_disk_dir *dir, struct sds_disk_root *root) {
    pthread_mutex_lock(&dir->lock);
    struct sds_disk_root *old = dir->root;
    dir->root = root;
    pthread_mutex_unlock(&dir->lock);
    return old;
}

struct sds_disk_root *sds_disk_dir_get(struct sds_disk_dir *dir) {
    pthread_mutex_lock(&dir->lock);
    struct sds_disk_root *root = dir->root;
    if (root != NULL) {
        atomic_fetch_add(&root->refs, 1);
    }
    pthread_mutex_unlock(&dir->lock);
    return root;
}

void sds_disk_root_put(struct sds_disk_root *root) {
    if (root != NULL && atomic_fetch_sub(&root->refs, 1) == 1) {
        close(root->fd);
        free(root);
    }
}

static bool still_there(struct sds_disk_dir *dir) {
    struct sds_disk_root *root = sds_disk_dir_get(dir);
    struct stat st;
    bool there = root != NULL && fstat(root->fd, &st) == 0 && st.st_nlink > 0;
    sds_disk_root_put(root);
    return there;
}

static enum sds_kind open_below(int top, int *out, struct sds_err *err) {
    if (mkdirat(top, BELOW, 0700) != 0 && errno != EEXIST) {
        int made = errno;
        if (faccessat(top, BELOW, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
            errno = made;
            return sds_disk_failed(err, "making a directory");
        }
    }
    *out = openat(top, BELOW, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *out >= 0 ? SDS_OK : sds_disk_failed(err, "opening " BELOW);
}

static enum sds_kind fill(struct sds_disk_root *root, const char *path, struct sds_err *err) {
    sds_autofd int top = -1;
    enum sds_kind kind = sds_program_dir_open(SDS_CACHE_DIR, path, true, &top, err);
    return kind == SDS_OK ? open_below(top, &root->fd, err) : kind;
}

enum sds_kind sds_disk_dir_open(struct sds_disk_dir *dir, struct sds_err *err) {
    if (still_there(dir)) {
        return SDS_OK;
    }
    struct sds_disk_root *root = calloc(1, sizeof *root);
    if (root == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "cache_dir", "no memory");
    }
    enum sds_kind kind = fill(root, dir->path, err);
    if (kind != SDS_OK) {
        free(root);
        return kind;
    }
    atomic_init(&root->refs, 1);
    sds_disk_root_put(swap(dir, root));
    return SDS_OK;
}

// --- files

void sds_disk_path(const struct sds_disk_key *key, char out[SDS_DISK_PATH]) {
    char id[2 * sizeof key->id + 1];
    sds_hex(key->id, sizeof key->id, id);
    snprintf(out, SDS_DISK_PATH, "%02x/%s-%llx", sds_disk_dir_of(key), id,
             (unsigned long long)key->number);
}

unsigned sds_disk_dir_of(const struct sds_disk_key *key) {
    return (unsigned)(sds_mix64(sds_le64(key->id) + key->number) % SDS_DISK_DIRS);
}

int sds_disk_open(const struct sds_disk_root *root, const char *path, int flags, struct stat *st) {
    int fd = sds_open_beneath(root->fd, path, flags, 0600);
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
        st->st_nlink > 1) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return fd;
}

int sds_disk_pread(int fd, uint64_t off, void *buf, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(off + done));
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            errno = n == 0 ? EIO : errno;
            return -1;
        }
    }
    return 0;
}

int sds_disk_pwrite(int fd, uint64_t off, const void *buf, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, (const char *)buf + done, len - done, (off_t)(off + done));
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            errno = n == 0 ? EIO : errno;
            return -1;
        }
    }
    return 0;
}
