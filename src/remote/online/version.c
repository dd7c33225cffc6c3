// SPDX-License-Identifier: Apache-2.0
//
// What is known of an object: the version that was seen of it and its size. What contradicts its
// reference is never taken in.
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "remote/online/remote_internal.h"

uint64_t sds_tag_hash(const struct sds_tag *tag) {
    return sds_hash_stable(sds_span_str(tag->etag));
}

void sds_subject_known(struct sds_subject *subject, struct sds_known *out) {
    pthread_mutex_lock(&subject->lock);
    *out = (struct sds_known){.tagged = subject->tagged,
                              .sized = subject->sized,
                              .tag = subject->tag,
                              .size = subject->size,
                              .modified = subject->modified};
    pthread_mutex_unlock(&subject->lock);
}

static enum sds_kind changed(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_STORAGE, "changed",
                    "the object was replaced since it was first read");
}

static enum sds_kind check_generation(const struct sds_subject *subject, const struct sds_tag *tag,
                                      struct sds_err *err) {
    char wanted[24];
    snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)subject->generation);
    if (!subject->pinned || strcmp(wanted, tag->etag) == 0) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_CORRUPT, "generation",
                    "it is of generation %s where its reference is pinned to %s",
                    SDS_QUOTE(tag->etag, strlen(tag->etag)), wanted);
}

static enum sds_kind check_size(const struct sds_subject *subject, const struct sds_told *told,
                                struct sds_err *err) {
    if (!subject->declared || !told->size_known || told->size == subject->declared_size) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_CORRUPT, "stored_bytes",
                    "it has %llu bytes where its reference declares %llu",
                    (unsigned long long)told->size, (unsigned long long)subject->declared_size);
}

// False when the answer is of another version than the one that was seen. One version has one size:
// what is told of it now was heard twice (witness.h), what was told before perhaps once. The lock
// is held.
static bool take_in(struct sds_subject *subject, const struct sds_told *told) {
    bool same = true;
    if (told->tag.etag[0] != '\0') {
        same = !subject->tagged || strcmp(subject->tag.etag, told->tag.etag) == 0;
        if (!subject->tagged) {
            subject->tag = told->tag;
            subject->tagged = true;
        }
    }
    if (told->size_known) {
        bool replaced = !same;
        same = same && (!subject->sized || subject->size == told->size);
        if (!replaced) {
            subject->size = told->size;
            subject->sized = true;
        }
    }
    subject->modified = subject->modified != 0 ? subject->modified : told->modified;
    return same;
}

enum sds_kind sds_subject_learn(struct sds_subject *subject, const struct sds_told *told,
                                struct sds_err *err) {
    struct sds_remote *remote = subject->remote;
    bool tagged = told->tag.etag[0] != '\0';
    enum sds_kind kind = tagged ? check_generation(subject, &told->tag, err) : SDS_OK;
    if (kind == SDS_OK) {
        kind = check_size(subject, told, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    if (tagged && subject->mutability == SDS_IMMUTABLE &&
        !sds_pins_check(remote->base.pins, subject->hash, sds_tag_hash(&told->tag))) {
        return changed(err);
    }
    pthread_mutex_lock(&subject->lock);
    bool same = take_in(subject, told);
    bool note = same && remote->disk != NULL && subject->mutability == SDS_IMMUTABLE &&
                subject->sized && sds_tag_is_version(&subject->tag) && !subject->noted;
    subject->noted = subject->noted || note;
    struct sds_tag tag = subject->tag;
    uint64_t size = subject->size;
    pthread_mutex_unlock(&subject->lock);
    if (note) {
        sds_disk_cache_note(remote->disk, subject->name, tag.etag, size);
    }
    return same ? SDS_OK : changed(err);
}

bool sds_subject_recall(struct sds_subject *subject, const char *tag, uint64_t size) {
    struct sds_tag noted = {.etag = ""};
    size_t len = strlen(tag);
    if (len == 0 || len >= sizeof noted.etag) {
        return false;
    }
    memcpy(noted.etag, tag, len);
    if (subject->declared && subject->declared_size != size) {
        return false;
    }
    if (!sds_pins_has(subject->remote->base.pins, subject->hash, sds_tag_hash(&noted))) {
        return false;
    }
    pthread_mutex_lock(&subject->lock);
    if (!subject->tagged && (!subject->sized || subject->size == size)) {
        subject->tag = noted;
        subject->size = size;
        subject->tagged = subject->sized = subject->noted = true;
    }
    pthread_mutex_unlock(&subject->lock);
    return true;
}

void sds_subject_forget_size(struct sds_subject *subject) {
    pthread_mutex_lock(&subject->lock);
    subject->sized = false;
    pthread_mutex_unlock(&subject->lock);
}

void sds_subject_operation(struct sds_subject *subject, enum sds_action action,
                           struct sds_operation *out) {
    struct sds_known known;
    sds_subject_known(subject, &known);
    *out = (struct sds_operation){.action = action,
                                  .bucket = subject->bucket,
                                  .key = subject->key,
                                  .pinned = subject->pinned,
                                  .generation = subject->generation};
    if (subject->mutability == SDS_IMMUTABLE) {
        out->promised = subject->declared || subject->pinned || known.tagged;
        out->sized = subject->declared || known.sized;
        out->size = subject->declared ? subject->declared_size : known.size;
    }
    if (known.tagged) {
        out->tag = known.tag;
    }
}
