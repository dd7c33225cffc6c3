// SPDX-License-Identifier: Apache-2.0
#include "index/overlay.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/name.h"
#include "index/overlay_internal.h"

static enum sds_kind xattrs(struct sds_dataset *ds, struct sds_node node, sds_xattr_fn emit,
                            void *ctx, struct sds_err *err) {
    struct overlay *o = overlay_of(ds);
    return overlay_is_ours(node) ? SDS_OK : o->inner->ops->xattrs(o->inner, node, emit, ctx, err);
}

// Appends the name behind its directory, which alone has to do where the index is not there yet.
static enum sds_kind add_name(struct overlay *o, struct sds_node node, struct sds_buf *out) {
    struct sds_index *index = sds_index_parts_built(o->parts);
    const char *set = sds_index_parts_set_name(o->parts, node.key);
    size_t before = out->len;
    enum sds_kind kind = sds_buf_add_str(out, "/");
    if (kind == SDS_OK && node.kind == SET_LINES) {
        kind = set != NULL ? sds_buf_printf(out, "%s%s", set, OVERLAY_LINES_SUFFIX)
                           : SDS_ERR_NOT_FOUND;
    } else if (kind == SDS_OK && index == NULL) {
        kind = SDS_ERR_NOT_FOUND;
    } else if (kind == SDS_OK && node.kind == ID) {
        kind = sds_index_id_name(index, node.key, o->width, out, NULL);
    } else if (kind == SDS_OK && node.kind == SCENE) {
        kind = sds_index_scene_name(index, node.key, out, NULL);
    } else if (kind == SDS_OK) {
        kind = sds_index_scene_of(index, node.key, out, NULL);
        kind = kind == SDS_OK
                   ? sds_buf_printf(out, "/%0*llu", (int)o->width, (unsigned long long)node.key)
                   : kind;
    }
    out->len = kind == SDS_OK ? out->len : before;
    return kind;
}

// Messages and file handles ask for it: it never waits, and what it cannot tell it leaves out.
static void path(struct sds_dataset *ds, struct sds_node node, struct sds_buf *out) {
    struct overlay *o = overlay_of(ds);
    static const struct {
        const char *path;
        bool directory; // of the node
    } paths[] = {
        [SET_LINES - SET_LINES] = {"index/annotations", true},
        [INDEX - SET_LINES] = {"index", false},
        [RECORDS_LINES - SET_LINES] = {"index/records.jsonl", false},
        [RECORDS_DATABASE - SET_LINES] = {"index/records.sqlite", false},
        [IDS - SET_LINES] = {"index/by-id", false},
        [ID - SET_LINES] = {"index/by-id", true},
        [SCENES - SET_LINES] = {"index/by-scene", false},
        [SCENE - SET_LINES] = {"index/by-scene", true},
        [SCENE_RECORD - SET_LINES] = {"index/by-scene", true},
        [SETS - SET_LINES] = {"index/annotations", false},
    };
    if (!overlay_is_ours(node)) {
        o->inner->ops->path(o->inner, node, out);
        return;
    }
    if (sds_buf_add_str(out, paths[node.kind - SET_LINES].path) != SDS_OK) {
        out->len = 0; // no memory: told without its place
    } else if (paths[node.kind - SET_LINES].directory) {
        (void)!add_name(o, node, out);
    }
}

// --- the dataset as a whole

static void totals(struct sds_dataset *ds, struct sds_totals *out) {
    overlay_of(ds)->inner->ops->totals(overlay_of(ds)->inner, out);
}

static struct json_object *describe_index(struct overlay *o) {
    static const char *const states[] = {[SDS_INDEX_IDLE] = "not built",
                                         [SDS_INDEX_RUNNING] = "building",
                                         [SDS_INDEX_DONE] = "built",
                                         [SDS_INDEX_FAILED] = "failed"};
    struct sds_index_state state;
    sds_index_parts_state(o->parts, &state);
    struct json_object *object = json_object_new_object();
    if (object == NULL) {
        return NULL;
    }
    json_object_object_add(object, "state", json_object_new_string(states[state.state]));
    if (state.facts != NULL) {
        json_object_object_add(object, "records", json_object_new_uint64(state.facts->records));
        json_object_object_add(object, "bad", json_object_new_uint64(state.facts->bad));
        json_object_object_add(object, "bytes", json_object_new_uint64(state.facts->file_bytes));
    } else if (state.state == SDS_INDEX_RUNNING) {
        json_object_object_add(object, "done", json_object_new_uint64(state.done));
        json_object_object_add(object, "total", json_object_new_uint64(state.total));
    }
    return object;
}

static enum sds_kind describe(struct sds_dataset *ds, struct json_object **out,
                              struct sds_err *err) {
    struct overlay *o = overlay_of(ds);
    enum sds_kind kind = o->inner->ops->describe(o->inner, out, err);
    if (kind == SDS_OK) {
        json_object_object_add(*out, "index", describe_index(o));
    }
    return kind;
}

static enum sds_kind verify(struct sds_dataset *ds, const struct sds_verify_options *options,
                            struct sds_err *err) {
    return overlay_of(ds)->inner->ops->verify(overlay_of(ds)->inner, options, err);
}

static enum sds_kind scan(struct sds_dataset *ds, uint64_t first, uint64_t end, sds_scan_fn emit,
                          void *ctx, struct sds_err *err) {
    return overlay_of(ds)->inner->ops->scan(overlay_of(ds)->inner, first, end, emit, ctx, err);
}

static uint64_t scan_end(struct sds_dataset *ds, uint64_t first) {
    return overlay_of(ds)->inner->ops->scan_end(overlay_of(ds)->inner, first);
}

static void identity(struct sds_dataset *ds, char out[SDS_SHA256_HEX]) {
    overlay_of(ds)->inner->ops->identity(overlay_of(ds)->inner, out);
}

static void metrics(struct sds_dataset *ds,
                    void (*emit)(void *ctx, const char *name, const char *help, uint64_t value),
                    void *ctx) {
    struct overlay *o = overlay_of(ds);
    struct sds_index_state state;
    sds_index_parts_state(o->parts, &state);
    o->inner->ops->metrics(o->inner, emit, ctx);
    emit(ctx, "sdsfs_index_built", "1 when the index can be used.", state.facts != NULL);
    bool building = state.facts == NULL && state.state == SDS_INDEX_RUNNING;
    emit(ctx, "sdsfs_index_building", "1 while the index is being built.", building);
    emit(ctx, "sdsfs_index_scanned_records", "Records that the build has been through.",
         building ? state.done : 0);
    emit(ctx, "sdsfs_index_bytes", "Bytes of the index.",
         state.facts != NULL ? state.facts->file_bytes : 0);
}

static void announce(struct sds_dataset *ds, const uint64_t *ordinals, size_t count) {
    overlay_of(ds)->inner->ops->announce(overlay_of(ds)->inner, ordinals, count);
}

static void sweep(struct sds_dataset *ds) {
    overlay_of(ds)->inner->ops->sweep(overlay_of(ds)->inner);
}

static enum sds_kind annotate(struct sds_dataset *ds, const struct sds_annotate_request *request,
                              struct json_object **receipt, struct sds_err *err) {
    return overlay_of(ds)->inner->ops->annotate(overlay_of(ds)->inner, request, receipt, err);
}

static void close_overlay(struct sds_dataset *ds) {
    sds_index_parts_free(overlay_of(ds)->parts);
    free(overlay_of(ds));
}

static struct sds_driver_ops ops_over(const struct sds_driver_ops *inner) {
    return (struct sds_driver_ops){
        .name = inner->name,
        .close = close_overlay,
        .totals = totals,
        .describe = describe,
        .verify = verify,
        .scan = scan,
        .scan_end = scan_end,
        .identity = identity,
        .metrics = metrics,
        .announce = inner->announce != NULL ? announce : NULL,
        .sweep = inner->sweep != NULL ? sweep : NULL,
        .lookup = overlay_lookup,
        .getattr = overlay_getattr,
        .list = overlay_list,
        .read = overlay_read,
        .readlink = overlay_readlink,
        .xattrs = xattrs,
        .path = path,
        .annotate = inner->annotate != NULL ? annotate : NULL,
    };
}

enum sds_kind sds_index_overlay(struct sds_dataset *inner, const char *cache_dir,
                                struct sds_dataset **out, struct sds_err *err) {
    struct overlay *o = calloc(1, sizeof *o);
    struct sds_totals totals;
    if (o == NULL || (o->parts = sds_index_parts_new(inner, cache_dir)) == NULL) {
        free(o);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for index/");
    }
    inner->ops->totals(inner, &totals);
    o->inner = inner;
    o->ops = ops_over(inner->ops);
    o->base.ops = &o->ops;
    o->width = sds_number_width(totals.records);
    *out = &o->base;
    return SDS_OK;
}
