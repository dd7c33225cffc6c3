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
#include "index/tidy.h"
#include "index/writer.h"

// Nothing but the page cache has to survive a kill; the file is synchronized before it gets its
// name.
// The cache is what sorting has for memory, too.
static const char pragmas[] = "PRAGMA page_size = 16384; PRAGMA journal_mode = TRUNCATE;"
                              "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                              "PRAGMA cache_size = -32768;";

static const char some_bad[] =
    "SELECT ordinal FROM records WHERE error IS NOT NULL ORDER BY ordinal LIMIT 8";

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

static enum sds_kind make_tables(sqlite3 *db, const char *identity, struct sds_err *err) {
    enum sds_kind kind = sds_index_writer_make_tables(db, err);
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

// --- rows

// What is at work while rows are written.
struct build {
    const struct sds_index_work *work;
    struct sds_index_writer writer;
    struct sds_index_readers *readers;
    uint64_t total;
};

static enum sds_kind write_blocks(struct build *build, struct sds_err *err) {
    const struct sds_index_work *work = build->work;
    for (;;) {
        struct sds_index_block *block = NULL;
        enum sds_kind kind = sds_index_readers_take(build->readers, &block, err);
        if (kind != SDS_OK || block == NULL) {
            return kind;
        }
        kind = sds_index_writer_add(&build->writer, block, err);
        sds_index_readers_give(build->readers, block);
        if (kind != SDS_OK) {
            return kind;
        }
        if (work->progress != NULL) {
            work->progress(work->ctx, build->writer.done, build->total);
        }
    }
}

// What was written before something failed is kept.
static enum sds_kind write_all(struct build *build, struct sds_err *err) {
    struct sds_index_writer *writer = &build->writer;
    enum sds_kind kind =
        sds_index_readers_start(build->work, writer->done, build->total, &build->readers, err);
    if (kind == SDS_OK) {
        kind = write_blocks(build, err);
    }
    sds_index_readers_stop(build->readers);
    enum sds_kind committed = sds_index_writer_commit(writer, kind == SDS_OK ? err : NULL);
    if (kind == SDS_OK) {
        kind = committed;
    }
    if (kind == SDS_OK && writer->done != build->total) {
        kind = sds_fail(err, SDS_ERR_INTERNAL, "index", "%llu rows for %llu records",
                        (unsigned long long)writer->done, (unsigned long long)build->total);
    }
    return kind;
}

static enum sds_kind write_database(const struct sds_index_work *work, sqlite3 *db,
                                    struct sds_err *err) {
    struct sds_totals totals;
    work->ds->ops->totals(work->ds, &totals);
    struct build build = {.work = work, .total = totals.records};
    enum sds_kind kind = sds_index_writer_init(&build.writer, db, err);
    if (kind == SDS_OK) {
        kind = write_all(&build, err);
    }
    sds_index_writer_fini(&build.writer);
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
    kind = give_name(place, err);
    if (kind == SDS_OK) {
        sds_index_tidy(place);
    }
    return kind;
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
