// SPDX-License-Identifier: Apache-2.0
//
// Objects: named, immutable byte sequences under one root, wherever that is. A store knows nothing
// of what is in them. The interface is what the drivers above need of any store: local.c is one on
// a disk, remote_store.c one on a server, which waits as base/wait.h has it. Every object remembers
// the version that was first seen under its name for as long as the store is open: a replaced
// object is an error (kind STORAGE, check "changed"), never a mix of old and new. Objects are
// created under names that are free, and one that is replaceable is swapped for its next version by
// whoever saw the last one; nothing is ever written in place or deleted. All functions may be
// called from any thread.
#ifndef SDSFS_REMOTE_STORE_H
#define SDSFS_REMOTE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/blob.h"
#include "base/bytes.h"
#include "base/cache.h"
#include "base/err.h"

struct sds_store;
struct sds_object;

struct sds_object_info {
    uint64_t size;         // a remote store believes what was expected until the first byte is read
    struct timespec mtime; // 0 where the store has not told yet
    uid_t uid;             // local only, else 0
};

// What a reference promises about the object that it names (formats, section 4), and how it is
// going to be read. An object that is another one is CORRUPT: checks "generation" (also where the
// store has none) and "stored_bytes". NULL: nothing is known.
struct sds_expected {
    bool sized;
    uint64_t size;
    bool pinned; // to a generation, 0 included
    uint64_t generation;
    bool whole; // small parts all over it will be wanted: worth fetching in large pieces
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

// What a root on a server needs; the texts are as typed, NULL where nothing was.
struct sds_remote_options {
    const char *endpoint;    // URL of the server instead of the provider's own
    const char *region;      // S3
    const char *profile;     // S3: of the shared configuration
    const char *ca_bundle;   // a file of certificates, instead of the system's
    const char *client_cert; // PEM files
    const char *client_key;
    const char *cache_dir; // NULL: the default (base/program_dir.h)
    uint64_t cache_size;   // bytes on disk; 0: no disk cache
    uint64_t read_ahead;   // bytes fetched ahead of one reader that goes through an object; 0: none
    uint32_t timeout_ms;   // of a whole operation, retries included
    unsigned retries;      // of one request, after the first try
    bool path_style;       // S3: the bucket in the path
    bool no_sign_request;  // anonymous
    bool requester_pays;
};

struct sds_store_options {
    struct sds_external_policy external;
    struct sds_remote_options remote;
    struct sds_cache *cache; // borrowed; the ledger for what is held in memory. NULL: nothing is
};

// Opens a root as the user typed it: a path, s3://bucket/prefix, gs://bucket/prefix or
// http(s)://host/prefix. Local paths are made absolute (current directory prefixed, "." and
// trailing slashes removed, symlinks kept). Asks no server. The options' texts outlive the store.
// Kinds: NOT_FOUND, INVALID (not a directory, bad string), UNSUPPORTED (scheme), DENIED, STORAGE.
SDS_MUST_CHECK enum sds_kind sds_store_open(const char *root,
                                            const struct sds_store_options *options,
                                            struct sds_store **out, struct sds_err *err);
// Whatever is on its way fails at once (STORAGE, check "closed"), so that nobody waits any more;
// before sds_store_close, from another thread than those that use the store.
void sds_store_abandon(struct sds_store *store);
void sds_store_close(struct sds_store *store);
const char *sds_store_root(const struct sds_store *store); // absolute path or URI, no secrets
bool sds_store_is_remote(const struct sds_store *store);
// Counters for control/metrics, as driver.h has them. None for a local store.
void sds_store_metrics(struct sds_store *store,
                       void (*emit)(void *ctx, const char *name, const char *help, uint64_t value),
                       void *ctx);

// Reads credentials again when they are next needed, and changes how much may lie on the disk:
// where there was no disk cache one begins; one of 0 bytes keeps what it has and takes nothing new.
void sds_store_reload(struct sds_store *store, uint64_t cache_size);

// Opens an object of the root by its normalised relative path. For local roots every component is
// opened without following symbolic links, the last one must be a regular file (else CORRUPT, check
// "path"). On a server an object whose size is expected is opened without asking: that it is
// absent, or another one, shows when it is read. Any other is asked for together with its first
// bytes, so that opening and reading a small one is one request, and, where it cannot change,
// opening it again none. What was had of an object is had by all who have it open, and by whoever
// opens it again while there is memory for it. Kinds: NOT_FOUND, CORRUPT, DENIED, STORAGE (also
// check "changed"), TIMEOUT, WAITING.
SDS_MUST_CHECK enum sds_kind sds_store_object(struct sds_store *store, const char *path,
                                              enum sds_mutability mutability,
                                              const struct sds_expected *expected,
                                              struct sds_object **out, struct sds_err *err);
// Opens an absolute reference, if the policy allows it (else UNSUPPORTED, check "external").
SDS_MUST_CHECK enum sds_kind sds_store_external(struct sds_store *store, const char *uri,
                                                const struct sds_expected *expected,
                                                struct sds_object **out, struct sds_err *err);
void sds_object_close(struct sds_object *object); // NULL is fine
const struct sds_object_info *sds_object_info(const struct sds_object *object);

// Reads exactly len bytes at off, which must lie inside the object, and then makes sure that it is
// still what was opened (else STORAGE, check "changed").
SDS_MUST_CHECK enum sds_kind sds_object_read(struct sds_object *object, uint64_t off, void *buf,
                                             size_t len, struct sds_err *err);
// Somebody will read these bytes soon: has them fetched, without waiting, if there is memory for
// them and the store is one that it pays for. The object may be closed meanwhile. Never fails;
// whoever reads is told what is wrong.
void sds_object_prefetch(struct sds_object *object, uint64_t off, uint64_t len);

// An answer can be wrong although nothing but a check of its content shows it. What was read of an
// immutable object and failed such a check is doubted: what a server's store keeps of it, in memory
// and on the disk, is dropped, so that it is asked for again. True: it is worth reading once more.
// False: it was asked for again before it was read, and so is believed to be what the object has
// (what lies on the disk is dropped all the same, so that the next store asks); or the store is a
// local one, which keeps nothing. Whatever is doubted, and however often, is asked for again
// once. `since` is what sds_store_doubts gave before the reading began. Never wait.
uint64_t sds_store_doubts(const struct sds_store *store);    // so far
uint64_t sds_object_doubts(const struct sds_object *object); // of its store
bool sds_object_doubt(struct sds_object *object, uint64_t off, uint64_t len, uint64_t since);
// The whole of an object, by the path and the expectation it was read with.
bool sds_store_doubt(struct sds_store *store, const char *path, const struct sds_expected *expected,
                     uint64_t since);

// Reads a whole object of at most max bytes (more: LIMIT, check "size").
SDS_MUST_CHECK enum sds_kind sds_store_read_all(struct sds_store *store, const char *path,
                                                const struct sds_expected *expected, uint64_t max,
                                                enum sds_mutability mutability,
                                                struct sds_blob **out, struct sds_err *err);

// What is to be stored: exactly size bytes, read in pieces from first to last (a store that has to
// send them again begins again at 0).
struct sds_content {
    enum sds_kind (*read_at)(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err);
    void *ctx;
    uint64_t size;
};
// Bytes in memory; the span and what it points to must outlive the content.
struct sds_content sds_content_of(struct sds_span *bytes);

// What a replaceable object was when it was looked at. Two looks at one store that give equal
// tokens saw the same version; tokens mean nothing else and nothing elsewhere.
struct sds_version {
    bool there;
    char token[128];       // "" when it was not there
    struct timespec mtime; // 0 where the store does not tell; no part of what is compared
};
bool sds_version_eq(const struct sds_version *a, const struct sds_version *b);

// Whether the two writing operations below work on this store, as far as can be told without
// writing: else UNSUPPORTED, check "conditional_writes", with the reason. Other kinds: DENIED,
// STORAGE.
SDS_MUST_CHECK enum sds_kind sds_store_can_publish(struct sds_store *store, struct sds_err *err);

// Stores an object under a name that is free; CONFLICT, check "exists", when it is taken. It is
// durable when this returns, as is the one that took the name. The name stands for nothing or for
// all of the content, never for a part: after a failure for nothing, or (when only making it
// durable failed) for all of it, which others may have built upon by then. What content.read_at
// fails with is passed on. Kinds: CONFLICT, DENIED, STORAGE (also check "space"; check "root" when
// another directory has taken the root's place), CORRUPT (check "path": what is in the way is no
// object), INVALID (a path that is not relative and normalised), UNSUPPORTED (as above).
SDS_MUST_CHECK enum sds_kind sds_store_create(struct sds_store *store, const char *path,
                                              const struct sds_content *content,
                                              struct sds_err *err);

// Reads a whole replaceable object of at most max bytes (more: LIMIT, check "size") and tells which
// version the bytes are. NOT_FOUND sets version too.
SDS_MUST_CHECK enum sds_kind sds_store_read_version(struct sds_store *store, const char *path,
                                                    uint64_t max, struct sds_blob **out,
                                                    struct sds_version *version,
                                                    struct sds_err *err);
// The version alone, as cheaply as it is to be had. No object is an answer, not an error.
SDS_MUST_CHECK enum sds_kind sds_store_version(struct sds_store *store, const char *path,
                                               struct sds_version *version, struct sds_err *err);

// Replaces the version that was seen by these bytes, or creates the object where none was seen;
// CONFLICT, check "changed", when it is another one by now. Readers see the old bytes or the new
// ones. Durable when it returns OK; after STORAGE or TIMEOUT (the store's lock is held for ever, or
// no answer came) the new version may or may not stand: read it to know. Kinds as sds_store_create.
SDS_MUST_CHECK enum sds_kind sds_store_swap(struct sds_store *store, const char *path,
                                            struct sds_span bytes, const struct sds_version *seen,
                                            struct sds_err *err);

#endif
