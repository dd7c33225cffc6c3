// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/publication.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "format/signal_dataset/publish/progress.h"
#include "format/signal_dataset/publish/receipt.h"
#include "format/signal_dataset/records.h"

// ---- the request

static enum sds_kind check_portable(const char *check, const char *what, const char *name,
                                    struct sds_err *err) {
    if (name != NULL && sds_is_portable(sds_span_str(name))) {
        return SDS_OK;
    }
    if (name == NULL) {
        return sds_fail(err, SDS_ERR_INVALID, check, "%s is missing", what);
    }
    return sds_fail(err, SDS_ERR_INVALID, check,
                    "%s %s is not 1 to 128 letters, digits, '.', '_' or '-' that begin with a "
                    "letter or a digit",
                    what, SDS_QUOTE(name, strlen(name)));
}

static enum sds_kind check_names(const struct sds_annotate_request *request, struct sds_err *err) {
    enum sds_kind kind = check_portable("name", "the set's name", request->set, err);
    if (kind == SDS_OK && (request->publication_id != NULL || request->what != SDS_ANNOTATE_SET)) {
        kind = check_portable("publication_id", "the publication id", request->publication_id, err);
    }
    if (kind == SDS_OK && request->what == SDS_ANNOTATE_SHARD) {
        kind = check_portable("shard_id", "the logical shard id", request->shard_id, err);
    }
    for (size_t i = 0; kind == SDS_OK && i < request->shard_id_count; i++) {
        kind = check_portable("shard_id", "the logical shard id", request->shard_ids[i], err);
    }
    return kind;
}

// The id that a set has when none is given: of the snapshot and the set's name, so that a repeated
// publication is the same one.
static enum sds_kind derive_id(const struct chain *chain, const char *name, char *out,
                               struct sds_err *err) {
    struct sds_buf text = SDS_BUF_INIT(SIZE_MAX);
    enum sds_kind kind =
        sds_buf_add(&text, chain->snapshot.snapshot_id, chain->snapshot.snapshot_id_len);
    if (kind == SDS_OK) {
        kind = sds_buf_printf(&text, ":%s", name);
    }
    if (kind != SDS_OK) {
        kind = sds_buf_failed(&text, kind, err);
    } else {
        char hash[SDS_SHA256_HEX];
        sds_sha256_hex(sds_buf_span(&text), hash);
        memcpy(out, hash, 32);
        out[32] = '\0';
    }
    sds_buf_fini(&text);
    return kind;
}

// Every document that is written names the snapshot, and can do so in UTF-8 only.
static enum sds_kind check_snapshot_id(const struct chain *chain, struct sds_err *err) {
    struct sds_buf scratch = SDS_BUF_INIT(SIZE_MAX);
    struct text text = {.out = &scratch, .err = err};
    text_add_string(&text, sds_span(chain->snapshot.snapshot_id, chain->snapshot.snapshot_id_len));
    sds_buf_fini(&scratch);
    if (text.kind != SDS_OK) {
        sds_err_context(err, "the snapshot's id");
    }
    return text.kind;
}

// As strict as rows are.
static enum sds_kind check_object(const struct sds_json *doc, struct sds_err *err) {
    struct sds_value top = sds_json_top(doc);
    if (!sds_json_is_plain_utf8(doc)) {
        return sds_fail(err, SDS_ERR_INVALID, "encoding",
                        "the set's metadata are UTF-8 without a byte order mark");
    }
    if (sds_value_type(top) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_INVALID, "metadata",
                        "the set's metadata are not an object: %s", SDS_QUOTE_VALUE(top));
    }
    return SDS_OK;
}

static enum sds_kind parse_metadata(struct publication *pub, struct sds_err *err) {
    const struct sds_json_limits limits = {
        .bytes = SDS_MAX_DOCUMENT_BYTES, .depth = SDS_JSON_DEPTH, .nodes = SDS_JSON_NODES};
    if (pub->request->metadata.len == 0) {
        return SDS_OK;
    }
    enum sds_kind kind = sds_json_parse(pub->request->metadata, &limits, &pub->metadata, err);
    struct sds_buf scratch = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    if (kind == SDS_OK) {
        kind = check_object(pub->metadata, err);
    }
    if (kind == SDS_OK) { // whatever else is wrong with it shows when it is written
        kind = sds_metadata_write(sds_json_top(pub->metadata), &scratch, err);
    }
    sds_buf_fini(&scratch);
    if (kind != SDS_OK) {
        sds_err_object(err, SDS_ANNOTATE_METADATA);
    }
    return as_input_error(kind, err);
}

enum sds_kind publication_open(struct signal_dataset *ds,
                               const struct sds_annotate_request *request, struct publication *out,
                               struct sds_err *err) {
    *out = (struct publication){.ds = ds,
                                .request = request,
                                .problems.request = request,
                                .record_id = SDS_BUF_INIT(SDS_MAX_METADATA_BYTES)};
    struct tensor_directory directory = {.fd = request->directory, .confined = request->confined};
    carrier_maker_init(&out->maker, directory, ds->options.max_record);
    enum sds_kind kind = check_names(request, err);
    if (kind == SDS_OK) {
        kind = check_snapshot_id(&ds->chain, err);
    }
    if (kind == SDS_OK && request->publication_id == NULL) {
        kind = derive_id(&ds->chain, request->set, out->id, err);
    } else if (kind == SDS_OK) {
        snprintf(out->id, sizeof out->id, "%s", request->publication_id);
    }
    if (kind == SDS_OK) {
        snprintf(out->prefix, sizeof out->prefix, "annotations/sets/%s/%s", request->set, out->id);
        kind = parse_metadata(out, err);
    }
    if (kind == SDS_OK) {
        out->receipt = receipt_new(request->set, out->id);
        if (out->receipt == NULL) {
            kind = sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a receipt");
        }
    }
    return kind;
}

void publication_close(struct publication *pub) {
    sds_json_free(pub->metadata);
    rows_file_fini(&pub->file);
    row_index_fini(&pub->rows);
    carrier_maker_fini(&pub->maker);
    sds_buf_fini(&pub->record_id);
    json_object_put(pub->receipt);
}

// ---- rows

// The id of the record, from its metadata entry; the row's own must be the same.
static enum sds_kind take_record_id(struct publication *pub, const struct input_row *row,
                                    uint64_t ordinal, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *entry = NULL;
    enum sds_kind kind = record_entry(pub->ds, ordinal, &ref, &entry, err);
    if (kind != SDS_OK) {
        sds_err_context(err, "the id of record %llu cannot be told", (unsigned long long)ordinal);
        return kind;
    }
    struct sds_value id = entry->record.id, given = row->source_record_id;
    if (sds_value_type(id) != SDS_JSON_STRING) {
        kind = sds_fail(err, SDS_ERR_INVALID, "source_record_id",
                        "record %llu has the id %s, which is no string and cannot be annotated",
                        (unsigned long long)ordinal, SDS_QUOTE_VALUE(id));
    } else if (sds_value_there(given) && !sds_string_eq(id, given)) {
        kind =
            sds_fail(err, SDS_ERR_INVALID, "source_record_id", "record %llu has the id %s, not %s",
                     (unsigned long long)ordinal, SDS_QUOTE_VALUE(id), SDS_QUOTE_VALUE(given));
    } else {
        pub->record_id.len = 0;
        kind = sds_json_write(id, SDS_JSON_COMPACT, &pub->record_id, err);
    }
    sds_cache_release(ref);
    return kind;
}

// Parses a row again. Its line may say something else by now.
static enum sds_kind read_row(struct publication *pub, const struct row_place *place,
                              struct input_row *row, struct sds_err *err) {
    struct sds_span line;
    enum sds_kind kind = rows_file_line(&pub->file, place->off, place->len, &line, err);
    if (kind == SDS_OK) {
        kind = input_row_parse(line, row, err);
    }
    if (kind == SDS_OK && row->has_ordinal && row->ordinal != place->ordinal) {
        input_row_fini(row);
        kind = sds_fail(err, SDS_ERR_INVALID, "changed", "the rows were changed meanwhile");
    }
    return kind;
}

struct row_check {
    struct publication *pub;
    publication_row_fn seen;
    void *ctx;
};

static enum sds_kind check_row(const struct row_check *check, const struct row_place *place,
                               struct sds_err *err) {
    struct publication *pub = check->pub;
    struct input_row row;
    enum sds_kind kind = read_row(pub, place, &row, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = take_record_id(pub, &row, place->ordinal, err);
    struct sds_span id = sds_buf_span(&pub->record_id);
    if (kind == SDS_OK) {
        kind = carrier_check(&pub->maker, &row, place->ordinal, id, err);
    }
    if (kind == SDS_OK && check->seen != NULL) {
        kind = check->seen(check->ctx, &row, id, err);
    }
    input_row_fini(&row);
    return kind;
}

enum sds_kind publication_check_rows(struct publication *pub, bool dense, publication_row_fn seen,
                                     void *ctx, struct sds_err *err) {
    const struct row_check check = {.pub = pub, .seen = seen, .ctx = ctx};
    struct row_index *rows = &pub->rows;
    enum sds_kind kind = rows_file_open(pub->request->rows, &pub->file, err);
    if (kind == SDS_OK) {
        kind = row_index_make(pub->ds, &pub->file, dense, &pub->problems, rows, err);
    }
    for (size_t i = 0; kind == SDS_OK && i < rows->count && !problems_full(&pub->problems); i++) {
        struct sds_err what;
        if (check_row(&check, &rows->rows[i], &what) != SDS_OK) {
            kind = problems_add(&pub->problems, rows->rows[i].line, &what, err);
        }
        tell_progress(pub->request, "rows checked", i + 1, rows->count, i + 1);
    }
    return kind == SDS_OK ? problems_verdict(&pub->problems, err) : kind;
}

static enum sds_kind make_carrier(struct publication *pub, const struct row_place *place,
                                  struct sds_blob **payload, struct sds_err *err) {
    struct input_row row;
    enum sds_kind kind = read_row(pub, place, &row, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = take_record_id(pub, &row, place->ordinal, err);
    if (kind == SDS_OK) {
        struct sds_span id = sds_buf_span(&pub->record_id);
        kind = carrier_make(&pub->maker, &row, place->ordinal, id, payload, err);
    }
    input_row_fini(&row);
    return kind;
}

// What is wrong now was right when it was checked.
static enum sds_kind wrong_by_now(struct publication *pub, uint64_t line,
                                  const struct sds_err *what, struct sds_err *err) {
    enum sds_kind kind = problems_add(&pub->problems, line, what, err);
    return kind == SDS_OK ? problems_verdict(&pub->problems, err) : kind;
}

enum sds_kind publication_carrier(struct publication *pub, size_t i, struct sds_blob **payload,
                                  struct sds_err *err) {
    const struct row_place *place = &pub->rows.rows[i];
    struct sds_err what;
    enum sds_kind kind = make_carrier(pub, place, payload, &what);
    return kind == SDS_OK ? SDS_OK : wrong_by_now(pub, place->line, &what, err);
}

enum sds_kind publication_unchanged(struct publication *pub, struct sds_err *err) {
    struct sds_err what;
    enum sds_kind kind = rows_file_unchanged(&pub->file, &what);
    return kind == SDS_OK ? SDS_OK : wrong_by_now(pub, 0, &what, err);
}

// ---- documents

enum sds_kind publication_compare(const struct publication *pub, const char *path,
                                  struct sds_span bytes, bool *same, struct sds_err *err) {
    struct sds_blob *found = NULL;
    enum sds_kind kind = sds_store_read_all(pub->ds->store, path, NULL, SDS_MAX_DOCUMENT_BYTES,
                                            SDS_IMMUTABLE, &found, err);
    *same = kind == SDS_OK && sds_span_eq(bytes, sds_span(found->at, found->len));
    sds_blob_unref(found);
    return kind == SDS_ERR_LIMIT ? SDS_OK : kind; // as large as that, it is something else
}

enum sds_kind publication_create(struct publication *pub, const char *path, struct sds_span bytes,
                                 bool *same, struct sds_err *err) {
    struct sds_content content = sds_content_of(&bytes);
    enum sds_kind kind = sds_store_create(pub->ds->store, path, &content, err);
    *same = true;
    if (kind != SDS_ERR_CONFLICT) {
        if (kind == SDS_OK) {
            receipt_add_bytes(pub->receipt, path, bytes, "created");
        }
        return kind;
    }
    kind = publication_compare(pub, path, bytes, same, err);
    if (kind == SDS_OK && *same) {
        receipt_add_bytes(pub->receipt, path, bytes, "exists");
    }
    return kind;
}

enum sds_kind publication_name_taken(const struct publication *pub, struct sds_err *err) {
    return sds_fail(err, SDS_ERR_CONFLICT, "exists", "annotation set name already exists: %s",
                    pub->request->set);
}
