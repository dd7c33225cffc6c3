// SPDX-License-Identifier: Apache-2.0
//
// The nodes that do not fit an inode number (struct sds_node with wide != 0), for as long as the
// kernel holds lookups on them. A node's number is a 56-bit hash of what it is, so it is the same
// after a remount; only where two held nodes share a hash does the later one get the next free
// number. Safe from any thread.
#ifndef SDSFS_FS_NODES_H
#define SDSFS_FS_NODES_H

#include <stdbool.h>

#include "format/driver.h"

static inline bool sds_node_same(struct sds_node a, struct sds_node b) {
    return a.kind == b.kind && a.key == b.key && a.wide == b.wide;
}

struct sds_nodes;

struct sds_nodes *sds_nodes_new(void); // NULL when there is no memory
void sds_nodes_free(struct sds_nodes *nodes);

// The number a node has as long as nothing collides: what a listing shows for it.
uint64_t sds_nodes_number(struct sds_node node);

// Adds one reference to a node and sets its number. False when there is no memory.
SDS_MUST_CHECK bool sds_nodes_hold(struct sds_nodes *nodes, struct sds_node node, uint64_t *number);
// Takes count references back; the last one forgets the node.
void sds_nodes_drop(struct sds_nodes *nodes, uint64_t number, uint64_t count);
// The node that is held under a number; false when none is.
bool sds_nodes_find(struct sds_nodes *nodes, uint64_t number, struct sds_node *out);

size_t sds_nodes_count(struct sds_nodes *nodes);

#endif
