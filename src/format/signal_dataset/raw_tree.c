// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/raw_tree.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/hash.h"
#include "base/wait.h"
#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"

struct raw_tree {
    _Atomic(struct raw_paths *) chain; // NULL until it is complete
    // One at a time goes on with the collection; who has to wait for a page lets others try.
    struct sds_turns building; // protects the two below
    struct raw_paths *begun;   // NULL: nothing yet
    size_t pages;              // whose paths are in it
};

struct raw_tree *raw_tree_new(void) {
    return calloc(1, sizeof(struct raw_tree));
}

void raw_tree_free(struct raw_tree *raw) {
    if (raw != NULL) {
        raw_paths_free(raw->begun);
        raw_paths_free(raw->chain);
        free(raw);
    }
}

uint64_t raw_annotations_key(void) {
    return raw_child_key(RAW_TOP, sds_span_str("annotations"));
}

uint64_t raw_catalog_key(void) {
    return raw_child_key(raw_annotations_key(), sds_span_str("catalog.json"));
}

static struct sds_reference fixed_path(const char *path, uint64_t bytes) {
    struct sds_span span = sds_span_str(path);
    return (struct sds_reference){.path = path,
                                  .path_len = (uint32_t)span.len,
                                  .stored_bytes = bytes,
                                  .path_hash = sds_hash_stable(span)};
}

// ---- the chain's paths

#define PAGES_AHEAD 16

static enum sds_kind add_shards(struct raw_paths *paths, const struct sds_manifest_doc *doc,
                                size_t page, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < doc->shard_count; i++) {
        const struct sds_shard_entry *shard = &doc->shards[i];
        struct raw_origin origin = {.what = RAW_DATA, .group = page, .item = i};
        kind = raw_paths_add(paths, &shard->data, origin, err);
        if (kind == SDS_OK) {
            origin.what = RAW_METADATA;
            kind = raw_paths_add(paths, &shard->metadata, origin, err);
        }
    }
    return kind;
}

static void prefetch_pages(struct signal_dataset *ds, size_t from) {
    const struct sds_snapshot_doc *doc = &ds->chain.snapshot;
    for (size_t i = from; i < doc->page_count && i < from + PAGES_AHEAD; i++) {
        if (!doc->pages[i].object.absolute) {
            reference_prefetch(ds->store, &doc->pages[i].object);
        }
    }
}

// Adds the next page's paths. A page that cannot be read leaves the collection as it is.
static enum sds_kind add_page(struct signal_dataset *ds, struct raw_tree *raw,
                              struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct sds_manifest_doc *doc = NULL;
    if (sds_store_is_remote(ds->store)) {
        prefetch_pages(ds, raw->pages);
    }
    enum sds_kind kind = chain_page(ds, raw->pages, &ref, &doc, err);
    if (kind == SDS_OK) {
        kind = add_shards(raw->begun, doc, raw->pages, err);
        sds_cache_release(ref);
        if (kind != SDS_OK) { // part of them is there
            raw_paths_free(raw->begun);
            raw->begun = NULL;
        }
    } else if (kind == SDS_ERR_CORRUPT || kind == SDS_ERR_LIMIT) {
        kind = SDS_OK; // a page that is bad names nothing
    }
    raw->pages += kind == SDS_OK;
    return kind;
}

// What root and snapshot name themselves.
static enum sds_kind add_documents(struct signal_dataset *ds, struct raw_paths *paths,
                                   struct sds_err *err) {
    struct sds_reference root = fixed_path("root.json", ds->chain.root_bytes);
    const struct sds_snapshot_doc *doc = &ds->chain.snapshot;
    enum sds_kind kind = raw_paths_add(paths, &root, (struct raw_origin){.what = RAW_ROOT}, err);
    if (kind == SDS_OK) {
        kind = raw_paths_add(paths, &ds->chain.root.snapshot,
                             (struct raw_origin){.what = RAW_SNAPSHOT}, err);
    }
    for (size_t i = 0; kind == SDS_OK && i < doc->page_count; i++) {
        struct raw_origin origin = {.what = RAW_PAGE, .group = i};
        kind = raw_paths_add(paths, &doc->pages[i].object, origin, err);
    }
    return kind;
}

static enum sds_kind begin(struct signal_dataset *ds, struct raw_tree *raw, struct sds_err *err) {
    struct raw_paths *paths = raw_paths_new();
    enum sds_kind kind = paths != NULL
                             ? add_documents(ds, paths, err)
                             : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for paths");
    if (kind != SDS_OK) {
        raw_paths_free(paths);
        return kind;
    }
    raw->begun = paths;
    raw->pages = 0;
    return SDS_OK;
}

// Goes on with the table as far as there are pages at hand, to the end if it can.
static enum sds_kind build(struct signal_dataset *ds, struct raw_tree *raw, struct sds_err *err) {
    enum sds_kind kind = raw->begun != NULL ? SDS_OK : begin(ds, raw, err);
    while (kind == SDS_OK && raw->pages < ds->chain.snapshot.page_count) {
        kind = add_page(ds, raw, err);
    }
    if (kind == SDS_OK) {
        kind = raw_paths_seal(raw->begun, err);
        if (kind == SDS_OK) {
            atomic_store(&raw->chain, raw->begun);
        } else {
            raw_paths_free(raw->begun);
        }
        raw->begun = NULL;
    }
    return kind;
}

// Builds the table unless that was done. A page that cannot be read now (and is not known to be
// bad) fails the call, so that an outage never looks like absence; the next call goes on there.
static enum sds_kind chain_paths(struct signal_dataset *ds, const struct raw_paths **out,
                                 struct sds_err *err) {
    struct raw_tree *raw = ds->raw;
    *out = atomic_load(&raw->chain);
    if (*out == NULL) {
        enum sds_kind kind = sds_turns_take(&raw->building, err);
        if (kind == SDS_OK) {
            kind = atomic_load(&raw->chain) != NULL ? SDS_OK : build(ds, raw, err);
            sds_turns_give(&raw->building);
        }
        if (kind != SDS_OK) {
            return kind;
        }
        *out = atomic_load(&raw->chain);
    }
    return raw_paths_check(*out, err);
}

// ---- looking

// Both tables, for as long as one question takes.
struct tree_view {
    struct signal_dataset *ds;
    const struct raw_paths *chain;
    struct annotation_catalog *catalog;
};

static enum sds_kind view_open(struct signal_dataset *ds, struct tree_view *view,
                               struct sds_err *err) {
    *view = (struct tree_view){.ds = ds};
    enum sds_kind kind = chain_paths(ds, &view->chain, err);
    if (kind != SDS_OK) {
        return kind;
    }
    view->catalog = annotations_hold(ds);
    kind = raw_paths_check(view->catalog->paths, err);
    if (kind != SDS_OK) {
        catalog_unref(view->catalog);
    }
    return kind;
}

static void view_close(struct tree_view *view) {
    catalog_unref(view->catalog);
}

static const struct raw_entry *find(const struct tree_view *view, uint64_t key) {
    const struct raw_entry *entry = raw_paths_find(view->chain, key);
    return entry != NULL ? entry : raw_paths_find(view->catalog->paths, key);
}

// The reference that an entry's path stands in.
static enum sds_kind reference_of(const struct tree_view *view, const struct raw_entry *entry,
                                  struct raw_file *out, struct sds_err *err) {
    struct signal_dataset *ds = view->ds;
    const struct annotation_catalog *catalog = view->catalog;
    const struct sds_manifest_doc *page = NULL;
    const struct annotation_set *set;
    const struct sds_set_doc *set_doc = NULL;
    enum sds_kind kind = SDS_OK;
    switch ((enum raw_what)entry->named_by) {
    case RAW_DIRECTORY:
    case RAW_ROOT:
        out->reference = fixed_path("root.json", ds->chain.root_bytes);
        break;
    case RAW_SNAPSHOT:
        out->reference = ds->chain.root.snapshot;
        break;
    case RAW_PAGE:
        out->page = entry->group;
        out->reference = ds->chain.snapshot.pages[entry->group].object;
        break;
    case RAW_DATA:
    case RAW_METADATA:
        kind = chain_page(ds, entry->group, &out->ref, &page, err);
        if (kind == SDS_OK) {
            const struct sds_shard_entry *shard = &page->shards[entry->item];
            out->reference = entry->named_by == RAW_DATA ? shard->data : shard->metadata;
        }
        break;
    case RAW_CATALOG:
        out->reference = fixed_path(CATALOG_PATH, catalog->pointer->len);
        break;
    case RAW_REVISION:
        out->reference = fixed_path(catalog->revisions[entry->group].path,
                                    catalog->revisions[entry->group].bytes);
        break;
    case RAW_SET:
        out->reference = catalog_by_slot(catalog, entry->group)->root;
        break;
    case RAW_CARRIER:
        set = catalog_by_slot(catalog, entry->group);
        kind = annotation_set_doc(ds, set, &out->ref, &set_doc, err);
        if (kind == SDS_OK) {
            out->reference = set_doc->shards[entry->item].object;
        }
        break;
    }
    return kind;
}

// What an entry is; takes a reference to the catalog along.
static enum sds_kind get(const struct tree_view *view, const struct raw_entry *entry,
                         struct raw_file *out, struct sds_span *name, struct sds_err *err) {
    *out = (struct raw_file){.what = (enum raw_what)entry->what};
    enum sds_kind kind = reference_of(view, entry, out, err);
    if (kind == SDS_OK) {
        out->catalog = catalog_ref(view->catalog);
        *name = raw_component(out->reference.path, entry->depth);
        out->path_len = (size_t)(name->at - (const uint8_t *)out->reference.path) + name->len;
    }
    return kind;
}

void raw_file_fini(struct raw_file *file) {
    sds_cache_release(file->ref);
    catalog_unref(file->catalog);
    file->ref = NULL;
    file->catalog = NULL;
}

static enum sds_kind absent(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the dataset names no such file");
}

enum sds_kind raw_get(struct signal_dataset *ds, uint64_t key, struct raw_file *out,
                      struct sds_err *err) {
    struct tree_view view;
    struct sds_span name;
    enum sds_kind kind = view_open(ds, &view, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct raw_entry *entry = find(&view, key);
    kind = entry != NULL ? get(&view, entry, out, &name, err) : absent(err);
    view_close(&view);
    return kind;
}

static bool is_cached(struct signal_dataset *ds, struct sds_cache_key key) {
    void *value;
    struct sds_cache_ref *ref = sds_cache_peek(ds->cache, key, &value);
    sds_cache_release(ref);
    return ref != NULL;
}

bool raw_at_hand(struct signal_dataset *ds, uint64_t key) {
    struct tree_view view;
    if (atomic_load(&ds->raw->chain) == NULL || view_open(ds, &view, NULL) != SDS_OK) {
        return false;
    }
    const struct raw_entry *entry = find(&view, key);
    bool there = entry != NULL;
    if (there && (entry->named_by == RAW_DATA || entry->named_by == RAW_METADATA)) {
        there = is_cached(ds, cached_key(CACHED_PAGE, 0, entry->group));
    } else if (there && entry->named_by == RAW_CARRIER) {
        const struct annotation_set *set = catalog_by_slot(view.catalog, entry->group);
        there = is_cached(ds, cached_key(CACHED_SET, 0, set->root.path_hash));
    }
    view_close(&view);
    return there;
}

static struct sds_node node_of(const struct raw_entry *entry) {
    bool directory = entry->what == RAW_DIRECTORY;
    return node(directory ? NODE_RAW_DIRECTORY : NODE_RAW_FILE, entry->key);
}

// Keys are hashes: the name has to be the one that was asked for.
static enum sds_kind check_name(const struct tree_view *view, const struct raw_entry *entry,
                                struct sds_span name, struct sds_err *err) {
    struct raw_file file;
    struct sds_span found;
    enum sds_kind kind = get(view, entry, &file, &found, err);
    if (kind == SDS_OK) {
        kind = sds_span_eq(found, name) ? SDS_OK : absent(err);
        raw_file_fini(&file);
    }
    return kind;
}

enum sds_kind raw_lookup(struct signal_dataset *ds, uint64_t directory, struct sds_span name,
                         struct sds_node *out, struct sds_err *err) {
    struct tree_view view;
    enum sds_kind kind = view_open(ds, &view, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct raw_entry *entry = find(&view, raw_child_key(directory, name));
    kind = entry != NULL && entry->parent == directory ? check_name(&view, entry, name, err)
                                                       : absent(err);
    if (kind == SDS_OK) {
        *out = node_of(entry);
    }
    view_close(&view);
    return kind;
}

enum sds_kind raw_directory(struct signal_dataset *ds, uint64_t key, struct sds_err *err) {
    struct tree_view view;
    if (key == raw_annotations_key()) {
        return SDS_OK;
    }
    enum sds_kind kind = view_open(ds, &view, err);
    if (kind == SDS_OK) {
        const struct raw_entry *entry = find(&view, key);
        kind = entry != NULL && entry->what == RAW_DIRECTORY ? SDS_OK : absent(err);
        view_close(&view);
    }
    return kind;
}

enum sds_kind raw_grows(struct signal_dataset *ds, uint64_t directory, bool *out,
                        struct sds_err *err) {
    struct tree_view view;
    uint64_t annotations = raw_annotations_key();
    *out = directory == annotations;
    if (*out) {
        return SDS_OK;
    }
    enum sds_kind kind = view_open(ds, &view, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct raw_entry *entry = find(&view, directory);
    while (entry != NULL && entry->parent != annotations) {
        entry = find(&view, entry->parent);
    }
    view_close(&view);
    *out = entry != NULL;
    return SDS_OK;
}

// Emits a child of a directory; false when the receiver is full or the name cannot be had.
static bool list_child(const struct tree_view *view, const struct raw_entry *entry, uint64_t next,
                       sds_list_fn emit, void *ctx, enum sds_kind *kind, struct sds_err *err) {
    struct raw_file file;
    struct sds_span name;
    *kind = get(view, entry, &file, &name, err);
    if (*kind != SDS_OK) {
        return false;
    }
    struct sds_node child = node_of(entry);
    enum sds_node_type type = child.kind == NODE_RAW_DIRECTORY ? SDS_DIRECTORY : SDS_FILE;
    bool more = emit(ctx, name, child, type, next);
    raw_file_fini(&file);
    return more;
}

// The chain's children of the directory come first, then the catalog's that are not among them.
enum sds_kind raw_list(struct signal_dataset *ds, uint64_t directory, uint64_t cookie,
                       sds_list_fn emit, void *ctx, struct sds_err *err) {
    struct tree_view view;
    enum sds_kind kind = view_open(ds, &view, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct raw_paths *annotations = view.catalog->paths;
    size_t first = raw_paths_child_count(view.chain, directory);
    size_t count = first + raw_paths_child_count(annotations, directory);
    bool more = true;
    for (uint64_t i = cookie; more && i < count; i++) {
        const struct raw_entry *entry = i < first
                                            ? raw_paths_child(view.chain, directory, i)
                                            : raw_paths_child(annotations, directory, i - first);
        if (i < first || raw_paths_find(view.chain, entry->key) == NULL) {
            more = list_child(&view, entry, i + 1, emit, ctx, &kind, err);
        }
    }
    view_close(&view);
    return kind;
}
