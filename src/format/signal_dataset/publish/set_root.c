// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/set_root.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/signal_dataset/publish/catalog_update.h"
#include "format/signal_dataset/record.h"

struct object_path set_root_path(const struct publication *pub) {
    struct object_path path;
    snprintf(path.text, sizeof path.text, "%s/root.json", pub->prefix);
    return path;
}

static void write_shard(struct text *text, const struct publication *pub,
                        const struct carrier_shard *shard) {
    text_add(text, "{\"first_ordinal\":");
    text_add_number(text, shard->first_ordinal);
    text_add(text, ",\"object\":{\"path\":\"");
    text_add(text, carrier_shard_path(pub, shard).text);
    text_add(text, "\",\"stored_bytes\":");
    text_add_number(text, shard->stored_bytes);
    text_add(text, "},\"record_count\":");
    text_add_number(text, shard->record_count);
    text_add(text, "}");
}

static void write_root(struct text *text, const struct publication *pub,
                       const struct carrier_shard *shards, size_t count) {
    const struct sds_snapshot_doc *snapshot = &pub->ds->chain.snapshot;
    struct sds_value metadata =
        pub->metadata != NULL ? sds_json_top(pub->metadata) : (struct sds_value){0};
    text_add(text, "{\"metadata\":");
    text_add_metadata(text, metadata);
    text_add(text, ",\"name\":\"");
    text_add(text, pub->request->set);
    text_add(text, "\",\"publication_id\":\"");
    text_add(text, pub->id);
    text_add(text, "\",\"record_count\":");
    text_add_number(text, snapshot->record_count);
    text_add(text, ",\"shards\":[");
    for (size_t i = 0; i < count; i++) {
        text_add(text, i > 0 ? "," : "");
        write_shard(text, pub, &shards[i]);
    }
    text_add(text, "],\"source_snapshot_id\":");
    text_add_string(text, sds_span(snapshot->snapshot_id, snapshot->snapshot_id_len));
    text_add(text, "}");
}

enum sds_kind set_root_write(const struct publication *pub, const struct carrier_shard *shards,
                             size_t count, struct sds_buf *out, struct sds_err *err) {
    struct text text = {.out = out, .err = err};
    write_root(&text, pub, shards, count);
    enum sds_kind kind = text.kind;
    if (kind == SDS_OK) {
        struct signal_dataset *ds = pub->ds;
        struct sds_set_doc parsed;
        kind = gate_enter_document(&ds->gate, ds->cache, out->len, err);
        if (kind == SDS_OK) {
            kind = sds_set_parse(sds_buf_span(out), &parsed, err);
            gate_leave_document(&ds->gate, out->len);
        }
        if (kind == SDS_OK) {
            sds_set_doc_fini(&parsed);
        }
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "the set's root.json, with %zu shards", count);
        sds_err_object(err, "%s", set_root_path(pub).text);
    }
    return as_input_error(kind, err);
}

enum sds_kind set_root_fits(const struct publication *pub, uint64_t records_a_shard,
                            struct sds_err *err) {
    uint64_t records = pub->ds->chain.snapshot.record_count;
    uint64_t count = records / records_a_shard + (records % records_a_shard != 0);
    // A row of the table has six values, so a document of SDS_JSON_NODES has room for fewer.
    if (count > SDS_JSON_NODES / 6) {
        return sds_fail(err, SDS_ERR_INVALID, "records_per_shard",
                        "%llu shards are more than a set can have: put more records in each",
                        (unsigned long long)count);
    }
    struct carrier_shard *shards = calloc((size_t)count + 1, sizeof *shards);
    if (shards == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %llu shards",
                        (unsigned long long)count);
    }
    for (size_t i = 0; i < count; i++) { // as long as any can be
        uint64_t first = i * records_a_shard, left = records - first;
        shards[i] = (struct carrier_shard){
            .first_ordinal = first,
            .record_count = left < records_a_shard ? left : records_a_shard,
            .stored_bytes = INT64_MAX,
        };
        carrier_shard_name(&shards[i], sds_span_str(""), 64);
    }
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    enum sds_kind kind = set_root_write(pub, shards, (size_t)count, &text, err);
    sds_buf_fini(&text);
    free(shards);
    return kind;
}

enum sds_kind set_root_compare(const struct publication *pub, struct sds_span text,
                               struct sds_err *err) {
    bool same = false;
    enum sds_kind kind = publication_compare(pub, set_root_path(pub).text, text, &same, err);
    return kind == SDS_OK && !same ? publication_name_taken(pub, err) : kind;
}

enum sds_kind set_root_check(const struct publication *pub, struct sds_span text,
                             struct sds_err *err) {
    enum sds_kind kind = set_root_compare(pub, text, err);
    return kind == SDS_OK || kind == SDS_ERR_NOT_FOUND
               ? catalog_check(pub, set_root_path(pub).text, text.len, err)
               : kind;
}

enum sds_kind set_root_publish(struct publication *pub, struct sds_span text, struct sds_err *err) {
    struct object_path path = set_root_path(pub);
    bool same = false;
    enum sds_kind kind = publication_create(pub, path.text, text, &same, err);
    if (kind == SDS_OK && !same) {
        kind = publication_name_taken(pub, err);
    }
    return kind == SDS_OK ? catalog_update(pub, path.text, text.len, err) : kind;
}
