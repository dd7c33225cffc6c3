// SPDX-License-Identifier: Apache-2.0
//
// A root on a server. Objects are opened without asking where a reference tells their size; what is
// known of each is its subject's (subject.c, version.c), bytes are fetched and read by fetch.c,
// look.c, read.c and ahead.c, writing stands in remote_write.c, opening a store in remote_open.c.
#include <stdlib.h>
#include <string.h>

#include "remote/online/remote_internal.h"

char *sds_remote_key(const struct sds_remote *remote, const char *path) {
    return sds_key_join(remote->prefix, path);
}

// --- objects

// An empty object has no byte whose reading would show that it is there.
static bool trusts(const struct sds_expected *expected) {
    return expected != NULL && expected->sized && expected->size > 0;
}

static enum sds_kind look(struct sds_remote_object *object, const struct sds_expected *expected,
                          struct sds_err *err) {
    struct sds_known known;
    enum sds_kind kind = trusts(expected) ? SDS_OK : sds_look(object->subject, &object->first, err);
    if (kind != SDS_OK) {
        return kind;
    }
    sds_subject_known(object->subject, &known);
    object->base.info.size = known.sized ? known.size : expected->size;
    object->base.info.mtime.tv_sec = (time_t)known.modified;
    object->reading = (struct sds_reading){.size = object->base.info.size,
                                           .whole = expected != NULL && expected->whole};
    return SDS_OK;
}

static void close_object(struct sds_object *base) {
    struct sds_remote_object *object = (struct sds_remote_object *)base;
    sds_extent_unref(object->first);
    sds_subject_unref(object->subject);
    free(object);
}

enum sds_kind sds_remote_open_object(struct sds_remote *remote, const struct sds_subject_name *name,
                                     const char *shown, struct sds_remote_object **out,
                                     struct sds_err *err) {
    struct sds_remote_object *object = calloc(1, sizeof *object);
    char *copy = strdup(shown);
    if (object == NULL || copy == NULL) {
        free(object);
        free(copy);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an object");
    }
    object->base.store = &remote->base;
    object->base.name = copy;
    enum sds_kind kind = sds_subject_get(remote, name, &object->subject, err);
    if (kind == SDS_OK) {
        kind = look(object, name->expected, err);
    }
    if (kind != SDS_OK) {
        sds_object_close(&object->base);
        return kind;
    }
    *out = object;
    return SDS_OK;
}

static enum sds_kind open_below(struct sds_remote *remote, const char *path,
                                enum sds_mutability mutability, const struct sds_expected *expected,
                                struct sds_remote_object **out, struct sds_err *err) {
    char *key = sds_remote_key(remote, path);
    if (key == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a name");
    }
    struct sds_subject_name name = {.bucket = remote->operations.provider->target.bucket,
                                    .key = key,
                                    .mutability = mutability,
                                    .expected = expected};
    enum sds_kind kind = sds_remote_open_object(remote, &name, path, out, err);
    free(key);
    return kind;
}

static enum sds_kind remote_object(struct sds_store *store, const char *path,
                                   enum sds_mutability mutability,
                                   const struct sds_expected *expected, struct sds_object **out,
                                   struct sds_err *err) {
    struct sds_remote_object *object = NULL;
    enum sds_kind kind =
        open_below((struct sds_remote *)store, path, mutability, expected, &object, err);
    if (kind == SDS_OK) {
        *out = &object->base;
    }
    return kind;
}

static enum sds_kind remote_external(struct sds_store *store, const char *uri,
                                     const struct sds_expected *expected, struct sds_object **out,
                                     struct sds_err *err) {
    struct sds_remote_object *object = NULL;
    struct sds_target target;
    enum sds_kind kind = sds_target_parse(uri, &target, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_subject_name name = {.bucket = target.bucket,
                                    .key = target.key,
                                    .mutability = SDS_IMMUTABLE,
                                    .expected = expected};
    kind = sds_remote_open_object((struct sds_remote *)store, &name, uri, &object, err);
    sds_target_fini(&target);
    if (kind == SDS_OK) {
        *out = &object->base;
    }
    return kind;
}

static enum sds_kind remote_read(struct sds_object *base, uint64_t off, void *buf, size_t len,
                                 struct sds_err *err) {
    struct sds_remote_object *object = (struct sds_remote_object *)base;
    return sds_read(object->subject, &object->reading, off, buf, len, err);
}

static void remote_prefetch(struct sds_object *base, uint64_t off, uint64_t len) {
    struct sds_remote_object *object = (struct sds_remote_object *)base;
    sds_ahead_announced(object->subject, &object->reading, off, len);
}

static bool remote_doubt(struct sds_object *base, uint64_t off, uint64_t len, uint64_t since) {
    return sds_subject_doubt(((struct sds_remote_object *)base)->subject, off, len, since);
}

static bool remote_doubt_path(struct sds_store *store, const char *path,
                              const struct sds_expected *expected, uint64_t since) {
    struct sds_remote *remote = (struct sds_remote *)store;
    struct sds_subject *subject = NULL;
    char *key = sds_remote_key(remote, path);
    struct sds_subject_name name = {.bucket = remote->operations.provider->target.bucket,
                                    .key = key,
                                    .mutability = SDS_IMMUTABLE,
                                    .expected = expected};
    bool again = key != NULL && sds_subject_get(remote, &name, &subject, NULL) == SDS_OK &&
                 sds_subject_doubt(subject, 0, UINT64_MAX, since);
    sds_subject_unref(subject);
    free(key);
    return again;
}

// --- whole objects

#define REPLACED_MAX 5 // in a row, while it is read

static enum sds_kind read_once(struct sds_remote_object *object, uint64_t max,
                               struct sds_blob **out, struct sds_tag *tag, struct sds_err *err) {
    struct sds_known known;
    struct sds_blob *blob = NULL;
    enum sds_kind kind = sds_object_blob(object->base.info.size, max, &blob, err);
    if (kind == SDS_OK) {
        kind = sds_object_read(&object->base, 0, blob->at, blob->len, err);
    }
    if (kind != SDS_OK) {
        sds_blob_unref(blob);
        return kind;
    }
    sds_subject_known(object->subject, &known);
    if (tag != NULL) {
        *tag = known.tag;
    }
    *out = blob;
    return SDS_OK;
}

enum sds_kind sds_remote_read_whole(struct sds_remote *remote, const char *path,
                                    enum sds_mutability mutability,
                                    const struct sds_expected *expected, uint64_t max,
                                    struct sds_blob **out, struct sds_tag *tag,
                                    struct sds_err *err) {
    for (unsigned i = 1;; i++) {
        struct sds_remote_object *object = NULL;
        struct sds_err why;
        enum sds_kind kind = open_below(remote, path, mutability, expected, &object, &why);
        if (kind == SDS_OK) {
            kind = read_once(object, max, out, tag, &why);
        }
        bool again = kind == SDS_ERR_STORAGE && mutability == SDS_REPLACEABLE && object != NULL &&
                     i < REPLACED_MAX && strcmp(why.check, "changed") == 0;
        if (again) {
            sds_subject_over(object->subject);
        }
        if (object != NULL) {
            sds_object_close(&object->base);
        }
        if (!again) {
            if (kind != SDS_OK && err != NULL) {
                *err = why;
            }
            return kind;
        }
    }
}

static enum sds_kind remote_read_all(struct sds_store *store, const char *path,
                                     const struct sds_expected *expected, uint64_t max,
                                     enum sds_mutability mutability, struct sds_blob **out,
                                     struct sds_err *err) {
    return sds_remote_read_whole((struct sds_remote *)store, path, mutability, expected, max, out,
                                 NULL, err);
}

// --- the store

static void remote_abandon(struct sds_store *store) {
    sds_operations_abandon(&((struct sds_remote *)store)->operations);
}

static void remote_metrics(struct sds_store *store, sds_stats_emit emit, void *ctx) {
    struct sds_remote *remote = (struct sds_remote *)store;
    sds_remote_stats_emit(&remote->stats, remote->operations.http, remote->disk, emit, ctx);
}

static void remote_reload(struct sds_store *store, uint64_t cache_size) {
    struct sds_remote *remote = (struct sds_remote *)store;
    if (remote->operations.credentials != NULL) {
        sds_credentials_forget(remote->operations.credentials);
    }
    pthread_mutex_lock(&remote->reloading);
    if (remote->disk != NULL) {
        sds_disk_cache_resize(remote->disk, cache_size);
    } else if (cache_size > 0) {
        sds_remote_open_disk(remote, cache_size);
    }
    pthread_mutex_unlock(&remote->reloading);
}

// From above to below: who may still call whom goes first.
static void remote_close(struct sds_store *store) {
    struct sds_remote *remote = (struct sds_remote *)store;
    struct sds_operations *operations = &remote->operations;
    if (operations->http != NULL) {
        sds_operations_fini(operations);
        sds_credentials_free(operations->credentials);
        sds_http_free(operations->http);
    }
    if (remote->ledger != NULL) {
        sds_cache_clear(remote->ledger); // extents
    }
    sds_subjects_forget(remote);
    sds_disk_cache_close(remote->disk);
    sds_provider_free(operations->provider);
    pthread_mutex_destroy(&remote->subjects.lock);
    pthread_mutex_destroy(&remote->reloading);
    sds_pins_free(remote->doubted);
    free(remote->prefix);
    free(remote->cache_dir);
    free(remote);
}

const struct sds_store_ops sds_remote_ops = {
    .object = remote_object,
    .external = remote_external,
    .read = remote_read,
    .prefetch = remote_prefetch,
    .doubt = remote_doubt,
    .doubt_path = remote_doubt_path,
    .read_all = remote_read_all,
    .close_object = close_object,
    .can_publish = sds_remote_can_publish,
    .create = sds_remote_create,
    .read_version = sds_remote_read_version,
    .version = sds_remote_version,
    .swap = sds_remote_swap,
    .abandon = remote_abandon,
    .metrics = remote_metrics,
    .reload = remote_reload,
    .close = remote_close,
};
