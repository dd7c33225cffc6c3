// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/follow.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "format/signal_dataset/dataset.h"

// A catalog that failed is looked at again, since it may have been met half copied, or the store
// was away; but not by every look-up.
#define RETRY_MS 1000

static int64_t now_ms(void) {
    return (int64_t)sds_clock_ms();
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

// The pointer now; NULL when there is none.
static enum sds_kind read_pointer(struct signal_dataset *ds, struct sds_blob **out,
                                  struct sds_version *version, struct sds_err *err) {
    enum sds_kind kind =
        sds_store_read_version(ds->store, CATALOG_PATH, SDS_MAX_DOCUMENT_BYTES, out, version, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        *out = NULL;
        return SDS_OK;
    }
    if (kind == SDS_ERR_DENIED && sds_store_is_remote(ds->store)) {
        sds_err_hint(err, "who may not list a bucket is told so of what is not there, too");
    }
    return kind;
}

static bool same_bytes(const struct sds_blob *a, const struct sds_blob *b) {
    return a == b || (a != NULL && b != NULL &&
                      sds_span_eq(sds_span(a->at, a->len), sds_span(b->at, b->len)));
}

// Whether the pointer is certain to be the current one. Versions tell only on a server: a local
// one holds a time, and two publishers can be faster than its clock.
static enum sds_kind is_current(struct signal_dataset *ds, bool *out, struct sds_err *err) {
    const struct annotation_catalog *current = ds->follow.current;
    struct sds_version version;
    *out = false;
    if (current == NULL || !sds_store_is_remote(ds->store)) {
        return SDS_OK;
    }
    enum sds_kind kind = sds_store_version(ds->store, CATALOG_PATH, &version, err);
    *out = kind == SDS_OK && sds_version_eq(&version, &current->version);
    return kind;
}

static bool is_another(struct signal_dataset *ds, const struct sds_blob *pointer,
                       const struct sds_version *version) {
    const struct annotation_catalog *current = ds->follow.current;
    return current == NULL || !same_bytes(pointer, current->pointer) ||
           (sds_store_is_remote(ds->store) && !sds_version_eq(version, &current->version));
}

// Reads the pointer, and what it names if it is another one than before. It is compared by its
// bytes, which hold the hash of the revision. It is our turn to look, so `current` stays.
static enum sds_kind look(struct signal_dataset *ds, struct sds_err *err) {
    const struct annotation_catalog *current = ds->follow.current;
    struct annotation_catalog *next = NULL;
    struct sds_blob *pointer = NULL;
    struct sds_version version;
    bool same;
    enum sds_kind kind = is_current(ds, &same, err);
    if (kind != SDS_OK || same) {
        return kind;
    }
    kind = read_pointer(ds, &pointer, &version, err);
    if (kind != SDS_OK) {
        return kind;
    }
    bool changed = is_another(ds, pointer, &version);
    if (changed && current != NULL && pointer == NULL) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "absent", "the catalog is there no longer");
        sds_err_object(err, CATALOG_PATH);
    } else if (changed) {
        kind = catalog_load(ds, current, pointer, &version, &next, err);
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

// ---- whose turn it is to look

// A task keeps its turn while it waits for the store; it gives it back when it has looked, or else
// when it is over.
struct look {
    struct follow *follow;
    bool kept, over;
};

static void end_turn(struct look *look) {
    if (!look->over) {
        look->over = true;
        atomic_store(&look->follow->look, NULL);
        sds_turns_give(&look->follow->looking);
    }
}

static void release_look(void *value) {
    end_turn(value);
    free(value);
}

static enum sds_kind begin_look(struct follow *follow, struct look **out, struct sds_err *err) {
    struct look *look = atomic_load(&follow->look);
    if (look != NULL && sds_task_keeps(look)) {
        *out = look;
        return SDS_OK;
    }
    look = calloc(1, sizeof *look);
    enum sds_kind kind = look != NULL
                             ? sds_turns_take(&follow->looking, err)
                             : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory to look");
    if (kind != SDS_OK) {
        free(look);
        return kind;
    }
    look->follow = follow;
    look->kept = sds_task_keep(look, release_look);
    atomic_store(&follow->look, look);
    *out = look;
    return SDS_OK;
}

static void end_look(struct look *look) {
    end_turn(look);
    if (!look->kept) {
        free(look);
    }
}

// ---- looking

static enum sds_kind look_and_tell(struct signal_dataset *ds, struct sds_err *err) {
    struct sds_err problem;
    int64_t wait = ds->options.refresh_ms;
    enum sds_kind kind = look(ds, &problem);
    if (kind == SDS_ERR_WAITING) {
        if (err != NULL) {
            *err = problem;
        }
        return kind;
    }
    if (kind == SDS_OK) {
        ds->follow.told = (struct sds_err){0};
    } else {
        bool outage = kind == SDS_ERR_STORAGE || kind == SDS_ERR_TIMEOUT;
        tell(ds, &problem);
        wait = !outage && wait > RETRY_MS ? wait : RETRY_MS;
    }
    atomic_store(&ds->follow.next_ms, now_ms() + wait);
    return SDS_OK;
}

static void nothing(void *value) {
    (void)value;
}

enum sds_kind annotations_follow(struct signal_dataset *ds, struct sds_err *err) {
    struct follow *follow = &ds->follow;
    struct look *look = NULL;
    if (now_ms() < atomic_load(&follow->next_ms) || sds_task_keeps(follow)) {
        return SDS_OK;
    }
    enum sds_kind kind = begin_look(follow, &look, err);
    if (kind != SDS_OK) {
        return kind == SDS_ERR_WAITING ? kind : SDS_OK;
    }
    if (now_ms() >= atomic_load(&follow->next_ms)) { // else somebody looked meanwhile
        kind = look_and_tell(ds, err);
    }
    if (kind == SDS_ERR_WAITING && look->kept) {
        return kind;
    }
    end_look(look);
    if (kind == SDS_OK) {
        (void)sds_task_keep(follow, nothing); // this task has looked
    }
    return kind;
}

enum sds_kind annotations_reload(struct signal_dataset *ds, struct sds_err *err) {
    struct look *turn = NULL;
    enum sds_kind kind = begin_look(&ds->follow, &turn, err);
    if (kind == SDS_OK) {
        kind = look(ds, err);
        if (kind != SDS_ERR_WAITING || !turn->kept) {
            end_look(turn);
        }
    }
    return kind;
}

enum sds_kind annotations_open(struct signal_dataset *ds, struct sds_err *err) {
    struct follow *follow = &ds->follow;
    struct sds_err why;
    pthread_mutex_init(&follow->lock, NULL);
    follow->next_ms = now_ms() + ds->options.refresh_ms;
    enum sds_kind kind = look(ds, &why);
    // Any one answer may be wrong. Later the pointer is looked at again anyway.
    if (kind == SDS_ERR_CORRUPT && sds_store_is_remote(ds->store) && !sds_task_here() &&
        strcmp(why.object, CATALOG_PATH) == 0) {
        kind = look(ds, &why);
    }
    if (kind != SDS_OK && kind != SDS_ERR_WAITING && ds->options.tolerate_annotations) {
        tell(ds, &why);
        kind = catalog_load(ds, NULL, NULL, &(struct sds_version){0}, &follow->current, &why);
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
