// SPDX-License-Identifier: Apache-2.0
//
// Writing bytes into a segment: room is taken, the bytes are written to their place, then the entry
// that tells of them. Nothing is made durable: what a crash tore has a wrong checksum. One thread.
#ifndef SDSFS_REMOTE_DISK_STORE_H
#define SDSFS_REMOTE_DISK_STORE_H

#include "base/bytes.h"
#include "remote/disk/disk_room.h"
#include "remote/disk/disk_segment.h"

struct sds_disk_store {
    struct sds_disk_room room;
    struct sds_disk_segment *last; // that was written to, still open; or NULL
};

void sds_disk_store_init(struct sds_disk_store *store, struct sds_disk_dir *dir, uint64_t size);
void sds_disk_store_fini(struct sds_disk_store *store);

// Writes bytes of a segment unless they are there. *written: how many were. LIMIT, CONFLICT: they
// cannot be kept just now; other kinds: the directory does not work.
SDS_MUST_CHECK enum sds_kind sds_disk_store_write(struct sds_disk_store *store,
                                                  const struct sds_disk_key *key, uint32_t off,
                                                  struct sds_span bytes, uint32_t *written,
                                                  struct sds_err *err);

#endif
