// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/carrier_shard.h"

#include <stdio.h>

#include "format/array_record/write.h"
#include "format/signal_dataset/publish/progress.h"
#include "format/signal_dataset/publish/receipt.h"
#include "format/signal_dataset/shard.h"

// ---- writing

// The length of each payload, then its bytes.
static void add_content(struct sds_digest *content, const struct sds_blob *payload) {
    uint8_t len[8];
    for (unsigned i = 0; i < sizeof len; i++) {
        len[i] = (uint8_t)((uint64_t)payload->len >> 8 * i);
    }
    sds_digest_add(content, len, sizeof len);
    sds_digest_add(content, payload->at, payload->len);
}

static enum sds_kind write_carriers(struct publication *pub, size_t first, size_t count,
                                    struct sds_ar_writer *writer, struct sds_digest *content,
                                    struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = first; kind == SDS_OK && i < first + count; i++) {
        struct sds_blob *payload = NULL;
        kind = publication_carrier(pub, i, &payload, err);
        if (kind == SDS_OK) {
            add_content(content, payload);
            kind = sds_ar_writer_add(writer, sds_span(payload->at, payload->len), err);
            sds_blob_unref(payload);
        }
        tell_progress(pub->request, "rows encoded", i + 1, pub->rows.count, i + 1);
    }
    return kind;
}

static enum sds_kind write_shard(struct publication *pub, size_t first, size_t count,
                                 struct spool *spool, struct carrier_shard *shard,
                                 struct sds_err *err) {
    struct sds_ar_sink sink = {.write = spool_write, .ctx = spool};
    struct sds_ar_writer *writer = NULL;
    struct sds_digest *content = sds_digest_new();
    enum sds_kind kind = content == NULL
                             ? sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a digest")
                             : sds_ar_writer_open(&sink, &writer, err);
    if (kind == SDS_OK) {
        kind = write_carriers(pub, first, count, writer, content, err);
    }
    if (kind == SDS_OK) {
        kind = sds_ar_writer_finish(writer, &shard->stored_bytes, err);
    }
    if (kind == SDS_OK) { // what was checked is what was read
        kind = publication_unchanged(pub, err);
    }
    if (kind == SDS_OK) {
        sds_digest_hex(content, shard->content);
    }
    sds_ar_writer_close(writer);
    sds_digest_free(content);
    return kind;
}

enum sds_kind carrier_shard_write(struct publication *pub, size_t first, size_t count,
                                  int directory, struct spool *spool, struct carrier_shard *shard,
                                  struct sds_err *err) {
    *shard = (struct carrier_shard){.first_ordinal = pub->rows.rows[first].ordinal,
                                    .record_count = count};
    enum sds_kind kind = spool_open(directory, spool, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = write_shard(pub, first, count, spool, shard, err);
    if (kind != SDS_OK) {
        spool_close(spool);
    }
    return kind;
}

// ---- storing

void carrier_shard_name(struct carrier_shard *shard, struct sds_span text, int digits) {
    char hash[SDS_SHA256_HEX];
    sds_sha256_hex(text, hash);
    snprintf(shard->name, sizeof shard->name, "%.2s/%.*s", hash, digits, hash);
}

struct object_path carrier_shard_path(const struct publication *pub,
                                      const struct carrier_shard *shard) {
    struct object_path path;
    snprintf(path.text, sizeof path.text, "%s/objects/%s.arrayrecord", pub->prefix, shard->name);
    return path;
}

static enum sds_kind compare(struct publication *pub, const struct sds_reference *reference,
                             const struct carrier_shard *shard, bool count_too,
                             struct sds_err *err) {
    struct sds_object *object = NULL;
    uint64_t count = 0;
    // Nothing is expected, so that every store looks.
    enum sds_kind kind = in_chain(
        sds_store_object(pub->ds->store, reference->path, SDS_IMMUTABLE, NULL, &object, err), err);
    if (kind == SDS_OK) {
        kind = reference_check_size(reference, sds_object_info(object)->size, err);
        sds_object_close(object);
    }
    if (kind == SDS_OK && count_too) {
        kind = shard_count(pub->ds, reference, &count, err);
    }
    if (kind == SDS_OK && count_too && count != shard->record_count) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "record_count",
                        "it is there already, with %llu records where this publication has %llu",
                        (unsigned long long)count, (unsigned long long)shard->record_count);
    }
    return kind;
}

enum sds_kind carrier_shard_compare(struct publication *pub, const struct carrier_shard *shard,
                                    bool count_too, struct sds_err *err) {
    struct object_path path = carrier_shard_path(pub, shard);
    struct sds_span text = sds_span_str(path.text);
    const struct sds_reference reference = {.path = path.text,
                                            .path_len = (uint32_t)text.len,
                                            .stored_bytes = shard->stored_bytes,
                                            .path_hash = sds_hash_stable(text)};
    enum sds_kind kind = compare(pub, &reference, shard, count_too, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path.text);
    }
    return kind;
}

void carrier_shard_reused(struct publication *pub, const struct carrier_shard *shard) {
    receipt_add(pub->receipt, carrier_shard_path(pub, shard).text, NULL, shard->stored_bytes,
                "exists");
}

enum sds_kind carrier_shard_store(struct publication *pub, struct spool *spool,
                                  const struct carrier_shard *shard, bool count_too,
                                  struct sds_err *err) {
    struct object_path path = carrier_shard_path(pub, shard);
    struct sds_content content = spool_content(spool);
    enum sds_kind kind = sds_store_create(pub->ds->store, path.text, &content, err);
    if (kind == SDS_ERR_CONFLICT) {
        kind = carrier_shard_compare(pub, shard, count_too, err);
        if (kind == SDS_OK) {
            carrier_shard_reused(pub, shard);
        }
    } else if (kind == SDS_OK) {
        char sha256[SDS_SHA256_HEX];
        sds_digest_hex(spool->digest, sha256);
        receipt_add(pub->receipt, path.text, sha256, shard->stored_bytes, "created");
    }
    return kind;
}
