// SPDX-License-Identifier: Apache-2.0
#include "index/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "index/internal.h"
#include "index/place.h"
#include "index/readers.h"

enum { BLOCKS_A_COMMIT = 16 };

// A line's place is stored when the last one that was is so far behind it.
#define LINES_BYTES ((uint64_t)64 << 10)

// The tables that users may rely on are records and scenes (docs/tree.md); the others are ours.
static const char schema[] =
    "CREATE TABLE about (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE records (ordinal INTEGER PRIMARY KEY, id TEXT, scene_id TEXT, metadata TEXT,"
    "                      fields TEXT, shard INTEGER, error TEXT);"
    // Tokens of ids and scenes that are not what we would write for them.
    "CREATE TABLE tokens (ordinal INTEGER PRIMARY KEY, id TEXT, scene_id TEXT);"
    // Where lines of records.jsonl begin: one in a while.
    "CREATE TABLE lines (start INTEGER PRIMARY KEY, ordinal INTEGER);";

// Nothing but the page cache has to survive a kill; the file is synchronized before it gets its
// name.
// The cache is what sorting has for memory, too.
static const char pragmas[] = "PRAGMA page_size = 16384; PRAGMA journal_mode = TRUNCATE;"
                              "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                              "PRAGMA cache_size = -49152;";

static const char some_bad[] =
    "SELECT ordinal FROM records WHERE error IS NOT NULL ORDER BY ordinal LIMIT 8";

struct writer {
    sqlite3 *db;
    const struct sds_index_work *work;
    sqlite3_stmt *record, *token, *line, *about;
    uint64_t done, total; // records
    uint64_t bad;         // of those done
    uint64_t line_end;    // bytes of records.jsonl so far
    uint64_t line_stored; // the first place that should be stored next
    unsigned uncommitted; // blocks
};

// --- the database

enum sds_kind sds_index_belongs(sqlite3 *db, const char *identity, bool *belongs, bool *complete,
                                struct sds_err *err) {
    sds_autostmt sqlite3_stmt *stmt = NULL;
    bool row = false;
    *belongs = *complete = false;
    enum sds_kind kind =
        sds_db_prepare(db,
                       "SELECT value, (SELECT value FROM about WHERE key = 'complete') FROM about"
                       " WHERE key = 'identity'",
                       &stmt, err);
    if (kind == SDS_OK) {
        kind = sds_db_step(stmt, &row, err);
    }
    if (kind == SDS_OK && row) {
        *belongs = sds_span_eq(sds_db_text(stmt, 0), sds_span_str(identity));
        *complete = sqlite3_column_int(stmt, 1) == 1;
    }
    return kind;
}

static enum sds_kind set_number(struct writer *w, const char *key, uint64_t value,
                                struct sds_err *err) {
    bool row;
    sqlite3_reset(w->about);
    sds_db_bind_text(w->about, 1, sds_span_str(key));
    sqlite3_bind_int64(w->about, 2, (sqlite3_int64)value);
    return sds_db_step(w->about, &row, err);
}

static enum sds_kind make_tables(sqlite3 *db, const char *identity, struct sds_err *err) {
    enum sds_kind kind = sds_db_run(db, schema, err);
    sds_autostmt sqlite3_stmt *stmt = NULL;
    bool row;
    if (kind == SDS_OK) {
        kind = sds_db_prepare(db, "INSERT INTO about VALUES ('identity', ?)", &stmt, err);
    }
    if (kind == SDS_OK) {
        sds_db_bind_text(stmt, 1, sds_span_str(identity));
        kind = sds_db_step(stmt, &row, err);
    }
    return kind;
}

// Opens what an earlier build left, if it is sound and of the same dataset. *complete: it only
// lacks its name.
static bool open_left(const struct sds_index_place *place, sqlite3 **out, bool *complete) {
    sqlite3 *db = NULL;
    bool belongs = false;
    if (access(place->building, F_OK) != 0 ||
        sds_db_open(place->building, true, &db, NULL) != SDS_OK) {
        return false;
    }
    if (sds_db_run(db, pragmas, NULL) == SDS_OK &&
        sds_index_belongs(db, place->identity, &belongs, complete, NULL) == SDS_OK && belongs) {
        *out = db;
        return true;
    }
    sqlite3_close(db);
    return false;
}

// What SQLite leaves beside a database that it had for itself.
static void remove_journal(const struct sds_index_place *place) {
    char journal[4096];
    snprintf(journal, sizeof journal, "%s-journal", place->building);
    unlink(journal);
}

// What metadata says is for nobody else than who may read the dataset.
static enum sds_kind make_file(const char *path, struct sds_err *err) {
    sds_autofd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 ? SDS_OK
                   : sds_fail(err, SDS_ERR_STORAGE, "index", "cannot make it: %s", strerror(errno));
}

static enum sds_kind open_new(const struct sds_index_place *place, sqlite3 **out,
                              struct sds_err *err) {
    unlink(place->building);
    remove_journal(place);
    sqlite3 *db = NULL;
    enum sds_kind kind = make_file(place->building, err);
    if (kind == SDS_OK) {
        kind = sds_db_open(place->building, true, &db, err);
    }
    if (kind == SDS_OK) {
        kind = sds_db_run(db, pragmas, err);
    }
    if (kind == SDS_OK) {
        kind = sds_db_run(db, "BEGIN", err);
    }
    if (kind == SDS_OK) {
        kind = make_tables(db, place->identity, err);
    }
    if (kind == SDS_OK) {
        kind = sds_db_run(db, "COMMIT", err);
    }
    if (kind != SDS_OK) {
        sqlite3_close(db);
        return kind;
    }
    *out = db;
    return SDS_OK;
}

// --- writing rows

static void bind_or_null(sqlite3_stmt *stmt, int i, bool there, struct sds_span text) {
    if (there) {
        sds_db_bind_text(stmt, i, text);
    } else {
        sqlite3_bind_null(stmt, i);
    }
}

static enum sds_kind write_tokens(struct writer *w, const struct sds_index_row *row,
                                  struct sds_err *err) {
    bool more;
    if (row->id_token.len == 0 && row->scene_token.len == 0) {
        return SDS_OK;
    }
    sqlite3_reset(w->token);
    sqlite3_bind_int64(w->token, 1, (sqlite3_int64)row->ordinal);
    bind_or_null(w->token, 2, row->id_token.len > 0, row->id_token);
    bind_or_null(w->token, 3, row->scene_token.len > 0, row->scene_token);
    return sds_db_step(w->token, &more, err);
}

static enum sds_kind write_line_start(struct writer *w, uint64_t ordinal, struct sds_err *err) {
    bool more;
    if (w->line_end < w->line_stored) {
        return SDS_OK;
    }
    w->line_stored = w->line_end + LINES_BYTES;
    sqlite3_reset(w->line);
    sqlite3_bind_int64(w->line, 1, (sqlite3_int64)w->line_end);
    sqlite3_bind_int64(w->line, 2, (sqlite3_int64)ordinal);
    return sds_db_step(w->line, &more, err);
}

static enum sds_kind write_row(struct writer *w, const struct sds_index_row *row,
                               struct sds_err *err) {
    bool more, sound = row->error.len == 0;
    enum sds_kind kind = write_line_start(w, row->ordinal, err);
    if (kind != SDS_OK) {
        return kind;
    }
    sqlite3_reset(w->record);
    sqlite3_bind_int64(w->record, 1, (sqlite3_int64)row->ordinal);
    bind_or_null(w->record, 2, row->has_id, row->id);
    bind_or_null(w->record, 3, row->has_scene, row->scene_id);
    bind_or_null(w->record, 4, sound, row->metadata);
    bind_or_null(w->record, 5, sound, row->fields);
    sqlite3_bind_int64(w->record, 6, (sqlite3_int64)row->shard);
    bind_or_null(w->record, 7, !sound, row->error);
    kind = sds_db_step(w->record, &more, err);
    if (kind == SDS_OK) {
        kind = write_tokens(w, row, err);
    }
    w->line_end += row->line_len;
    w->bad += !sound;
    w->done++;
    return kind;
}

// After some failures, a full disk among them, SQLite has taken the rows back by itself. What is
// written then would stand alone.
static enum sds_kind commit(struct writer *w, struct sds_err *err) {
    if (sqlite3_get_autocommit(w->db)) {
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

static enum sds_kind write_block(struct writer *w, const struct sds_index_block *block,
                                 struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < block->count; i++) {
        kind = write_row(w, &block->rows[i], err);
    }
    if (kind == SDS_OK && ++w->uncommitted == BLOCKS_A_COMMIT) {
        kind = commit(w, err);
    }
    if (w->work->progress != NULL) {
        w->work->progress(w->work->ctx, w->done, w->total);
    }
    return kind;
}

static enum sds_kind prepare(struct writer *w, struct sds_err *err) {
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } statements[] = {
        {&w->record, "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)"},
        {&w->token, "INSERT INTO tokens VALUES (?, ?, ?)"},
        {&w->line, "INSERT INTO lines VALUES (?, ?)"},
        {&w->about, "INSERT OR REPLACE INTO about VALUES (?, ?)"},
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        enum sds_kind kind = sds_db_prepare(w->db, statements[i].sql, statements[i].stmt, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    enum sds_kind kind =
        sds_db_number(w->db, "SELECT value FROM about WHERE key = 'records'", &w->done, err);
    if (kind == SDS_OK) {
        kind = sds_db_number(w->db, "SELECT value FROM about WHERE key = 'lines_bytes'",
                             &w->line_end, err);
        w->line_stored = w->line_end;
    }
    if (kind == SDS_OK) {
        kind = sds_db_number(w->db, "SELECT value FROM about WHERE key = 'bad'", &w->bad, err);
    }
    return kind == SDS_OK ? sds_db_run(w->db, "BEGIN", err) : kind;
}

static void finalize(struct writer *w) {
    sqlite3_finalize(w->record);
    sqlite3_finalize(w->token);
    sqlite3_finalize(w->line);
    sqlite3_finalize(w->about);
}

static enum sds_kind write_blocks(struct writer *w, struct sds_index_readers *readers,
                                  struct sds_err *err) {
    for (;;) {
        struct sds_index_block *block = NULL;
        enum sds_kind kind = sds_index_readers_take(readers, &block, err);
        if (kind != SDS_OK || block == NULL) {
            return kind;
        }
        kind = write_block(w, block, err);
        sds_index_readers_give(readers, block);
        if (kind != SDS_OK) {
            return kind;
        }
    }
}

// What was written before something failed is kept.
static enum sds_kind write_all(struct writer *w, struct sds_err *err) {
    struct sds_index_readers *readers = NULL;
    enum sds_kind kind = sds_index_readers_start(w->work, w->done, w->total, &readers, err);
    if (kind == SDS_OK) {
        kind = write_blocks(w, readers, err);
    }
    sds_index_readers_stop(readers);
    enum sds_kind committed = commit(w, kind == SDS_OK ? err : NULL);
    return kind == SDS_OK ? committed : kind;
}

static enum sds_kind write_database(const struct sds_index_work *work, sqlite3 *db,
                                    struct sds_err *err) {
    struct sds_totals totals;
    work->ds->ops->totals(work->ds, &totals);
    struct writer w = {.db = db, .work = work, .total = totals.records};
    enum sds_kind kind = prepare(&w, err);
    if (kind == SDS_OK) {
        kind = write_all(&w, err);
    }
    finalize(&w);
    if (kind == SDS_OK && w.done != w.total) {
        kind = sds_fail(err, SDS_ERR_INTERNAL, "index", "%llu rows for %llu records",
                        (unsigned long long)w.done, (unsigned long long)w.total);
    }
    return kind == SDS_OK ? sds_index_finish(db, work->stop, err) : kind;
}

// --- all of it

static enum sds_kind give_name(const struct sds_index_place *place, struct sds_err *err) {
    sds_autofd int fd = open(place->building, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    sds_autofd int dir = open(place->directory, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd < 0 || dir < 0 || fsync(fd) != 0 || rename(place->building, place->file) != 0 ||
        fsync(dir) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "index", "%s: %s",
                        SDS_QUOTE(place->building, strlen(place->building)), strerror(errno));
    }
    return SDS_OK;
}

// What a loss of power left may be damaged, which shows on the way: then from the beginning. A
// build that was killed just before it got its name has nothing left to do.
static enum sds_kind build_at(const struct sds_index_work *work,
                              const struct sds_index_place *place, struct sds_err *err) {
    sqlite3 *db = NULL;
    enum sds_kind kind = SDS_ERR_CORRUPT;
    bool complete = false;
    if (open_left(place, &db, &complete)) {
        kind = complete ? SDS_OK : write_database(work, db, err);
        sqlite3_close(db);
    }
    if (kind == SDS_ERR_CORRUPT && (kind = open_new(place, &db, err)) == SDS_OK) {
        kind = write_database(work, db, err);
        sqlite3_close(db);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    remove_journal(place);
    return give_name(place, err);
}

static bool note_sound(void *ctx, const struct sds_scanned *entry) {
    bool *sound = ctx;
    *sound = *sound || entry->problem == NULL;
    return true;
}

// Whether entries that were bad when it was built are not any more: an object that was not there
// yet, a server's answer that was none. A few are looked at again, which tells.
static bool is_outdated(const struct sds_index_work *work, struct sds_index *index) {
    sqlite3_stmt *stmt = NULL;
    bool more = sds_index_facts(index)->bad > 0, sound = false;
    if (!more || sds_db_prepare(index->db, some_bad, &stmt, NULL) != SDS_OK) {
        return false;
    }
    while (!sound && sds_db_step(stmt, &more, NULL) == SDS_OK && more) {
        uint64_t ordinal = (uint64_t)sqlite3_column_int64(stmt, 0);
        if (work->ds->ops->scan(work->ds, ordinal, ordinal + 1, note_sound, &sound, NULL) !=
            SDS_OK) {
            break; // it could not be looked at
        }
    }
    sqlite3_finalize(stmt);
    return sound;
}

static bool is_there(const struct sds_index_work *work, const struct sds_index_place *place) {
    struct sds_index *index = NULL;
    bool there = sds_index_open_at(place, &index, NULL) == SDS_OK;
    if (there && is_outdated(work, index)) {
        sds_index_discard(index);
        there = false;
    }
    sds_index_close(index);
    return there;
}

enum sds_kind sds_index_build(const struct sds_index_work *work, struct sds_err *err) {
    struct sds_index_place place;
    enum sds_kind kind =
        sds_index_place_of(work->ds, work->cache_dir, "", "sqlite", true, &place, err);
    if (kind != SDS_OK) {
        return kind;
    }
    sds_autofd int lock = -1;
    if (!is_there(work, &place)) {
        kind = sds_index_place_lock(&place, work->stop, &lock, err);
        if (kind == SDS_OK && !is_there(work, &place)) {
            kind = build_at(work, &place, err);
        }
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", place.file);
    }
    sds_index_place_fini(&place);
    return kind;
}
