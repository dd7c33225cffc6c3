// SPDX-License-Identifier: Apache-2.0
//
// The table of subjects: who has an object open shares what is known of it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "remote/online/remote_internal.h"

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
    uint64_t seen; // before, by a subject that is gone, with whatever bytes
    subject->first.answers = sds_pins_get(remote->base.pins, subject->hash, &seen) ? 2 : 0;
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
