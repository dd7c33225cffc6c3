// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/again.h"

#include "format/signal_dataset/dataset.h"

void attempt_begin(struct attempt *attempt, struct sds_object *object) {
    *attempt = (struct attempt){.object = object, .since = sds_object_doubts(object)};
}

void attempt_note(struct attempt *attempt, uint64_t off, uint64_t len, enum sds_kind kind) {
    attempt->failed |= kind != SDS_OK;
    if (attempt->count < ATTEMPT_RANGES) {
        attempt->ranges[attempt->count].off = off;
        attempt->ranges[attempt->count].len = len;
        attempt->count++;
    }
}

// That an object is absent may show only here.
static enum sds_kind read_at(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    struct attempt *attempt = ctx;
    enum sds_kind kind = in_chain(sds_object_read(attempt->object, off, buf, len, err), err);
    attempt_note(attempt, off, len, kind);
    return kind;
}

struct sds_ar_source attempt_source(struct attempt *attempt) {
    return (struct sds_ar_source){
        .read_at = read_at, .ctx = attempt, .size = sds_object_info(attempt->object)->size};
}

bool attempt_again(const struct attempt *attempt, enum sds_kind kind) {
    bool again = false;
    if (kind == SDS_ERR_CORRUPT && !attempt->failed) {
        for (size_t i = 0; i < attempt->count; i++) {
            again |= sds_object_doubt(attempt->object, attempt->ranges[i].off,
                                      attempt->ranges[i].len, attempt->since);
        }
    }
    return again;
}

// Documents have no hash, so that any verdict may come of wrong bytes.
bool document_again(struct sds_store *store, const char *path, const struct sds_reference *ref,
                    uint64_t since, enum sds_kind kind) {
    struct sds_expected expected = reference_expected(ref);
    return sds_kind_is_verdict(kind) && sds_store_doubt(store, path, &expected, since);
}
