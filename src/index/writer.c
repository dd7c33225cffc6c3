// SPDX-License-Identifier: Apache-2.0
#include "index/writer.h"

#include "index/rows_table.h"

enum { BLOCKS_A_COMMIT = 16 };

// A line's place is stored when the last one that was is so far behind it.
#define LINES_BYTES ((uint64_t)64 << 10)

#define NO_LIMIT (SIZE_MAX / 2)

// The tables that users may rely on are records and scenes (docs/tree.md); the others are ours.
static const char tables[] =
    "CREATE TABLE about (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE records (ordinal INTEGER PRIMARY KEY, id TEXT, scene_id TEXT, metadata TEXT,"
    "                      fields TEXT, shard INTEGER, error TEXT);" SDS_INDEX_RECORDS_BY_ID
    // Tokens of ids and scenes that are not what we would write for them.
    "CREATE TABLE tokens (ordinal INTEGER PRIMARY KEY, id TEXT, scene_id TEXT);"
    // Where lines of records.jsonl begin: one in a while.
    "CREATE TABLE lines (start INTEGER PRIMARY KEY, ordinal INTEGER);";

enum sds_kind sds_index_writer_make_tables(sqlite3 *db, struct sds_err *err) {
    return sds_db_run(db, tables, err);
}

// --- rows

static enum sds_kind run(sqlite3_stmt *stmt, struct sds_err *err) {
    bool row;
    enum sds_kind kind = sds_db_step(stmt, &row, err);
    sqlite3_reset(stmt);
    return kind;
}

static void bind_token(sqlite3_stmt *stmt, int i, struct sds_span token) {
    if (token.len > 0) {
        sds_db_bind_text(stmt, i, token);
    } else {
        sqlite3_bind_null(stmt, i);
    }
}

static enum sds_kind write_tokens(struct sds_index_writer *w, const struct sds_index_row *row,
                                  struct sds_err *err) {
    if (row->id_token.len == 0 && row->scene_token.len == 0) {
        return SDS_OK;
    }
    sqlite3_bind_int64(w->token, 1, (sqlite3_int64)row->ordinal);
    bind_token(w->token, 2, row->id_token);
    bind_token(w->token, 3, row->scene_token);
    return run(w->token, err);
}

static enum sds_kind write_line_start(struct sds_index_writer *w, uint64_t ordinal,
                                      struct sds_err *err) {
    if (w->line_end < w->line_stored) {
        return SDS_OK;
    }
    w->line_stored = w->line_end + LINES_BYTES;
    sqlite3_bind_int64(w->line, 1, (sqlite3_int64)w->line_end);
    sqlite3_bind_int64(w->line, 2, (sqlite3_int64)ordinal);
    return run(w->line, err);
}

// The first id that is not above the one before: from here on theirs is one of the indexes that are
// made at the end.
static enum sds_kind note_id(struct sds_index_writer *w, struct sds_span id, struct sds_err *err) {
    if (w->has_id && sds_span_cmp(sds_buf_span(&w->last_id), id) >= 0) {
        w->ids_in_order = false;
        return sds_db_run(w->db, "DROP INDEX records_by_id", err);
    }
    w->has_id = true;
    w->last_id.len = 0;
    enum sds_kind kind = sds_buf_add_span(&w->last_id, id);
    return kind == SDS_OK ? SDS_OK : sds_buf_failed(&w->last_id, kind, err);
}

static enum sds_kind note_ids(struct sds_index_writer *w, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && w->ids_in_order && i < w->block->count; i++) {
        const struct sds_index_row *row = &w->block->rows[i];
        kind = row->has_id ? note_id(w, row->id, err) : SDS_OK;
    }
    return kind;
}

// What the rows of few records have beside those in the table of records.
static enum sds_kind write_rest(struct sds_index_writer *w, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < w->block->count; i++) {
        const struct sds_index_row *row = &w->block->rows[i];
        kind = write_line_start(w, row->ordinal, err);
        if (kind == SDS_OK) {
            kind = write_tokens(w, row, err);
        }
        w->line_end += row->line_len;
        w->bad += row->error.len > 0;
    }
    return kind;
}

enum sds_kind sds_index_writer_add(struct sds_index_writer *w, const struct sds_index_block *block,
                                   struct sds_err *err) {
    w->block = block;
    enum sds_kind kind = note_ids(w, err);
    if (kind == SDS_OK) {
        kind = run(w->records, err);
    }
    if (kind == SDS_OK) {
        kind = write_rest(w, err);
    }
    w->done += block->count;
    w->failed |= kind != SDS_OK;
    if (kind == SDS_OK && ++w->uncommitted == BLOCKS_A_COMMIT) {
        kind = sds_index_writer_commit(w, err);
    }
    return kind;
}

// --- transactions

static enum sds_kind set_number(struct sds_index_writer *w, const char *key, uint64_t value,
                                struct sds_err *err) {
    sds_db_bind_text(w->about, 1, sds_span_str(key));
    sqlite3_bind_int64(w->about, 2, (sqlite3_int64)value);
    return run(w->about, err);
}

// A block that was written in part may not be committed. After some failures, a full disk among
// them, SQLite has taken all blocks back by itself: what is written then would stand alone.
enum sds_kind sds_index_writer_commit(struct sds_index_writer *w, struct sds_err *err) {
    if (w->failed || sqlite3_get_autocommit(w->db)) {
        return sds_fail(err, SDS_ERR_STORAGE, "index", "the last rows were not written");
    }
    enum sds_kind kind = set_number(w, "lines_bytes", w->line_end, err);
    if (kind == SDS_OK) {
        kind = set_number(w, "records", w->done, err);
    }
    if (kind == SDS_OK) {
        kind = set_number(w, "bad", w->bad, err);
    }
    w->uncommitted = 0;
    return kind == SDS_OK ? sds_db_run(w->db, "COMMIT; BEGIN", err) : kind;
}

// --- beginning and end

enum sds_kind sds_index_ids_are_in_order(sqlite3 *db, bool *in_order, struct sds_err *err) {
    uint64_t there = 0;
    enum sds_kind kind = sds_db_number(
        db, "SELECT count(*) FROM sqlite_schema WHERE name = 'records_by_id'", &there, err);
    *in_order = there > 0;
    return kind;
}

static enum sds_kind prepare(struct sds_index_writer *w, struct sds_err *err) {
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } statements[] = {
        {&w->records, "INSERT INTO records SELECT * FROM " SDS_INDEX_ROWS_TABLE},
        {&w->token, "INSERT INTO tokens VALUES (?, ?, ?)"},
        {&w->line, "INSERT INTO lines VALUES (?, ?)"},
        {&w->about, "INSERT OR REPLACE INTO about VALUES (?, ?)"},
    };
    enum sds_kind kind = sds_index_rows_table(w->db, &w->block, err);
    for (size_t i = 0; kind == SDS_OK && i < sizeof statements / sizeof statements[0]; i++) {
        kind = sds_db_prepare(w->db, statements[i].sql, statements[i].stmt, err);
    }
    return kind;
}

static enum sds_kind read_numbers(struct sds_index_writer *w, struct sds_err *err) {
    enum sds_kind kind =
        sds_db_number(w->db, "SELECT value FROM about WHERE key = 'records'", &w->done, err);
    if (kind == SDS_OK) {
        kind = sds_db_number(w->db, "SELECT value FROM about WHERE key = 'lines_bytes'",
                             &w->line_end, err);
        w->line_stored = w->line_end;
    }
    return kind == SDS_OK
               ? sds_db_number(w->db, "SELECT value FROM about WHERE key = 'bad'", &w->bad, err)
               : kind;
}

static enum sds_kind read_last_id(struct sds_index_writer *w, struct sds_err *err) {
    sds_autostmt sqlite3_stmt *stmt = NULL;
    bool row = false;
    enum sds_kind kind = sds_db_prepare(
        w->db, "SELECT id FROM records WHERE id IS NOT NULL ORDER BY id DESC LIMIT 1", &stmt, err);
    if (kind == SDS_OK) {
        kind = sds_db_step(stmt, &row, err);
    }
    return kind == SDS_OK && row ? note_id(w, sds_db_text(stmt, 0), err) : kind;
}

enum sds_kind sds_index_writer_init(struct sds_index_writer *w, sqlite3 *db, struct sds_err *err) {
    *w = (struct sds_index_writer){.db = db, .last_id = SDS_BUF_INIT(NO_LIMIT)};
    enum sds_kind kind = prepare(w, err);
    if (kind == SDS_OK) {
        kind = read_numbers(w, err);
    }
    if (kind == SDS_OK) {
        kind = sds_index_ids_are_in_order(db, &w->ids_in_order, err);
    }
    if (kind == SDS_OK && w->ids_in_order) {
        kind = read_last_id(w, err);
    }
    return kind == SDS_OK ? sds_db_run(db, "BEGIN", err) : kind;
}

void sds_index_writer_fini(struct sds_index_writer *w) {
    sqlite3_finalize(w->records);
    sqlite3_finalize(w->token);
    sqlite3_finalize(w->line);
    sqlite3_finalize(w->about);
    sds_buf_fini(&w->last_id);
}
