// SPDX-License-Identifier: Apache-2.0
//
// A whole set from one set of rows.
#include <stdio.h>
#include <stdlib.h>

#include "format/signal_dataset/publish/annotate.h"
#include "format/signal_dataset/publish/catalog_update.h"
#include "format/signal_dataset/publish/set_root.h"

#define RECORDS_PER_SHARD 10000 // the reference's default

struct whole_set {
    struct publication *pub;
    uint64_t records_a_shard;
    struct carrier_shard *shards;
    size_t count;
};

// sha256(<publication id>:<first ordinal>:<content hash>).
static void name_shard(const struct publication *pub, struct carrier_shard *shard) {
    char text[256];
    int len = snprintf(text, sizeof text, "%s:%llu:%s", pub->id,
                       (unsigned long long)shard->first_ordinal, shard->content);
    carrier_shard_name(shard, sds_span(text, (size_t)len), 64);
}

// Encodes the shards, and stores each as soon as it is complete; or only measures and names them.
static enum sds_kind make_shards(struct whole_set *set, bool store, struct sds_err *err) {
    struct publication *pub = set->pub;
    size_t rows = pub->rows.count, step = (size_t)set->records_a_shard;
    enum sds_kind kind = SDS_OK;
    set->count = 0;
    for (size_t first = 0; kind == SDS_OK && first < rows; first += step) {
        size_t count = rows - first < step ? rows - first : step;
        struct carrier_shard *shard = &set->shards[set->count];
        struct spool spool;
        kind = carrier_shard_write(pub, first, count, store ? pub->request->spool : -1, &spool,
                                   shard, err);
        if (kind == SDS_OK) {
            name_shard(pub, shard);
            set->count++;
            if (store) {
                kind = carrier_shard_store(pub, &spool, shard, true, err);
            }
            spool_close(&spool);
        }
    }
    return kind;
}

static enum sds_kind look_for_root(const struct publication *pub, bool *there,
                                   struct sds_err *err) {
    struct sds_object *object = NULL;
    enum sds_kind kind = sds_store_object(pub->ds->store, set_root_path(pub).text, SDS_IMMUTABLE,
                                          NULL, &object, err);
    sds_object_close(object);
    *there = kind == SDS_OK;
    return kind == SDS_ERR_NOT_FOUND ? SDS_OK : kind;
}

// Whether the root that is there already is the one that these shards make.
static enum sds_kind compare_root(const struct whole_set *set, struct sds_err *err) {
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    enum sds_kind kind = set_root_write(set->pub, set->shards, set->count, &text, err);
    if (kind == SDS_OK) {
        kind = set_root_compare(set->pub, sds_buf_span(&text), err);
    }
    sds_buf_fini(&text);
    return kind;
}

// The shards of a set whose root is there were stored before it. *all is false when one of them is
// gone nevertheless.
static enum sds_kind reuse_shards(struct whole_set *set, bool *all, struct sds_err *err) {
    *all = false;
    for (size_t i = 0; i < set->count; i++) {
        struct sds_err why;
        enum sds_kind kind = carrier_shard_compare(set->pub, &set->shards[i], true, &why);
        if (kind != SDS_OK && strcmp(why.check, "absent") == 0) {
            return SDS_OK;
        }
        if (kind != SDS_OK) {
            if (err != NULL) {
                *err = why;
            }
            return kind;
        }
    }
    for (size_t i = 0; i < set->count; i++) {
        carrier_shard_reused(set->pub, &set->shards[i]);
    }
    *all = true;
    return SDS_OK;
}

// The set's root is there: published before, by an earlier run that was cut short, or by somebody
// who took the name. Encoding without storing tells which, and leaves nothing behind.
static enum sds_kind converge(struct whole_set *set, bool *stored, struct sds_err *err) {
    enum sds_kind kind = make_shards(set, false, err);
    if (kind == SDS_OK) {
        kind = compare_root(set, err);
    }
    return kind == SDS_OK ? reuse_shards(set, stored, err) : kind;
}

// Looks for a set of the name before anything is written. *there: its root is.
static enum sds_kind look(const struct whole_set *set, bool *listed, bool *there,
                          struct sds_err *err) {
    enum sds_kind kind = catalog_look(set->pub, set_root_path(set->pub).text, listed, err);
    return kind == SDS_OK ? look_for_root(set->pub, there, err) : kind;
}

static enum sds_kind store(struct whole_set *set, struct sds_err *err) {
    bool listed, there, stored = false;
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    enum sds_kind kind = look(set, &listed, &there, err);
    if (kind == SDS_OK && there) {
        kind = converge(set, &stored, err);
    }
    if (kind == SDS_OK && !stored) {
        kind = make_shards(set, true, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    kind = set_root_write(set->pub, set->shards, set->count, &text, err);
    if (kind == SDS_OK) {
        kind = set_root_publish(set->pub, sds_buf_span(&text), err);
    }
    sds_buf_fini(&text);
    return kind;
}

// What storing would say of the name. Only a set that is there has to be compared, which takes
// encoding the rows.
static enum sds_kind check_name(struct whole_set *set, struct sds_err *err) {
    bool listed, there;
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    enum sds_kind kind = look(set, &listed, &there, err);
    if (kind != SDS_OK || (!listed && !there)) {
        return kind;
    }
    kind = make_shards(set, false, err);
    if (kind == SDS_OK) {
        kind = set_root_write(set->pub, set->shards, set->count, &text, err);
    }
    if (kind == SDS_OK) {
        kind = set_root_check(set->pub, sds_buf_span(&text), err);
    }
    sds_buf_fini(&text);
    return kind;
}

enum sds_kind publish_set(struct publication *pub, struct sds_err *err) {
    uint64_t asked = pub->request->records_per_shard;
    struct whole_set set = {.pub = pub, .records_a_shard = asked > 0 ? asked : RECORDS_PER_SHARD};
    enum sds_kind kind = set_root_fits(pub, set.records_a_shard, err);
    if (kind == SDS_OK) {
        kind = publication_check_rows(pub, true, NULL, NULL, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    set.shards = calloc(pub->rows.count / set.records_a_shard + 1, sizeof *set.shards);
    if (set.shards == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a set's shards");
    }
    kind = pub->request->check_only ? check_name(&set, err) : store(&set, err);
    free(set.shards);
    return kind;
}
