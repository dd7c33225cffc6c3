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

// Bits left for the part of a field's node. At least two, so that no wide part is 0.
static unsigned part_bits(const struct signal_dataset *ds) {
    return SDS_NODE_KEY_BITS - NODE_FIELD_BITS - ordinal_bits(ds);
}

struct sds_node field_node(const struct signal_dataset *ds, uint64_t ordinal,
                           const struct view_file *file) {
    struct sds_node n = node(NODE_FIELD + file->view, ordinal << NODE_FIELD_BITS | file->field);
    if ((uint64_t)file->part >> part_bits(ds) == 0) {
        n.key |= (uint64_t)file->part << (ordinal_bits(ds) + NODE_FIELD_BITS);
    } else {
        n.wide = file->part;
    }
    return n;
}

struct sds_node row_field_node(const struct signal_dataset *ds, const struct annotation_set *set,
                               uint64_t ordinal, const struct view_file *file) {
    return row_node(ds, NODE_ROW_FIELD + file->view, set, ordinal, file->field);
}

struct view_file node_file(const struct signal_dataset *ds, struct sds_node n) {
    struct view_file file = {.field = (uint32_t)n.key & FIELD_MASK};
    if (node_is_row_field(n)) {
        file.view = n.kind - NODE_ROW_FIELD;
    } else {
        file.view = n.kind - NODE_FIELD;
        uint64_t part = n.wide != 0 ? n.wide : n.key >> (ordinal_bits(ds) + NODE_FIELD_BITS);
        file.part = part < UINT32_MAX ? (uint32_t)part : UINT32_MAX;
    }
    return file;
}

// Whether a field's node is the one that field_node makes.
static bool is_field_node(const struct signal_dataset *ds, struct sds_node n, uint64_t ordinal) {
    struct view_file file = node_file(ds, n);
    struct sds_node made = field_node(ds, ordinal, &file);
    return file.part < VIEW_MAX_PARTS && file.view < view_count && made.key == n.key &&
           made.wide == n.wide;
}

static bool has_field(struct sds_node n) {
    return node_is_field(n) || node_is_row_field(n) || n.kind == NODE_ROW ||
           n.kind == NODE_ROW_TEXT;
}

uint64_t node_ordinal(const struct signal_dataset *ds, struct sds_node n, uint32_t *field) {
    if (!has_field(n)) {
        return n.key;
    }
    *field = (uint32_t)n.key & FIELD_MASK;
    uint64_t mask = (1ULL << ordinal_bits(ds)) - 1;
    return n.key >> NODE_FIELD_BITS & (n.wide != 0 && !node_is_field(n) ? (1ULL << 40) - 1 : mask);
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
    uint64_t ordinal;
    if (node_is_field(n)) {
        ordinal = node_ordinal(ds, n, &field);
        return ordinal < snapshot->record_count && is_field_node(ds, n, ordinal);
    }
    if (node_is_row_field(n)) {
        return node_file(ds, n).view < view_count &&
               node_ordinal(ds, n, &field) < snapshot->record_count && node_set(ds, n) != NULL;
    }
    switch (n.kind) {
    case NODE_ROOT:
    case NODE_RECORDS:
    case NODE_SHARDS:
        return n.key == 0 && n.wide == 0;
    case NODE_RECORD:
    case NODE_PAYLOAD:
    case NODE_ENTRY:
    case NODE_RECORD_ANNOTATIONS:
    case NODE_SHARD_RECORD:
        return node_ordinal(ds, n, &field) < snapshot->record_count && n.wide == 0;
    case NODE_ROW:
    case NODE_ROW_TEXT:
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
