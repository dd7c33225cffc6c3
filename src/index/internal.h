// SPDX-License-Identifier: Apache-2.0
//
// What the modules of the index share.
#ifndef SDSFS_INDEX_INTERNAL_H
#define SDSFS_INDEX_INTERNAL_H

#include <pthread.h>

#include "index/database.h"
#include "index/index.h"
#include "index/place.h"
#include "index/row.h"

// Statements that are asked again and again, prepared once.
enum sds_index_statement {
    SDS_INDEX_ROWS,        // from an ordinal on, with tokens
    SDS_INDEX_LINE_BEFORE, // the last line that begins at or before a place, of those stored
    SDS_INDEX_BY_ID,       // the first record with an id
    SDS_INDEX_BY_CUT_NAME, // the record whose name was cut to this one
    SDS_INDEX_ID_OF,       // a record's id, and whether it repeats
    SDS_INDEX_IDS,         // all ids from an ordinal on, the same
    SDS_INDEX_BY_SCENE_NAME,
    SDS_INDEX_IN_SCENE,
    SDS_INDEX_SCENE_NAME,
    SDS_INDEX_SCENE_OF, // a record's scene
    SDS_INDEX_SCENES,
    SDS_INDEX_SCENE_RECORDS,
    SDS_INDEX_STATEMENTS,
};

// The line of records.jsonl that a read ended in, where making it again for the next one takes
// long.
struct sds_index_held_line {
    struct sds_buf text; // empty: none
    uint64_t at;         // where it begins
    uint64_t next_ordinal;
};

struct sds_index {
    pthread_mutex_t lock; // all below but what never changes; held while a statement is asked
    sqlite3 *db;
    sqlite3_stmt *statements[SDS_INDEX_STATEMENTS];
    struct sds_index_held_line held;
    struct sds_index_facts facts;
    char *path;
    int file;
};

// Opens the finished index at a place. NOT_FOUND, CORRUPT, STORAGE: there is none that can be used.
SDS_MUST_CHECK enum sds_kind sds_index_open_at(const struct sds_index_place *place,
                                               struct sds_index **out, struct sds_err *err);

// A statement, ready to be bound. The lock is held from here to sds_index_done.
sqlite3_stmt *sds_index_ask(struct sds_index *index, enum sds_index_statement which);
// Returns kind, with the index named in err.
enum sds_kind sds_index_done(struct sds_index *index, sqlite3_stmt *stmt, enum sds_kind kind,
                             struct sds_err *err);

// lines.c: the columns of SDS_INDEX_ROWS as a row, valid until the next step.
struct sds_index_row sds_index_row_of(sqlite3_stmt *stmt);

// What those columns are, and where they come from.
#define SDS_INDEX_ROW_COLUMNS                                                                      \
    "SELECT r.ordinal, r.id, r.scene_id, t.id, t.scene_id, r.metadata, r.fields, r.error"          \
    " FROM records r LEFT JOIN tokens t USING (ordinal)"

#endif
