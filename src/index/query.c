// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "index/internal.h"

#define MAX_WHERE_BYTES ((size_t)64 << 10)

static bool begins_with(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

// What SQLite says against a condition. A name that is none is the most likely mistake, also where
// a text was meant; then comes a whole statement. A text without its end has a newline of ours.
static enum sds_kind refused(sqlite3 *db, struct sds_err *err) {
    char why[sizeof err->message];
    snprintf(why, sizeof why, "%s", sqlite3_errmsg(db));
    char *ours = strrchr(why, '\n');
    if (ours != NULL && strcmp(ours, "\n\"") == 0) {
        memmove(ours, ours + 1, strlen(ours));
    }
    enum sds_kind kind = sds_fail(err, SDS_ERR_INVALID, "where", "%s", SDS_QUOTE(why, strlen(why)));
    if (begins_with(why, "no such column: ")) {
        sds_err_hint(err, "columns: ordinal, id, scene_id, metadata, fields, shard, error;"
                          " a member of metadata: metadata->>'$.name'; a text: 'in single quotes'");
    } else if (begins_with(why, "near ") || begins_with(why, "incomplete input")) {
        sds_err_hint(err, "a condition is wanted, what stands behind WHERE: scene_id = 'roof'");
    } else if (begins_with(why, "unrecognized token: ")) {
        sds_err_hint(err, "is a quote missing? a text: 'in single quotes'");
    }
    return kind;
}

// A condition's text between two others as a statement, whose end has to be the end of the text.
static enum sds_kind prepare_with(struct sds_index *index, const char *before, const char *where,
                                  const char *behind, sqlite3_stmt **out, struct sds_err *err) {
    struct sds_buf sql = SDS_BUF_INIT(MAX_WHERE_BYTES);
    enum sds_kind kind = sds_buf_printf(&sql, "%s%s\n%s", before, where, behind);
    if (kind != SDS_OK) {
        sds_buf_fini(&sql);
        return kind == SDS_ERR_LIMIT ? sds_fail(err, SDS_ERR_INVALID, "where", "it is too long")
                                     : sds_buf_failed(&sql, kind, err);
    }
    const char *rest = NULL;
    const char *text = (const char *)sql.at;
    if (sqlite3_prepare_v2(index->db, text, (int)sql.len, out, &rest) != SQLITE_OK) {
        kind = refused(index->db, err);
    } else if (rest != text + sql.len) {
        kind = sds_fail(err, SDS_ERR_INVALID, "where", "it is more than a condition");
    }
    sds_buf_fini(&sql);
    return kind;
}

// The condition has to be one where it stands alone, too: there its parentheses have nothing of
// ours to close, and in ours it has to end where it should. So it is nothing but a condition. The
// database is open for reading only.
static enum sds_kind prepare(struct sds_index *index, const char *where, sqlite3_stmt **out,
                             struct sds_err *err) {
    sds_autostmt sqlite3_stmt *alone = NULL;
    enum sds_kind kind =
        prepare_with(index, "SELECT ordinal FROM records WHERE ", where, "", &alone, err);
    if (kind == SDS_OK && sqlite3_bind_parameter_count(alone) > 0) {
        kind =
            sds_fail(err, SDS_ERR_INVALID, "where", "it has a parameter (?), which has no value");
    }
    return kind != SDS_OK ? kind
                          : prepare_with(index,
                                         SDS_INDEX_ROW_COLUMNS
                                         " WHERE r.ordinal IN (SELECT ordinal FROM records WHERE (",
                                         where, ")) ORDER BY r.ordinal", out, err);
}

// What goes wrong in a condition that runs (a path of JSON that is none, a number too large) is the
// condition's own fault; the file's is told by other codes.
static enum sds_kind step(sqlite3_stmt *stmt, bool *row, struct sds_err *err) {
    enum sds_kind kind = sds_db_step(stmt, row, err);
    int code = sqlite3_errcode(sqlite3_db_handle(stmt)) & 0xFF;
    if (kind == SDS_OK ||
        (code != SQLITE_ERROR && code != SQLITE_TOOBIG && code != SQLITE_MISMATCH)) {
        return kind;
    }
    return refused(sqlite3_db_handle(stmt), err);
}

// Tells of the current row; *go_on: more are wanted.
static enum sds_kind tell(sqlite3_stmt *stmt, bool with_line, struct sds_buf *line,
                          sds_index_found_fn emit, void *ctx, bool *go_on, struct sds_err *err) {
    line->len = 0;
    if (with_line) {
        struct sds_index_row row = sds_index_row_of(stmt);
        enum sds_kind kind = sds_index_row_line(&row, line);
        if (kind != SDS_OK) {
            return sds_buf_failed(line, kind, err);
        }
    }
    *go_on = emit(ctx, (uint64_t)sqlite3_column_int64(stmt, 0), sds_buf_span(line));
    return SDS_OK;
}

enum sds_kind sds_index_query(struct sds_index *index, const char *where, bool with_lines,
                              sds_index_found_fn emit, void *ctx, struct sds_err *err) {
    sds_autostmt sqlite3_stmt *stmt = NULL;
    struct sds_buf line = SDS_BUF_INIT(SIZE_MAX / 2);
    pthread_mutex_lock(&index->lock);
    enum sds_kind kind = prepare(index, where, &stmt, err);
    bool row = true, go_on = true;
    while (kind == SDS_OK && go_on && (kind = step(stmt, &row, err)) == SDS_OK && row) {
        kind = tell(stmt, with_lines, &line, emit, ctx, &go_on, err);
    }
    pthread_mutex_unlock(&index->lock);
    sds_buf_fini(&line);
    return kind;
}
