// SPDX-License-Identifier: Apache-2.0
#include "index/row.h"

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
    struct sds_span text = sds_value_text(v);
    if (*is_string && memchr(text.at, '\\', text.len) == NULL && !sds_value_has_surrogate(v)) {
        return SDS_OK; // nothing in it is escaped, and we would not either
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

// A path in a message may be any bytes; a line of JSON may not.
static void make_valid(char *line) {
    struct sds_buf written = SDS_BUF_INIT(SIZE_MAX / 2);
    if (sds_json_write_string(sds_span_str(line), &written) == SDS_ERR_INVALID) {
        for (; *line != '\0'; line++) {
            *line = (signed char)*line < 0 ? '?' : *line;
        }
    }
    sds_buf_fini(&written);
}

static enum sds_kind take_problem(const struct sds_err *problem, struct sds_index_row *row,
                                  struct sds_buf *texts) {
    char line[sizeof *problem + 8];
    row->id = row->scene_id = row->id_token = row->scene_token = begin(texts);
    row->metadata = row->fields = row->error = begin(texts);
    sds_err_line(problem, line, sizeof line);
    make_valid(line);
    enum sds_kind kind = sds_buf_add_str(texts, line);
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

// --- lines

// A line is put together from at most so many texts.
enum { MAX_PIECES = 18, MAX_DIGITS = 20 };

struct line {
    struct sds_span pieces[MAX_PIECES];
    size_t count;
    char ordinal[MAX_DIGITS];
    struct sds_buf written[2]; // an id and a scene that have to be escaped
};

static void add(struct line *line, struct sds_span piece) {
    line->pieces[line->count++] = piece;
}

static void add_ordinal(struct line *line, uint64_t ordinal) {
    size_t at = MAX_DIGITS;
    do {
        line->ordinal[--at] = (char)('0' + ordinal % 10);
        ordinal /= 10;
    } while (ordinal > 0);
    add(line, sds_span(line->ordinal + at, MAX_DIGITS - at));
}

static bool is_plain(struct sds_span text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < 0x20 || text.at[i] == '"' || text.at[i] == '\\') {
            return false;
        }
    }
    return true;
}

static enum sds_kind add_string(struct line *line, struct sds_span text, struct sds_buf *written) {
    if (is_plain(text)) {
        add(line, sds_span_str("\""));
        add(line, text);
        add(line, sds_span_str("\""));
        return SDS_OK;
    }
    enum sds_kind kind = sds_json_write_string(text, written);
    add(line, sds_buf_span(written));
    return kind;
}

static enum sds_kind add_name(struct line *line, bool is_string, struct sds_span text,
                              struct sds_span token, struct sds_buf *written) {
    if (is_string && token.len == 0) {
        return add_string(line, text, written);
    }
    add(line, token.len > 0 ? token : sds_span_str("null"));
    return SDS_OK;
}

static struct sds_span object_piece(struct sds_span text) {
    return text.len > 0 ? text : sds_span_str("null");
}

// A bad entry has neither an id nor a scene, so their room is free for its error.
static enum sds_kind take_apart(const struct sds_index_row *row, struct line *line) {
    *line = (struct line){.written = {SDS_BUF_INIT(SIZE_MAX / 2), SDS_BUF_INIT(SIZE_MAX / 2)}};
    add(line, sds_span_str("{\"ordinal\":"));
    add_ordinal(line, row->ordinal);
    add(line, sds_span_str(",\"id\":"));
    enum sds_kind kind = add_name(line, row->has_id, row->id, row->id_token, &line->written[0]);
    add(line, sds_span_str(",\"scene_id\":"));
    if (kind == SDS_OK) {
        kind = add_name(line, row->has_scene, row->scene_id, row->scene_token, &line->written[1]);
    }
    add(line, sds_span_str(",\"metadata\":"));
    add(line, object_piece(row->metadata));
    add(line, sds_span_str(",\"fields\":"));
    add(line, object_piece(row->fields));
    if (kind == SDS_OK && row->error.len > 0) {
        add(line, sds_span_str(",\"error\":"));
        kind = add_string(line, row->error, &line->written[0]);
    }
    add(line, sds_span_str("}\n"));
    return kind;
}

static void line_fini(struct line *line) {
    sds_buf_fini(&line->written[0]);
    sds_buf_fini(&line->written[1]);
}

enum sds_kind sds_index_row_line(const struct sds_index_row *row, struct sds_buf *out) {
    struct line line;
    enum sds_kind kind = take_apart(row, &line);
    for (size_t i = 0; kind == SDS_OK && i < line.count; i++) {
        kind = sds_buf_add_span(out, line.pieces[i]);
    }
    line_fini(&line);
    return kind;
}

static enum sds_kind measure_line(struct sds_index_row *row) {
    struct line line;
    enum sds_kind kind = take_apart(row, &line);
    for (size_t i = 0; kind == SDS_OK && i < line.count; i++) {
        row->line_len += line.pieces[i].len;
    }
    line_fini(&line);
    return kind;
}

// --- rows

static enum sds_kind take_entry(const struct sds_scanned *entry, struct sds_index_row *row,
                                struct sds_buf *texts) {
    row->error = begin(texts);
    enum sds_kind kind = take_name(entry->id, &row->has_id, &row->id, &row->id_token, texts);
    if (kind == SDS_OK) {
        kind =
            take_name(entry->scene_id, &row->has_scene, &row->scene_id, &row->scene_token, texts);
    }
    if (kind == SDS_OK) {
        kind = take_object(entry->metadata, &row->metadata, texts);
    }
    return kind == SDS_OK ? take_object(entry->fields, &row->fields, texts) : kind;
}

enum sds_kind sds_index_row_make(const struct sds_scanned *entry, struct sds_buf *texts,
                                 struct sds_index_row *out) {
    struct sds_index_row row = {.ordinal = entry->ordinal, .shard = entry->shard};
    enum sds_kind kind = entry->problem != NULL ? take_problem(entry->problem, &row, texts)
                                                : take_entry(entry, &row, texts);
    if (kind == SDS_OK) {
        kind = measure_line(&row);
    }
    *out = row;
    return kind;
}
