// SPDX-License-Identifier: Apache-2.0
//
// records.jsonl, written again from the rows wherever it is read: begins at the nearest line whose
// place is stored.
#include "index/internal.h"
#include "index/row.h"

// The nearest line at or before off whose place is stored.
static enum sds_kind find_line(struct sds_index *index, uint64_t off, uint64_t *start,
                               uint64_t *ordinal, struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_LINE_BEFORE);
    bool row = false;
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)off);
    enum sds_kind kind = sds_db_step(stmt, &row, err);
    if (kind == SDS_OK && !row) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "index", "it lacks the place of the first line");
    } else if (kind == SDS_OK) {
        *start = (uint64_t)sqlite3_column_int64(stmt, 0);
        *ordinal = (uint64_t)sqlite3_column_int64(stmt, 1);
    }
    return sds_index_done(index, stmt, kind, err);
}

struct sds_index_row sds_index_row_of(sqlite3_stmt *stmt) {
    return (struct sds_index_row){
        .ordinal = (uint64_t)sqlite3_column_int64(stmt, 0),
        .has_id = sqlite3_column_type(stmt, 1) != SQLITE_NULL,
        .id = sds_db_text(stmt, 1),
        .has_scene = sqlite3_column_type(stmt, 2) != SQLITE_NULL,
        .scene_id = sds_db_text(stmt, 2),
        .id_token = sds_db_text(stmt, 3),
        .scene_token = sds_db_text(stmt, 4),
        .metadata = sds_db_text(stmt, 5),
        .fields = sds_db_text(stmt, 6),
        .error = sds_db_text(stmt, 7),
    };
}

// Appends the part of a line that lies in [off, off + len); at is where the line begins.
static enum sds_kind add_part(struct sds_span line, uint64_t at, uint64_t off, size_t len,
                              struct sds_buf *out) {
    uint64_t skip = off > at ? off - at : 0;
    if (skip >= line.len) {
        return SDS_OK;
    }
    size_t left = line.len - (size_t)skip;
    uint64_t room = off + len - (at + skip);
    return sds_buf_add(out, line.at + skip, left < room ? left : (size_t)room);
}

static enum sds_kind add_lines(sqlite3_stmt *stmt, uint64_t at, uint64_t off, size_t len,
                               struct sds_buf *out, struct sds_err *err) {
    struct sds_buf line = SDS_BUF_INIT(SIZE_MAX / 2);
    bool more = true;
    enum sds_kind kind = SDS_OK;
    while (kind == SDS_OK && at < off + len) {
        kind = sds_db_step(stmt, &more, err);
        if (kind != SDS_OK || !more) {
            break;
        }
        struct sds_index_row row = sds_index_row_of(stmt);
        line.len = 0;
        kind = sds_index_row_line(&row, &line);
        if (kind == SDS_OK) {
            kind = add_part(sds_buf_span(&line), at, off, len, out);
        }
        if (kind != SDS_OK) {
            (void)sds_buf_failed(out, kind, err);
        }
        at += line.len;
    }
    sds_buf_fini(&line);
    return kind;
}

enum sds_kind sds_index_lines(struct sds_index *index, uint64_t off, size_t len,
                              struct sds_buf *out, struct sds_err *err) {
    uint64_t total = index->facts.lines_bytes, start = 0, ordinal = 0;
    if (off >= total || len == 0) {
        return SDS_OK;
    }
    len = total - off < len ? (size_t)(total - off) : len;
    size_t before = out->len;
    enum sds_kind kind = find_line(index, off, &start, &ordinal, err);
    if (kind != SDS_OK) {
        return kind;
    }
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_ROWS);
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)ordinal);
    kind = add_lines(stmt, start, off, len, out, err);
    if (kind == SDS_OK && out->len - before != len) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "index", "its rows end before records.jsonl does");
    }
    return sds_index_done(index, stmt, kind, err);
}
