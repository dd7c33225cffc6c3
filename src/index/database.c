// SPDX-License-Identifier: Apache-2.0
#include "index/database.h"

#include <string.h>

enum { BUSY_MS = 10000 };

// Whether the file is to blame: statements of ours only fail like this where tables, rows or
// indexes are not what they should be.
static bool tells_damage(int code) {
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR ||
           code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH;
}

enum sds_kind sds_db_failed(sqlite3 *db, const char *doing, struct sds_err *err) {
    int code = sqlite3_errcode(db) & 0xFF;
    const char *why = sqlite3_errmsg(db);
    enum sds_kind kind = SDS_ERR_STORAGE;
    if (code == SQLITE_NOMEM) {
        kind = SDS_ERR_NO_MEMORY;
    } else if (tells_damage(code)) {
        kind = SDS_ERR_CORRUPT;
    }
    // Statements may be long, and the reason must not be what is cut off.
    return sds_fail(err, kind, "index", "%s (%.120s)", SDS_QUOTE(why, strlen(why)), doing);
}

// SQLite takes a name in double quotes that it does not know for a text: what is misspelt would
// find nothing instead of failing.
static void refuse_double_quoted_texts(sqlite3 *db) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
}

enum sds_kind sds_db_open(const char *path, bool writable, sqlite3 **out, struct sds_err *err) {
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                (writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) {
        enum sds_kind kind =
            db == NULL ? sds_fail(err, SDS_ERR_NO_MEMORY, "index", "no memory for a database")
                       : sds_db_failed(db, "opening it", err);
        sqlite3_close(db);
        return kind;
    }
    sqlite3_busy_timeout(db, BUSY_MS);
    refuse_double_quoted_texts(db);
    *out = db;
    return SDS_OK;
}

enum sds_kind sds_db_run(sqlite3 *db, const char *sql, struct sds_err *err) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? SDS_OK
                                                                : sds_db_failed(db, sql, err);
}

enum sds_kind sds_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out,
                             struct sds_err *err) {
    return sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK ? SDS_OK
                                                                   : sds_db_failed(db, sql, err);
}

enum sds_kind sds_db_step(sqlite3_stmt *stmt, bool *row, struct sds_err *err) {
    int code = sqlite3_step(stmt);
    *row = code == SQLITE_ROW;
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        return SDS_OK;
    }
    return sds_db_failed(sqlite3_db_handle(stmt), sqlite3_sql(stmt), err);
}

enum sds_kind sds_db_number(sqlite3 *db, const char *sql, uint64_t *out, struct sds_err *err) {
    sds_autostmt sqlite3_stmt *stmt = NULL;
    bool row = false;
    enum sds_kind kind = sds_db_prepare(db, sql, &stmt, err);
    if (kind == SDS_OK) {
        kind = sds_db_step(stmt, &row, err);
    }
    if (kind == SDS_OK) {
        *out = row ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    }
    return kind;
}
