// SPDX-License-Identifier: Apache-2.0
//
// What one kind of store implements; for store.c and the stores themselves only.
#ifndef SDSFS_REMOTE_BACKEND_H
#define SDSFS_REMOTE_BACKEND_H

#include <stdatomic.h>

#include "remote/pins.h"
#include "remote/store.h"

struct sds_store_ops {
    // expected may be NULL, here and below; a generation that is expected was refused by store.c
    // already where the store has none (pins_generations).
    enum sds_kind (*object)(struct sds_store *store, const char *path,
                            enum sds_mutability mutability, const struct sds_expected *expected,
                            struct sds_object **out, struct sds_err *err);
    // uri passed the policy as far as that can be told from the text.
    enum sds_kind (*external)(struct sds_store *store, const char *uri,
                              const struct sds_expected *expected, struct sds_object **out,
                              struct sds_err *err);
    enum sds_kind (*read)(struct sds_object *object, uint64_t off, void *buf, size_t len,
                          struct sds_err *err);
    void (*prefetch)(struct sds_object *object, uint64_t off, uint64_t len); // NULL: does not pay
    // NULL, both: nothing is kept that could be wrong.
    bool (*doubt)(struct sds_object *object, uint64_t off, uint64_t len, uint64_t since);
    bool (*doubt_path)(struct sds_store *store, const char *path,
                       const struct sds_expected *expected, uint64_t since);
    // A whole object as a blob; NULL: store.c makes it from the above.
    enum sds_kind (*read_all)(struct sds_store *store, const char *path,
                              const struct sds_expected *expected, uint64_t max,
                              enum sds_mutability mutability, struct sds_blob **out,
                              struct sds_err *err);
    void (*close_object)(struct sds_object *object);
    // The writing half, as store.h has it. Paths are relative and normalised.
    enum sds_kind (*can_publish)(struct sds_store *store, struct sds_err *err);
    enum sds_kind (*create)(struct sds_store *store, const char *path,
                            const struct sds_content *content, struct sds_err *err);
    enum sds_kind (*read_version)(struct sds_store *store, const char *path, uint64_t max,
                                  struct sds_blob **out, struct sds_version *version,
                                  struct sds_err *err);
    enum sds_kind (*version)(struct sds_store *store, const char *path, struct sds_version *version,
                             struct sds_err *err);
    enum sds_kind (*swap)(struct sds_store *store, const char *path, struct sds_span bytes,
                          const struct sds_version *seen, struct sds_err *err);
    void (*abandon)(struct sds_store *store); // NULL: nothing is ever on its way
    void (*metrics)(struct sds_store *store,
                    void (*emit)(void *ctx, const char *name, const char *help, uint64_t value),
                    void *ctx);                                   // NULL: none
    void (*reload)(struct sds_store *store, uint64_t cache_size); // NULL: nothing to do
    void (*close)(struct sds_store *store);
};

// A store begins with this; its memory belongs to the backend.
struct sds_store {
    const struct sds_store_ops *ops;
    char *root;
    struct sds_external_policy external;
    struct sds_pins *pins;
    bool remote;
    bool pins_generations; // a reference may be pinned to one
    _Atomic uint64_t doubts;
};

// An object begins with this.
struct sds_object {
    struct sds_store *store;
    struct sds_object_info info;
    char *name; // as messages show it
};

// local.c. root is an absolute path.
enum sds_kind sds_local_open(const char *root, struct sds_store **out, struct sds_err *err);

// remote_store.c. root is a URI with one of its schemes, options outlive the store. Sets all of the
// base but pins and external.
bool sds_remote_is_uri(const char *root);
SDS_MUST_CHECK enum sds_kind sds_remote_open(const char *root,
                                             const struct sds_store_options *options,
                                             struct sds_store **out, struct sds_err *err);

// A blob for a whole object of size bytes: LIMIT, check "size", above max.
SDS_MUST_CHECK enum sds_kind sds_object_blob(uint64_t size, uint64_t max, struct sds_blob **out,
                                             struct sds_err *err);

// external.c: whether an absolute path lies at or below one of the colon-separated prefixes,
// component by component.
bool sds_path_below_any(const char *path, const char *prefixes);

// external.c: whether the policy allows an absolute reference from this root. Checks the text
// alone; the rest of "same" needs the opened file and stands in local.c.
SDS_MUST_CHECK enum sds_kind sds_external_allows(const struct sds_external_policy *policy,
                                                 const char *root, const char *uri,
                                                 struct sds_err *err);

#endif
