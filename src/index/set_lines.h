// SPDX-License-Identifier: Apache-2.0
//
// annotations/<set>.jsonl: the rows of an annotation set, one a line, as a file in the cache
// directory, under a seal (seal.h). A set never changes, so the file is made once, under a lock,
// and keeps its name for as long as the dataset is the same; but with a row in it that is bad it
// gets none, and is the caller's alone.
#ifndef SDSFS_INDEX_SET_LINES_H
#define SDSFS_INDEX_SET_LINES_H

#include <stdatomic.h>

#include "format/driver.h"
#include "index/place.h"

// Makes the file unless it is there, and opens it: *fd is the caller's. A row that is bad is told
// in its line. Blocks. Kinds: NOT_FOUND (no such set), those of the store, STORAGE (check "index"),
// INVALID (check "stopped").
SDS_MUST_CHECK enum sds_kind sds_index_set_lines(struct sds_dataset *ds, const char *cache_dir,
                                                 const char *set, const atomic_bool *stop, int *fd,
                                                 uint64_t *size, struct sds_err *err);

#endif
