// SPDX-License-Identifier: Apache-2.0
//
// A root on a server. Objects are opened without asking where a reference tells their size; what is
// known of each is its subject's (subject.c), bytes are fetched and read by fetch.c, look.c, read.c
// and ahead.c, writing stands in remote_write.c.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/program_dir.h"
#include "remote/remote_internal.h"

char *sds_remote_key(const struct sds_remote *remote, const char *path) {
    return sds_key_join(remote->prefix, path);
}

enum sds_kind sds_check_stored_bytes(uint64_t size, uint64_t expected, struct sds_err *err) {
    if (size == expected) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_CORRUPT, "stored_bytes",
                    "it has %llu bytes where its reference declares %llu", (unsigned long long)size,
                    (unsigned long long)expected);
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
    if (expected != NULL && expected->sized && known.sized) {
        kind = sds_check_stored_bytes(known.size, expected->size, err);
    }
    object->base.info.size = known.sized ? known.size : expected->size;
    object->base.info.mtime.tv_sec = (time_t)known.modified;
    object->reading = (struct sds_reading){.size = object->base.info.size,
                                           .expected = trusts(expected),
                                           .whole = expected != NULL && expected->whole};
    return kind;
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
    free(remote->prefix);
    free(remote->cache_dir);
    free(remote);
}

static const struct sds_store_ops remote_ops = {
    .object = remote_object,
    .external = remote_external,
    .read = remote_read,
    .prefetch = remote_prefetch,
    .read_all = remote_read_all,
    .close_object = close_object,
    .can_publish = sds_remote_can_publish,
    .create = sds_remote_create,
    .read_version = sds_remote_read_version,
    .version = sds_remote_version,
    .swap = sds_remote_swap,
    .abandon = remote_abandon,
    .metrics = remote_metrics,
    .close = remote_close,
};

// --- opening

bool sds_remote_is_uri(const char *root) {
    static const char *const schemes[] = {"s3://", "gs://", "http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strncmp(root, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static enum sds_kind open_http(struct sds_remote *remote, struct sds_err *err) {
    const struct sds_remote_options *options = &remote->options;
    uint32_t half = options->timeout_ms / 2;
    struct sds_http_options how = {.ca_bundle = options->ca_bundle,
                                   .client_cert = options->client_cert,
                                   .client_key = options->client_key,
                                   .stall_timeout_ms = half < 10000 ? half + 1 : 10000};
    return sds_http_new(&how, &remote->operations.http, err);
}

static enum sds_kind open_credentials(struct sds_remote *remote, struct sds_err *err) {
    struct sds_operations *operations = &remote->operations;
    switch (operations->provider->target.scheme) {
    case SDS_SCHEME_S3:
        return sds_credentials_new_s3(&remote->options, operations->http, &operations->credentials,
                                      err);
    case SDS_SCHEME_GCS:
        return sds_credentials_new_gcs(&remote->options, operations->http, &operations->credentials,
                                       err);
    case SDS_SCHEME_HTTP:
    case SDS_SCHEME_HTTPS:
        break;
    }
    return SDS_OK;
}

static void tell_disk(void *ctx, const struct sds_err *why) {
    const struct sds_remote *remote = ctx;
    char line[sizeof *why + 8];
    if (why != NULL) {
        sds_log(SDS_LOG_WARNING, "%s: the disk cache %s does not work: %s", remote->base.root,
                remote->cache_dir, sds_err_line(why, line, sizeof line));
    } else {
        sds_log(SDS_LOG_INFO, "%s: the disk cache %s works again", remote->base.root,
                remote->cache_dir);
    }
}

// A store without its disk cache is slower, and told so.
static void open_disk(struct sds_remote *remote) {
    const struct sds_remote_options *options = &remote->options;
    struct sds_err err;
    if (options->cache_size == 0) {
        return;
    }
    enum sds_kind kind =
        sds_program_dir_path(SDS_CACHE_DIR, options->cache_dir, &remote->cache_dir, &err);
    struct sds_disk_options how = {
        .dir = remote->cache_dir, .size = options->cache_size, .tell = tell_disk, .ctx = remote};
    if (kind == SDS_OK) {
        kind = sds_disk_cache_open(&how, &remote->disk, &err);
    }
    if (kind != SDS_OK) {
        char line[sizeof err + 8];
        sds_log(SDS_LOG_WARNING, "%s: no disk cache: %s", remote->base.root,
                sds_err_line(&err, line, sizeof line));
    }
}

static enum sds_kind open_parts(struct sds_remote *remote, const char *root, struct sds_err *err) {
    enum sds_kind kind = sds_provider_new(root, &remote->options, &remote->operations.provider,
                                          &remote->prefix, &remote->base.root, err);
    if (kind == SDS_OK) {
        kind = open_http(remote, err);
    }
    if (kind == SDS_OK) {
        sds_operations_init(&remote->operations);
        kind = open_credentials(remote, err);
    }
    if (kind == SDS_OK) {
        remote->base.pins_generations = remote->operations.provider->ops->pins_generations;
        open_disk(remote);
    }
    return kind;
}

enum sds_kind sds_remote_open(const char *root, const struct sds_store_options *options,
                              struct sds_store **out, struct sds_err *err) {
    struct sds_remote *remote = calloc(1, sizeof *remote);
    if (remote == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a store");
    }
    remote->base.ops = &remote_ops;
    remote->base.remote = true;
    remote->options = options->remote;
    remote->ledger = options->cache;
    remote->operations.timeout_ms = options->remote.timeout_ms;
    remote->operations.retries = options->remote.retries;
    remote->operations.stats = &remote->stats;
    sds_subjects_init(remote);
    enum sds_kind kind = open_parts(remote, root, err);
    if (kind != SDS_OK) {
        sds_store_close(&remote->base);
        return kind;
    }
    *out = &remote->base;
    return SDS_OK;
}
