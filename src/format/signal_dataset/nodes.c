// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/nodes.h"

#include "format/signal_dataset/dataset.h"

#define SMALLEST_SLOT_BITS 15
#define LARGEST_SLOT_BITS 24
_Static_assert(1 << SMALLEST_SLOT_BITS > 2 * MAX_ANNOTATION_SETS,
               "every set finds a slot, and soon");
_Static_assert(LARGEST_SLOT_BITS <= RAW_GROUP_BITS, "a set's slot is the group of its paths");
#define FIELD_MASK ((1u << NODE_FIELD_BITS) - 1)

static unsigned ordinal_bits(const struct signal_dataset *ds) {
    uint64_t count = ds->chain.snapshot.record_count;
    return count > 1 ? 64 - (unsigned)__builtin_clzll(count - 1) : 1;
}

// Bits left for the slot; may be few or none, then the wide form is used.
static unsigned slot_bits(const struct signal_dataset *ds) {
    unsigned used = ordinal_bits(ds) + NODE_FIELD_BITS;
    unsigned left = used < SDS_NODE_KEY_BITS ? SDS_NODE_KEY_BITS - used : 0;
    return left > LARGEST_SLOT_BITS ? LARGEST_SLOT_BITS : left;
}

static bool is_packed(const struct signal_dataset *ds) {
    return slot_bits(ds) >= SMALLEST_SLOT_BITS;
}

uint32_t nodes_slot_mask(const struct signal_dataset *ds) {
    return (1u << (is_packed(ds) ? slot_bits(ds) : LARGEST_SLOT_BITS)) - 1;
}

struct sds_node row_node(const struct signal_dataset *ds, enum node_kind kind,
                         const struct annotation_set *set, uint64_t ordinal, uint32_t field) {
    struct sds_node row = node(kind, ordinal << NODE_FIELD_BITS | field);
    if (is_packed(ds)) {
        row.key |= (uint64_t)set->slot << (ordinal_bits(ds) + NODE_FIELD_BITS);
    } else {
        row.wide = set->hash;
    }
    return row;
}

static bool has_field(struct sds_node n) {
    return n.kind == NODE_FIELD || n.kind == NODE_ROW || n.kind == NODE_ROW_TEXT ||
           n.kind == NODE_ROW_FIELD;
}

uint64_t node_ordinal(const struct signal_dataset *ds, struct sds_node n, uint32_t *field) {
    if (!has_field(n)) {
        return n.key;
    }
    *field = (uint32_t)n.key & FIELD_MASK;
    uint64_t mask = (1ULL << (n.kind == NODE_FIELD ? 40 : ordinal_bits(ds))) - 1;
    return n.key >> NODE_FIELD_BITS & (n.wide != 0 ? (1ULL << 40) - 1 : mask);
}

const struct annotation_set *node_set(struct signal_dataset *ds, struct sds_node n) {
    struct annotation_catalog *catalog = annotations_hold(ds);
    const struct annotation_set *set =
        n.wide != 0
            ? catalog_by_hash(catalog, n.wide, nodes_slot_mask(ds))
            : catalog_by_slot(catalog, (uint32_t)(n.key >> (ordinal_bits(ds) + NODE_FIELD_BITS)));
    catalog_unref(catalog);
    return set;
}

bool node_is_ours(struct signal_dataset *ds, struct sds_node n) {
    const struct sds_snapshot_doc *snapshot = &ds->chain.snapshot;
    uint32_t field;
    switch (n.kind) {
    case NODE_ROOT:
    case NODE_RECORDS:
    case NODE_SHARDS:
        return n.key == 0 && n.wide == 0;
    case NODE_RECORD:
    case NODE_PAYLOAD:
    case NODE_ENTRY:
    case NODE_FIELD:
    case NODE_RECORD_ANNOTATIONS:
    case NODE_SHARD_RECORD:
        return node_ordinal(ds, n, &field) < snapshot->record_count && n.wide == 0;
    case NODE_ROW:
    case NODE_ROW_TEXT:
    case NODE_ROW_FIELD:
        return node_ordinal(ds, n, &field) < snapshot->record_count && node_set(ds, n) != NULL;
    case NODE_SHARD:
    case NODE_SHARD_TEXT:
    case NODE_SHARD_DATA:
    case NODE_SHARD_METADATA:
    case NODE_SHARD_RECORDS:
        return n.key < snapshot->shard_count && n.wide == 0;
    case NODE_RAW_DIRECTORY:
    case NODE_RAW_FILE:
        return n.wide == 0; // the raw tree knows its keys
    default:
        return false;
    }
}
