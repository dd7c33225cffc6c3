// SPDX-License-Identifier: Apache-2.0
//
// One worker's shard: its carriers, and the pointer that reports them. The first pointer for a
// logical shard id wins, and everybody else gets that one.
#include <stdio.h>

#include "format/signal_dataset/publish/annotate.h"
#include "format/signal_dataset/publish/catalog_update.h"
#include "format/signal_dataset/publish/pointer.h"
#include "format/signal_dataset/publish/receipt.h"
#include "format/signal_dataset/publish/set_root.h"

// The first half of sha256(<name>:<publication id>:<logical shard id>:<content hash>).
static void name_shard(const struct publication *pub, struct carrier_shard *shard) {
    char text[512];
    int len = snprintf(text, sizeof text, "%s:%s:%s:%s", pub->request->set, pub->id,
                       pub->request->shard_id, shard->content);
    carrier_shard_name(shard, sds_span(text, (size_t)len), 32);
}

// "record 3", "records 0 to 9"
struct range_text {
    char text[64];
};

static struct range_text range_text(uint64_t first, uint64_t count) {
    struct range_text range;
    unsigned long long from = first, to = first + count - 1;
    if (count == 1) {
        snprintf(range.text, sizeof range.text, "record %llu", from);
    } else {
        snprintf(range.text, sizeof range.text, "records %llu to %llu", from, to);
    }
    return range;
}

// The first report stands, whatever rows come later; that they were other ones is worth a warning.
static void tell_winner(const struct publication *pub, const struct sds_pointer_doc *winner) {
    const struct sds_annotate_request *request = pub->request;
    uint64_t first = pub->rows.rows[0].ordinal, count = pub->rows.count;
    bool same = winner->first_ordinal == first && winner->record_count == count;
    struct range_text theirs = range_text(winner->first_ordinal, winner->record_count);
    char text[512];
    int len = snprintf(text, sizeof text, "shard %s of %s was reported before: %s",
                       request->shard_id, request->set, theirs.text);
    if (!same) {
        snprintf(text + len, sizeof text - (size_t)len,
                 "; that report stands, and the rows at hand, %s, are no part of it",
                 range_text(first, count).text);
    }
    if (request->note != NULL) {
        request->note(request->ctx, text, !same);
    }
}

// Looks for the pointer that is there, tells of it, and hands it out. NOT_FOUND when there is none.
static enum sds_kind take_winner(struct publication *pub, struct sds_err *err) {
    struct sds_blob *text = NULL;
    struct sds_pointer_doc pointer;
    enum sds_kind kind = pointer_read(pub, pub->request->shard_id, &text, &pointer, err);
    if (kind == SDS_OK) {
        struct sds_span bytes = sds_span(text->at, text->len);
        tell_winner(pub, &pointer);
        receipt_add_bytes(pub->receipt, pointer_path(pub, pub->request->shard_id).text, bytes,
                          "exists");
        receipt_set_pointer(pub->receipt, bytes);
        sds_pointer_doc_fini(&pointer);
        sds_blob_unref(text);
    }
    return kind;
}

static enum sds_kind create_pointer(struct publication *pub, const struct carrier_shard *shard,
                                    const struct pointer_rows *rows, struct sds_err *err) {
    struct object_path path = pointer_path(pub, pub->request->shard_id);
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    enum sds_kind kind = pointer_write(pub, shard, rows, &text, err);
    struct sds_span bytes = sds_buf_span(&text);
    if (kind == SDS_OK) {
        struct sds_content content = sds_content_of(&bytes);
        kind = sds_store_create(pub->ds->store, path.text, &content, err);
    }
    if (kind == SDS_OK) {
        receipt_add_bytes(pub->receipt, path.text, bytes, "created");
        receipt_set_pointer(pub->receipt, bytes);
    } else if (kind == SDS_ERR_CONFLICT) {
        kind = take_winner(pub, err);
    }
    sds_buf_fini(&text);
    return kind;
}

// A pointer of as many rows and the longest sizes, to know before anything is written that there
// can be one.
static enum sds_kind check_pointer(const struct publication *pub, const struct pointer_rows *rows,
                                   struct sds_err *err) {
    struct carrier_shard shard = {.first_ordinal = pub->rows.rows[0].ordinal,
                                  .record_count = pub->rows.count,
                                  .stored_bytes = INT64_MAX};
    carrier_shard_name(&shard, sds_span_str(""), 32);
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    enum sds_kind kind = pointer_write(pub, &shard, rows, &text, err);
    sds_buf_fini(&text);
    return kind;
}

static enum sds_kind store(struct publication *pub, const struct pointer_rows *rows,
                           struct sds_err *err) {
    struct carrier_shard shard;
    struct spool spool;
    enum sds_kind kind =
        carrier_shard_write(pub, 0, pub->rows.count, pub->request->spool, &spool, &shard, err);
    if (kind != SDS_OK) {
        return kind;
    }
    name_shard(pub, &shard);
    kind = carrier_shard_store(pub, &spool, &shard, false, err);
    spool_close(&spool);
    return kind == SDS_OK ? create_pointer(pub, &shard, rows, err) : kind;
}

// A set of the name under another publication id would leave the shard without use.
static enum sds_kind look(struct publication *pub, bool *reported, struct sds_err *err) {
    bool listed;
    *reported = false;
    enum sds_kind kind = catalog_look(pub, set_root_path(pub).text, &listed, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = take_winner(pub, err);
    *reported = kind == SDS_OK;
    return kind == SDS_ERR_NOT_FOUND ? SDS_OK : kind;
}

enum sds_kind publish_shard(struct publication *pub, struct sds_err *err) {
    bool reported;
    struct pointer_rows rows = pointer_rows_begin();
    enum sds_kind kind = publication_check_rows(pub, false, pointer_rows_add, &rows, err);
    if (kind == SDS_OK) {
        kind = check_pointer(pub, &rows, err);
    }
    if (kind == SDS_OK) {
        kind = look(pub, &reported, err);
    }
    if (kind == SDS_OK && !reported && !pub->request->check_only) {
        kind = store(pub, &rows, err);
    }
    pointer_rows_fini(&rows);
    return kind;
}
