// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/raw_tree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/hash.h"
#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"

struct raw_tree {
    pthread_mutex_t lock;    // held while the chain's paths are collected; protects the pointer
    struct raw_paths *chain; // NULL until it is complete
};

struct raw_tree *raw_tree_new(void) {
    struct raw_tree *raw = calloc(1, sizeof *raw);
    if (raw != NULL) {
        pthread_mutex_init(&raw->lock, NULL);
    }
    return raw;
}

void raw_tree_free(struct raw_tree *raw) {
    if (raw != NULL) {
        pthread_mutex_destroy(&raw->lock);
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

static enum sds_kind add_page(struct signal_dataset *ds, struct raw_paths *paths, size_t page,
                              struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct sds_manifest_doc *doc = NULL;
    enum sds_kind kind = chain_page(ds, page, &ref, &doc, err);
    if (kind == SDS_ERR_CORRUPT || kind == SDS_ERR_LIMIT) {
        return SDS_OK; // a page that is bad names nothing
    }
    for (size_t i = 0; kind == SDS_OK && i < doc->shard_count; i++) {
        const struct sds_shard_entry *shard = &doc->shards[i];
        struct raw_origin origin = {.what = RAW_DATA, .group = page, .item = i};
        kind = raw_paths_add(paths, &shard->data, origin, err);
        if (kind == SDS_OK) {
            origin.what = RAW_METADATA;
            kind = raw_paths_add(paths, &shard->metadata, origin, err);
        }
    }
    sds_cache_release(ref);
    return kind;
}

static enum sds_kind add_chain(struct signal_dataset *ds, struct raw_paths *paths,
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
    for (size_t i = 0; kind == SDS_OK && i < doc->page_count; i++) {
        kind = add_page(ds, paths, i, err);
    }
    return kind;
}

static enum sds_kind build(struct signal_dataset *ds, struct sds_err *err) {
    struct raw_paths *paths = raw_paths_new();
    enum sds_kind kind = paths != NULL
                             ? add_chain(ds, paths, err)
                             : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for paths");
    if (kind == SDS_OK) {
        kind = raw_paths_seal(paths, err);
    }
    if (kind != SDS_OK) {
        raw_paths_free(paths);
        return kind;
    }
    ds->raw->chain = paths;
    return SDS_OK;
}

// Builds the table unless that was done. A page that cannot be read now (and is not known to be
// bad) fails the call, so that an outage never looks like absence; the next call tries again.
static enum sds_kind chain_paths(struct signal_dataset *ds, const struct raw_paths **out,
                                 struct sds_err *err) {
    pthread_mutex_lock(&ds->raw->lock);
    enum sds_kind kind = ds->raw->chain != NULL ? SDS_OK : build(ds, err);
    *out = ds->raw->chain;
    pthread_mutex_unlock(&ds->raw->lock);
    return kind == SDS_OK ? raw_paths_check(*out, err) : kind;
}

// ---- looking

// Both tables, for as long as one question takes.
struct view {
    struct signal_dataset *ds;
    const struct raw_paths *chain;
    struct annotation_catalog *catalog;
};

static enum sds_kind view_open(struct signal_dataset *ds, struct view *view, struct sds_err *err) {
    *view = (struct view){.ds = ds};
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

static void view_close(struct view *view) {
    catalog_unref(view->catalog);
}

static const struct raw_entry *find(const struct view *view, uint64_t key) {
    const struct raw_entry *entry = raw_paths_find(view->chain, key);
    return entry != NULL ? entry : raw_paths_find(view->catalog->paths, key);
}

// The reference that an entry's path stands in.
static enum sds_kind reference_of(const struct view *view, const struct raw_entry *entry,
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
static enum sds_kind get(const struct view *view, const struct raw_entry *entry,
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
    struct view view;
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

static struct sds_node node_of(const struct raw_entry *entry) {
    bool directory = entry->what == RAW_DIRECTORY;
    return node(directory ? NODE_RAW_DIRECTORY : NODE_RAW_FILE, entry->key);
}

// Keys are hashes: the name has to be the one that was asked for.
static enum sds_kind check_name(const struct view *view, const struct raw_entry *entry,
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
    struct view view;
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
    struct view view;
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

bool raw_grows(struct signal_dataset *ds, uint64_t directory) {
    struct view view;
    uint64_t annotations = raw_annotations_key();
    if (directory == annotations) {
        return true;
    }
    if (view_open(ds, &view, NULL) != SDS_OK) {
        return false; // nothing can be told about it anyway
    }
    const struct raw_entry *entry = find(&view, directory);
    while (entry != NULL && entry->parent != annotations) {
        entry = find(&view, entry->parent);
    }
    view_close(&view);
    return entry != NULL;
}

// Emits a child of a directory; false when the receiver is full or the name cannot be had.
static bool list_child(const struct view *view, const struct raw_entry *entry, uint64_t next,
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
    struct view view;
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
