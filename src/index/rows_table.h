// SPDX-License-Identifier: Apache-2.0
//
// The rows of a block as a table of SQL, so that one statement writes them all: that takes half the
// time of one for each row.
#ifndef SDSFS_INDEX_ROWS_TABLE_H
#define SDSFS_INDEX_ROWS_TABLE_H

#include "index/blocks.h"
#include "index/database.h"

// Its name; its columns are those of records, in the same order.
#define SDS_INDEX_ROWS_TABLE "sdsfs_rows"

// Makes it known to a database. What it holds are the rows of *block, which is looked at only when
// a statement begins to read it.
SDS_MUST_CHECK enum sds_kind
sds_index_rows_table(sqlite3 *db, const struct sds_index_block *const *block, struct sds_err *err);

#endif
