// SPDX-License-Identifier: Apache-2.0
//
// The set that workers' shards make: their pointers are read and compared with the dataset and with
// each other, one at a time.
#include <stdio.h>
#include <stdlib.h>

#include "format/signal_dataset/publish/annotate.h"
#include "format/signal_dataset/publish/catalog_update.h"
#include "format/signal_dataset/publish/pointer.h"
#include "format/signal_dataset/publish/progress.h"
#include "format/signal_dataset/publish/set_root.h"
#include "format/signal_dataset/records.h"

#define SUFFIX ".arrayrecord"
enum { NAME_LEN = 2 + 1 + 32 }; // of an object without the suffix

struct worker_shard {
    const char *id; // logical shard id
    struct carrier_shard shard;
};

struct workers {
    struct publication *pub;
    struct worker_shard *shards; // by logical id until they are read, then by first ordinal
    size_t count;
};

// ---- one pointer

static enum sds_kind mismatch(struct sds_err *err, const char *check, const char *what) {
    return sds_fail(err, SDS_ERR_INVALID, check, "%s", what);
}

static bool is_text(struct sds_value v, struct sds_span text) {
    struct sds_buf scratch = SDS_BUF_INIT(SIZE_MAX);
    struct sds_span found;
    bool same = sds_value_string(v, &scratch, &found) == SDS_OK && sds_span_eq(found, text);
    sds_buf_fini(&scratch);
    return same;
}

static enum sds_kind check_identity(const struct publication *pub, const char *shard_id,
                                    const struct sds_pointer_doc *pointer, struct sds_err *err) {
    const struct sds_snapshot_doc *snapshot = &pub->ds->chain.snapshot;
    if (!sds_value_is(pointer->name, pub->request->set)) {
        return mismatch(err, "name", "the pointer is for a set of another name");
    }
    if (!sds_value_is(pointer->publication_id, pub->id)) {
        return mismatch(err, "publication_id", "the pointer is for another publication");
    }
    if (!sds_value_is(pointer->logical_shard_id, shard_id)) {
        return mismatch(err, "logical_shard_id", "the pointer is for another logical shard");
    }
    if (!is_text(pointer->source_snapshot_id,
                 sds_span(snapshot->snapshot_id, snapshot->snapshot_id_len))) {
        return mismatch(err, "source_snapshot_id", "the pointer is for another snapshot");
    }
    return pointer->pinned
               ? mismatch(err, "generation",
                          "the pointer is pinned to a generation, which no publisher writes")
               : SDS_OK;
}

static bool are_hex(struct sds_span text, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        uint8_t c = text.at[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) {
            return false;
        }
    }
    return true;
}

// <2 hex>/<32 hex>.arrayrecord
static bool is_object_name(struct sds_span name) {
    return are_hex(name, 0, 2) && name.at[2] == '/' && are_hex(name, 3, NAME_LEN) &&
           memcmp(name.at + NAME_LEN, SUFFIX, sizeof SUFFIX - 1) == 0;
}

// The object that a pointer's uri names. However the root was spelled when the pointer was written,
// what follows it is the same.
static enum sds_kind take_name(const struct publication *pub, struct sds_span uri,
                               struct carrier_shard *shard, struct sds_err *err) {
    struct object_path folder;
    size_t len = (size_t)snprintf(folder.text, sizeof folder.text, "%s/objects/", pub->prefix);
    size_t whole = len + NAME_LEN + sizeof SUFFIX - 1;
    const uint8_t *path = uri.len >= whole ? uri.at + (uri.len - whole) : NULL;
    if (path == NULL || (uri.len > whole && path[-1] != '/') ||
        memcmp(path, folder.text, len) != 0 || !is_object_name(sds_span(path + len, whole - len))) {
        return sds_fail(err, SDS_ERR_INVALID, "uri",
                        "%s is not the path of an object of this publication",
                        SDS_QUOTE(uri.at, uri.len));
    }
    memcpy(shard->name, path + len, NAME_LEN);
    shard->name[NAME_LEN] = '\0';
    return SDS_OK;
}

static enum sds_kind take_shard(struct publication *pub, const struct sds_pointer_doc *pointer,
                                struct carrier_shard *shard, struct sds_err *err) {
    struct sds_buf scratch = SDS_BUF_INIT(SIZE_MAX);
    struct sds_span uri;
    *shard = (struct carrier_shard){.first_ordinal = pointer->first_ordinal,
                                    .record_count = pointer->record_count,
                                    .stored_bytes = pointer->stored_bytes};
    enum sds_kind kind = sds_value_string(pointer->uri, &scratch, &uri);
    kind = kind == SDS_OK ? take_name(pub, uri, shard, err) : sds_buf_failed(&scratch, kind, err);
    sds_buf_fini(&scratch);
    return kind;
}

// The ids that the worker saw are those of the records.
static enum sds_kind check_record_ids(struct publication *pub,
                                      const struct sds_pointer_doc *pointer, struct sds_err *err) {
    uint64_t count = pub->ds->chain.snapshot.record_count;
    if (pointer->first_ordinal > count || pointer->record_count > count - pointer->first_ordinal) {
        return mismatch(err, "record_ids", "the range runs past the end of the dataset");
    }
    uint64_t ordinal = pointer->first_ordinal;
    enum sds_kind kind = SDS_OK;
    for (struct sds_iter it = sds_value_iter(pointer->record_ids);
         kind == SDS_OK && sds_iter_next(&it); ordinal++) {
        struct sds_cache_ref *ref = NULL;
        const struct stored_record *entry = NULL;
        kind = record_entry(pub->ds, ordinal, &ref, &entry, err);
        if (kind != SDS_OK) {
            break;
        }
        struct sds_value id = entry->record.id;
        if (sds_value_type(id) != SDS_JSON_STRING || !sds_string_eq(id, it.value)) {
            kind = sds_fail(err, SDS_ERR_INVALID, "record_ids",
                            "the pointer has another id for record %llu than the dataset",
                            (unsigned long long)ordinal);
        }
        sds_cache_release(ref);
        tell_progress(pub->request, "records compared", ordinal + 1, count, ordinal + 1);
    }
    return kind;
}

static enum sds_kind read_pointer(struct publication *pub, struct worker_shard *worker,
                                  struct sds_err *err) {
    struct sds_blob *text = NULL;
    struct sds_pointer_doc pointer;
    enum sds_kind kind = pointer_read(pub, worker->id, &text, &pointer, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        return sds_fail(err, SDS_ERR_INVALID, "shard_id", "no worker has reported shard %s",
                        SDS_QUOTE(worker->id, strlen(worker->id)));
    }
    if (kind != SDS_OK) {
        return kind;
    }
    kind = check_identity(pub, worker->id, &pointer, err);
    if (kind == SDS_OK) {
        kind = take_shard(pub, &pointer, &worker->shard, err);
    }
    if (kind == SDS_OK) {
        kind = check_record_ids(pub, &pointer, err);
    }
    sds_pointer_doc_fini(&pointer);
    sds_blob_unref(text);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", pointer_path(pub, worker->id).text);
    }
    return kind;
}

// ---- all of them

static int by_id(const void *a, const void *b) {
    return strcmp(((const struct worker_shard *)a)->id, ((const struct worker_shard *)b)->id);
}

static int by_first(const void *a, const void *b) {
    const struct carrier_shard *x = &((const struct worker_shard *)a)->shard;
    const struct carrier_shard *y = &((const struct worker_shard *)b)->shard;
    return (x->first_ordinal > y->first_ordinal) - (x->first_ordinal < y->first_ordinal);
}

// Each id once, however often it is given.
static enum sds_kind take_ids(struct workers *workers, struct sds_err *err) {
    const struct sds_annotate_request *request = workers->pub->request;
    workers->shards = calloc(request->shard_id_count + 1, sizeof *workers->shards);
    if (workers->shards == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %zu shards",
                        request->shard_id_count);
    }
    for (size_t i = 0; i < request->shard_id_count; i++) {
        workers->shards[i].id = request->shard_ids[i];
    }
    qsort(workers->shards, request->shard_id_count, sizeof *workers->shards, by_id);
    for (size_t i = 0; i < request->shard_id_count; i++) {
        if (i == 0 || strcmp(workers->shards[i - 1].id, workers->shards[i].id) != 0) {
            workers->shards[workers->count++].id = workers->shards[i].id;
        }
    }
    return SDS_OK;
}

// The ranges follow one another from the first record to the last.
static enum sds_kind check_coverage(const struct workers *workers, struct sds_err *err) {
    uint64_t end = 0, records = workers->pub->ds->chain.snapshot.record_count;
    for (size_t i = 0; i < workers->count; i++) {
        const struct worker_shard *worker = &workers->shards[i];
        if (worker->shard.first_ordinal != end) {
            return sds_fail(err, SDS_ERR_INVALID, "first_ordinal",
                            "shard %s begins at record %llu where the shards so far end at %llu",
                            SDS_QUOTE(worker->id, strlen(worker->id)),
                            (unsigned long long)worker->shard.first_ordinal,
                            (unsigned long long)end);
        }
        end += worker->shard.record_count;
    }
    if (end != records) {
        return sds_fail(err, SDS_ERR_INVALID, "record_count",
                        "the shards end at record %llu of %llu", (unsigned long long)end,
                        (unsigned long long)records);
    }
    return SDS_OK;
}

static enum sds_kind check_objects(struct workers *workers, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < workers->count; i++) {
        kind = carrier_shard_compare(workers->pub, &workers->shards[i].shard, true, err);
    }
    return kind;
}

static enum sds_kind compare_pointers(struct workers *workers, struct sds_err *err) {
    enum sds_kind kind = take_ids(workers, err);
    for (size_t i = 0; kind == SDS_OK && i < workers->count; i++) {
        kind = read_pointer(workers->pub, &workers->shards[i], err);
    }
    if (kind == SDS_OK) {
        qsort(workers->shards, workers->count, sizeof *workers->shards, by_first);
        kind = check_coverage(workers, err);
    }
    return kind == SDS_OK ? check_objects(workers, err) : kind;
}

// What is wrong with the workers' reports is told as what is wrong with rows is.
static enum sds_kind read_pointers(struct workers *workers, struct sds_err *err) {
    struct problems *problems = &workers->pub->problems;
    struct sds_err what;
    if (compare_pointers(workers, &what) == SDS_OK) {
        return SDS_OK;
    }
    enum sds_kind kind = problems_add(problems, 0, &what, err);
    return kind == SDS_OK ? problems_verdict(problems, err) : kind;
}

static enum sds_kind write_root(const struct workers *workers, struct sds_buf *text,
                                struct sds_err *err) {
    struct carrier_shard *shards = calloc(workers->count + 1, sizeof *shards);
    if (shards == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %zu shards",
                        workers->count);
    }
    for (size_t i = 0; i < workers->count; i++) {
        shards[i] = workers->shards[i].shard;
    }
    enum sds_kind kind = set_root_write(workers->pub, shards, workers->count, text, err);
    free(shards);
    return kind;
}

// A name that is taken is found out before anything is written.
static enum sds_kind publish_root(struct publication *pub, struct sds_span root,
                                  struct sds_err *err) {
    if (pub->request->check_only) {
        return set_root_check(pub, root, err);
    }
    bool listed;
    enum sds_kind kind = catalog_look(pub, set_root_path(pub).text, &listed, err);
    return kind == SDS_OK ? set_root_publish(pub, root, err) : kind;
}

enum sds_kind publish_coordinate(struct publication *pub, struct sds_err *err) {
    struct workers workers = {.pub = pub};
    enum sds_kind kind = read_pointers(&workers, err);
    if (kind == SDS_OK) {
        struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
        kind = write_root(&workers, &text, err);
        if (kind == SDS_OK) {
            kind = publish_root(pub, sds_buf_span(&text), err);
        }
        sds_buf_fini(&text);
    }
    free(workers.shards);
    return kind;
}
