// SPDX-License-Identifier: Apache-2.0
//
// Which version of an object was seen last: a file "notes", a hash table of 256 byte slots in
// buckets of a block. In a full bucket the oldest note makes room. Every slot has a checksum, so
// whatever was torn is forgotten. Reading is safe from any thread; one thread writes.
#ifndef SDSFS_REMOTE_DISK_NOTES_H
#define SDSFS_REMOTE_DISK_NOTES_H

#include "remote/disk/disk_cache.h"
#include "remote/disk/disk_room.h"

struct sds_disk_note {
    uint8_t name[16]; // a hash of it
    uint64_t size;
    char tag[SDS_DISK_TAG];
};

void sds_disk_note_name(const char *name, uint8_t out[16]);
bool sds_disk_notes_recall(struct sds_disk_dir *dir, struct sds_disk_note *note); // by its name
// Kinds of sds_disk_room_take.
SDS_MUST_CHECK enum sds_kind sds_disk_notes_keep(struct sds_disk_room *room,
                                                 const struct sds_disk_note *note,
                                                 struct sds_err *err);

#endif
