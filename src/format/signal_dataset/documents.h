// SPDX-License-Identifier: Apache-2.0
//
// The control documents of signal-dataset 0.1 (docs/formats/signal-dataset.md, sections 4, 5 and
// 7): root, snapshot, manifest page, annotation catalog, revision, set root and worker pointer.
// Each parser takes bytes and returns a struct that cannot hold an invalid value. Pure functions
// without I/O; what compares a document with the reference that named it stands in chain.c. Kinds:
// CORRUPT with the check's name, LIMIT, NO_MEMORY.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_DOCUMENTS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_DOCUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "format/name.h"

#define SDS_MAX_DOCUMENT_BYTES (64ULL << 20)
#define SDS_READER_VERSION "0.4.0" // the release of the reference that we claim to read like
// Counts and ordinals above this are refused with LIMIT: the file system packs an ordinal into 40
// bits.
#define SDS_MAX_RECORDS (1ULL << 40)

// A reference to an object (section 4). Strings live in the document that holds the reference.
struct sds_reference {
    const char *path;  // normalised when relative, as written when absolute; NUL-terminated
    uint32_t path_len; // (a path with a NUL inside is refused, so the two agree)
    bool absolute;
    bool pinned;           // generation is not null
    bool is_metadata;      // names a metadata shard: many small parts of it will be wanted
    uint64_t generation;   // when pinned
    uint64_t stored_bytes; // 2^64 - 1 stands for "larger than any object"
    uint64_t path_hash;    // stable hash of the path: the object's name in caches
};

// Path rules of section 4, on unescaped bytes. sds_path_is_absolute: begins with '/', or has
// exactly "gs" or "s3" before its first "://". sds_path_normalise appends the normalised form and a
// NUL; false when the path is unsafe (or out could not grow).
bool sds_path_is_absolute(struct sds_span path);
bool sds_path_normalise(struct sds_span path, struct sds_buf *out);

// Section 5, min_reader_version. Returns -1 when it cannot be parsed, 0 when a reader of
// SDS_READER_VERSION is too old, 1 when it is accepted.
int sds_reader_accepts(struct sds_span version);

struct sds_root_doc {
    char *dataset_id; // WTF-8, NUL-terminated (see dataset_id_len)
    size_t dataset_id_len;
    struct sds_reference snapshot;
    // JSON text of the object, "{}" when falsy or absent: re-indented, unless that would make it
    // larger than SDS_MAX_DOCUMENT_BYTES.
    char *metadata;
    char *strings; // backing store
};
SDS_MUST_CHECK enum sds_kind sds_root_parse(struct sds_span text, struct sds_root_doc *out,
                                            struct sds_err *err);
void sds_root_doc_fini(struct sds_root_doc *root);

struct sds_page_ref {
    uint64_t first_ordinal;
    uint64_t record_count; // may be 0
    uint64_t shard_count;
    uint64_t first_shard; // sum of the shard counts before
    uint64_t stored_bytes;
    struct sds_reference object;
};

struct sds_snapshot_doc {
    char *snapshot_id;
    size_t snapshot_id_len;
    uint64_t record_count, shard_count, stored_bytes;
    struct sds_page_ref *pages; // contiguous from ordinal 0
    size_t page_count;
    char *strings;
    size_t memory; // bytes held
};
SDS_MUST_CHECK enum sds_kind sds_snapshot_parse(struct sds_span text, struct sds_snapshot_doc *out,
                                                struct sds_err *err);
void sds_snapshot_doc_fini(struct sds_snapshot_doc *snapshot);

struct sds_shard_entry {
    uint64_t first_ordinal;
    uint64_t record_count; // may be 0
    struct sds_reference data, metadata;
    const uint64_t *record_indices; // record_count entries, or NULL
};

struct sds_manifest_doc {
    uint64_t first_ordinal, record_count;
    uint64_t stored_bytes;          // sum over data and metadata of all shards, saturating
    struct sds_shard_entry *shards; // contiguous
    size_t shard_count;
    char *strings;
    uint64_t *indices;
    size_t memory;
};
SDS_MUST_CHECK enum sds_kind sds_manifest_parse(struct sds_span text, struct sds_manifest_doc *out,
                                                struct sds_err *err);
void sds_manifest_doc_fini(struct sds_manifest_doc *manifest);

// annotations/catalog.json: only a pointer.
struct sds_catalog_doc {
    char revision_path[128];
    char revision_hash[65]; // hex, from the path
    bool pinned;
    uint64_t generation; // when pinned
};
SDS_MUST_CHECK enum sds_kind sds_catalog_parse(struct sds_span text, struct sds_catalog_doc *out,
                                               struct sds_err *err);

struct sds_set_ref {
    char *name; // portable, so plain ASCII; NUL-terminated
    struct sds_reference object;
};
struct sds_revision_doc {
    struct sds_set_ref *sets; // document order
    size_t count;
    char *strings;
};
// Does not check the hash of the text: the caller does, before.
SDS_MUST_CHECK enum sds_kind sds_revision_parse(struct sds_span text, struct sds_revision_doc *out,
                                                struct sds_err *err);
void sds_revision_doc_fini(struct sds_revision_doc *revision);

struct sds_carrier_shard {
    uint64_t first_ordinal;
    uint64_t record_count; // >= 1
    struct sds_reference object;
};
struct sds_set_doc {
    char *name, *publication_id; // portable
    char *source_snapshot_id;
    size_t source_snapshot_id_len;
    uint64_t record_count;
    struct sds_carrier_shard *shards; // contiguous from 0, sum = record_count
    size_t shard_count;
    char *strings;
    size_t memory;
};
SDS_MUST_CHECK enum sds_kind sds_set_parse(struct sds_span text, struct sds_set_doc *out,
                                           struct sds_err *err);
void sds_set_doc_fini(struct sds_set_doc *set);

// A worker's pointer (section 8). The text must outlive it.
struct sds_pointer_doc {
    struct sds_json *json;
    // Strings, not empty; nothing else is known of them.
    struct sds_value name, publication_id, source_snapshot_id, logical_shard_id, uri;
    uint64_t first_ordinal; // 2^64 - 1 stands for that or more, as for stored_bytes
    uint64_t stored_bytes;
    bool pinned;                 // generation is not null
    uint64_t record_count;       // >= 1
    struct sds_value record_ids; // record_count strings, not empty
};
SDS_MUST_CHECK enum sds_kind sds_pointer_parse(struct sds_span text, struct sds_pointer_doc *out,
                                               struct sds_err *err);
void sds_pointer_doc_fini(struct sds_pointer_doc *pointer);

#endif
