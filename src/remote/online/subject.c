// SPDX-License-Identifier: Apache-2.0
//
// The table of subjects, and the version that was seen of each.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "remote/online/remote_internal.h"

// --- the table

static void hold(void *owner) {
    struct sds_subject *subject = owner;
    struct sds_subjects *subjects = &subject->remote->subjects;
    pthread_mutex_lock(&subjects->lock);
    subject->refs++;
    pthread_mutex_unlock(&subjects->lock);
}

static void let_go(void *owner) {
    sds_subject_unref(owner);
}

static const struct sds_extents_owner no_bytes = {.hold = hold, .let_go = let_go};

void sds_subjects_init(struct sds_remote *remote) {
    pthread_mutex_init(&remote->subjects.lock, NULL);
    remote->extents_owner = (struct sds_extents_owner){.hold = hold,
                                                       .let_go = let_go,
                                                       .ledger = remote->ledger,
                                                       .ahead = &remote->stats.ahead,
                                                       .used = &remote->stats.ahead_used,
                                                       .wasted = &remote->stats.ahead_wasted};
}

static void free_subject(struct sds_subject *subject) {
    if (subject != NULL) {
        sds_extents_fini(&subject->extents);
        sds_extents_fini(&subject->heads);
        pthread_mutex_destroy(&subject->lock);
        free(subject->bucket);
        free(subject->key);
        free(subject->name);
        free(subject);
    }
}

static struct sds_subject *new_subject(struct sds_remote *remote,
                                       const struct sds_subject_name *name) {
    struct sds_subject *subject = calloc(1, sizeof *subject);
    if (subject == NULL) {
        return NULL;
    }
    const char *origin = remote->operations.provider->origin;
    bool pinned = name->expected != NULL && name->expected->pinned;
    uint64_t generation = pinned ? name->expected->generation : 0;
    bool declared = name->expected != NULL && name->expected->sized;
    *subject = (struct sds_subject){.remote = remote,
                                    .bucket = strdup(name->bucket),
                                    .key = strdup(name->key),
                                    .pinned = pinned,
                                    .generation = generation,
                                    .declared = declared,
                                    .declared_size = declared ? name->expected->size : 0,
                                    .mutability = name->mutability,
                                    .refs = 1};
    pthread_mutex_init(&subject->lock, NULL);
    sds_extents_init(&subject->extents, &remote->extents_owner, subject);
    sds_extents_init(&subject->heads, &no_bytes, subject);
    int n = pinned ? asprintf(&subject->name, "%s/%s/%s#%llu", origin, name->bucket, name->key,
                              (unsigned long long)generation)
                   : asprintf(&subject->name, "%s/%s/%s", origin, name->bucket, name->key);
    if (n < 0) {
        subject->name = NULL;
    }
    if (subject->bucket == NULL || subject->key == NULL || subject->name == NULL) {
        free_subject(subject);
        return NULL;
    }
    subject->hash = sds_hash_stable(sds_span_str(subject->name));
    return subject;
}

// The lock is held.
static struct sds_subject *find(struct sds_subject *among, const struct sds_subject *like) {
    while (among != NULL &&
           !(among->hash == like->hash && strcmp(among->name, like->name) == 0 &&
             among->mutability == like->mutability && among->declared == like->declared &&
             among->declared_size == like->declared_size &&
             (like->mutability == SDS_IMMUTABLE || (sds_task_keeps(among) && !among->over)))) {
        among = among->next;
    }
    return among;
}

static void release(void *value) {
    sds_subject_unref(value);
}

// A replaceable subject stays with the task that looks at it, or each of its runs would look anew.
static enum sds_kind keep(struct sds_subject *subject, struct sds_err *err) {
    if (subject->mutability == SDS_IMMUTABLE || !sds_task_here()) {
        return SDS_OK;
    }
    hold(subject);
    if (sds_task_keep(subject, release)) {
        return SDS_OK;
    }
    sds_subject_unref(subject);
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an object");
}

// Takes a reference; what was remembered longest is the caller's to let go. The lock is held.
static struct sds_subject *remember(struct sds_subjects *subjects, struct sds_subject *subject) {
    struct sds_subject **slot = &subjects->recent[subjects->next_recent++ % SDS_SUBJECTS_RECENT];
    struct sds_subject *oldest = *slot;
    *slot = subject;
    subject->refs++;
    return oldest;
}

void sds_subjects_forget(struct sds_remote *remote) {
    for (size_t i = 0; i < SDS_SUBJECTS_RECENT; i++) {
        sds_subject_unref(remote->subjects.recent[i]);
        remote->subjects.recent[i] = NULL;
    }
}

enum sds_kind sds_subject_get(struct sds_remote *remote, const struct sds_subject_name *name,
                              struct sds_subject **out, struct sds_err *err) {
    struct sds_subject *made = new_subject(remote, name);
    if (made == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an object");
    }
    struct sds_subjects *subjects = &remote->subjects;
    struct sds_subject **bucket = &subjects->buckets[made->hash % SDS_SUBJECT_BUCKETS];
    pthread_mutex_lock(&subjects->lock);
    struct sds_subject *there = find(*bucket, made), *forgotten = NULL;
    if (there != NULL) {
        there->refs++;
    } else {
        made->next = *bucket;
        *bucket = made;
        forgotten = made->mutability == SDS_IMMUTABLE ? remember(subjects, made) : NULL;
    }
    pthread_mutex_unlock(&subjects->lock);
    sds_subject_unref(forgotten);
    if (there != NULL) {
        free_subject(made);
        *out = there;
        return SDS_OK;
    }
    enum sds_kind kind = keep(made, err);
    if (kind != SDS_OK) {
        sds_subject_unref(made);
        return kind;
    }
    *out = made;
    return SDS_OK;
}

void sds_subject_unref(struct sds_subject *subject) {
    if (subject == NULL) {
        return;
    }
    struct sds_subjects *subjects = &subject->remote->subjects;
    pthread_mutex_lock(&subjects->lock);
    bool last = --subject->refs == 0;
    if (last) {
        struct sds_subject **link = &subjects->buckets[subject->hash % SDS_SUBJECT_BUCKETS];
        while (*link != subject) {
            link = &(*link)->next;
        }
        *link = subject->next;
    }
    pthread_mutex_unlock(&subjects->lock);
    if (last) {
        free_subject(subject);
    }
}

void sds_subject_over(struct sds_subject *subject) {
    pthread_mutex_lock(&subject->remote->subjects.lock);
    subject->over = true;
    pthread_mutex_unlock(&subject->remote->subjects.lock);
}

// --- the version

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
