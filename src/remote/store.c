// SPDX-License-Identifier: Apache-2.0
#include "remote/store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "remote/backend.h"
#include "remote/root_shown.h"

// Appends the components of path but "." and empty ones, each after a slash.
static enum sds_kind add_components(struct sds_buf *out, const char *path) {
    for (const char *p = path; *p != '\0';) {
        size_t len = strcspn(p, "/");
        bool skip = len == 0 || (len == 1 && p[0] == '.');
        if (!skip && (sds_buf_add(out, "/", 1) != SDS_OK || sds_buf_add(out, p, len) != SDS_OK)) {
            return SDS_ERR_NO_MEMORY;
        }
        p += len + (p[len] == '/');
    }
    return SDS_OK;
}

// The root as everything else uses it: absolute, "." and trailing slashes removed, symlinks kept.
static enum sds_kind absolute_root(const char *root, char **out, struct sds_err *err) {
    struct sds_buf path = SDS_BUF_INIT(1 << 20);
    enum sds_kind kind = SDS_OK;
    if (root[0] != '/') {
        sds_autofree char *here = getcwd(NULL, 0);
        kind = here == NULL ? sds_fail(err, SDS_ERR_STORAGE, "root", "no current directory: %m")
                            : add_components(&path, here);
    }
    if (kind == SDS_OK) {
        kind = add_components(&path, root);
    }
    if (kind == SDS_OK) {
        kind = sds_buf_add(&path, "", 1);
    }
    if (kind == SDS_OK && path.len == 1) {
        kind = sds_fail(err, SDS_ERR_INVALID, "root", "the root directory cannot be a dataset");
    }
    if (kind != SDS_OK) {
        sds_buf_fini(&path);
        return kind;
    }
    *out = (char *)path.at;
    return SDS_OK;
}

// Whether a text is a URI at all: "://" after something that is no path.
static bool has_scheme(const char *root) {
    const char *separator = strstr(root, "://");
    return root[0] != '/' && separator != NULL &&
           memchr(root, '/', (size_t)(separator - root)) == NULL;
}

static enum sds_kind open_local(const char *root, struct sds_store **out, struct sds_err *err) {
    sds_autofree char *path = NULL;
    enum sds_kind kind = absolute_root(root, &path, err);
    if (kind == SDS_OK) {
        kind = sds_local_open(path, out, err);
    }
    if (kind == SDS_OK) {
        (*out)->root = SDS_STEAL(path);
    }
    return kind;
}

static enum sds_kind open_backend(const char *root, const struct sds_store_options *options,
                                  struct sds_store **out, struct sds_err *err) {
    if (root[0] == '\0') {
        return sds_fail(err, SDS_ERR_INVALID, "root", "it is empty");
    }
    if (sds_remote_is_uri(root)) {
        return sds_remote_open(root, options, out, err);
    }
    if (has_scheme(root)) {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "scheme",
                        "roots are paths, s3://, gs://, http:// or https://");
    }
    return open_local(root, out, err);
}

enum sds_kind sds_store_open(const char *root, const struct sds_store_options *options,
                             struct sds_store **out, struct sds_err *err) {
    struct sds_store *store = NULL;
    enum sds_kind kind = open_backend(root, options, &store, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", SDS_ROOT_SHOWN(root));
        return kind;
    }
    store->external = options->external;
    store->pins = sds_pins_new();
    if (store->pins == NULL) {
        sds_store_close(store);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a store");
    }
    *out = store;
    return SDS_OK;
}

void sds_store_abandon(struct sds_store *store) {
    if (store->ops->abandon != NULL) {
        store->ops->abandon(store);
    }
}

void sds_store_close(struct sds_store *store) {
    if (store != NULL) {
        struct sds_pins *pins = store->pins; // what is on its way ends with the backend
        char *root = store->root;
        store->ops->close(store);
        sds_pins_free(pins);
        free(root);
    }
}

bool sds_store_is_remote(const struct sds_store *store) {
    return store->remote;
}

void sds_store_metrics(struct sds_store *store,
                       void (*emit)(void *ctx, const char *name, const char *help, uint64_t value),
                       void *ctx) {
    if (store->ops->metrics != NULL) {
        store->ops->metrics(store, emit, ctx);
    }
}

void sds_store_reload(struct sds_store *store, uint64_t cache_size) {
    if (store->ops->reload != NULL) {
        store->ops->reload(store, cache_size);
    }
}

// Section 4: where there are no generations, a reference that is pinned to one cannot be honoured.
static enum sds_kind check_pin(const struct sds_store *store, const struct sds_expected *expected,
                               struct sds_err *err) {
    if (expected == NULL || !expected->pinned || store->pins_generations) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_CORRUPT, "generation",
                    "the reference is pinned to generation %llu, which %s root does not have",
                    (unsigned long long)expected->generation,
                    store->remote ? "this kind of" : "a local");
}

const char *sds_store_root(const struct sds_store *store) {
    return store->root;
}

enum sds_kind sds_store_object(struct sds_store *store, const char *path,
                               enum sds_mutability mutability, const struct sds_expected *expected,
                               struct sds_object **out, struct sds_err *err) {
    enum sds_kind kind = check_pin(store, expected, err);
    if (kind == SDS_OK) {
        kind = store->ops->object(store, path, mutability, expected, out, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
    }
    return kind;
}

enum sds_kind sds_store_external(struct sds_store *store, const char *uri,
                                 const struct sds_expected *expected, struct sds_object **out,
                                 struct sds_err *err) {
    enum sds_kind kind = check_pin(store, expected, err);
    if (kind == SDS_OK) {
        kind = sds_external_allows(&store->external, store->root, uri, err);
    }
    if (kind == SDS_OK) {
        kind = store->ops->external(store, uri, expected, out, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", uri);
    }
    return kind;
}

void sds_object_close(struct sds_object *object) {
    if (object != NULL) {
        free(object->name);
        object->store->ops->close_object(object);
    }
}

const struct sds_object_info *sds_object_info(const struct sds_object *object) {
    return &object->info;
}

enum sds_kind sds_object_read(struct sds_object *object, uint64_t off, void *buf, size_t len,
                              struct sds_err *err) {
    enum sds_kind kind;
    if (off > object->info.size || len > object->info.size - off) {
        kind = sds_fail(err, SDS_ERR_INTERNAL, "range", "read of %zu bytes at %llu of %llu", len,
                        (unsigned long long)off, (unsigned long long)object->info.size);
    } else {
        kind = object->store->ops->read(object, off, buf, len, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", object->name);
    }
    return kind;
}

void sds_object_prefetch(struct sds_object *object, uint64_t off, uint64_t len) {
    uint64_t size = object->info.size;
    if (object->store->ops->prefetch != NULL && off < size && len > 0) {
        object->store->ops->prefetch(object, off, len < size - off ? len : size - off);
    }
}

uint64_t sds_store_doubts(const struct sds_store *store) {
    return store->doubts;
}

uint64_t sds_object_doubts(const struct sds_object *object) {
    return sds_store_doubts(object->store);
}

bool sds_object_doubt(struct sds_object *object, uint64_t off, uint64_t len, uint64_t since) {
    const struct sds_store_ops *ops = object->store->ops;
    return ops->doubt != NULL && len > 0 && ops->doubt(object, off, len, since);
}

bool sds_store_doubt(struct sds_store *store, const char *path, const struct sds_expected *expected,
                     uint64_t since) {
    return store->ops->doubt_path != NULL && store->ops->doubt_path(store, path, expected, since);
}

enum sds_kind sds_object_blob(uint64_t size, uint64_t max, struct sds_blob **out,
                              struct sds_err *err) {
    if (size > max) {
        return sds_fail(err, SDS_ERR_LIMIT, "size", "%llu bytes, more than the limit of %llu",
                        (unsigned long long)size, (unsigned long long)max);
    }
    *out = sds_blob_new((size_t)size);
    if (*out == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %llu bytes",
                        (unsigned long long)size);
    }
    return SDS_OK;
}

static enum sds_kind read_all(struct sds_store *store, const char *path,
                              const struct sds_expected *expected, uint64_t max,
                              enum sds_mutability mutability, struct sds_blob **out,
                              struct sds_err *err) {
    struct sds_object *object = NULL;
    sds_autoblob struct sds_blob *blob = NULL;
    enum sds_kind kind = store->ops->object(store, path, mutability, expected, &object, err);
    if (kind == SDS_OK) {
        kind = sds_object_blob(object->info.size, max, &blob, err);
    }
    if (kind == SDS_OK) {
        kind = sds_object_read(object, 0, blob->at, blob->len, err);
    }
    sds_object_close(object);
    if (kind == SDS_OK) {
        *out = SDS_STEAL(blob);
    }
    return kind;
}

enum sds_kind sds_store_read_all(struct sds_store *store, const char *path,
                                 const struct sds_expected *expected, uint64_t max,
                                 enum sds_mutability mutability, struct sds_blob **out,
                                 struct sds_err *err) {
    enum sds_kind kind = check_pin(store, expected, err);
    if (kind == SDS_OK) {
        kind = (store->ops->read_all != NULL ? store->ops->read_all : read_all)(
            store, path, expected, max, mutability, out, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
    }
    return kind;
}

static enum sds_kind read_span(void *ctx, uint64_t off, void *buf, size_t len,
                               struct sds_err *err) {
    const struct sds_span *bytes = ctx;
    if (off > bytes->len || len > bytes->len - off) {
        return sds_fail(err, SDS_ERR_INTERNAL, "range", "read of %zu bytes at %llu of %zu", len,
                        (unsigned long long)off, bytes->len);
    }
    if (len > 0) {
        memcpy(buf, bytes->at + off, len);
    }
    return SDS_OK;
}

struct sds_content sds_content_of(struct sds_span *bytes) {
    return (struct sds_content){.read_at = read_span, .ctx = bytes, .size = bytes->len};
}

bool sds_version_eq(const struct sds_version *a, const struct sds_version *b) {
    return a->there == b->there && strcmp(a->token, b->token) == 0;
}

// Only what a store can be given: components apart, none of them empty, "." or "..".
static enum sds_kind check_path(const char *path, struct sds_err *err) {
    const char *p = path;
    for (;; p++) {
        size_t len = strcspn(p, "/");
        if (len == 0 || (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.')))) {
            return sds_fail(err, SDS_ERR_INVALID, "path", "it is not relative and normalised");
        }
        p += len;
        if (*p == '\0') {
            return SDS_OK;
        }
    }
}

enum sds_kind sds_store_can_publish(struct sds_store *store, struct sds_err *err) {
    enum sds_kind kind = store->ops->can_publish(store, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", store->root);
    }
    return kind;
}

enum sds_kind sds_store_create(struct sds_store *store, const char *path,
                               const struct sds_content *content, struct sds_err *err) {
    enum sds_kind kind = check_path(path, err);
    if (kind == SDS_OK) {
        kind = store->ops->create(store, path, content, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
    }
    return kind;
}

enum sds_kind sds_store_read_version(struct sds_store *store, const char *path, uint64_t max,
                                     struct sds_blob **out, struct sds_version *version,
                                     struct sds_err *err) {
    *version = (struct sds_version){.there = false};
    enum sds_kind kind = store->ops->read_version(store, path, max, out, version, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
    }
    return kind;
}

enum sds_kind sds_store_version(struct sds_store *store, const char *path,
                                struct sds_version *version, struct sds_err *err) {
    *version = (struct sds_version){.there = false};
    enum sds_kind kind = store->ops->version(store, path, version, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
    }
    return kind;
}

enum sds_kind sds_store_swap(struct sds_store *store, const char *path, struct sds_span bytes,
                             const struct sds_version *seen, struct sds_err *err) {
    enum sds_kind kind = check_path(path, err);
    if (kind == SDS_OK) {
        kind = store->ops->swap(store, path, bytes, seen, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
    }
    return kind;
}
