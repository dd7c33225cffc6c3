// SPDX-License-Identifier: Apache-2.0
#include "index/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index/build.h"
#include "index/internal.h"
#include "index/tidy.h"

static const char *const sql[SDS_INDEX_STATEMENTS] = {
    [SDS_INDEX_ROWS] = SDS_INDEX_ROW_COLUMNS " WHERE r.ordinal >= ? ORDER BY r.ordinal",
    [SDS_INDEX_LINE_BEFORE] =
        "SELECT start, ordinal FROM lines WHERE start <= ? ORDER BY start DESC LIMIT 1",
    [SDS_INDEX_BY_ID] = "SELECT ordinal FROM records WHERE id = ? ORDER BY ordinal LIMIT 1",
    [SDS_INDEX_BY_CUT_NAME] = "SELECT ordinal FROM cut_names WHERE name = ?",
    [SDS_INDEX_ID_OF] =
        "SELECT r.ordinal, r.id, EXISTS (SELECT 1 FROM repeated p WHERE p.id = r.id)"
        " FROM records r WHERE r.ordinal = ? AND r.id IS NOT NULL",
    [SDS_INDEX_IDS] = "SELECT r.ordinal, r.id, EXISTS (SELECT 1 FROM repeated p WHERE p.id = r.id)"
                      " FROM records r WHERE r.ordinal >= ? AND r.id IS NOT NULL"
                      " ORDER BY r.ordinal",
    [SDS_INDEX_BY_SCENE_NAME] = "SELECT scene FROM scenes WHERE name = ? ORDER BY scene LIMIT 1",
    [SDS_INDEX_IN_SCENE] = "SELECT 1 FROM records r, scenes s WHERE s.scene = ? AND r.ordinal = ?"
                           " AND r.scene_id = s.scene_id",
    [SDS_INDEX_SCENE_NAME] = "SELECT name FROM scenes WHERE scene = ?",
    [SDS_INDEX_SCENE_OF] =
        "SELECT scene_id FROM records WHERE ordinal = ? AND scene_id IS NOT NULL",
    [SDS_INDEX_SCENES] = "SELECT scene, name FROM scenes WHERE scene > ? ORDER BY scene",
    [SDS_INDEX_SCENE_RECORDS] =
        "SELECT ordinal FROM records WHERE scene_id = (SELECT scene_id FROM scenes WHERE scene = ?)"
        " AND ordinal >= ? ORDER BY ordinal",
};

sqlite3_stmt *sds_index_ask(struct sds_index *index, enum sds_index_statement which) {
    pthread_mutex_lock(&index->lock);
    return index->statements[which];
}

enum sds_kind sds_index_done(struct sds_index *index, sqlite3_stmt *stmt, enum sds_kind kind,
                             struct sds_err *err) {
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    pthread_mutex_unlock(&index->lock);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", index->path);
    }
    return kind;
}

static enum sds_kind read_facts(struct sds_index *index, struct sds_err *err) {
    struct sds_index_facts *facts = &index->facts;
    struct stat st;
    if (fstat(index->file, &st) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "index", "%s", strerror(errno));
    }
    facts->file_bytes = (uint64_t)st.st_size;
    enum sds_kind kind = sds_db_number(index->db, "SELECT value FROM about WHERE key = 'records'",
                                       &facts->records, err);
    if (kind == SDS_OK) {
        kind = sds_db_number(index->db, "SELECT value FROM about WHERE key = 'lines_bytes'",
                             &facts->lines_bytes, err);
    }
    return kind == SDS_OK ? sds_db_number(index->db, "SELECT value FROM about WHERE key = 'bad'",
                                          &facts->bad, err)
                          : kind;
}

static enum sds_kind prepare(struct sds_index *index, struct sds_err *err) {
    for (size_t i = 0; i < SDS_INDEX_STATEMENTS; i++) {
        enum sds_kind kind = sds_db_prepare(index->db, sql[i], &index->statements[i], err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    return SDS_OK;
}

// A file that is not there, and one that is no index of this dataset, are the same: not built yet.
static enum sds_kind open_database(struct sds_index *index, const char *identity,
                                   struct sds_err *err) {
    bool belongs = false, complete = false;
    index->file = sds_index_place_open(index->path);
    if (index->file < 0 || sds_db_open(index->path, false, &index->db, err) != SDS_OK ||
        sds_index_belongs(index->db, identity, &belongs, &complete, err) != SDS_OK || !belongs ||
        !complete) {
        return sds_fail(err, SDS_ERR_NOT_FOUND, "index", "it is not built");
    }
    sds_index_note_use(index->file);
    enum sds_kind kind = read_facts(index, err);
    return kind == SDS_OK ? prepare(index, err) : kind;
}

enum sds_kind sds_index_open_at(const struct sds_index_place *place, struct sds_index **out,
                                struct sds_err *err) {
    struct sds_index *index = calloc(1, sizeof *index);
    if (index == NULL || (index->path = strdup(place->file)) == NULL) {
        free(index);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an index");
    }
    pthread_mutex_init(&index->lock, NULL);
    index->file = -1;
    enum sds_kind kind = open_database(index, place->identity, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", index->path);
        sds_index_close(index);
        return kind;
    }
    *out = index;
    return SDS_OK;
}

enum sds_kind sds_index_open(struct sds_dataset *ds, const char *cache_dir, struct sds_index **out,
                             struct sds_err *err) {
    struct sds_index_place place;
    enum sds_kind kind = sds_index_place_of(ds, cache_dir, "", "sqlite", false, &place, err);
    if (kind == SDS_OK) {
        kind = sds_index_open_at(&place, out, err);
        sds_index_place_fini(&place);
    }
    return kind;
}

void sds_index_discard(const struct sds_index *index) {
    struct stat own, there;
    if (fstat(index->file, &own) == 0 && lstat(index->path, &there) == 0 &&
        own.st_dev == there.st_dev && own.st_ino == there.st_ino) {
        unlink(index->path);
    }
}

void sds_index_close(struct sds_index *index) {
    if (index == NULL) {
        return;
    }
    for (size_t i = 0; i < SDS_INDEX_STATEMENTS; i++) {
        sqlite3_finalize(index->statements[i]);
    }
    sqlite3_close(index->db);
    sds_buf_fini(&index->held.text);
    if (index->file >= 0) {
        close(index->file);
    }
    pthread_mutex_destroy(&index->lock);
    free(index->path);
    free(index);
}

const struct sds_index_facts *sds_index_facts(const struct sds_index *index) {
    return &index->facts;
}

int sds_index_file(const struct sds_index *index) {
    return index->file;
}
