// SPDX-License-Identifier: Apache-2.0
//
// Room for what is to be written: taken from the ledger, which is counted first where it does not
// know, and made by removing segments that nobody read for long where there is none. One thread,
// but where it says so.
#ifndef SDSFS_REMOTE_DISK_ROOM_H
#define SDSFS_REMOTE_DISK_ROOM_H

#include "remote/disk/disk_ledger.h"

struct sds_disk_room {
    struct sds_disk_dir *dir;
    struct sds_disk_ledger ledger;
    _Atomic uint64_t limit; // of all that the ledger counts
    uint64_t random;  // state of the choice of directories
    uint64_t evicted; // segments, so far
};

void sds_disk_room_init(struct sds_disk_room *room, struct sds_disk_dir *dir, uint64_t size);
// Another size, from any thread.
void sds_disk_room_resize(struct sds_disk_room *room, uint64_t size);
void sds_disk_room_fini(struct sds_disk_room *room);

// Opens what is not open. Kinds of the directory and the ledger.
SDS_MUST_CHECK enum sds_kind sds_disk_room_open(struct sds_disk_room *room, struct sds_err *err);

// Takes bytes for a directory and enters it; ended by sds_disk_room_give, which says what they have
// become. LIMIT: they do not fit, nor can room be made; CONFLICT: somebody else is at it; other
// kinds: the directory does not work.
SDS_MUST_CHECK enum sds_kind sds_disk_room_take(struct sds_disk_room *room, unsigned which,
                                                uint64_t bytes, struct sds_err *err);
void sds_disk_room_give(struct sds_disk_room *room, unsigned which, uint64_t taken, int64_t became);

// Removes a file "c3/name" unless somebody is writing to it, with what it takes from the ledger.
// inode: only that one; 0: any. freed may be NULL. CONFLICT as above.
SDS_MUST_CHECK enum sds_kind sds_disk_room_remove(struct sds_disk_room *room, unsigned which,
                                                  const char *path, ino_t inode, uint64_t *freed,
                                                  struct sds_err *err);

// disk_evict.c: counts the directories that the ledger does not know.
SDS_MUST_CHECK enum sds_kind sds_disk_room_count(struct sds_disk_room *room, struct sds_err *err);
// disk_evict.c: removes what makes room for missing bytes, or some of it. LIMIT: there was nothing
// to remove.
SDS_MUST_CHECK enum sds_kind sds_disk_room_evict(struct sds_disk_room *room, uint64_t missing,
                                                 struct sds_err *err);

#endif
