// SPDX-License-Identifier: Apache-2.0
//
// Inode numbers. A number is the node itself, its kind in the top 8 bits and its key below, so
// nothing has to be remembered, and the same file has the same number after every mount:
//
//   1            the root (FUSE_ROOT_ID), which is the driver's kind 1, key 0
//   1 .. 199     kinds of the driver
//   200          the control directory, 201.. its files
//   239          control/prefetch
//   240          drafts: a number while the kernel holds the file (drafts/ids.h); what is shown as
//                its inode number comes from the backing file instead, and stays the same
//   255          nodes that do not fit (wide != 0), by a hash; kept while the kernel holds them
#ifndef SDSFS_FS_INODE_H
#define SDSFS_FS_INODE_H

#include "format/driver.h"
#include "fs/control.h"
#include "fs/nodes.h"

#define SDS_ROOT_INO 1

enum {
    SDS_KIND_CONTROL = SDS_NODE_KIND_MAX + 1, // the directory; its files follow in their order
    SDS_KIND_CONTROL_FILE,
    SDS_KIND_PREFETCH = 239,
    SDS_KIND_DRAFT = 240,
    SDS_KIND_DRAFT_NAME, // in listings: a name in the draft's directory that is the key
    SDS_KIND_WIDE = 255,
};

static inline uint64_t sds_ino_pack(uint8_t kind, uint64_t key) {
    return (uint64_t)kind << SDS_NODE_KEY_BITS | key;
}

static inline uint8_t sds_ino_kind(uint64_t ino) {
    return (uint8_t)(ino >> SDS_NODE_KEY_BITS);
}

static inline uint64_t sds_ino_key(uint64_t ino) {
    return ino & ((UINT64_C(1) << SDS_NODE_KEY_BITS) - 1);
}

static inline bool sds_node_is_root(struct sds_node node) {
    return sds_node_same(node, SDS_NODE_ROOT);
}

// The number of a node that nobody holds, as a listing shows it.
static inline uint64_t sds_node_ino(struct sds_node node) {
    if (sds_node_is_root(node)) {
        return SDS_ROOT_INO;
    }
    return node.wide != 0 ? sds_ino_pack(SDS_KIND_WIDE, sds_nodes_number(node))
                          : sds_ino_pack(node.kind, node.key);
}

// Ours are the nodes of the control directory, drafts included; all others are the driver's.
static inline bool sds_node_is_ours(struct sds_node node) {
    return node.kind > SDS_NODE_KIND_MAX;
}

static inline bool sds_node_is_control_dir(struct sds_node node) {
    return node.kind == SDS_KIND_CONTROL;
}

static inline bool sds_node_is_control_file(struct sds_node node) {
    return node.kind >= SDS_KIND_CONTROL_FILE &&
           node.kind < SDS_KIND_CONTROL_FILE + SDS_CONTROL_FILES;
}

static inline enum sds_control_file sds_node_control_file(struct sds_node node) {
    return (enum sds_control_file)(node.kind - SDS_KIND_CONTROL_FILE);
}

static inline struct sds_node sds_control_file_node(enum sds_control_file file) {
    return (struct sds_node){.kind = (uint8_t)(SDS_KIND_CONTROL_FILE + file)};
}

static inline struct sds_node sds_control_dir_node(void) {
    return (struct sds_node){.kind = SDS_KIND_CONTROL};
}

static inline struct sds_node sds_prefetch_node(void) {
    return (struct sds_node){.kind = SDS_KIND_PREFETCH};
}

static inline bool sds_node_is_draft(struct sds_node node) {
    return node.kind == SDS_KIND_DRAFT;
}

static inline struct sds_node sds_draft_node(uint64_t id) {
    return (struct sds_node){.kind = SDS_KIND_DRAFT, .key = id};
}

#endif
