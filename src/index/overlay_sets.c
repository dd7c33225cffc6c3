// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "format/name.h"
#include "index/overlay_internal.h"

static enum sds_kind sets_directory(struct overlay *o, struct sds_node *out, struct sds_err *err) {
    struct sds_dataset *ds = o->inner;
    enum sds_kind kind = ds->ops->lookup(ds, SDS_NODE_ROOT, sds_span_str("annotations"), out, err);
    return kind == SDS_OK ? ds->ops->lookup(ds, *out, sds_span_str("sets"), out, err) : kind;
}

static uint64_t set_key(struct sds_span name) {
    return sds_hash_stable(name) & ((UINT64_C(1) << SDS_NODE_KEY_BITS) - 1);
}

struct set_search {
    uint64_t key;
    char name[256]; // "" until it is found
};

static bool match_set(void *ctx, struct sds_span name, struct sds_node node,
                      enum sds_node_type type, uint64_t next) {
    struct set_search *search = ctx;
    (void)node, (void)type, (void)next;
    if (set_key(name) != search->key) {
        return true;
    }
    snprintf(search->name, sizeof search->name, "%.*s", (int)name.len, (const char *)name.at);
    return false;
}

// The name of a set that was looked up earlier, by this mount or, for who has an old handle, by one
// before.
enum sds_kind overlay_set_name(struct overlay *o, uint64_t key, const char **out,
                               struct sds_err *err) {
    struct sds_node sets;
    struct set_search search = {.key = key};
    *out = sds_index_parts_set_name(o->parts, key);
    if (*out != NULL) {
        return SDS_OK;
    }
    enum sds_kind kind = sets_directory(o, &sets, err);
    if (kind == SDS_OK) {
        kind = o->inner->ops->list(o->inner, sets, 0, match_set, &search, err);
    }
    if (kind != SDS_OK || search.name[0] == '\0') {
        return kind != SDS_OK ? kind : overlay_absent(err);
    }
    sds_index_parts_note_set(o->parts, key, search.name);
    *out = sds_index_parts_set_name(o->parts, key);
    return *out != NULL ? SDS_OK : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory");
}

enum sds_kind overlay_set_size(struct overlay *o, uint64_t key, uint64_t *size,
                               struct sds_err *err) {
    const char *name;
    enum sds_kind kind = overlay_set_name(o, key, &name, err);
    return kind == SDS_OK ? sds_index_parts_set_size(o->parts, key, name, size, err) : kind;
}

enum sds_kind overlay_set_file(struct overlay *o, uint64_t key, struct sds_index_lines_file *out,
                               struct sds_err *err) {
    const char *name;
    enum sds_kind kind = overlay_set_name(o, key, &name, err);
    return kind == SDS_OK ? sds_index_parts_set(o->parts, key, name, out, err) : kind;
}

enum sds_kind overlay_find_set(struct overlay *o, struct sds_span file, struct sds_node *out,
                               struct sds_err *err) {
    size_t suffix = sizeof OVERLAY_LINES_SUFFIX - 1;
    if (file.len <= suffix ||
        memcmp(file.at + file.len - suffix, OVERLAY_LINES_SUFFIX, suffix) != 0) {
        return overlay_absent(err);
    }
    struct sds_span name = sds_span(file.at, file.len - suffix);
    struct sds_node sets, set;
    enum sds_kind kind = sets_directory(o, &sets, err);
    if (kind == SDS_OK) {
        kind = o->inner->ops->lookup(o->inner, sets, name, &set, err);
    }
    if (kind == SDS_OK) {
        char text[SDS_NAME_MAX + 1];
        snprintf(text, sizeof text, "%.*s", (int)name.len, (const char *)name.at);
        *out = overlay_node(SET_LINES, set_key(name));
        sds_index_parts_note_set(o->parts, out->key, text);
    }
    return kind;
}

// Passes the names of sets on as those of their files.
struct set_listing {
    sds_list_fn emit;
    void *ctx;
};

static bool emit_set(void *ctx, struct sds_span name, struct sds_node node, enum sds_node_type type,
                     uint64_t next) {
    const struct set_listing *listing = ctx;
    (void)node, (void)type;
    char file[256 + sizeof OVERLAY_LINES_SUFFIX];
    int len = snprintf(file, sizeof file, "%.*s%s", (int)name.len, (const char *)name.at,
                       OVERLAY_LINES_SUFFIX);
    return listing->emit(listing->ctx, sds_span(file, (size_t)len),
                         overlay_node(SET_LINES, set_key(name)), SDS_FILE, next);
}

enum sds_kind overlay_list_sets(struct overlay *o, uint64_t cookie, sds_list_fn emit, void *ctx,
                                struct sds_err *err) {
    struct set_listing listing = {emit, ctx};
    struct sds_node sets;
    enum sds_kind kind = sets_directory(o, &sets, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        return SDS_OK; // nothing is annotated
    }
    return kind == SDS_OK ? o->inner->ops->list(o->inner, sets, cookie, emit_set, &listing, err)
                          : kind;
}
