// SPDX-License-Identifier: Apache-2.0
#include "index/row.h"

#include <stdio.h>
#include <string.h>

#include "base/json_write.h"

static struct sds_span begin(const struct sds_buf *texts) {
    return sds_span(texts->at + texts->len, 0);
}

static void end(struct sds_span *span, const struct sds_buf *texts) {
    span->len = (size_t)(texts->at + texts->len - span->at);
}

// An id or a scene: its bytes if it is a string, and its token where that has to be kept to write
// it again as it was: no string, or one that we would write in another way.
static enum sds_kind take_name(struct sds_value v, bool *is_string, struct sds_span *name,
                               struct sds_span *token, struct sds_buf *texts) {
    *is_string = sds_value_type(v) == SDS_JSON_STRING;
    *name = begin(texts);
    enum sds_kind kind = *is_string ? sds_value_string_add(v, texts) : SDS_OK;
    end(name, texts);
    *token = begin(texts);
    bool null = !*is_string && sds_value_type(v) == SDS_JSON_NULL;
    if (kind != SDS_OK || null) {
        return kind;
    }
    kind = sds_value_compact(v, texts);
    end(token, texts);
    if (kind != SDS_OK || !*is_string) {
        return kind;
    }
    struct sds_buf ours = SDS_BUF_INIT(SIZE_MAX / 2);
    kind = sds_json_write_string(*name, &ours);
    if (kind == SDS_OK && sds_span_eq(sds_buf_span(&ours), *token)) {
        texts->len -= token->len;
        token->len = 0;
    }
    sds_buf_fini(&ours);
    return kind == SDS_ERR_INVALID ? SDS_OK : kind; // a lone surrogate: the token stays
}

static enum sds_kind take_object(struct sds_value v, struct sds_span *out, struct sds_buf *texts) {
    *out = begin(texts);
    enum sds_kind kind =
        sds_value_is_falsy(v) ? sds_buf_add_str(texts, "{}") : sds_value_compact(v, texts);
    end(out, texts);
    return kind;
}

static enum sds_kind take_problem(const struct sds_err *problem, struct sds_index_row *row,
                                  struct sds_buf *texts) {
    char line[sizeof *problem + 8];
    row->id = row->scene_id = row->id_token = row->scene_token = begin(texts);
    row->metadata = row->fields = row->error = begin(texts);
    enum sds_kind kind = sds_buf_add_str(texts, sds_err_line(problem, line, sizeof line));
    end(&row->error, texts);
    return kind;
}

static size_t text_len(struct sds_value v) {
    return sds_value_there(v) ? sds_value_text(v).len : 0;
}

// Unescaped and without white space a text is no longer than as it was written.
size_t sds_index_row_room(const struct sds_scanned *entry) {
    if (entry->problem != NULL) {
        return sizeof *entry->problem + 8;
    }
    return 2 * (text_len(entry->id) + text_len(entry->scene_id)) + text_len(entry->metadata) +
           text_len(entry->fields) + 2 * strlen("{}");
}

enum sds_kind sds_index_row_make(const struct sds_scanned *entry, struct sds_buf *texts,
                                 struct sds_index_row *out) {
    struct sds_index_row row = {.ordinal = entry->ordinal, .shard = entry->shard};
    enum sds_kind kind;
    if (entry->problem != NULL) {
        kind = take_problem(entry->problem, &row, texts);
    } else {
        row.error = begin(texts);
        kind = take_name(entry->id, &row.has_id, &row.id, &row.id_token, texts);
        if (kind == SDS_OK) {
            kind =
                take_name(entry->scene_id, &row.has_scene, &row.scene_id, &row.scene_token, texts);
        }
        if (kind == SDS_OK) {
            kind = take_object(entry->metadata, &row.metadata, texts);
        }
        if (kind == SDS_OK) {
            kind = take_object(entry->fields, &row.fields, texts);
        }
    }
    *out = row;
    return kind;
}

// --- lines

// A line is put together from at most so many texts.
enum { MAX_PIECES = 14 };

struct line {
    struct sds_span pieces[MAX_PIECES];
    size_t count;
    char ordinal[24];
    struct sds_buf written; // strings that have to be escaped
};

static void add(struct line *line, struct sds_span piece) {
    line->pieces[line->count++] = piece;
}

// Strings of a row in one buffer, so that it moves only before the first piece points into it.
static enum sds_kind write_strings(struct line *line, const struct sds_index_row *row) {
    const struct sds_span texts[] = {
        row->has_id && row->id_token.len == 0 ? row->id : sds_span(NULL, 0),
        row->has_scene && row->scene_token.len == 0 ? row->scene_id : sds_span(NULL, 0),
        row->error,
    };
    size_t ends[3];
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < 3; i++) {
        kind = sds_json_write_string(texts[i], &line->written);
        ends[i] = line->written.len;
    }
    for (size_t i = 0, start = 0; kind == SDS_OK && i < 3; start = ends[i++]) {
        add(line, sds_span(line->written.at + start, ends[i] - start));
    }
    return kind;
}

static struct sds_span name_piece(bool is_string, struct sds_span token, struct sds_span written) {
    return token.len > 0 ? token : is_string ? written : sds_span_str("null");
}

static struct sds_span object_piece(struct sds_span text) {
    return text.len > 0 ? text : sds_span_str("null");
}

static enum sds_kind take_apart(const struct sds_index_row *row, struct line *line) {
    *line = (struct line){.written = SDS_BUF_INIT(SIZE_MAX / 2)};
    enum sds_kind kind = write_strings(line, row);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_span id = line->pieces[0], scene = line->pieces[1], error = line->pieces[2];
    snprintf(line->ordinal, sizeof line->ordinal, "%llu", (unsigned long long)row->ordinal);
    line->count = 0;
    add(line, sds_span_str("{\"ordinal\":"));
    add(line, sds_span_str(line->ordinal));
    add(line, sds_span_str(",\"id\":"));
    add(line, name_piece(row->has_id, row->id_token, id));
    add(line, sds_span_str(",\"scene_id\":"));
    add(line, name_piece(row->has_scene, row->scene_token, scene));
    add(line, sds_span_str(",\"metadata\":"));
    add(line, object_piece(row->metadata));
    add(line, sds_span_str(",\"fields\":"));
    add(line, object_piece(row->fields));
    if (row->error.len > 0) {
        add(line, sds_span_str(",\"error\":"));
        add(line, error);
    }
    add(line, sds_span_str("}\n"));
    return SDS_OK;
}

enum sds_kind sds_index_row_line(const struct sds_index_row *row, struct sds_buf *out) {
    struct line line;
    enum sds_kind kind = take_apart(row, &line);
    for (size_t i = 0; kind == SDS_OK && i < line.count; i++) {
        kind = sds_buf_add_span(out, line.pieces[i]);
    }
    sds_buf_fini(&line.written);
    return kind;
}

enum sds_kind sds_index_row_line_len(const struct sds_index_row *row, uint64_t *out) {
    struct line line;
    enum sds_kind kind = take_apart(row, &line);
    *out = 0;
    for (size_t i = 0; kind == SDS_OK && i < line.count; i++) {
        *out += line.pieces[i].len;
    }
    sds_buf_fini(&line.written);
    return kind;
}
