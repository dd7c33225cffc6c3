// SPDX-License-Identifier: Apache-2.0
//
// Where an index lies: <cache_dir>/index/<key>.<suffix>, keyed by what it is built from, so that
// all mounts of a dataset share it and one of another snapshot never gets in the way. While it is
// built it is called <key>.building, under a lock on <key>.lock.
#ifndef SDSFS_INDEX_PLACE_H
#define SDSFS_INDEX_PLACE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "format/driver.h"

struct sds_index_place {
    char identity[SDS_SHA256_HEX]; // of what is indexed, and of how
    char *directory, *file, *building, *lock;
};

// part: what of the dataset it is made from, "" for its metadata; suffix: of the finished file's
// name. cache_dir: the option, or NULL (base/program_dir.h). make: the directory is made. Kinds:
// those of sds_program_dir_open.
SDS_MUST_CHECK enum sds_kind sds_index_place_of(struct sds_dataset *ds, const char *cache_dir,
                                                const char *part, const char *suffix, bool make,
                                                struct sds_index_place *out, struct sds_err *err);
void sds_index_place_fini(struct sds_index_place *place);

// Opens one of the files for reading; -1 where there is none that could be ours (a FIFO would hold
// whoever opens it, a device has no end).
int sds_index_place_open(const char *path);

// Waits until nobody else builds it. *fd holds the lock until it is closed. STORAGE; INVALID (check
// "stopped") once *stop is set.
SDS_MUST_CHECK enum sds_kind sds_index_place_lock(const struct sds_index_place *place,
                                                  const atomic_bool *stop, int *fd,
                                                  struct sds_err *err);

#endif
