// SPDX-License-Identifier: Apache-2.0
//
// The writing half of a build: rows go into the database in the order of ordinals, in transactions
// of several blocks. What was committed is what the next build goes on behind. One thread's own.
#ifndef SDSFS_INDEX_WRITER_H
#define SDSFS_INDEX_WRITER_H

#include "index/blocks.h"
#include "index/database.h"

struct sds_index_writer {
    sqlite3 *db;
    const struct sds_index_block *block; // whose rows are written
    sqlite3_stmt *records, *token, *line, *about;
    uint64_t done;          // records; also the next ordinal
    uint64_t bad;           // of those
    uint64_t line_end;      // bytes of records.jsonl so far
    uint64_t line_stored;   // the first place that should be stored next
    bool failed;            // a block was not written
    unsigned uncommitted;   // blocks
    bool ids_in_order;      // so far
    bool has_id;            // there was one
    struct sds_buf last_id; // while they are in order
};

// The index of ids. It is there from the beginning, and grows with the rows as long as each id is
// above all before it, as ids are as a rule: then nothing has to be sorted, and none repeats.
#define SDS_INDEX_RECORDS_BY_ID "CREATE INDEX records_by_id ON records (id) WHERE id IS NOT NULL;"
SDS_MUST_CHECK enum sds_kind sds_index_ids_are_in_order(sqlite3 *db, bool *in_order,
                                                        struct sds_err *err);

// The tables of an empty database.
SDS_MUST_CHECK enum sds_kind sds_index_writer_make_tables(sqlite3 *db, struct sds_err *err);
// Goes on behind what the tables hold, and begins a transaction. Ended by _fini, also where this
// failed.
SDS_MUST_CHECK enum sds_kind sds_index_writer_init(struct sds_index_writer *w, sqlite3 *db,
                                                   struct sds_err *err);
void sds_index_writer_fini(struct sds_index_writer *w);

// Writes the rows of the next block.
SDS_MUST_CHECK enum sds_kind sds_index_writer_add(struct sds_index_writer *w,
                                                  const struct sds_index_block *block,
                                                  struct sds_err *err);
// Commits all that was written, and begins anew. Fails where a block failed.
SDS_MUST_CHECK enum sds_kind sds_index_writer_commit(struct sds_index_writer *w,
                                                     struct sds_err *err);

#endif
