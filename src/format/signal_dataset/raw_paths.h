// SPDX-License-Identifier: Apache-2.0
//
// A table of paths, as directories of names: which of them there are, without the names themselves.
// Whoever adds a path says which object it is of, and finds its text again by that: an entry takes
// some 40 bytes however long its name is. Keys are hashes chained from name to name, so that a
// name's key follows from its directory's, here and in every other table.
//
// A table is filled by one thread, sealed, and only read afterwards.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_RAW_PATHS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_RAW_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "format/signal_dataset/documents.h"

// What a path is, or the object that it is of.
enum raw_what {
    RAW_DIRECTORY,
    RAW_ROOT,
    RAW_SNAPSHOT,
    RAW_PAGE,
    RAW_DATA,
    RAW_METADATA,
    RAW_CATALOG,
    RAW_REVISION,
    RAW_SET,
    RAW_CARRIER,
};

#define RAW_TOP 0 // the key of the directory above all paths
#define RAW_GROUP_BITS 24
#define RAW_MAX_ENTRIES (2u << 20)

// The object that names a path: the page, revision or set, and the shard in it.
struct raw_origin {
    enum raw_what what;
    uint64_t group; // below 2^RAW_GROUP_BITS
    uint64_t item;  // below 2^32
};

// One file or directory. Its name is component `depth` of the path that its origin has.
struct raw_entry {
    uint64_t key : 56;
    uint64_t what : 8; // enum raw_what
    uint64_t parent : 56;
    uint64_t named_by : 8; // enum raw_what of the origin
    uint32_t group : RAW_GROUP_BITS;
    uint32_t depth : 8;
    uint32_t item;
};
_Static_assert(sizeof(struct raw_entry) == 24, "millions of them");

struct raw_paths;

struct raw_paths *raw_paths_new(void); // NULL when there is no memory
// Another table with the same entries, to be added to and sealed. NULL when there is no memory.
struct raw_paths *raw_paths_copy(const struct raw_paths *paths);
void raw_paths_free(struct raw_paths *paths);

// Component `depth` of a normalised path; len 0 when it has fewer.
struct sds_span raw_component(const char *path, unsigned depth);

// True when a path belongs into a table: it is relative, does not begin with a name of our own
// (records, shards, index, control), and a file system can hold it (at most 255 bytes a component,
// 256 components, not "." alone).
bool raw_is_shown(const struct sds_reference *reference);

// Adds the path of an object with the directories above it, if it is to be shown. What is there
// already stays: the first to name a path decides what it is, and a path through a file is left
// out. Beyond RAW_MAX_ENTRIES nothing is added any more, and the table is full. Kind: NO_MEMORY.
SDS_MUST_CHECK enum sds_kind raw_paths_add(struct raw_paths *paths,
                                           const struct sds_reference *reference,
                                           struct raw_origin origin, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind raw_paths_seal(struct raw_paths *paths, struct sds_err *err);

// OK, or LIMIT (check "raw") when there were more paths than a table takes: then absence cannot be
// told.
SDS_MUST_CHECK enum sds_kind raw_paths_check(const struct raw_paths *paths, struct sds_err *err);

uint64_t raw_child_key(uint64_t directory, struct sds_span name);
const struct raw_entry *raw_paths_find(const struct raw_paths *paths, uint64_t key); // or NULL

// The children of a directory, in the order in which they were added: what is added to a copy comes
// last.
size_t raw_paths_child_count(const struct raw_paths *paths, uint64_t directory);
const struct raw_entry *raw_paths_child(const struct raw_paths *paths, uint64_t directory,
                                        size_t number);

#endif
