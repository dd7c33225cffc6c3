// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/json.h"

#define ROWS "rows.jsonl"
#define METADATA "metadata.json"
#define LOGICAL_SHARDS "logical-shards"

enum {
    MAX_OPTIONS_BYTES = 64 << 10,
    MAX_METADATA_BYTES = 64 << 20, // of a control document
    MAX_IDS_BYTES = 64 << 20,
};

static const struct sds_json_limits options_limits = {
    .bytes = MAX_OPTIONS_BYTES, .depth = 2, .nodes = 64};

// --- files

static enum sds_kind invalid(const char *file, const char *check, const char *found,
                             struct sds_err *err) {
    enum sds_kind kind = sds_fail(err, SDS_ERR_INVALID, check, "%s", found);
    sds_err_object(err, "%s", file);
    return kind;
}

static enum sds_kind failed(const char *file, int e, struct sds_err *err) {
    enum sds_kind kind = sds_fail(err, SDS_ERR_STORAGE, "draft", "%s", strerror(e));
    sds_err_object(err, "%s", file);
    return kind;
}

// A regular file of a draft; *fd is -1 when there is none of that name.
static enum sds_kind open_file(int dir, const char *name, int *fd, struct sds_err *err) {
    struct stat st;
    *fd = sds_open_beneath(dir, name, O_RDONLY | O_NOFOLLOW, 0);
    if (*fd < 0) {
        return errno == ENOENT ? SDS_OK : failed(name, errno, err);
    }
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode)) {
        return SDS_OK;
    }
    close(*fd);
    *fd = -1;
    return invalid(name, "file", "it is not a regular file", err);
}

static enum sds_kind read_some(int fd, const char *name, struct sds_buf *out, ssize_t *n,
                               struct sds_err *err) {
    if (sds_buf_reserve(out, 1) != SDS_OK) {
        return sds_fail(err, SDS_ERR_INVALID, "size", "%s has more than %zu bytes", name,
                        out->max - 1);
    }
    while ((*n = read(fd, out->at + out->len, out->cap - out->len)) < 0 && errno == EINTR) {
    }
    if (*n < 0) {
        return failed(name, errno, err);
    }
    out->len += (size_t)*n;
    return SDS_OK;
}

// Appends a whole file; *found is false when there is none.
static enum sds_kind read_file(int dir, const char *name, struct sds_buf *out, bool *found,
                               struct sds_err *err) {
    sds_autofd int fd = -1;
    enum sds_kind kind = open_file(dir, name, &fd, err);
    *found = kind == SDS_OK && fd >= 0;
    for (ssize_t n = 1; *found && kind == SDS_OK && n > 0;) {
        kind = read_some(fd, name, out, &n, err);
    }
    return kind;
}

// --- options.json

static enum sds_kind take_publication_id(struct sds_value value, struct sds_inputs *inputs,
                                         struct sds_err *err) {
    struct sds_buf *id = &inputs->publication_id;
    if (sds_value_type(value) != SDS_JSON_STRING || sds_value_string_add(value, id) != SDS_OK ||
        memchr(id->at, '\0', id->len) != NULL || sds_buf_add(id, "", 1) != SDS_OK) {
        return invalid(SDS_DRAFT_OPTIONS, "publication_id", "it is not a name", err);
    }
    inputs->request.publication_id = (const char *)id->at;
    return SDS_OK;
}

static enum sds_kind take_option(struct sds_value key, struct sds_value value,
                                 struct sds_inputs *inputs, struct sds_err *err) {
    if (sds_value_is(key, "publication_id")) {
        return take_publication_id(value, inputs, err);
    }
    if (!sds_value_is(key, "records_per_shard")) {
        sds_fail(err, SDS_ERR_INVALID, "options", "there is no option %s", SDS_QUOTE_VALUE(key));
        sds_err_object(err, SDS_DRAFT_OPTIONS);
        return SDS_ERR_INVALID;
    }
    uint64_t *records = &inputs->request.records_per_shard;
    if (!sds_value_u64(value, records) || *records == 0) {
        return invalid(SDS_DRAFT_OPTIONS, "records_per_shard", "it is not a number from 1 on", err);
    }
    return SDS_OK;
}

static enum sds_kind take_options(struct sds_span text, struct sds_inputs *inputs,
                                  struct sds_err *err) {
    sds_autojson struct sds_json *doc = NULL;
    enum sds_kind kind = sds_json_parse(text, &options_limits, &doc, err);
    if (kind != SDS_OK) {
        err->kind = kind == SDS_ERR_NO_MEMORY ? kind : SDS_ERR_INVALID;
        sds_err_object(err, SDS_DRAFT_OPTIONS);
        return err->kind;
    }
    if (sds_value_type(sds_json_top(doc)) != SDS_JSON_OBJECT) {
        return invalid(SDS_DRAFT_OPTIONS, "options", "it is not an object", err);
    }
    for (struct sds_iter it = sds_value_iter(sds_json_top(doc));
         kind == SDS_OK && sds_iter_next(&it);) {
        kind = take_option(it.key, it.value, inputs, err);
    }
    return kind;
}

// A worker's draft has the options of its set unless it has its own.
static enum sds_kind read_options(const struct sds_claim *claim, struct sds_inputs *inputs,
                                  struct sds_err *err) {
    struct sds_buf text = SDS_BUF_INIT(MAX_OPTIONS_BYTES + 1);
    bool found;
    enum sds_kind kind = read_file(claim->dir, SDS_DRAFT_OPTIONS, &text, &found, err);
    if (kind == SDS_OK && !found && claim->set >= 0) {
        kind = read_file(claim->set, SDS_DRAFT_OPTIONS, &text, &found, err);
    }
    if (kind == SDS_OK && found) {
        kind = take_options(sds_buf_span(&text), inputs, err);
    }
    sds_buf_fini(&text);
    return kind;
}

// --- logical-shards

// Cuts the next line that is not blank out of a text; NULL at its end.
static char *next_id(char **rest) {
    char *line;
    while ((line = strsep(rest, "\r\n")) != NULL) {
        line += strspn(line, " \t");
        line[strcspn(line, " \t")] = '\0';
        if (line[0] != '\0') {
            return line;
        }
    }
    return NULL;
}

static enum sds_kind take_ids(struct sds_inputs *inputs, struct sds_err *err) {
    struct sds_buf *text = &inputs->id_lines;
    if (memchr(text->at, '\0', text->len) != NULL) {
        return invalid(LOGICAL_SHARDS, "logical_shards", "it is not a text", err);
    }
    size_t lines = 1;
    for (size_t i = 0; i < text->len; i++) {
        lines += text->at[i] == '\n' || text->at[i] == '\r';
    }
    inputs->ids = calloc(lines, sizeof *inputs->ids);
    if (inputs->ids == NULL || sds_buf_add(text, "", 1) != SDS_OK) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for the ids of shards");
    }
    char *rest = (char *)text->at;
    size_t count = 0;
    for (char *id; (id = next_id(&rest)) != NULL; count++) {
        inputs->ids[count] = id;
    }
    inputs->request.shard_ids = inputs->ids;
    inputs->request.shard_id_count = count;
    return count > 0 ? SDS_OK : invalid(LOGICAL_SHARDS, "logical_shards", "it names none", err);
}

// --- all of it

static enum sds_kind open_rows(const struct sds_claim *claim, struct sds_inputs *inputs,
                               struct sds_err *err) {
    enum sds_kind kind = open_file(claim->dir, ROWS, &inputs->request.rows, err);
    bool coordinate = inputs->request.what == SDS_ANNOTATE_COORDINATE;
    if (kind == SDS_OK && (inputs->request.rows < 0) != coordinate) {
        kind = coordinate ? invalid(ROWS, "rows", "either the rows or the workers' shards", err)
                          : invalid(ROWS, "rows", "there is no such file", err);
    }
    return kind;
}

static enum sds_kind read_shard(const struct sds_claim *claim, struct sds_inputs *inputs,
                                struct sds_err *err) {
    inputs->request.what = SDS_ANNOTATE_SHARD;
    inputs->request.shard_id = inputs->shard_id;
    return open_rows(claim, inputs, err);
}

static enum sds_kind read_set(const struct sds_claim *claim, struct sds_inputs *inputs,
                              struct sds_err *err) {
    bool found;
    enum sds_kind kind = read_file(claim->dir, METADATA, &inputs->metadata, &found, err);
    if (kind == SDS_OK) {
        if (found && inputs->metadata.len == 0) {
            return invalid(METADATA, "metadata", "it is empty", err);
        }
        inputs->request.metadata = sds_buf_span(&inputs->metadata);
        kind = read_file(claim->dir, LOGICAL_SHARDS, &inputs->id_lines, &found, err);
    }
    if (kind == SDS_OK && found) {
        inputs->request.what = SDS_ANNOTATE_COORDINATE;
        kind = take_ids(inputs, err);
    }
    return kind == SDS_OK ? open_rows(claim, inputs, err) : kind;
}

enum sds_kind sds_inputs_read(const struct sds_claim *claim, const char *draft,
                              struct sds_inputs *out, struct sds_err *err) {
    *out = (struct sds_inputs){.publication_id = SDS_BUF_INIT(MAX_OPTIONS_BYTES),
                               .metadata = SDS_BUF_INIT(MAX_METADATA_BYTES + 1),
                               .id_lines = SDS_BUF_INIT(MAX_IDS_BYTES + 1)};
    snprintf(out->set, sizeof out->set, "%.*s", (int)strcspn(draft, "/"), draft);
    struct sds_place place = sds_place_of(draft);
    snprintf(out->shard_id, sizeof out->shard_id, "%s",
             draft + place.parent_len + (place.parent_len > 0));
    out->request = (struct sds_annotate_request){.what = SDS_ANNOTATE_SET,
                                                 .set = out->set,
                                                 .rows = -1,
                                                 .directory = claim->dir,
                                                 .confined = true};
    enum sds_kind kind = read_options(claim, out, err);
    if (kind != SDS_OK) {
        return kind;
    }
    return place.role == SDS_ROLE_SHARD ? read_shard(claim, out, err) : read_set(claim, out, err);
}

void sds_inputs_free(struct sds_inputs *inputs) {
    if (inputs->request.rows >= 0) {
        close(inputs->request.rows);
    }
    free(inputs->ids);
    sds_buf_fini(&inputs->publication_id);
    sds_buf_fini(&inputs->metadata);
    sds_buf_fini(&inputs->id_lines);
}
