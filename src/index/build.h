// SPDX-License-Identifier: Apache-2.0
//
// Building an index: threads read and decode all metadata entries (readers.h), and one writes
// them into the database. What was written survives a kill: the next build goes on
// behind it. The finished file gets its name by a rename, so nobody ever sees a part of it.
#ifndef SDSFS_INDEX_BUILD_H
#define SDSFS_INDEX_BUILD_H

#include <stdatomic.h>

#include "format/driver.h"
#include "index/database.h"

struct sds_index_work {
    struct sds_dataset *ds;
    const char *cache_dir; // the option, or NULL
    // Told now and then, from the building thread; NULL: nobody is.
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *ctx;
    const atomic_bool *stop; // set: it ends soon, with INVALID, check "stopped"; NULL: never
};

// Builds the index unless it is there, or somebody else builds it meanwhile; also where entries
// that were bad in it are sound now. Blocks. Kinds: those
// of the store (metadata that cannot be had), of the cache directory, STORAGE (check "index").
SDS_MUST_CHECK enum sds_kind sds_index_build(const struct sds_index_work *work,
                                             struct sds_err *err);

// finish.c: makes what is made of all rows (indexes, scenes, names that were cut), and marks the
// database as complete. stop as above; what was done so far is then taken back.
SDS_MUST_CHECK enum sds_kind sds_index_finish(sqlite3 *db, const atomic_bool *stop,
                                              struct sds_err *err);

// What a database says about itself. complete: it can be used.
SDS_MUST_CHECK enum sds_kind sds_index_belongs(sqlite3 *db, const char *identity, bool *belongs,
                                               bool *complete, struct sds_err *err);

#endif
