// SPDX-License-Identifier: Apache-2.0
//
// Nodes of the signal-dataset tree: what a kind means and how its key is packed.
//
//   records        ordinal                                  40 bits
//   fields         part << (ordinal bits + 14) | ordinal << 14 | field
//                  (a record has at most 10,000 fields), where the ordinal takes just the bits that
//                  this dataset needs. The part is the number of a file that a view made several of
//                  (views/views.h), 0 for most. Beyond 2^34 records one that no longer fits goes
//                  into the node's wide part. The view is told by the kind.
//   annotations    slot << (ordinal bits + 14) | ordinal << 14 | field
//                  so that a set keeps a slot of 15 bits and more (22 for a million records).
//                  Beyond 2^27 records that no longer fits: then the set's 64-bit hash goes into
//                  the node's wide part.
//   shards         index in the dataset
//   raw            56-bit hash of the path (raw_tree.h)
//
// Positions of fields and sets never depend on anything that may change while mounted.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_NODES_H
#define SDSFS_FORMAT_SIGNAL_DATASET_NODES_H

#include "format/driver.h"
#include "format/signal_dataset/views/views.h"

struct signal_dataset;
struct annotation_set;

enum node_kind {
    NODE_ROOT = 1,
    NODE_RECORDS,            // records/
    NODE_RECORD,             // records/<ordinal>/
    NODE_PAYLOAD,            // records/<ordinal>/record.safetensors
    NODE_ENTRY,              // records/<ordinal>/metadata.json
    NODE_RECORD_ANNOTATIONS, // records/<ordinal>/annotations/
    NODE_ROW,                // records/<ordinal>/annotations/<set>/
    NODE_ROW_TEXT,           // .../annotation.json
    NODE_SHARDS,             // shards/
    NODE_SHARD,              // shards/<index>/
    NODE_SHARD_TEXT,         // shards/<index>/shard.json
    NODE_SHARD_DATA,         // shards/<index>/data.arrayrecord
    NODE_SHARD_METADATA,     // shards/<index>/metadata.arrayrecord
    NODE_SHARD_RECORDS,      // shards/<index>/records/
    NODE_SHARD_RECORD,       // shards/<index>/records/<ordinal>
    NODE_RAW_DIRECTORY,
    NODE_RAW_FILE,
    // Files of fields: the kind of the first view, those of the others follow.
    NODE_FIELD = 64,                         // records/<ordinal>/<field>.npy, ...
    NODE_ROW_FIELD = NODE_FIELD + VIEWS_MAX, // records/<ordinal>/annotations/<set>/<field>.npy, ...
};

#define NODE_FIELD_BITS 14

static inline struct sds_node node(enum node_kind kind, uint64_t key) {
    return (struct sds_node){.kind = (uint8_t)kind, .key = key};
}

static inline bool node_is_field(struct sds_node n) {
    return n.kind >= NODE_FIELD && n.kind < NODE_FIELD + VIEWS_MAX;
}

static inline bool node_is_row_field(struct sds_node n) {
    return n.kind >= NODE_ROW_FIELD && n.kind < NODE_ROW_FIELD + VIEWS_MAX;
}

struct sds_node field_node(const struct signal_dataset *ds, uint64_t ordinal,
                           const struct view_file *file);
// The node of a file in a row, whose views make one file of a field.
struct sds_node row_field_node(const struct signal_dataset *ds, const struct annotation_set *set,
                               uint64_t ordinal, const struct view_file *file);
// What a node of a field stands for, in a record or in a row. Its number and part may be beyond
// what the record has.
struct view_file node_file(const struct signal_dataset *ds, struct sds_node node);

// Whether a node, which may come from a stale or made-up file handle, is one that this dataset can
// have: a kind of ours, an ordinal and a shard that exist, a set that is there. Everything but the
// names tree_path gives and the number of a field is proven by it.
bool node_is_ours(struct signal_dataset *ds, struct sds_node node);

// The slots that sets of this dataset may have: a mask of 15 to 24 bits.
uint32_t nodes_slot_mask(const struct signal_dataset *ds);

struct sds_node row_node(const struct signal_dataset *ds, enum node_kind kind,
                         const struct annotation_set *set, uint64_t ordinal, uint32_t field);

// The ordinal that any node below records/ belongs to; *field is set where it has one.
uint64_t node_ordinal(const struct signal_dataset *ds, struct sds_node node, uint32_t *field);
// The set of a row node; NULL when none was ever seen with that identity.
const struct annotation_set *node_set(struct signal_dataset *ds, struct sds_node node);

#endif
