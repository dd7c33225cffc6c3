// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/id_table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/publish/row.h"
#include "format/signal_dataset/records.h"

struct known_id {
    uint64_t hash;
    uint64_t ordinal;
};

struct id_table {
    struct known_id *ids; // sorted by hash, then by ordinal
    size_t count, room;
};

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for the records' ids");
}

static enum sds_kind hash_of(struct sds_value id, uint64_t *hash, struct sds_err *err) {
    struct sds_buf scratch = SDS_BUF_INIT(SIZE_MAX);
    struct sds_span text;
    enum sds_kind kind = sds_value_string(id, &scratch, &text);
    if (kind == SDS_OK) {
        *hash = sds_hash_stable(text);
    }
    sds_buf_fini(&scratch);
    return kind == SDS_OK ? kind : no_memory(err);
}

// The table grows with the entries that were really there, and not with the number that the
// snapshot declares.
static enum sds_kind add(struct id_table *table, struct known_id id, struct sds_err *err) {
    if (table->count == table->room) {
        size_t room = table->room < 1024 ? 1024 : table->room + table->room / 2;
        struct known_id *ids = realloc(table->ids, room * sizeof *ids);
        if (ids == NULL) {
            return no_memory(err);
        }
        table->ids = ids;
        table->room = room;
    }
    table->ids[table->count++] = id;
    return SDS_OK;
}

static enum sds_kind add_record(struct id_table *table, struct signal_dataset *ds, uint64_t ordinal,
                                struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct stored_record *entry = NULL;
    enum sds_kind kind = record_entry(ds, ordinal, &ref, &entry, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct known_id id = {.ordinal = ordinal};
    if (sds_value_type(entry->record.id) == SDS_JSON_STRING) { // no row can name another
        kind = hash_of(entry->record.id, &id.hash, err);
        if (kind == SDS_OK) {
            kind = add(table, id, err);
        }
    }
    sds_cache_release(ref);
    return kind;
}

static int by_hash(const void *a, const void *b) {
    const struct known_id *x = a, *y = b;
    if (x->hash != y->hash) {
        return x->hash < y->hash ? -1 : 1;
    }
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

enum sds_kind id_table_make(struct signal_dataset *ds, struct id_table **out, struct sds_err *err) {
    struct id_table *table = calloc(1, sizeof *table);
    enum sds_kind kind = table == NULL ? no_memory(err) : SDS_OK;
    uint64_t count = ds->chain.snapshot.record_count;
    for (uint64_t i = 0; kind == SDS_OK && i < count; i++) {
        kind = add_record(table, ds, i, err);
    }
    if (kind != SDS_OK) {
        id_table_free(table);
        return kind;
    }
    if (table->count > 0) {
        qsort(table->ids, table->count, sizeof *table->ids, by_hash);
    }
    *out = table;
    return SDS_OK;
}

void id_table_free(struct id_table *table) {
    if (table != NULL) {
        free(table->ids);
        free(table);
    }
}

enum sds_kind id_table_find(const struct id_table *table, struct sds_value id, uint64_t *ordinal,
                            struct sds_err *err) {
    uint64_t hash = 0;
    enum sds_kind kind = hash_of(id, &hash, err);
    if (kind != SDS_OK) {
        return kind;
    }
    size_t low = 0, high = table->count;
    while (low < high) { // the first that is not below
        size_t mid = low + (high - low) / 2;
        if (table->ids[mid].hash < hash) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low == table->count || table->ids[low].hash != hash) {
        return sds_fail(err, SDS_ERR_INVALID, "source_record_id", "no record has the id %s",
                        SDS_QUOTE_VALUE(id));
    }
    if (low + 1 < table->count && table->ids[low + 1].hash == hash) {
        return sds_fail(err, SDS_ERR_INVALID, "source_record_id",
                        "records %llu and %llu both have the id %s: give the ordinal",
                        (unsigned long long)table->ids[low].ordinal,
                        (unsigned long long)table->ids[low + 1].ordinal, SDS_QUOTE_VALUE(id));
    }
    *ordinal = table->ids[low].ordinal;
    return SDS_OK;
}
