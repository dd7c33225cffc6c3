// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "index/overlay_internal.h"

static const struct {
    const char *name;
    enum index_kind kind;
    enum sds_node_type type;
} fixed[] = {
    {"annotations", SETS, SDS_DIRECTORY},
    {"by-id", IDS, SDS_DIRECTORY},
    {"by-scene", SCENES, SDS_DIRECTORY},
    {"records.jsonl", RECORDS_LINES, SDS_FILE},
    {"records.sqlite", RECORDS_DATABASE, SDS_FILE},
};
enum { FIXED = sizeof fixed / sizeof fixed[0] };

// --- names

// An ordinal as the tree writes it, or UINT64_MAX.
static uint64_t parse_ordinal(const struct overlay *o, struct sds_span name) {
    uint64_t value = 0;
    if (name.len != o->width) {
        return UINT64_MAX;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] < '0' || name.at[i] > '9') {
            return UINT64_MAX;
        }
        value = value * 10 + (name.at[i] - '0');
    }
    return value;
}

static enum sds_kind find_in_scene(struct overlay *o, struct sds_index *index, uint64_t scene,
                                   struct sds_span name, struct sds_node *out,
                                   struct sds_err *err) {
    uint64_t ordinal = parse_ordinal(o, name);
    bool belongs = false;
    enum sds_kind kind =
        ordinal != UINT64_MAX ? sds_index_in_scene(index, scene, ordinal, &belongs, err) : SDS_OK;
    if (kind == SDS_OK && !belongs) {
        return overlay_absent(err);
    }
    *out = overlay_node(SCENE_RECORD, ordinal);
    return kind;
}

static enum sds_kind find_in_index(struct overlay *o, struct sds_node dir, struct sds_span name,
                                   struct sds_node *out, struct sds_err *err) {
    struct sds_index *index;
    uint64_t number = 0;
    enum sds_kind kind = sds_index_parts_index(o->parts, &index, err);
    if (kind != SDS_OK) {
        return kind;
    }
    switch (dir.kind) {
    case IDS:
        kind = sds_index_find_id(index, name, o->width, &number, err);
        *out = overlay_node(ID, number);
        return overlay_answered(o, index, kind);
    case SCENES:
        kind = sds_index_find_scene(index, name, &number, err);
        *out = overlay_node(SCENE, number);
        return overlay_answered(o, index, kind);
    case SCENE:
        return overlay_answered(o, index, find_in_scene(o, index, dir.key, name, out, err));
    default:
        return overlay_absent(err);
    }
}

enum sds_kind overlay_lookup(struct sds_dataset *ds, struct sds_node dir, struct sds_span name,
                             struct sds_node *out, struct sds_err *err) {
    struct overlay *o = overlay_of(ds);
    if (dir.kind == SDS_NODE_ROOT.kind && sds_span_eq(name, sds_span_str("index"))) {
        *out = overlay_node(INDEX, 0);
        return SDS_OK;
    }
    if (!overlay_is_ours(dir)) {
        return o->inner->ops->lookup(o->inner, dir, name, out, err);
    }
    if (dir.kind == SETS) {
        return overlay_find_set(o, name, out, err);
    }
    if (dir.kind != INDEX) {
        return find_in_index(o, dir, name, out, err);
    }
    for (size_t i = 0; i < FIXED; i++) {
        if (sds_span_eq(name, sds_span_str(fixed[i].name))) {
            *out = overlay_node(fixed[i].kind, 0);
            return SDS_OK;
        }
    }
    return overlay_absent(err);
}

// --- attributes

// Files have their size only once they are built, so whoever asks for it waits.
static enum sds_kind file_size(struct overlay *o, struct sds_node node, uint64_t *size,
                               struct sds_err *err) {
    struct sds_index *index;
    if (node.kind == SET_LINES) {
        *size = 0;
        return overlay_set_size(o, node.key, size, err);
    }
    enum sds_kind kind = sds_index_parts_index(o->parts, &index, err);
    if (kind == SDS_OK) {
        const struct sds_index_facts *facts = sds_index_facts(index);
        *size = node.kind == RECORDS_LINES ? facts->lines_bytes : facts->file_bytes;
    }
    return kind;
}

static enum sds_kind own_attr(struct overlay *o, struct sds_node node, struct sds_attr *out,
                              struct sds_err *err) {
    struct sds_totals totals;
    *out = (struct sds_attr){.type = SDS_DIRECTORY};
    switch (node.kind) {
    case SET_LINES:
    case RECORDS_LINES:
    case RECORDS_DATABASE:
        out->type = SDS_FILE;
        return file_size(o, node, &out->size, err);
    case ID:
    case SCENE_RECORD:
        o->inner->ops->totals(o->inner, &totals);
        out->type = SDS_LINK;
        out->size = strlen(overlay_link_prefix(node)) + o->width;
        return node.key < totals.records ? SDS_OK : overlay_absent(err);
    case SETS:
        out->growing = true;
        return SDS_OK;
    default:
        return SDS_OK;
    }
}

enum sds_kind overlay_getattr(struct sds_dataset *ds, struct sds_node node, struct sds_attr *out,
                              struct sds_err *err) {
    struct overlay *o = overlay_of(ds);
    return overlay_is_ours(node) ? own_attr(o, node, out, err)
                                 : o->inner->ops->getattr(o->inner, node, out, err);
}

// --- listings

struct listing {
    sds_list_fn emit;
    void *ctx;
    enum index_kind kind;
    enum sds_node_type type;
};

static bool emit_entry(void *ctx, struct sds_span name, uint64_t number, uint64_t next) {
    const struct listing *listing = ctx;
    return listing->emit(listing->ctx, name, overlay_node(listing->kind, number), listing->type,
                         next);
}

static enum sds_kind list_index(struct overlay *o, struct sds_node dir, uint64_t cookie,
                                sds_list_fn emit, void *ctx, struct sds_err *err) {
    struct sds_index *index;
    struct listing listing = {.emit = emit, .ctx = ctx, .kind = ID, .type = SDS_LINK};
    enum sds_kind kind = sds_index_parts_index(o->parts, &index, err);
    if (kind != SDS_OK) {
        return kind;
    }
    switch (dir.kind) {
    case IDS:
        kind = sds_index_list_ids(index, cookie, o->width, emit_entry, &listing, err);
        break;
    case SCENES:
        listing.kind = SCENE;
        listing.type = SDS_DIRECTORY;
        kind = sds_index_list_scenes(index, cookie, emit_entry, &listing, err);
        break;
    case SCENE:
        listing.kind = SCENE_RECORD;
        kind = sds_index_list_scene(index, dir.key, cookie, o->width, emit_entry, &listing, err);
        break;
    default:
        return overlay_absent(err);
    }
    return overlay_answered(o, index, kind);
}

static enum sds_kind list_fixed(uint64_t cookie, sds_list_fn emit, void *ctx) {
    for (; cookie < FIXED; cookie++) {
        if (!emit(ctx, sds_span_str(fixed[cookie].name), overlay_node(fixed[cookie].kind, 0),
                  fixed[cookie].type, cookie + 1)) {
            break;
        }
    }
    return SDS_OK;
}

// The root's entries with "index" in front of them, one place further each.
struct shifted {
    sds_list_fn emit;
    void *ctx;
};

static bool emit_shifted(void *ctx, struct sds_span name, struct sds_node node,
                         enum sds_node_type type, uint64_t next) {
    const struct shifted *shifted = ctx;
    return shifted->emit(shifted->ctx, name, node, type, next + 1);
}

static enum sds_kind list_root(struct overlay *o, uint64_t cookie, sds_list_fn emit, void *ctx,
                               struct sds_err *err) {
    struct shifted shifted = {emit, ctx};
    if (cookie == 0 &&
        !emit(ctx, sds_span_str("index"), overlay_node(INDEX, 0), SDS_DIRECTORY, 1)) {
        return SDS_OK;
    }
    return o->inner->ops->list(o->inner, SDS_NODE_ROOT, cookie > 0 ? cookie - 1 : 0, emit_shifted,
                               &shifted, err);
}

enum sds_kind overlay_list(struct sds_dataset *ds, struct sds_node dir, uint64_t cookie,
                           sds_list_fn emit, void *ctx, struct sds_err *err) {
    struct overlay *o = overlay_of(ds);
    if (dir.kind == SDS_NODE_ROOT.kind) {
        return list_root(o, cookie, emit, ctx, err);
    }
    if (!overlay_is_ours(dir)) {
        return o->inner->ops->list(o->inner, dir, cookie, emit, ctx, err);
    }
    switch (dir.kind) {
    case INDEX:
        return list_fixed(cookie, emit, ctx);
    case SETS:
        return overlay_list_sets(o, cookie, emit, ctx, err);
    default:
        return list_index(o, dir, cookie, emit, ctx, err);
    }
}
