// SPDX-License-Identifier: Apache-2.0
#include "index/rows_table.h"

#include <stdlib.h>

enum column { ORDINAL, ID, SCENE_ID, METADATA, FIELDS, SHARD, ERROR };

static const char declaration[] =
    "CREATE TABLE rows (ordinal, id, scene_id, metadata, fields, shard, error)";

struct table {
    sqlite3_vtab base;
    const struct sds_index_block *const *block;
};

struct cursor {
    sqlite3_vtab_cursor base;
    const struct sds_index_block *block;
    size_t at; // the row, or their count at the end
};

static int connect_table(sqlite3 *db, void *block, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **message) {
    (void)argc, (void)argv, (void)message;
    struct table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    table->block = block;
    *out = &table->base;
    return sqlite3_declare_vtab(db, declaration);
}

static int disconnect(sqlite3_vtab *table) {
    free(table);
    return SQLITE_OK;
}

// There is one way to read it: from the first row to the last.
static int best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
    (void)table, (void)info;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out) {
    (void)table;
    struct cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor) {
    free(cursor);
    return SQLITE_OK;
}

static int begin(sqlite3_vtab_cursor *base, int way, const char *name, int argc,
                 sqlite3_value **argv) {
    (void)way, (void)name, (void)argc, (void)argv;
    struct cursor *cursor = (struct cursor *)base;
    cursor->block = *((const struct table *)base->pVtab)->block;
    cursor->at = 0;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base) {
    ((struct cursor *)base)->at++;
    return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *base) {
    const struct cursor *cursor = (const struct cursor *)base;
    return cursor->at >= cursor->block->count;
}

static const struct sds_index_row *row_of(sqlite3_vtab_cursor *base) {
    const struct cursor *cursor = (const struct cursor *)base;
    return &cursor->block->rows[cursor->at];
}

// What is not set is NULL. The block outlives the statement.
static void set_text(sqlite3_context *context, bool there, struct sds_span text) {
    if (there) {
        sqlite3_result_text64(context, text.len > 0 ? (const char *)text.at : "", text.len,
                              SQLITE_STATIC, SQLITE_UTF8);
    }
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    const struct sds_index_row *row = row_of(base);
    bool sound = row->error.len == 0;
    switch ((enum column)column) {
    case ORDINAL:
        sqlite3_result_int64(context, (sqlite3_int64)row->ordinal);
        break;
    case ID:
        set_text(context, row->has_id, row->id);
        break;
    case SCENE_ID:
        set_text(context, row->has_scene, row->scene_id);
        break;
    case METADATA:
        set_text(context, sound, row->metadata);
        break;
    case FIELDS:
        set_text(context, sound, row->fields);
        break;
    case SHARD:
        sqlite3_result_int64(context, (sqlite3_int64)row->shard);
        break;
    case ERROR:
        set_text(context, !sound, row->error);
        break;
    }
    return SQLITE_OK;
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    *out = (sqlite3_int64)row_of(base)->ordinal;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = connect_table, // without xCreate: it is there without being made
    .xDisconnect = disconnect,
    .xBestIndex = best_index,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = begin,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = get_column,
    .xRowid = get_rowid,
};

enum sds_kind sds_index_rows_table(sqlite3 *db, const struct sds_index_block *const *block,
                                   struct sds_err *err) {
    int code = sqlite3_create_module(db, SDS_INDEX_ROWS_TABLE, &module, (void *)(uintptr_t)block);
    return code == SQLITE_OK ? SDS_OK : sds_db_failed(db, "a table of rows", err);
}
