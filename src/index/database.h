// SPDX-License-Identifier: Apache-2.0
//
// SQLite, as far as the index needs it: errors as ours, statements that free themselves.
#ifndef SDSFS_INDEX_DATABASE_H
#define SDSFS_INDEX_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

// Fails with what the database says: STORAGE, check "index"; NO_MEMORY; CORRUPT where the file is
// damaged or not one of SQLite's.
enum sds_kind sds_db_failed(sqlite3 *db, const char *doing, struct sds_err *err);

// Opens a file. writable: it is made if it is not there.
SDS_MUST_CHECK enum sds_kind sds_db_open(const char *path, bool writable, sqlite3 **out,
                                         struct sds_err *err);
// Runs statements that return nothing.
SDS_MUST_CHECK enum sds_kind sds_db_run(sqlite3 *db, const char *sql, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out,
                                            struct sds_err *err);
// One row further: *row tells whether there is one.
SDS_MUST_CHECK enum sds_kind sds_db_step(sqlite3_stmt *stmt, bool *row, struct sds_err *err);
// The first number of the first row; 0 without a row.
SDS_MUST_CHECK enum sds_kind sds_db_number(sqlite3 *db, const char *sql, uint64_t *out,
                                           struct sds_err *err);

// A text parameter that outlives the step.
static inline void sds_db_bind_text(sqlite3_stmt *stmt, int i, struct sds_span text) {
    sqlite3_bind_text64(stmt, i, text.len > 0 ? (const char *)text.at : "", text.len, SQLITE_STATIC,
                        SQLITE_UTF8);
}

// A text of the current row, valid until the next step.
static inline struct sds_span sds_db_text(sqlite3_stmt *stmt, int i) {
    const void *at = sqlite3_column_text(stmt, i); // before the length: it may convert
    return sds_span(at, at != NULL ? (size_t)sqlite3_column_bytes(stmt, i) : 0);
}

static inline void sds_cleanup_stmt(sqlite3_stmt **stmt) {
    sqlite3_finalize(*stmt);
}
#define sds_autostmt __attribute__((cleanup(sds_cleanup_stmt)))

#endif
