// SPDX-License-Identifier: Apache-2.0
//
// One version of the annotation catalog: pointer, revision and set roots, each verified before the
// version exists (docs/formats/signal-dataset.md, section "Annotations"). Versions are immutable
// and counted; a new one is made from the last one, opens only the sets that are new in it, and
// knows every set that the last one knew. So a set, once seen, is the same set under the same slot
// for as long as the dataset is open.
//
// What is kept of a set is its name and its reference, since there is no bound to the shards it may
// have: set roots are cached (annotations.h).
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_CATALOG_H
#define SDSFS_FORMAT_SIGNAL_DATASET_CATALOG_H

#include <stdatomic.h>
#include <time.h>

#include "base/blob.h"
#include "format/signal_dataset/documents.h"
#include "format/signal_dataset/raw_paths.h"
#include "remote/store.h"

struct signal_dataset;

#define CATALOG_PATH "annotations/catalog.json"
#define MAX_ANNOTATION_SETS 10000 // ever known, too

struct annotation_set {
    atomic_uint refs; // versions that know it
    char *name, *publication_id;
    struct sds_reference root; // of its root.json
    char *root_path;           // backing store of root.path
    uint64_t hash;             // of the root's path, never 0: who it is in nodes
    uint32_t slot; // hash, short enough to be packed into node keys; no other set has it
    uint64_t record_count;
    size_t shard_count;
};

// A revision that this version or one before it is.
struct annotation_revision {
    char path[sizeof((struct sds_catalog_doc){0}.revision_path)];
    uint64_t bytes;
};

struct annotation_catalog {
    atomic_uint refs;
    struct sds_blob *pointer;      // bytes of catalog.json, NULL when there is none
    struct sds_version version;    // as the store names it, when it was read
    struct timespec pointer_mtime; // never that of a version before
    struct annotation_set **sets;  // those that the revision names, by name
    size_t count;
    struct annotation_set **known; // those of all versions so far, by slot
    size_t known_count;
    struct annotation_revision *revisions; // oldest first; at most twice as many as sets
    size_t revision_count;
    struct raw_paths *paths; // of the pointer, all revisions, all known sets and their carriers
};

// The version that a pointer makes: NULL for a root without a catalog. before is the version that
// it follows, or NULL. Kinds: what makes the catalog unusable; the object and check are named.
SDS_MUST_CHECK enum sds_kind catalog_load(struct signal_dataset *ds,
                                          const struct annotation_catalog *before,
                                          struct sds_blob *pointer,
                                          const struct sds_version *version,
                                          struct annotation_catalog **out, struct sds_err *err);
// The bytes of the revision that a pointer names, the caller's. Their hash is its name: compared
// before anything is parsed (CORRUPT, check "sha256").
SDS_MUST_CHECK enum sds_kind catalog_read_revision(struct signal_dataset *ds,
                                                   const struct sds_catalog_doc *pointer,
                                                   struct sds_blob **out, struct sds_err *err);

struct annotation_catalog *catalog_ref(struct annotation_catalog *catalog);
void catalog_unref(struct annotation_catalog *catalog); // NULL is fine

// A set of this version by its name, or any known set by what nodes say of it. NULL: none.
const struct annotation_set *catalog_find(const struct annotation_catalog *catalog,
                                          struct sds_span name);
const struct annotation_set *catalog_by_slot(const struct annotation_catalog *catalog,
                                             uint32_t slot);
const struct annotation_set *catalog_by_hash(const struct annotation_catalog *catalog,
                                             uint64_t hash, uint32_t slot_mask);
// The set of this version with the smallest slot that is not below `slot`: an order that new sets
// do not disturb.
const struct annotation_set *catalog_from_slot(const struct annotation_catalog *catalog,
                                               uint32_t slot);

#endif
