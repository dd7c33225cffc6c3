// SPDX-License-Identifier: Apache-2.0
//
// One extent on its way: asked of the server, its version compared with the one that was seen, put
// on the disk, and told to those who wait.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "remote/online/remote_internal.h"

struct fetch {
    struct sds_subject *subject; // which the extent holds
    struct sds_extent *extent;
    bool keep;
    bool head;
    unsigned turns;             // ended with another version
    struct sds_operation asked; // the last one
    struct sds_err changed;     // what it ended with
};

#define TURNS_MAX 2 // after which it is taken for replaced

static bool caches_on_disk(const struct sds_subject *subject) {
    return subject->remote->disk != NULL && subject->mutability == SDS_IMMUTABLE;
}

bool sds_fetch_disk_object(struct sds_subject *subject, struct sds_disk_object *out) {
    struct sds_known known;
    sds_subject_known(subject, &known);
    bool may = caches_on_disk(subject) && sds_tag_is_version(&known.tag);
    if (may) {
        *out = sds_disk_object_of(subject->name, known.tag.etag);
    }
    return may;
}

static void to_disk(const struct fetch *fetch, uint64_t len) {
    struct sds_subject *subject = fetch->subject;
    struct sds_disk_object object;
    if (len > 0 && sds_fetch_disk_object(subject, &object)) {
        sds_disk_cache_write(subject->remote->disk, &object, fetch->extent->off,
                             fetch->extent->blob, 0, (size_t)len);
    }
}

static void finish(struct fetch *fetch, uint64_t len, const struct sds_err *err) {
    struct sds_extent *extent = fetch->extent;
    if (extent->ahead) {
        atomic_fetch_sub(&fetch->subject->remote->flying_ahead, 1);
    }
    bool keep = fetch->keep;
    free(fetch);
    if (err->kind == SDS_OK) { // with which the subject may go
        sds_extent_there(extent, len, keep);
    } else {
        sds_extent_failed(extent, err);
    }
}

// Whether fewer bytes than asked are all there are.
static enum sds_kind check_end(const struct fetch *fetch, uint64_t received, struct sds_err *err) {
    const struct sds_extent *extent = fetch->extent;
    struct sds_known known;
    sds_subject_known(fetch->subject, &known);
    if (received == extent->len || (known.sized && extent->off + received == known.size)) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_STORAGE, "range",
                    "the server sent %llu bytes of the %llu asked for at %llu",
                    (unsigned long long)received, (unsigned long long)extent->len,
                    (unsigned long long)extent->off);
}

// Takes in what was told, and says what came of it; *received are the bytes that are to be used. A
// look at an empty object is a refused range that tells the size.
static enum sds_kind take_in(struct fetch *fetch, const struct sds_outcome *outcome,
                             uint64_t *received, struct sds_err *err) {
    struct sds_subject *subject = fetch->subject;
    *err = outcome->err;
    *received = fetch->head ? 0 : outcome->received;
    if (err->kind == SDS_OK) {
        err->kind = sds_subject_learn(subject, &outcome->told, err);
    } else if (outcome->told.size_known && subject->mutability == SDS_IMMUTABLE) {
        struct sds_err why;
        enum sds_kind kind = sds_subject_learn(subject, &outcome->told, &why);
        if (kind == SDS_OK && outcome->told.size == 0 && fetch->extent->off == 0) {
            *err = (struct sds_err){.kind = SDS_OK};
            *received = 0;
        } else if (kind == SDS_ERR_CORRUPT) { // says more than that there is no such range
            *err = why;
        }
    }
    if (err->kind == SDS_OK && !fetch->head) {
        err->kind = check_end(fetch, *received, err);
    }
    return err->kind;
}

static void start(struct fetch *fetch);

static void settled(void *ctx, bool again) {
    struct fetch *fetch = ctx;
    if (again) {
        start(fetch);
    } else {
        struct sds_err err = fetch->changed;
        finish(fetch, 0, &err);
    }
}

// On the pool's thread.
static void ended(void *ctx, const struct sds_outcome *outcome) {
    struct fetch *fetch = ctx;
    struct sds_err err;
    uint64_t received;
    enum sds_kind kind = take_in(fetch, outcome, &received, &err);
    bool changed = kind == SDS_ERR_STORAGE && strcmp(err.check, "changed") == 0;
    if (changed && fetch->turns++ < TURNS_MAX) {
        fetch->changed = err;
        enum sds_settled how = sds_version_settle(fetch->subject, &fetch->asked, settled, fetch);
        if (how != SDS_SETTLING) {
            settled(fetch, how == SDS_SETTLED);
        }
        return;
    }
    if (kind == SDS_OK && fetch->subject->mutability == SDS_IMMUTABLE) {
        const uint8_t *at = fetch->head ? NULL : fetch->extent->blob->at;
        sds_version_seen(fetch->subject, fetch->extent->off, sds_span(at, (size_t)received));
    }
    if (kind == SDS_OK && !fetch->head) {
        to_disk(fetch, received);
    }
    finish(fetch, fetch->head ? fetch->extent->len : received, &err);
}

static void start(struct fetch *fetch) {
    struct sds_subject *subject = fetch->subject;
    struct sds_operations *operations = &subject->remote->operations;
    uint64_t deadline = fetch->asked.deadline_ms;
    sds_subject_operation(subject, fetch->head ? SDS_HEAD : SDS_GET, &fetch->asked);
    fetch->asked.off = fetch->head ? 0 : fetch->extent->off;
    fetch->asked.len = fetch->head ? 0 : fetch->extent->len;
    fetch->asked.deadline_ms = deadline != 0 ? deadline : sds_clock_ms() + operations->timeout_ms;
    sds_operation_start(operations, &fetch->asked, fetch->head ? NULL : fetch->extent->blob->at,
                        ended, fetch);
}

void sds_fetch_start(struct sds_subject *subject, struct sds_extent *extent, bool keep) {
    struct fetch *fetch = malloc(sizeof *fetch);
    bool head = extent->of == &subject->heads;
    struct sds_blob *blob = head ? NULL : sds_blob_new((size_t)extent->len);
    if (fetch == NULL || (!head && blob == NULL)) {
        struct sds_err err;
        sds_fail(&err, SDS_ERR_NO_MEMORY, "memory", "no memory for %llu bytes",
                 (unsigned long long)extent->len);
        free(fetch);
        sds_blob_unref(blob);
        sds_extent_failed(extent, &err);
        return;
    }
    *fetch = (struct fetch){.subject = subject, .extent = extent, .keep = keep, .head = head};
    extent->blob = blob;
    if (extent->ahead) {
        atomic_fetch_add(&subject->remote->flying_ahead, 1);
    }
    start(fetch);
}

bool sds_fetch_on_disk(struct sds_subject *subject, uint64_t pos, uint64_t end, uint64_t *len) {
    struct sds_disk_object object;
    uint64_t start, run;
    *len = UINT64_MAX;
    if (!sds_fetch_disk_object(subject, &object) ||
        !sds_disk_cache_next(subject->remote->disk, &object, pos, end, &start, &run)) {
        return false;
    }
    *len = start == pos ? run : start - pos;
    return start == pos;
}

bool sds_fetch_from_disk(struct sds_subject *subject, uint64_t pos, void *buf, size_t len) {
    struct sds_known known;
    sds_subject_known(subject, &known);
    struct sds_disk_object object = sds_disk_object_of(subject->name, known.tag.etag);
    return sds_disk_cache_read(subject->remote->disk, &object, pos, buf, len);
}
