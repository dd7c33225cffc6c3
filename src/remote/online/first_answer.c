// SPDX-License-Identifier: Apache-2.0
//
// A version that only one answer has told. If the server has another one when it is asked for more,
// either the object was replaced or that answer told the version wrongly, which would keep the
// object from being read for the life of the store. All that anybody has of it came with that one
// answer; so the same bytes are asked for once more, under whatever version there is now: if they
// are the same, nothing can be mixed, and that version is the one that was seen.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "remote/online/remote_internal.h"

#define COMPARED_MAX (1U << 20) // more is not fetched again for that

struct settling {
    struct sds_subject *subject; // whoever waits for it holds it
    struct sds_first_answer first;
    struct sds_tag told; // by that answer
    struct sds_blob *blob;
    void (*then)(void *ctx, bool settled);
    void *ctx;
};

void sds_version_seen(struct sds_subject *subject, uint64_t off, struct sds_span bytes) {
    pthread_mutex_lock(&subject->lock);
    bool first = subject->first.answers == 0;
    pthread_mutex_unlock(&subject->lock);
    bool compared = first && bytes.len <= COMPARED_MAX;
    uint64_t hash = compared ? sds_hash_stable(bytes) : 0;
    pthread_mutex_lock(&subject->lock);
    if (subject->first.answers == 0) {
        subject->first = (struct sds_first_answer){.off = off, .len = bytes.len, .hash = hash};
    }
    subject->first.answers += subject->first.answers < 2;
    pthread_mutex_unlock(&subject->lock);
}

// Whether the version that was just told is the object's for whoever has something of it.
static bool is_the_same(const struct settling *settling, const struct sds_outcome *outcome) {
    const struct sds_first_answer *first = &settling->first;
    struct sds_known known;
    sds_subject_known(settling->subject, &known);
    if (outcome->err.kind != SDS_OK || outcome->told.tag.etag[0] == '\0' ||
        !outcome->told.size_known || (known.sized && outcome->told.size != known.size)) {
        return false;
    }
    return first->len == 0 ||
           (outcome->received == first->len &&
            sds_hash_stable(sds_span(settling->blob->at, (size_t)first->len)) == first->hash);
}

// Somebody else may have been here meanwhile.
static bool adopt(struct sds_subject *subject, const struct sds_tag *instead,
                  const struct sds_tag *tag) {
    struct sds_remote *remote = subject->remote;
    pthread_mutex_lock(&subject->lock);
    bool ours = strcmp(subject->tag.etag, instead->etag) == 0;
    if (ours) {
        sds_pins_set(remote->base.pins, subject->hash, sds_tag_hash(tag));
        subject->tag = *tag; // which one answer has told, too, with the same bytes
        subject->noted = false;
    }
    bool same = strcmp(subject->tag.etag, tag->etag) == 0;
    pthread_mutex_unlock(&subject->lock);
    if (ours) {
        sds_log(SDS_LOG_INFO, "%s: %s: one answer told of a version that the object does not have",
                remote->base.root, SDS_QUOTE(subject->key, strlen(subject->key)));
    }
    return same;
}

static void finish(struct settling *settling, bool settled) {
    struct sds_cache *ledger = settling->subject->remote->ledger;
    if (ledger != NULL && settling->blob != NULL) {
        sds_cache_uncharge(ledger, settling->blob->cap);
    }
    sds_blob_unref(settling->blob);
    void (*then)(void *ctx, bool settled) = settling->then;
    void *ctx = settling->ctx;
    free(settling);
    then(ctx, settled);
}

static void answered(void *ctx, const struct sds_outcome *outcome) {
    struct settling *settling = ctx;
    finish(settling, is_the_same(settling, outcome) &&
                         adopt(settling->subject, &settling->told, &outcome->told.tag));
}

static struct settling *new_settling(struct sds_subject *subject,
                                     const struct sds_first_answer *first) {
    struct settling *settling = calloc(1, sizeof *settling);
    struct sds_blob *blob = first->len > 0 ? sds_blob_new((size_t)first->len) : NULL;
    if (settling == NULL || (first->len > 0 && blob == NULL)) {
        free(settling);
        sds_blob_unref(blob);
        return NULL;
    }
    if (subject->remote->ledger != NULL && blob != NULL) {
        sds_cache_charge(subject->remote->ledger, blob->cap);
    }
    settling->subject = subject;
    settling->first = *first;
    settling->blob = blob;
    return settling;
}

enum sds_settled sds_version_settle(struct sds_subject *subject, const struct sds_operation *asked,
                                    void (*then)(void *ctx, bool settled), void *ctx) {
    pthread_mutex_lock(&subject->lock);
    struct sds_first_answer first = subject->first;
    struct sds_tag told = subject->tag;
    bool open = subject->mutability == SDS_IMMUTABLE && subject->tagged && !subject->pinned;
    pthread_mutex_unlock(&subject->lock);
    if (open && strcmp(told.etag, asked->tag.etag) != 0) {
        return SDS_SETTLED; // by somebody else, or it was asked for before the version was known
    }
    if (!open || first.answers != 1 || first.len > COMPARED_MAX) {
        return SDS_UNSETTLED;
    }
    struct settling *settling = new_settling(subject, &first);
    if (settling == NULL) {
        return SDS_UNSETTLED;
    }
    settling->told = told;
    settling->then = then;
    settling->ctx = ctx;
    struct sds_operation what;
    sds_subject_operation(subject, first.len > 0 ? SDS_GET : SDS_HEAD, &what);
    what.tag = (struct sds_tag){.etag = ""};
    what.off = first.off;
    what.len = first.len;
    what.deadline_ms = asked->deadline_ms;
    sds_operation_start(&subject->remote->operations, &what,
                        first.len > 0 ? settling->blob->at : NULL, answered, settling);
    return SDS_SETTLING;
}
