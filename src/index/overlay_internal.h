// SPDX-License-Identifier: Apache-2.0
//
// What the parts of index/ share: overlay.c (the dataset as a whole), overlay_tree.c (names,
// attributes, listings), overlay_sets.c (annotation sets) and overlay_content.c (bytes and links).
#ifndef SDSFS_INDEX_OVERLAY_INTERNAL_H
#define SDSFS_INDEX_OVERLAY_INTERNAL_H

#include "index/overlay.h"
#include "index/parts.h"

// The last of the kinds that a driver may use; those inside keep to the first.
enum index_kind {
    SET_LINES = 189,  // index/annotations/<set>.jsonl; key: a hash of the name
    INDEX,            // index/
    RECORDS_LINES,    // index/records.jsonl
    RECORDS_DATABASE, // index/records.sqlite
    IDS,              // index/by-id/
    ID,               // index/by-id/<id>; key: ordinal
    SCENES,           // index/by-scene/
    SCENE,            // index/by-scene/<scene>/; key: number
    SCENE_RECORD,     // index/by-scene/<scene>/<ordinal>; key: ordinal
    SETS,             // index/annotations/
};

struct overlay {
    struct sds_dataset base;
    struct sds_driver_ops ops; // what is inside has fewer or more
    struct sds_dataset *inner;
    struct sds_index_parts *parts;
    unsigned width; // digits of ordinals
};

static inline struct overlay *overlay_of(struct sds_dataset *ds) {
    return (struct overlay *)ds;
}

static inline bool overlay_is_ours(struct sds_node node) {
    return node.kind >= SET_LINES && node.kind <= SETS;
}

static inline struct sds_node overlay_node(enum index_kind kind, uint64_t key) {
    return (struct sds_node){.kind = (uint8_t)kind, .key = key};
}

static inline enum sds_kind overlay_absent(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the index has no such node");
}

// Passes on what the index said. A damaged one is built again.
static inline enum sds_kind overlay_answered(struct overlay *o, struct sds_index *index,
                                             enum sds_kind kind) {
    if (kind == SDS_ERR_CORRUPT) {
        sds_index_parts_damaged(o->parts, index);
    }
    return kind;
}

// What the target of a link begins with.
static inline const char *overlay_link_prefix(struct sds_node node) {
    return node.kind == ID ? "../../records/" : "../../../records/";
}

#define OVERLAY_LINES_SUFFIX ".jsonl" // of the file of a set

// --- overlay_sets.c: a set is named by the dataset's own directory, and its node by a hash

// *name is the overlay's own. NOT_FOUND.
SDS_MUST_CHECK enum sds_kind overlay_set_name(struct overlay *o, uint64_t key, const char **name,
                                              struct sds_err *err);
SDS_MUST_CHECK enum sds_kind overlay_set_size(struct overlay *o, uint64_t key, uint64_t *size,
                                              struct sds_err *err);
SDS_MUST_CHECK enum sds_kind overlay_set_file(struct overlay *o, uint64_t key,
                                              struct sds_index_lines_file *out,
                                              struct sds_err *err);
SDS_MUST_CHECK enum sds_kind overlay_find_set(struct overlay *o, struct sds_span file,
                                              struct sds_node *out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind overlay_list_sets(struct overlay *o, uint64_t cookie, sds_list_fn emit,
                                               void *ctx, struct sds_err *err);

// --- operations (driver.h)

SDS_MUST_CHECK enum sds_kind overlay_lookup(struct sds_dataset *ds, struct sds_node dir,
                                            struct sds_span name, struct sds_node *out,
                                            struct sds_err *err);
SDS_MUST_CHECK enum sds_kind overlay_getattr(struct sds_dataset *ds, struct sds_node node,
                                             struct sds_attr *out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind overlay_list(struct sds_dataset *ds, struct sds_node dir,
                                          uint64_t cookie, sds_list_fn emit, void *ctx,
                                          struct sds_err *err);
SDS_MUST_CHECK enum sds_kind overlay_read(struct sds_dataset *ds, struct sds_node file,
                                          uint64_t off, size_t len, struct sds_pieces *out,
                                          struct sds_err *err);
SDS_MUST_CHECK enum sds_kind overlay_readlink(struct sds_dataset *ds, struct sds_node link,
                                              struct sds_buf *out, struct sds_err *err);

#endif
