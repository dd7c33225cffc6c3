// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/backing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/program_dir.h"

struct sds_backing {
    char *state_dir;       // absolute; NULL: there is none
    struct sds_err reason; // for that
    char *root;
    pthread_mutex_t lock; // opening; held across it
    atomic_bool opened;
    int key, sets, tmp; // descriptors, once opened
};

static int result_of(int done) {
    return done == 0 ? 0 : errno;
}

// --- the directories

struct sds_backing *sds_backing_new(const char *state_dir, const char *root) {
    struct sds_backing *backing = calloc(1, sizeof *backing);
    if (backing == NULL || (backing->root = strdup(root)) == NULL) {
        free(backing);
        return NULL;
    }
    // What is relative is so to the current directory, which a daemon leaves.
    if (sds_program_dir_path(SDS_STATE_DIR, state_dir, &backing->state_dir, &backing->reason) !=
        SDS_OK) {
        backing->state_dir = NULL;
    }
    pthread_mutex_init(&backing->lock, NULL);
    return backing;
}

void sds_backing_free(struct sds_backing *backing) {
    if (backing == NULL) {
        return;
    }
    if (atomic_load(&backing->opened)) {
        close(backing->key);
        close(backing->sets);
        close(backing->tmp);
    }
    pthread_mutex_destroy(&backing->lock);
    free(backing->state_dir);
    free(backing->root);
    free(backing);
}

enum sds_kind sds_backing_check(const struct sds_backing *backing, struct sds_err *err) {
    if (backing->state_dir == NULL) {
        *err = backing->reason;
        return err->kind;
    }
    return sds_program_dir_check(SDS_STATE_DIR, backing->state_dir, err);
}

int sds_backing_sets(const struct sds_backing *backing) {
    return backing->sets;
}

int sds_backing_tmp(const struct sds_backing *backing) {
    return backing->tmp;
}

// The name of a root's directory: another dataset that comes to lie at the same path does not get
// the drafts of the first.
static int key_of(const char *root, char out[SDS_SHA256_HEX]) {
    struct sds_buf text = SDS_BUF_INIT(64 << 10);
    struct stat st = {0};
    int e = 0;
    if (root[0] == '/' && stat(root, &st) != 0) {
        e = errno;
    } else if (sds_buf_printf(&text, "%s\n%ju:%ju", root, (uintmax_t)st.st_dev,
                              (uintmax_t)st.st_ino) != SDS_OK) {
        e = ENOMEM;
    } else {
        sds_sha256_hex(sds_buf_span(&text), out);
    }
    sds_buf_fini(&text);
    return e;
}

static int open_directory(int dir, const char *name, bool make, int *out) {
    if (make && mkdirat(dir, name, 0700) != 0 && errno != EEXIST) {
        return errno;
    }
    *out = sds_open_beneath(dir, name, O_RDONLY | O_DIRECTORY, 0);
    return *out >= 0 ? 0 : errno;
}

static void note_root(const struct sds_backing *backing, int key) {
    sds_autofd int fd =
        openat(key, "root", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        dprintf(fd, "%s\n", backing->root); // for human eyes
    }
}

static int open_below(struct sds_backing *backing, int state, bool make) {
    char key[SDS_SHA256_HEX];
    sds_autofd int drafts = -1;
    int opened[] = {-1, -1, -1};
    int e = key_of(backing->root, key);
    e = e != 0 ? e : open_directory(state, "drafts", make, &drafts);
    e = e != 0 ? e : open_directory(drafts, key, make, &opened[0]);
    e = e != 0 ? e : open_directory(opened[0], "sets", make, &opened[1]);
    e = e != 0 ? e : open_directory(opened[0], "tmp", make, &opened[2]);
    if (e != 0) {
        for (int i = 0; i < 3; i++) {
            if (opened[i] >= 0) {
                close(opened[i]);
            }
        }
        return e;
    }
    backing->key = opened[0];
    backing->sets = opened[1];
    backing->tmp = opened[2];
    if (make) {
        note_root(backing, backing->key);
    }
    return 0;
}

// What a crash left in tmp/. Nobody else uses it: the lock is ours alone.
static void clear_tmp(struct sds_backing *backing) {
    int fd = sds_open_beneath(backing->tmp, "", O_RDONLY | O_DIRECTORY, 0);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        bool dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!dots && unlinkat(backing->tmp, entry->d_name, 0) != 0 && errno == EISDIR) {
            int ignored = sds_backing_remove(backing, entry->d_name);
            (void)ignored; // the next mount tries again
        }
    }
    closedir(stream);
}

static int open_all(struct sds_backing *backing, bool make, struct sds_err *err) {
    if (backing->state_dir == NULL) {
        *err = backing->reason;
        return make ? EPERM : ENOENT;
    }
    sds_autofd int state = -1;
    enum sds_kind kind = sds_program_dir_open(SDS_STATE_DIR, backing->state_dir, make, &state, err);
    if (kind != SDS_OK) {
        return make ? EPERM : ENOENT;
    }
    int e = open_below(backing, state, make);
    if (e != 0 && e != ENOENT) {
        sds_fail(err, SDS_ERR_STORAGE, "state_dir", "%s: %s",
                 SDS_QUOTE(backing->state_dir, strlen(backing->state_dir)), strerror(e));
    }
    return e;
}

int sds_backing_open(struct sds_backing *backing, bool make, bool *first, struct sds_err *err) {
    *first = false;
    if (atomic_load(&backing->opened)) {
        return 0;
    }
    pthread_mutex_lock(&backing->lock);
    int e = 0;
    if (!atomic_load(&backing->opened)) {
        e = open_all(backing, make, err);
        if (e == 0) {
            // Each mount of the root holds the lock shared.
            if (flock(backing->key, LOCK_EX | LOCK_NB) == 0) {
                clear_tmp(backing);
            }
            flock(backing->key, LOCK_SH);
            *first = true;
            atomic_store(&backing->opened, true);
        }
    }
    pthread_mutex_unlock(&backing->lock);
    return e;
}

// --- tmp/

static int make_name(char name[SDS_TMP_NAME]) {
    uint8_t bytes[SDS_TMP_NAME / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return EIO;
    }
    sds_hex(bytes, sizeof bytes, name);
    return 0;
}

static int write_all(int fd, struct sds_span content) {
    while (content.len > 0) {
        ssize_t n = write(fd, content.at, content.len);
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        size_t written = n > 0 ? (size_t)n : 0;
        content = sds_span(content.at + written, content.len - written);
    }
    return 0;
}

// The kernel reads a file afresh when its time has changed, and file systems count time in steps of
// some milliseconds.
static int move_time_on(int fd, int dir, const char *name) {
    struct stat old, new;
    if (fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) != 0 || fstat(fd, &new) != 0) {
        return errno == ENOENT ? 0 : errno;
    }
    if (new.st_mtim.tv_sec > old.st_mtim.tv_sec ||
        (new.st_mtim.tv_sec == old.st_mtim.tv_sec &&new.st_mtim.tv_nsec > old.st_mtim.tv_nsec)) {
        return 0;
    }
    struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, old.st_mtim};
    times[1].tv_nsec++;
    if (times[1].tv_nsec == 1000000000L) {
        times[1] = (struct timespec){.tv_sec = old.st_mtim.tv_sec + 1};
    }
    return result_of(futimens(fd, times));
}

static int write_tmp(int fd, int dir, const char *name, struct sds_span content, bool durable) {
    int e = write_all(fd, content);
    e = e != 0 ? e : move_time_on(fd, dir, name);
    return e != 0 || !durable ? e : result_of(fsync(fd));
}

int sds_backing_stage(struct sds_backing *backing, int dir, const char *name,
                      struct sds_span content, bool durable, char *staged) {
    int e = make_name(staged);
    if (e != 0) {
        return e;
    }
    sds_autofd int fd =
        openat(backing->tmp, staged, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno;
    }
    e = write_tmp(fd, dir, name, content, durable);
    if (e != 0) {
        unlinkat(backing->tmp, staged, 0);
    }
    return e;
}

int sds_backing_put(struct sds_backing *backing, const char *staged, int dir, const char *name) {
    if (renameat(backing->tmp, staged, dir, name) == 0) {
        return 0;
    }
    int e = errno;
    unlinkat(backing->tmp, staged, 0);
    return e;
}

int sds_backing_prepare(struct sds_backing *backing, char *name, int *dir) {
    int e = make_name(name);
    return e != 0 ? e : open_directory(backing->tmp, name, true, dir);
}

int sds_backing_hide(struct sds_backing *backing, int dir, const char *name, char *hidden) {
    int e = make_name(hidden);
    return e != 0 ? e : result_of(renameat(dir, name, backing->tmp, hidden));
}

// --- removing a tree

// Names of directories in tmp/ that are still to be emptied.
struct hidden_list {
    struct sds_backing *backing;
    struct sds_buf names; // SDS_TMP_NAME bytes each
};

// Directories move up into tmp/ before they are emptied, so that neither the stack nor a path grows
// with the depth of a tree.
static int remove_entry(struct hidden_list *list, int dir, const char *name) {
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    if (errno != EISDIR) {
        return errno;
    }
    char hidden[SDS_TMP_NAME];
    int e = sds_backing_hide(list->backing, dir, name, hidden);
    if (e == 0 && sds_buf_add(&list->names, hidden, sizeof hidden) != SDS_OK) {
        e = ENOMEM;
    }
    return e;
}

static int empty(struct hidden_list *list, const char *name) {
    int fd = sds_open_beneath(list->backing->tmp, name, O_RDONLY | O_DIRECTORY, 0);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        int e = errno;
        if (fd >= 0) {
            close(fd);
        }
        return e;
    }
    int e = 0;
    for (struct dirent *entry; e == 0 && (entry = readdir(stream)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            e = remove_entry(list, fd, entry->d_name);
        }
    }
    closedir(stream);
    return e != 0 ? e : result_of(unlinkat(list->backing->tmp, name, AT_REMOVEDIR));
}

int sds_backing_remove(struct sds_backing *backing, const char *name) {
    struct hidden_list list = {.backing = backing, .names = SDS_BUF_INIT(64 << 20)};
    int e = empty(&list, name);
    while (e == 0 && list.names.len > 0) {
        char next[SDS_TMP_NAME];
        list.names.len -= sizeof next;
        memcpy(next, list.names.at + list.names.len, sizeof next);
        e = empty(&list, next);
    }
    sds_buf_fini(&list.names);
    return e;
}
