// SPDX-License-Identifier: Apache-2.0
#include "remote/disk/disk_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

// What no counter has: the two directories around it all, the ledger, a block here and there.
#define ASIDE (64 << 10)
#define ROUNDS 32 // of making room, each of which frees something

void sds_disk_room_init(struct sds_disk_room *room, struct sds_disk_dir *dir, uint64_t size) {
    *room = (struct sds_disk_room){.dir = dir};
    sds_disk_room_resize(room, size);
    sds_disk_ledger_init(&room->ledger);
    if (getrandom(&room->random, sizeof room->random, GRND_NONBLOCK) < 0) {
        room->random = sds_clock_ms();
    }
}

void sds_disk_room_resize(struct sds_disk_room *room, uint64_t size) {
    atomic_store(&room->limit, size > ASIDE ? size - ASIDE : 0);
}

void sds_disk_room_fini(struct sds_disk_room *room) {
    sds_disk_ledger_fini(&room->ledger);
}

enum sds_kind sds_disk_room_open(struct sds_disk_room *room, struct sds_err *err) {
    enum sds_kind kind = sds_disk_dir_open(room->dir, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_disk_root *root = sds_disk_dir_get(room->dir);
    kind = sds_disk_ledger_open(&room->ledger, root, err);
    sds_disk_root_put(root);
    return kind;
}

// --- taking

static enum sds_kind take_once(struct sds_disk_room *room, unsigned which, uint64_t bytes,
                               uint64_t *missing, struct sds_err *err) {
    enum sds_kind kind = sds_disk_ledger_enter(&room->ledger, which, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = sds_disk_ledger_take(&room->ledger, which, bytes, room->limit, missing, err);
    if (kind != SDS_OK) {
        sds_disk_ledger_leave(&room->ledger, which);
    }
    return kind;
}

enum sds_kind sds_disk_room_take(struct sds_disk_room *room, unsigned which, uint64_t bytes,
                                 struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t missing = 0;
        kind = take_once(room, which, bytes, &missing, err);
        if (kind == SDS_ERR_NOT_FOUND) {
            kind = sds_disk_room_count(room, err);
        } else if (kind == SDS_ERR_LIMIT && bytes <= room->limit) {
            kind = sds_disk_room_evict(room, missing, err);
        } else {
            return kind;
        }
        if (kind != SDS_OK) {
            return kind;
        }
    }
    return sds_fail(err, SDS_ERR_LIMIT, "cache_dir", "no room could be made");
}

void sds_disk_room_give(struct sds_disk_room *room, unsigned which, uint64_t taken,
                        int64_t became) {
    sds_disk_ledger_add(&room->ledger, which, became - (int64_t)taken);
    sds_disk_ledger_leave(&room->ledger, which);
}

// --- removing

// The name goes first: who finds bytes missing can see then that the file was removed, and is not
// corrupt. The bytes go at once, though somebody may have the file open.
static enum sds_kind unlink_locked(const struct sds_disk_root *root, int fd, const char *path,
                                   uint64_t *freed, struct sds_err *err) {
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_nlink == 0) {
        return SDS_OK; // somebody else was faster
    }
    if (unlinkat(root->fd, path, 0) != 0) {
        return errno == ENOENT ? SDS_OK : sds_disk_failed(err, "removing a file");
    }
    (void)!ftruncate(fd, 0); // or when the last one closes it
    *freed = (uint64_t)st.st_blocks * 512 + SDS_DISK_FILE_COST;
    return SDS_OK;
}

// What is no file of ours lies there by accident: it goes, whatever it is.
static enum sds_kind unlink_other(const struct sds_disk_root *root, const char *path,
                                  struct sds_err *err) {
    if (errno == ENOENT) {
        return SDS_OK;
    }
    if (errno != ESTALE && errno != ELOOP && errno != ENXIO) {
        return sds_disk_failed(err, "opening a file");
    }
    return unlinkat(root->fd, path, 0) == 0 || errno == ENOENT
               ? SDS_OK
               : sds_disk_failed(err, "removing a file");
}

static enum sds_kind remove_entered(const struct sds_disk_root *root, const char *path, ino_t inode,
                                    uint64_t *freed, struct sds_err *err) {
    struct stat st;
    sds_autofd int fd = sds_disk_open(root, path, O_RDWR, &st);
    if (fd < 0) {
        return unlink_other(root, path, err);
    }
    if (inode != 0 && st.st_ino != inode) {
        return SDS_OK;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return sds_fail(err, SDS_ERR_CONFLICT, "cache_dir", "the file is being written");
    }
    return unlink_locked(root, fd, path, freed, err);
}

enum sds_kind sds_disk_room_remove(struct sds_disk_room *room, unsigned which, const char *path,
                                   ino_t inode, uint64_t *freed, struct sds_err *err) {
    uint64_t bytes = 0;
    enum sds_kind kind = sds_disk_ledger_enter(&room->ledger, which, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_disk_root *root = sds_disk_dir_get(room->dir);
    kind = remove_entered(root, path, inode, &bytes, err);
    sds_disk_root_put(root);
    sds_disk_room_give(room, which, 0, -(int64_t)bytes);
    if (freed != NULL) {
        *freed = bytes;
    }
    return kind;
}
