// SPDX-License-Identifier: Apache-2.0
//
// records.jsonl, written again from the rows wherever it is read: begins at the nearest line whose
// place is stored, or goes on in the long one that was read last.
#include "index/internal.h"
#include "index/row.h"

// A line of so many bytes is held: it takes many reads.
#define LONG_LINE ((size_t)1 << 20)

// Where the next line begins, and whose it is.
struct line_place {
    uint64_t at, ordinal;
};

// The nearest line at or before off whose place is stored.
static enum sds_kind find_line(struct sds_index *index, uint64_t off, struct line_place *out,
                               struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_LINE_BEFORE);
    bool row = false;
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)off);
    enum sds_kind kind = sds_db_step(stmt, &row, err);
    if (kind == SDS_OK && !row) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "index", "it lacks the place of the first line");
    } else if (kind == SDS_OK) {
        *out = (struct line_place){.at = (uint64_t)sqlite3_column_int64(stmt, 0),
                                   .ordinal = (uint64_t)sqlite3_column_int64(stmt, 1)};
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

// --- the long line

// Takes a line; next is the place behind it.
static void hold(struct sds_index *index, struct sds_buf *text, struct line_place next) {
    sds_buf_fini(&index->held.text);
    index->held = (struct sds_index_held_line){
        .text = *text, .at = next.at - text->len, .next_ordinal = next.ordinal};
    *text = SDS_BUF_INIT(text->max);
}

// Whether a byte is near the held line: the kernel reads ahead, in several threads.
static bool is_near(const struct sds_index_held_line *held, uint64_t off) {
    return off >= held->at && off < held->at + held->text.len + LONG_LINE;
}

// Appends what the held line has of [off, off + len), if that begins in it; *next is then what
// follows it. A read elsewhere lets it go.
static enum sds_kind add_held(struct sds_index *index, uint64_t off, size_t len,
                              struct sds_buf *out, bool *added, struct line_place *next) {
    struct sds_index_held_line *held = &index->held;
    enum sds_kind kind = SDS_OK;
    pthread_mutex_lock(&index->lock);
    uint64_t end = held->at + held->text.len;
    *added = off >= held->at && off < end;
    if (*added) {
        kind = add_part(sds_buf_span(&held->text), held->at, off, len, out);
        *next = (struct line_place){.at = end, .ordinal = held->next_ordinal};
    } else if (!is_near(held, off)) {
        sds_buf_fini(&held->text);
        *held = (struct sds_index_held_line){0};
    }
    pthread_mutex_unlock(&index->lock);
    return kind;
}

// --- all lines

// The line of the current row, and what [off, off + len) has of it.
static enum sds_kind add_line(sqlite3_stmt *stmt, struct line_place *place, uint64_t off,
                              size_t len, struct sds_buf *line, struct sds_buf *out) {
    struct sds_index_row row = sds_index_row_of(stmt);
    line->len = 0;
    enum sds_kind kind = sds_index_row_line(&row, line);
    if (kind == SDS_OK) {
        kind = add_part(sds_buf_span(line), place->at, off, len, out);
    }
    *place = (struct line_place){.at = place->at + line->len, .ordinal = row.ordinal + 1};
    return kind;
}

// Lock held.
static enum sds_kind add_lines(struct sds_index *index, sqlite3_stmt *stmt, struct line_place place,
                               uint64_t off, size_t len, struct sds_buf *out, struct sds_err *err) {
    struct sds_buf line = SDS_BUF_INIT(SIZE_MAX / 2);
    bool more = true;
    enum sds_kind kind = SDS_OK;
    while (kind == SDS_OK && place.at < off + len) {
        kind = sds_db_step(stmt, &more, err);
        if (kind != SDS_OK || !more) {
            break;
        }
        kind = add_line(stmt, &place, off, len, &line, out);
        if (kind != SDS_OK) {
            (void)sds_buf_failed(out, kind, err);
        }
    }
    if (kind == SDS_OK && place.at > off + len && line.len >= LONG_LINE) {
        hold(index, &line, place);
    }
    sds_buf_fini(&line);
    return kind;
}

enum sds_kind sds_index_lines(struct sds_index *index, uint64_t off, size_t len,
                              struct sds_buf *out, struct sds_err *err) {
    uint64_t total = index->facts.lines_bytes;
    if (off >= total || len == 0) {
        return SDS_OK;
    }
    len = total - off < len ? (size_t)(total - off) : len;
    size_t before = out->len;
    bool added = false;
    struct line_place place = {0};
    enum sds_kind kind = add_held(index, off, len, out, &added, &place);
    if (kind != SDS_OK) {
        return sds_buf_failed(out, kind, err);
    }
    if (added && out->len - before == len) {
        return SDS_OK;
    }
    kind = added ? SDS_OK : find_line(index, off, &place, err);
    if (kind != SDS_OK) {
        return kind;
    }
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_ROWS);
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)place.ordinal);
    kind = add_lines(index, stmt, place, off, len, out, err);
    if (kind == SDS_OK && out->len - before != len) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "index", "its rows end before records.jsonl does");
    }
    return sds_index_done(index, stmt, kind, err);
}
