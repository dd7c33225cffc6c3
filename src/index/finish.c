// SPDX-License-Identifier: Apache-2.0
#include "format/name.h"
#include "index/build.h"
#include "index/writer.h"

static const char of_all_rows[] =
    "CREATE TABLE repeated (id TEXT PRIMARY KEY) WITHOUT ROWID;"
    "CREATE INDEX records_by_scene ON records (scene_id) WHERE scene_id IS NOT NULL;"
    "CREATE TABLE scenes (scene INTEGER PRIMARY KEY, scene_id TEXT, records INTEGER, name TEXT);"
    "INSERT INTO scenes (scene_id, records) SELECT scene_id, count(*) FROM records"
    "  WHERE scene_id IS NOT NULL GROUP BY scene_id ORDER BY scene_id;"
    "CREATE TABLE cut_names (name TEXT PRIMARY KEY, ordinal INTEGER) WITHOUT ROWID;";

static const char of_ids_in_disorder[] = SDS_INDEX_RECORDS_BY_ID
    "INSERT INTO repeated SELECT id FROM records WHERE id IS NOT NULL GROUP BY id"
    "  HAVING count(*) > 1;";

// A name of fewer bytes is never cut: each takes at most three.
#define MAYBE_CUT "80"

// The entry of a name taken from data, as SQL's sdsfs_name(text).
static void name_function(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    const void *text = sqlite3_value_text(values[0]);
    size_t len = (size_t)sqlite3_value_bytes(values[0]);
    char name[SDS_NAME_MAX + 1];
    size_t name_len = sds_name_encode(sds_span(text, len), "", name);
    sqlite3_result_text(context, name, (int)name_len, SQLITE_TRANSIENT);
}

static const char of_names[] =
    "UPDATE scenes SET name = sdsfs_name(scene_id);"
    "CREATE INDEX scenes_by_name ON scenes (name);"
    "INSERT OR IGNORE INTO cut_names SELECT sdsfs_name(id), min(ordinal) FROM records"
    "  WHERE id IS NOT NULL AND length(CAST(id AS BLOB)) > " MAYBE_CUT
    "  GROUP BY id HAVING count(*) = 1 AND length(CAST(sdsfs_name(id) AS BLOB)) >= 200;"
    "INSERT OR REPLACE INTO about VALUES ('complete', 1);";

// SQLite asks now and then whether it should go on: sorting takes a while.
enum { INSTRUCTIONS_A_LOOK = 20000 };

static int is_told_to_stop(void *ctx) {
    const atomic_bool *stop = ctx;
    return atomic_load_explicit(stop, memory_order_relaxed);
}

static enum sds_kind make_all(sqlite3 *db, struct sds_err *err) {
    bool in_order = false;
    enum sds_kind kind = sds_db_run(db, of_all_rows, err);
    if (kind == SDS_OK) {
        kind = sds_index_ids_are_in_order(db, &in_order, err);
    }
    if (kind == SDS_OK && !in_order) {
        kind = sds_db_run(db, of_ids_in_disorder, err);
    }
    if (kind == SDS_OK) {
        kind = sds_db_run(db, of_names, err);
    }
    return kind == SDS_OK ? sds_db_run(db, "COMMIT", err) : kind;
}

enum sds_kind sds_index_finish(sqlite3 *db, const atomic_bool *stop, struct sds_err *err) {
    int code = sqlite3_create_function(db, "sdsfs_name", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                       NULL, name_function, NULL, NULL);
    if (code != SQLITE_OK) {
        return sds_db_failed(db, "a function of it", err);
    }
    if (stop != NULL) {
        sqlite3_progress_handler(db, INSTRUCTIONS_A_LOOK, is_told_to_stop, (void *)(uintptr_t)stop);
    }
    enum sds_kind kind = make_all(db, err);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    if (kind != SDS_OK && stop != NULL && atomic_load(stop)) {
        return sds_fail(err, SDS_ERR_INVALID, "stopped", "told to stop");
    }
    return kind;
}
