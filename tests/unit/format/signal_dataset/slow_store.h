// SPDX-License-Identifier: Apache-2.0
//
// A double of a store on a server, over a local directory: every range that was not had yet is a
// request that takes until it is released, and can fail. A task is made to wait for it, and what it
// waited for is there for as long as the task is, and no longer: so what is run again has to get
// further by that alone. Who works for no task has its requests answered at once.
#ifndef SDSFS_TESTS_SLOW_STORE_H
#define SDSFS_TESTS_SLOW_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "base/blob.h"
#include "base/cleanup.h"
#include "base/wait.h"
#include "remote/backend.h"

#define SLOW_FIRST_BYTES (64u << 10) // come with an object of unknown size
#define SLOW_PATH 256

enum slow_what { SLOW_RANGE, SLOW_FIRST, SLOW_VERSION, SLOW_WHOLE };

struct slow_request {
    struct slow_store *store;
    unsigned refs; // protected by the store's lock, like all up to `done`
    struct slow_request *next;
    bool started, done; // its answer is written between the two, without the lock
    bool stays;         // a reference is the store's own, unless it fails
    enum slow_what what;
    char name[SLOW_PATH];
    bool sized;
    uint64_t expected, off, len;
    struct sds_event *event;
    // The answer.
    enum sds_kind kind;
    struct sds_err err;
    struct sds_blob *bytes;
    struct sds_object_info info;
    struct sds_version version;
};

struct slow_store {
    struct sds_store base;
    struct sds_store *inner;
    pthread_mutex_t lock; // protects all below
    struct slow_request *requests;
    unsigned sent, answered, sent_data, waiting, most_waiting;
    unsigned fail_at;     // the request with this number (from 1) fails; 0: none
    enum sds_kind outage; // SDS_OK, or what every request fails with
    enum sds_kind fault;  // what the one at fail_at fails with
    bool no_prefetch;     // there is no memory for what is fetched ahead
};

struct slow_object {
    struct sds_object base;
    bool sized;
    uint64_t expected;
    struct slow_request *first; // what came when it was opened
};

static inline struct slow_store *slow_of(struct sds_store *store) {
    return (struct slow_store *)store;
}

static inline void slow_free_request(struct slow_request *request) {
    sds_event_unref(request->event);
    sds_blob_unref(request->bytes);
    free(request);
}

static inline void slow_unref(void *value) {
    struct slow_request *request = value;
    struct slow_store *store = request->store;
    pthread_mutex_lock(&store->lock);
    bool last = --request->refs == 0;
    struct slow_request **link = &store->requests;
    while (last && *link != request) {
        link = &(*link)->next;
    }
    if (last) {
        *link = request->next;
    }
    pthread_mutex_unlock(&store->lock);
    if (last) {
        slow_free_request(request);
    }
}

static inline enum sds_kind slow_fetch_bytes(struct slow_request *request, struct sds_err *err) {
    struct sds_object *object = NULL;
    enum sds_kind kind =
        sds_store_object(request->store->inner, request->name, SDS_REPLACEABLE, NULL, &object, err);
    if (kind != SDS_OK) {
        return kind;
    }
    request->info = *sds_object_info(object);
    uint64_t size = request->info.size;
    if (request->sized && size != request->expected) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "stored_bytes", "another size than was expected");
    } else {
        uint64_t left = request->off < size ? size - request->off : 0;
        request->bytes = sds_blob_new((size_t)(request->len < left ? request->len : left));
        kind = request->bytes->len > 0 ? sds_object_read(object, request->off, request->bytes->at,
                                                         request->bytes->len, err)
                                       : SDS_OK;
    }
    sds_object_close(object);
    return kind;
}

static inline enum sds_kind slow_perform(struct slow_request *request, struct sds_err *err) {
    struct sds_store *inner = request->store->inner;
    switch (request->what) {
    case SLOW_VERSION:
        return sds_store_version(inner, request->name, &request->version, err);
    case SLOW_WHOLE:
        return sds_store_read_version(inner, request->name, request->len, &request->bytes,
                                      &request->version, err);
    case SLOW_RANGE:
    case SLOW_FIRST:
        break;
    }
    return slow_fetch_bytes(request, err);
}

// Answers a request unless somebody does already.
static inline void slow_answer(struct slow_request *request) {
    struct slow_store *store = request->store;
    pthread_mutex_lock(&store->lock);
    bool mine = !request->started;
    request->started = true;
    enum sds_kind fails = store->outage;
    if (mine && ++store->answered == store->fail_at) {
        fails = store->fault;
    }
    pthread_mutex_unlock(&store->lock);
    if (!mine) {
        return;
    }
    request->kind = fails != SDS_OK
                        ? sds_fail(&request->err, fails, "slow", "the network is to blame")
                        : slow_perform(request, &request->err);
    pthread_mutex_lock(&store->lock);
    request->done = true;
    store->waiting--;
    if (request->stays && request->kind != SDS_OK) {
        request->stays = false;
        request->refs--; // the caller has another
    }
    pthread_mutex_unlock(&store->lock);
    sds_event_fire(request->event);
}

// Answers all that is waiting. False when nothing was.
static inline bool slow_release(struct slow_store *store) {
    bool any = false;
    for (;;) {
        pthread_mutex_lock(&store->lock);
        struct slow_request *request = store->requests;
        while (request != NULL && request->started) {
            request = request->next;
        }
        if (request != NULL) {
            request->refs++;
        }
        pthread_mutex_unlock(&store->lock);
        if (request == NULL) {
            return any;
        }
        any = true;
        slow_answer(request);
        slow_unref(request);
    }
}

static inline bool slow_covers(const struct slow_request *r, const struct slow_request *wanted) {
    bool failed = r->done && r->kind != SDS_OK;
    if (strcmp(r->name, wanted->name) != 0 || (failed && !sds_task_keeps(r))) {
        return false;
    }
    if (r->what == SLOW_FIRST && wanted->what == SLOW_RANGE) {
        return r->done && !failed && wanted->off + wanted->len <= r->bytes->len;
    }
    return r->what == wanted->what && r->sized == wanted->sized &&
           r->expected == wanted->expected && r->off <= wanted->off &&
           wanted->off + wanted->len <= r->off + r->len;
}

// The request that has, or will have, what is wanted; a new one where there is none. One reference.
static inline struct slow_request *slow_request(struct slow_store *store,
                                                const struct slow_request *wanted) {
    pthread_mutex_lock(&store->lock);
    struct slow_request *request = store->requests;
    while (request != NULL && !slow_covers(request, wanted)) {
        request = request->next;
    }
    if (request == NULL) {
        request = malloc(sizeof *request);
        *request = *wanted;
        request->store = store;
        request->event = sds_event_new();
        request->refs = wanted->stays;
        request->next = store->requests;
        store->requests = request;
        store->sent++;
        store->sent_data += strstr(wanted->name, "objects/data/") != NULL;
        store->waiting++;
        store->most_waiting =
            store->waiting > store->most_waiting ? store->waiting : store->most_waiting;
    }
    request->refs++;
    pthread_mutex_unlock(&store->lock);
    return request;
}

// Sends a request unless there is one, and waits for it. *out is the caller's on success.
static inline enum sds_kind slow_get(struct slow_store *store, const struct slow_request *wanted,
                                     struct slow_request **out, struct sds_err *err) {
    struct slow_request *request = slow_request(store, wanted);
    if (sds_task_here()) {
        if (!sds_task_keeps(request)) {
            pthread_mutex_lock(&store->lock);
            request->refs++;
            pthread_mutex_unlock(&store->lock);
            assert_true(sds_task_keep(request, slow_unref));
        }
    } else {
        slow_answer(request);
    }
    enum sds_kind kind = sds_event_wait(request->event, err);
    if (kind == SDS_OK && request->kind != SDS_OK) {
        kind = request->kind;
        if (err != NULL) {
            *err = request->err;
        }
    }
    if (kind != SDS_OK) {
        slow_unref(request);
        return kind;
    }
    *out = request;
    return SDS_OK;
}

static inline struct slow_request slow_wanted(enum slow_what what, const char *name, uint64_t off,
                                              uint64_t len) {
    struct slow_request wanted = {.what = what, .off = off, .len = len};
    snprintf(wanted.name, sizeof wanted.name, "%s", name);
    return wanted;
}

// ---- the operations

static inline enum sds_kind slow_open(struct sds_store *base, const char *path,
                                      enum sds_mutability mutability,
                                      const struct sds_expected *expected, struct sds_object **out,
                                      struct sds_err *err) {
    struct slow_object *object = calloc(1, sizeof *object);
    object->base.store = base;
    object->base.name = strdup(path);
    if (expected != NULL && expected->sized) {
        object->sized = true;
        object->expected = object->base.info.size = expected->size;
    } else {
        struct slow_request wanted = slow_wanted(SLOW_FIRST, path, 0, SLOW_FIRST_BYTES);
        wanted.stays = mutability == SDS_IMMUTABLE;
        enum sds_kind kind = slow_get(slow_of(base), &wanted, &object->first, err);
        if (kind != SDS_OK) {
            sds_object_close(&object->base);
            return kind;
        }
        object->base.info = object->first->info;
    }
    *out = &object->base;
    return SDS_OK;
}

static inline enum sds_kind slow_external(struct sds_store *store, const char *uri,
                                          const struct sds_expected *expected,
                                          struct sds_object **out, struct sds_err *err) {
    (void)store, (void)uri, (void)expected, (void)out;
    return sds_fail(err, SDS_ERR_UNSUPPORTED, "external", "not here");
}

static inline struct slow_request slow_range(const struct sds_object *base, uint64_t off,
                                             uint64_t len) {
    const struct slow_object *object = (const struct slow_object *)base;
    struct slow_request wanted = slow_wanted(SLOW_RANGE, base->name, off, len);
    wanted.sized = object->sized;
    wanted.expected = object->expected;
    return wanted;
}

static inline enum sds_kind slow_read(struct sds_object *base, uint64_t off, void *buf, size_t len,
                                      struct sds_err *err) {
    struct slow_request wanted = slow_range(base, off, len), *request = NULL;
    enum sds_kind kind = slow_get(slow_of(base->store), &wanted, &request, err);
    if (kind == SDS_OK) {
        memcpy(buf, request->bytes->at + (off - request->off), len);
        slow_unref(request);
    }
    return kind;
}

static inline void slow_prefetch(struct sds_object *base, uint64_t off, uint64_t len) {
    struct slow_request wanted = slow_range(base, off, len);
    wanted.stays = true;
    if (!slow_of(base->store)->no_prefetch) {
        slow_unref(slow_request(slow_of(base->store), &wanted));
    }
}

static inline void slow_close_object(struct sds_object *base) {
    struct slow_object *object = (struct slow_object *)base;
    if (object->first != NULL) {
        slow_unref(object->first);
    }
    free(object);
}

static inline enum sds_kind slow_version(struct sds_store *store, const char *path,
                                         struct sds_version *version, struct sds_err *err) {
    struct slow_request wanted = slow_wanted(SLOW_VERSION, path, 0, 0), *request = NULL;
    enum sds_kind kind = slow_get(slow_of(store), &wanted, &request, err);
    if (kind == SDS_OK) {
        *version = request->version;
        slow_unref(request);
    }
    return kind;
}

static inline enum sds_kind slow_read_version(struct sds_store *store, const char *path,
                                              uint64_t max, struct sds_blob **out,
                                              struct sds_version *version, struct sds_err *err) {
    struct slow_request wanted = slow_wanted(SLOW_WHOLE, path, 0, max), *request = NULL;
    enum sds_kind kind = slow_get(slow_of(store), &wanted, &request, err);
    if (kind == SDS_OK) {
        *version = request->version;
        *out = sds_blob_ref(request->bytes);
        slow_unref(request);
    }
    return kind;
}

static inline enum sds_kind slow_no_writing(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_UNSUPPORTED, "conditional_writes", "it is only read");
}

static inline enum sds_kind slow_can_publish(struct sds_store *store, struct sds_err *err) {
    (void)store;
    return slow_no_writing(err);
}

static inline void slow_close(struct sds_store *base) {
    struct slow_store *store = slow_of(base);
    while (store->requests != NULL) {
        struct slow_request *request = store->requests;
        assert_true(request->stays && request->refs == 1); // nobody else has one any more
        store->requests = request->next;
        slow_free_request(request);
    }
    sds_store_close(store->inner);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static inline struct slow_store *slow_store_new(const char *directory) {
    static const struct sds_store_ops ops = {
        .object = slow_open,
        .external = slow_external,
        .read = slow_read,
        .prefetch = slow_prefetch,
        .close_object = slow_close_object,
        .can_publish = slow_can_publish,
        .read_version = slow_read_version,
        .version = slow_version,
        .close = slow_close,
    };
    struct slow_store *store = calloc(1, sizeof *store);
    struct sds_store_options options = {.external = {.mode = SDS_EXTERNAL_NONE}};
    assert_int_equal(sds_store_open(directory, &options, &store->inner, NULL), SDS_OK);
    pthread_mutex_init(&store->lock, NULL);
    store->base = (struct sds_store){.ops = &ops,
                                     .root = strdup("s3://bucket/sample.sds"),
                                     .pins = sds_pins_new(),
                                     .remote = true};
    return store;
}

#endif
