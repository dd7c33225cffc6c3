// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/follow.h"

#include <string.h>
#include <time.h>

#include "format/signal_dataset/dataset.h"

// A catalog that failed is looked at again, since it may have been met half copied, or the store
// was away; but not by every look-up.
#define RETRY_MS 1000

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct annotation_catalog *annotations_hold(struct signal_dataset *ds) {
    pthread_mutex_lock(&ds->follow.lock);
    struct annotation_catalog *catalog = catalog_ref(ds->follow.current);
    pthread_mutex_unlock(&ds->follow.lock);
    return catalog;
}

const struct annotation_set *annotations_find(struct signal_dataset *ds, struct sds_span name) {
    struct annotation_catalog *catalog = annotations_hold(ds);
    const struct annotation_set *set = catalog_find(catalog, name);
    catalog_unref(catalog);
    return set;
}

// Takes over next.
static void set_current(struct signal_dataset *ds, struct annotation_catalog *next) {
    pthread_mutex_lock(&ds->follow.lock);
    struct annotation_catalog *last = ds->follow.current;
    ds->follow.current = next;
    pthread_mutex_unlock(&ds->follow.lock);
    catalog_unref(last);
}

static enum sds_kind read_whole(struct sds_object *object, struct sds_blob **out,
                                struct sds_err *err) {
    uint64_t size = sds_object_info(object)->size;
    if (size > SDS_MAX_DOCUMENT_BYTES) {
        return sds_fail(err, SDS_ERR_LIMIT, "size", "%llu bytes, more than the limit of %llu",
                        (unsigned long long)size, (unsigned long long)SDS_MAX_DOCUMENT_BYTES);
    }
    struct sds_blob *text = sds_blob_new((size_t)size);
    if (text == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a catalog");
    }
    enum sds_kind kind = sds_object_read(object, 0, text->at, text->len, err);
    if (kind != SDS_OK) {
        sds_blob_unref(text);
        return kind;
    }
    *out = text;
    return SDS_OK;
}

// The pointer now; NULL when there is none.
static enum sds_kind read_pointer(struct signal_dataset *ds, struct sds_blob **out,
                                  struct timespec *mtime, struct sds_err *err) {
    struct sds_object *object = NULL;
    enum sds_kind kind =
        sds_store_object(ds->store, CATALOG_PATH, SDS_REPLACEABLE, NULL, &object, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        return SDS_OK;
    }
    if (kind == SDS_OK) {
        *mtime = sds_object_info(object)->mtime;
        kind = read_whole(object, out, err);
        sds_object_close(object);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, CATALOG_PATH);
    }
    return kind;
}

static bool same_bytes(const struct sds_blob *a, const struct sds_blob *b) {
    return a == b || (a != NULL && b != NULL &&
                      sds_span_eq(sds_span(a->at, a->len), sds_span(b->at, b->len)));
}

// Reads the pointer, and what it names if it is another one than before. It is compared by its
// bytes, which hold the hash of the revision: the store's token of a version may be a time, and two
// publishers can be faster than its clock. `looking` is held, so `current` stays.
static enum sds_kind look(struct signal_dataset *ds, struct sds_err *err) {
    const struct annotation_catalog *current = ds->follow.current;
    struct annotation_catalog *next = NULL;
    struct sds_blob *pointer = NULL;
    struct timespec mtime = {0};
    enum sds_kind kind = read_pointer(ds, &pointer, &mtime, err);
    if (kind != SDS_OK) {
        return kind;
    }
    bool changed = current == NULL || !same_bytes(pointer, current->pointer);
    if (changed && current != NULL && pointer == NULL) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "absent", "the catalog is there no longer");
        sds_err_object(err, CATALOG_PATH);
    } else if (changed) {
        kind = catalog_load(ds, current, pointer, mtime, &next, err);
    }
    sds_blob_unref(pointer);
    if (next != NULL) {
        set_current(ds, next);
    }
    return kind;
}

static void tell(struct signal_dataset *ds, const struct sds_err *problem) {
    struct sds_err *told = &ds->follow.told;
    bool again = strcmp(told->check, problem->check) == 0 &&
                 strcmp(told->object, problem->object) == 0 &&
                 strcmp(told->message, problem->message) == 0;
    *told = *problem;
    if (!again && ds->options.warn != NULL) {
        ds->options.warn(ds->options.ctx, problem);
    }
}

static void look_and_tell(struct signal_dataset *ds, int64_t now) {
    struct sds_err problem;
    int64_t wait = ds->options.refresh_ms;
    if (look(ds, &problem) == SDS_OK) {
        ds->follow.told = (struct sds_err){0};
    } else {
        tell(ds, &problem);
        wait = wait > RETRY_MS ? wait : RETRY_MS;
    }
    atomic_store(&ds->follow.next_ms, now + wait);
}

void annotations_follow(struct signal_dataset *ds) {
    if (now_ms() < atomic_load(&ds->follow.next_ms)) {
        return;
    }
    pthread_mutex_lock(&ds->follow.looking);
    int64_t now = now_ms();
    if (now >= atomic_load(&ds->follow.next_ms)) { // else somebody looked meanwhile
        look_and_tell(ds, now);
    }
    pthread_mutex_unlock(&ds->follow.looking);
}

enum sds_kind annotations_reload(struct signal_dataset *ds, struct sds_err *err) {
    pthread_mutex_lock(&ds->follow.looking);
    enum sds_kind kind = look(ds, err);
    pthread_mutex_unlock(&ds->follow.looking);
    return kind;
}

enum sds_kind annotations_open(struct signal_dataset *ds, struct sds_err *err) {
    struct follow *follow = &ds->follow;
    struct sds_err why;
    pthread_mutex_init(&follow->lock, NULL);
    pthread_mutex_init(&follow->looking, NULL);
    follow->next_ms = now_ms() + ds->options.refresh_ms;
    enum sds_kind kind = look(ds, &why);
    if (kind != SDS_OK && ds->options.tolerate_annotations) {
        tell(ds, &why);
        kind = catalog_load(ds, NULL, NULL, (struct timespec){0}, &follow->current, &why);
    }
    if (kind != SDS_OK) {
        sds_err_hint(&why, "option tolerate=annotations mounts without annotations");
        if (err != NULL) {
            *err = why;
        }
    }
    return kind;
}

void annotations_close(struct signal_dataset *ds) {
    catalog_unref(ds->follow.current);
    ds->follow.current = NULL;
}
