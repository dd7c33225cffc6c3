// SPDX-License-Identifier: Apache-2.0
//
// Objects: named, immutable byte sequences under one root, wherever that is. A store knows nothing
// of what is in them. The interface is what the drivers above need of any store; local.c is the
// first. Every object remembers the version that was first seen under its name for as long as the
// store is open: a replaced object is an error (kind STORAGE, check "changed"), never a mix of old
// and new. All functions may be called from any thread.
#ifndef SDSFS_REMOTE_STORE_H
#define SDSFS_REMOTE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/blob.h"
#include "base/err.h"

struct sds_store;
struct sds_object;

struct sds_object_info {
    uint64_t size;
    struct timespec mtime;
    uid_t uid; // local only, else 0
};

// Whether an object may be replaced under its name. Only annotations/catalog.json ever is.
enum sds_mutability { SDS_IMMUTABLE, SDS_REPLACEABLE };

// Which absolute references may be followed (option external=).
struct sds_external_policy {
    enum { SDS_EXTERNAL_NONE, SDS_EXTERNAL_SAME, SDS_EXTERNAL_ANY, SDS_EXTERNAL_PREFIX } mode;
    const char *prefixes; // colon-separated, when SDS_EXTERNAL_PREFIX
    const char
        *mountpoint; // absolute, or NULL: nothing is followed to where we ourselves would answer
};
// Parses the option's value; false when it is none of the forms. The text must outlive the policy.
bool sds_external_parse(const char *text, struct sds_external_policy *out);

// Opens a root as the user typed it: local paths are made absolute (current directory prefixed, "."
// and trailing slashes removed, symlinks kept). Kinds: NOT_FOUND, INVALID (not a directory, bad
// string), UNSUPPORTED (scheme), DENIED, STORAGE.
SDS_MUST_CHECK enum sds_kind sds_store_open(const char *root,
                                            const struct sds_external_policy *external,
                                            struct sds_store **out, struct sds_err *err);
void sds_store_close(struct sds_store *store);
const char *sds_store_root(const struct sds_store *store); // absolute path or URI

// Opens an object of the root by its normalised relative path. For local roots every component is
// opened without following symbolic links, the last one must be a regular file (else CORRUPT, check
// "path"). Kinds: NOT_FOUND, CORRUPT, DENIED, STORAGE (also check "changed").
SDS_MUST_CHECK enum sds_kind sds_store_object(struct sds_store *store, const char *path,
                                              enum sds_mutability mutability,
                                              struct sds_object **out, struct sds_err *err);
// Opens an absolute reference, if the policy allows it (else UNSUPPORTED, check "external").
SDS_MUST_CHECK enum sds_kind sds_store_external(struct sds_store *store, const char *uri,
                                                struct sds_object **out, struct sds_err *err);
void sds_object_close(struct sds_object *object); // NULL is fine
const struct sds_object_info *sds_object_info(const struct sds_object *object);

// Reads exactly len bytes at off, which must lie inside the object, and then makes sure that it is
// still what was opened (else STORAGE, check "changed").
SDS_MUST_CHECK enum sds_kind sds_object_read(struct sds_object *object, uint64_t off, void *buf,
                                             size_t len, struct sds_err *err);
// Reads a whole object of at most max bytes (more: LIMIT, check "size").
SDS_MUST_CHECK enum sds_kind sds_store_read_all(struct sds_store *store, const char *path,
                                                uint64_t max, enum sds_mutability mutability,
                                                struct sds_blob **out, struct sds_err *err);

#endif
