// SPDX-License-Identifier: Apache-2.0
//
// Ids and scenes as directory entries. An entry is found by guessing the record from the name, and
// then comparing the name that this record has.
#include <stdio.h>
#include <string.h>

#include "format/name.h"
#include "index/internal.h"

// --- ids

// Whether a text ends in "@" and digits, as the names of ids that repeat do.
static bool looks_numbered(struct sds_span text) {
    size_t digits = 0;
    while (digits < text.len && text.at[text.len - 1 - digits] >= '0' &&
           text.at[text.len - 1 - digits] <= '9') {
        digits++;
    }
    return digits > 0 && digits < text.len && text.at[text.len - 1 - digits] == '@';
}

// The entry of a record's id.
static size_t id_name(struct sds_span id, bool repeats, uint64_t ordinal, unsigned width,
                      char out[SDS_NAME_MAX + 1]) {
    char suffix[32] = "";
    if (repeats || looks_numbered(id)) {
        snprintf(suffix, sizeof suffix, "@%0*llu", (int)width, (unsigned long long)ordinal);
    }
    return sds_name_encode(id, suffix, out);
}

// A question with one number: the first row that answers it. NOT_FOUND without one.
static enum sds_kind step_for(sqlite3_stmt *stmt, uint64_t number, struct sds_err *err) {
    bool row = false;
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)number);
    enum sds_kind kind = sds_db_step(stmt, &row, err);
    return kind == SDS_OK && !row ? sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "it has no name")
                                  : kind;
}

static enum sds_kind add(struct sds_buf *out, const void *text, size_t len, struct sds_err *err) {
    enum sds_kind kind = sds_buf_add(out, text, len);
    return kind == SDS_OK ? kind : sds_buf_failed(out, kind, err);
}

enum sds_kind sds_index_id_name(struct sds_index *index, uint64_t ordinal, unsigned width,
                                struct sds_buf *out, struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_ID_OF);
    enum sds_kind kind = step_for(stmt, ordinal, err);
    if (kind == SDS_OK) {
        char name[SDS_NAME_MAX + 1];
        size_t len =
            id_name(sds_db_text(stmt, 1), sqlite3_column_int(stmt, 2) != 0, ordinal, width, name);
        kind = add(out, name, len, err);
    }
    return sds_index_done(index, stmt, kind, err);
}

// Whether a record's id has this entry.
static enum sds_kind is_name_of(struct sds_index *index, uint64_t ordinal, struct sds_span name,
                                unsigned width, bool *is, struct sds_err *err) {
    struct sds_buf own = SDS_BUF_INIT(SDS_NAME_MAX);
    enum sds_kind kind = sds_index_id_name(index, ordinal, width, &own, err);
    *is = kind == SDS_OK && sds_span_eq(name, sds_buf_span(&own));
    sds_buf_fini(&own);
    return kind == SDS_ERR_NOT_FOUND ? SDS_OK : kind;
}

// The first number of the first row that a text is asked for; *there: there is one.
static enum sds_kind number_of_text(struct sds_index *index, enum sds_index_statement which,
                                    struct sds_span text, uint64_t *out, bool *there,
                                    struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, which);
    *there = false;
    sds_db_bind_text(stmt, 1, text);
    enum sds_kind kind = sds_db_step(stmt, there, err);
    if (kind == SDS_OK && *there) {
        *out = (uint64_t)sqlite3_column_int64(stmt, 0);
    }
    return sds_index_done(index, stmt, kind, err);
}

static int hex_digit(uint8_t byte) {
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

// What an entry that was not cut stands for; out has room for as many bytes. False when no name is
// encoded like this.
static bool decode(struct sds_span name, uint8_t *out, size_t *out_len) {
    size_t len = 0;
    if (sds_span_eq(name, sds_span_str("%"))) {
        *out_len = 0;
        return true;
    }
    for (size_t i = 0; i < name.len; i++) {
        uint8_t byte = name.at[i];
        if (byte == '%') {
            int high = i + 2 < name.len ? hex_digit(name.at[i + 1]) : -1;
            int low = i + 2 < name.len ? hex_digit(name.at[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            byte = (uint8_t)(high << 4 | low);
            i += 2;
        }
        out[len++] = byte;
    }
    *out_len = len;
    return true;
}

// The number behind the last "@", where there is one.
static bool number_in(struct sds_span name, uint64_t *out) {
    uint64_t value = 0;
    if (!looks_numbered(name)) {
        return false;
    }
    size_t i = name.len;
    while (name.at[i - 1] != '@') {
        i--;
    }
    if (name.len - i > 18) {
        return false;
    }
    for (; i < name.len; i++) {
        value = value * 10 + (name.at[i] - '0');
    }
    *out = value;
    return true;
}

// Each way to the record that a name may stand for.
static enum sds_kind guess(struct sds_index *index, int way, struct sds_span name,
                           uint64_t *ordinal, bool *there, struct sds_err *err) {
    uint8_t id[SDS_NAME_MAX];
    size_t len = 0;
    switch (way) {
    case 0:
        *there = number_in(name, ordinal);
        return SDS_OK;
    case 1:
        *there = decode(name, id, &len);
        return *there
                   ? number_of_text(index, SDS_INDEX_BY_ID, sds_span(id, len), ordinal, there, err)
                   : SDS_OK;
    default:
        return number_of_text(index, SDS_INDEX_BY_CUT_NAME, name, ordinal, there, err);
    }
}

enum sds_kind sds_index_find_id(struct sds_index *index, struct sds_span name, unsigned width,
                                uint64_t *ordinal, struct sds_err *err) {
    enum { WAYS = 3 };
    if (name.len > SDS_NAME_MAX) {
        return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "no id has this name");
    }
    for (int way = 0; way < WAYS; way++) {
        bool there = false, is = false;
        uint64_t found = 0;
        enum sds_kind kind = guess(index, way, name, &found, &there, err);
        if (kind == SDS_OK && there) {
            kind = is_name_of(index, found, name, width, &is, err);
        }
        if (kind != SDS_OK) {
            return kind;
        }
        if (is) {
            *ordinal = found;
            return SDS_OK;
        }
    }
    return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "no id has this name");
}

enum sds_kind sds_index_list_ids(struct sds_index *index, uint64_t position, unsigned width,
                                 sds_index_entry_fn emit, void *ctx, struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_IDS);
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)position);
    bool row = true, go_on = true;
    enum sds_kind kind = SDS_OK;
    while (go_on && (kind = sds_db_step(stmt, &row, err)) == SDS_OK && row) {
        uint64_t ordinal = (uint64_t)sqlite3_column_int64(stmt, 0);
        char name[SDS_NAME_MAX + 1];
        size_t len =
            id_name(sds_db_text(stmt, 1), sqlite3_column_int(stmt, 2) != 0, ordinal, width, name);
        go_on = emit(ctx, sds_span(name, len), ordinal, ordinal + 1);
    }
    return sds_index_done(index, stmt, kind, err);
}

// --- scenes

enum sds_kind sds_index_find_scene(struct sds_index *index, struct sds_span name, uint64_t *scene,
                                   struct sds_err *err) {
    bool there = false;
    enum sds_kind kind = number_of_text(index, SDS_INDEX_BY_SCENE_NAME, name, scene, &there, err);
    if (kind == SDS_OK && !there) {
        kind = sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "no scene has this name");
    }
    return kind;
}

enum sds_kind sds_index_scene_name(struct sds_index *index, uint64_t scene, struct sds_buf *out,
                                   struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_SCENE_NAME);
    enum sds_kind kind = step_for(stmt, scene, err);
    if (kind == SDS_OK) {
        struct sds_span name = sds_db_text(stmt, 0);
        kind = add(out, name.at, name.len, err);
    }
    return sds_index_done(index, stmt, kind, err);
}

enum sds_kind sds_index_scene_of(struct sds_index *index, uint64_t ordinal, struct sds_buf *out,
                                 struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_SCENE_OF);
    enum sds_kind kind = step_for(stmt, ordinal, err);
    if (kind == SDS_OK) {
        char name[SDS_NAME_MAX + 1];
        kind = add(out, name, sds_name_encode(sds_db_text(stmt, 0), "", name), err);
    }
    return sds_index_done(index, stmt, kind, err);
}

enum sds_kind sds_index_in_scene(struct sds_index *index, uint64_t scene, uint64_t ordinal,
                                 bool *belongs, struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_IN_SCENE);
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)scene);
    sqlite3_bind_int64(stmt, 2, (sqlite3_int64)ordinal);
    return sds_index_done(index, stmt, sds_db_step(stmt, belongs, err), err);
}

enum sds_kind sds_index_list_scenes(struct sds_index *index, uint64_t position,
                                    sds_index_entry_fn emit, void *ctx, struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_SCENES);
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)position);
    bool row = true, go_on = true;
    enum sds_kind kind = SDS_OK;
    while (go_on && (kind = sds_db_step(stmt, &row, err)) == SDS_OK && row) {
        uint64_t scene = (uint64_t)sqlite3_column_int64(stmt, 0);
        go_on = emit(ctx, sds_db_text(stmt, 1), scene, scene);
    }
    return sds_index_done(index, stmt, kind, err);
}

enum sds_kind sds_index_list_scene(struct sds_index *index, uint64_t scene, uint64_t position,
                                   unsigned width, sds_index_entry_fn emit, void *ctx,
                                   struct sds_err *err) {
    sqlite3_stmt *stmt = sds_index_ask(index, SDS_INDEX_SCENE_RECORDS);
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)scene);
    sqlite3_bind_int64(stmt, 2, (sqlite3_int64)position);
    bool row = true, go_on = true;
    enum sds_kind kind = SDS_OK;
    while (go_on && (kind = sds_db_step(stmt, &row, err)) == SDS_OK && row) {
        uint64_t ordinal = (uint64_t)sqlite3_column_int64(stmt, 0);
        char name[32];
        int len = snprintf(name, sizeof name, "%0*llu", (int)width, (unsigned long long)ordinal);
        go_on = emit(ctx, sds_span(name, (size_t)len), ordinal, ordinal + 1);
    }
    return sds_index_done(index, stmt, kind, err);
}
