// SPDX-License-Identifier: Apache-2.0
//
// The thread of a disk cache that writes and removes, and what waits for it. It knows whether the
// directory works: after a failure everything is dropped until it is time to try again.
#ifndef SDSFS_REMOTE_DISK_WRITER_H
#define SDSFS_REMOTE_DISK_WRITER_H

#include "remote/disk/disk_cache.h"
#include "remote/disk/disk_notes.h"
#include "remote/disk/disk_store.h"

struct sds_disk_writer;

// dir is given away: it is freed with the writer, even when NULL is returned (no memory).
struct sds_disk_writer *sds_disk_writer_new(struct sds_disk_dir *dir,
                                            const struct sds_disk_options *options);
// Stops as sds_disk_cache_close has it. A thread that hangs in a broken disk is left behind with
// all that is its own.
void sds_disk_writer_free(struct sds_disk_writer *writer);

void sds_disk_writer_resize(struct sds_disk_writer *writer, uint64_t size);
void sds_disk_writer_write(struct sds_disk_writer *writer, const struct sds_disk_object *object,
                           uint64_t off, struct sds_blob *blob, size_t pos, size_t len);
void sds_disk_writer_note(struct sds_disk_writer *writer, const struct sds_disk_note *note);
// Removes a segment; inode as in sds_disk_room_remove.
void sds_disk_writer_remove(struct sds_disk_writer *writer, const struct sds_disk_key *key,
                            ino_t inode);
// The same, of a segment with wrong bytes: it counts as absent from now on, until it is removed.
void sds_disk_writer_forget(struct sds_disk_writer *writer, const struct sds_disk_key *key);
bool sds_disk_writer_forgot(struct sds_disk_writer *writer, const struct sds_disk_key *key);
void sds_disk_writer_flush(struct sds_disk_writer *writer);
void sds_disk_writer_stats(struct sds_disk_writer *writer, struct sds_disk_stats *out);

#endif
