// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/raw_tree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/hash.h"
#include "format/name.h"
#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"

#define MAX_ENTRIES (2u << 20)
#define MAX_PATH 4095
#define KEY_MASK ((1ULL << SDS_NODE_KEY_BITS) - 1)

#define MAX_DEPTH 255

// One file or directory, in the order in which the walk came to it. Its name is component `depth`
// of the path of an object, which `named_by`, `group` and `item` find again.
struct raw_entry {
    uint64_t key : 56; // hash of directory and name
    uint64_t what : 8; // enum raw_what
    uint64_t parent : 56;
    uint64_t named_by : 8; // enum raw_what of the object
    uint32_t group : 24;   // page or set
    uint32_t depth : 8;
    uint32_t item; // shard in it
};
_Static_assert(sizeof(struct raw_entry) == 24, "millions of them");

// Grows while it is built, and is only read afterwards.
struct raw_paths {
    struct raw_entry *entries;
    size_t count, room;
    uint32_t *slots; // open addressing by key: position in entries plus one, 0 for free
    size_t slot_count;
    uint32_t *children; // positions in entries, sorted by (parent, position)
};

struct raw_tree {
    pthread_mutex_t lock; // held while the paths are collected; protects `ready`
    bool ready;           // complete: from now on `paths` is only read
    struct raw_paths paths;
};

static void paths_fini(struct raw_paths *paths) {
    free(paths->entries);
    free(paths->slots);
    free(paths->children);
}

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
        paths_fini(&raw->paths);
        free(raw);
    }
}

// Keys are chained from the top, so a name's key follows from its directory's. 0 is the top itself.
static uint64_t child_key(uint64_t directory, struct sds_span name) {
    uint64_t key = sds_mix64(sds_hash_stable(name) ^ sds_mix64(directory + 1)) & KEY_MASK;
    return key != RAW_TOP ? key : 1;
}

uint64_t raw_annotations_key(void) {
    return child_key(RAW_TOP, sds_span_str("annotations"));
}

// Component `depth` of a normalised path; len 0 when it has fewer.
static struct sds_span component(const char *path, unsigned depth) {
    const char *at = path;
    for (; depth > 0 && at != NULL; depth--) {
        at = strchr(at, '/');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL ? sds_span(at, strcspn(at, "/")) : sds_span(NULL, 0);
}

bool raw_is_shown(const struct sds_reference *reference) {
    static const char *const ours[] = {"records", "shards", "index", "control"};
    if (reference->absolute || reference->path_len > MAX_PATH ||
        strcmp(reference->path, ".") == 0) {
        return false;
    }
    struct sds_span first = component(reference->path, 0);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (sds_span_eq(first, sds_span_str(ours[i]))) {
            return false;
        }
    }
    unsigned depth = 0;
    for (const char *p = reference->path; *p != '\0'; depth++) {
        size_t len = strcspn(p, "/");
        if (len > SDS_NAME_MAX || depth > MAX_DEPTH) {
            return false;
        }
        p += len + (p[len] == '/');
    }
    return true;
}

// ---- building

struct builder {
    struct signal_dataset *ds;
    struct raw_paths paths;
};

// The slot of a key: the one that leads to its entry, or the free one where it belongs.
static uint32_t *slot_of(const struct raw_paths *paths, uint64_t key) {
    size_t i = sds_mix64(key) & (paths->slot_count - 1);
    while (paths->slots[i] != 0 && paths->entries[paths->slots[i] - 1].key != key) {
        i = (i + 1) & (paths->slot_count - 1);
    }
    return &paths->slots[i];
}

static const struct raw_entry *find(const struct raw_paths *paths, uint64_t key) {
    uint32_t position = *slot_of(paths, key);
    return position != 0 ? &paths->entries[position - 1] : NULL;
}

// Room for one more entry, with the table of slots at most half full.
static enum sds_kind grow(struct raw_paths *paths, struct sds_err *err) {
    if (paths->count < paths->room) {
        return SDS_OK;
    }
    size_t room = paths->room == 0 ? 256 : paths->room * 2;
    if (room > MAX_ENTRIES) {
        return sds_fail(err, SDS_ERR_LIMIT, "raw",
                        "the dataset names more than %u files: they are shown under shards/ only",
                        MAX_ENTRIES);
    }
    struct raw_entry *entries = realloc(paths->entries, room * sizeof *entries);
    paths->entries = entries != NULL ? entries : paths->entries;
    uint32_t *slots = calloc(room * 2, sizeof *slots);
    if (entries == NULL || slots == NULL) {
        free(slots);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %zu paths", room);
    }
    free(paths->slots);
    paths->slots = slots;
    paths->slot_count = room * 2;
    paths->room = room;
    for (size_t i = 0; i < paths->count; i++) {
        *slot_of(paths, entries[i].key) = (uint32_t)i + 1;
    }
    return SDS_OK;
}

// Adds a path with the directories above it. What is there already stays: the first to name a path
// decides what it is.
static enum sds_kind add_path(struct builder *b, const struct sds_reference *reference,
                              enum raw_what what, size_t group, size_t item, struct sds_err *err) {
    struct raw_paths *paths = &b->paths;
    if (!raw_is_shown(reference)) {
        return SDS_OK;
    }
    uint64_t parent = RAW_TOP;
    const char *at = reference->path;
    for (unsigned depth = 0;; depth++) {
        struct sds_span name = sds_span(at, strcspn(at, "/"));
        bool last = at[name.len] == '\0';
        uint64_t key = child_key(parent, name);
        enum sds_kind kind = grow(paths, err);
        if (kind != SDS_OK) {
            return kind;
        }
        uint32_t *slot = slot_of(paths, key);
        if (*slot == 0) {
            paths->entries[paths->count++] =
                (struct raw_entry){.key = key & KEY_MASK,
                                   .what = (uint8_t)(last ? what : RAW_DIRECTORY),
                                   .parent = parent & KEY_MASK,
                                   .named_by = (uint8_t)what,
                                   .group = (uint32_t)group & 0xFFFFFF,
                                   .depth = (uint8_t)depth,
                                   .item = (uint32_t)item};
            *slot = (uint32_t)paths->count;
        } else if (!last && paths->entries[*slot - 1].what != RAW_DIRECTORY) {
            return SDS_OK; // the path goes through a file: it cannot exist
        }
        if (last) {
            return SDS_OK;
        }
        parent = key;
        at += name.len + 1;
    }
}

static struct sds_reference fixed_path(const char *path, uint64_t bytes) {
    struct sds_span span = sds_span_str(path);
    return (struct sds_reference){.path = path,
                                  .path_len = (uint32_t)span.len,
                                  .stored_bytes = bytes,
                                  .path_hash = sds_hash_stable(span)};
}

// The snapshot's path as it was joined to the root; an "absolute" one was normalised into a
// relative.
static bool snapshot_reference(const struct signal_dataset *ds, struct sds_reference *out) {
    *out = ds->chain.root.snapshot;
    return !out->absolute;
}

static enum sds_kind add_page(struct builder *b, size_t page, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct sds_manifest_doc *doc = NULL;
    enum sds_kind kind = chain_page(b->ds, page, &ref, &doc, err);
    if (kind == SDS_ERR_CORRUPT || kind == SDS_ERR_LIMIT) {
        return SDS_OK; // a page that is bad names nothing
    }
    for (size_t i = 0; kind == SDS_OK && i < doc->shard_count; i++) {
        const struct sds_shard_entry *shard = &doc->shards[i];
        kind = add_path(b, &shard->data, RAW_DATA, page, i, err);
        if (kind == SDS_OK) {
            kind = add_path(b, &shard->metadata, RAW_METADATA, page, i, err);
        }
    }
    sds_cache_release(ref);
    return kind;
}

static enum sds_kind add_set(struct builder *b, size_t number, struct sds_err *err) {
    const struct annotation_set *set = &b->ds->catalog->sets[number];
    struct sds_cache_ref *ref = NULL;
    const struct sds_set_doc *doc = NULL;
    enum sds_kind kind = add_path(b, &set->root, RAW_SET, number, 0, err);
    if (kind == SDS_OK) {
        kind = annotation_set_doc(b->ds, set, &ref, &doc, err);
    }
    for (size_t i = 0; kind == SDS_OK && i < doc->shard_count; i++) {
        kind = add_path(b, &doc->shards[i].object, RAW_CARRIER, number, i, err);
    }
    sds_cache_release(ref);
    return kind;
}

static enum sds_kind add_annotations(struct builder *b, struct sds_err *err) {
    const struct annotation_catalog *catalog = b->ds->catalog;
    if (catalog->pointer == NULL) {
        return SDS_OK;
    }
    struct sds_reference pointer = fixed_path(CATALOG_PATH, catalog->pointer->len);
    struct sds_reference revision =
        fixed_path(catalog->document.revision_path, catalog->revision_bytes);
    enum sds_kind kind = add_path(b, &pointer, RAW_CATALOG, 0, 0, err);
    if (kind == SDS_OK) {
        kind = add_path(b, &revision, RAW_REVISION, 0, 0, err);
    }
    for (size_t i = 0; kind == SDS_OK && i < catalog->count; i++) {
        kind = add_set(b, i, err);
    }
    return kind;
}

static enum sds_kind add_all(struct builder *b, struct sds_err *err) {
    struct sds_reference root = fixed_path("root.json", b->ds->chain.root_bytes), snapshot;
    const struct sds_snapshot_doc *doc = &b->ds->chain.snapshot;
    enum sds_kind kind = add_path(b, &root, RAW_ROOT, 0, 0, err);
    if (kind == SDS_OK && snapshot_reference(b->ds, &snapshot)) {
        kind = add_path(b, &snapshot, RAW_SNAPSHOT, 0, 0, err);
    }
    for (size_t i = 0; kind == SDS_OK && i < doc->page_count; i++) {
        kind = add_path(b, &doc->pages[i].object, RAW_PAGE, i, 0, err);
    }
    for (size_t i = 0; kind == SDS_OK && i < doc->page_count; i++) {
        kind = add_page(b, i, err);
    }
    return kind == SDS_OK ? add_annotations(b, err) : kind;
}

static int by_parent(const void *a, const void *b, void *entries) {
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint64_t p = ((const struct raw_entry *)entries)[i].parent;
    uint64_t q = ((const struct raw_entry *)entries)[k].parent;
    return p != q ? (p > q) - (p < q) : (i > k) - (i < k);
}

static enum sds_kind sort_children(struct raw_paths *paths, struct sds_err *err) {
    paths->children = malloc(paths->count * sizeof *paths->children);
    if (paths->children == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %zu paths", paths->count);
    }
    for (size_t i = 0; i < paths->count; i++) {
        paths->children[i] = (uint32_t)i;
    }
    qsort_r(paths->children, paths->count, sizeof *paths->children, by_parent, paths->entries);
    return SDS_OK;
}

static enum sds_kind build(struct signal_dataset *ds, struct sds_err *err) {
    struct builder b = {.ds = ds};
    enum sds_kind kind = add_all(&b, err);
    if (kind == SDS_OK) {
        kind = sort_children(&b.paths, err);
    }
    if (kind == SDS_OK) {
        ds->raw->paths = b.paths;
    } else {
        paths_fini(&b.paths);
    }
    return kind;
}

// Builds the tree unless that was done. A page that cannot be read now (and is not known to be bad)
// fails the call, so that an outage never looks like absence; the next call tries again.
static enum sds_kind ensure(struct signal_dataset *ds, struct sds_err *err) {
    pthread_mutex_lock(&ds->raw->lock);
    enum sds_kind kind = ds->raw->ready ? SDS_OK : build(ds, err);
    ds->raw->ready = kind == SDS_OK;
    pthread_mutex_unlock(&ds->raw->lock);
    return kind;
}

// ---- looking

// The reference that an entry's path stands in.
static enum sds_kind reference_of(struct signal_dataset *ds, const struct raw_entry *entry,
                                  struct raw_file *out, struct sds_err *err) {
    const struct annotation_catalog *catalog = ds->catalog;
    const struct sds_manifest_doc *page = NULL;
    const struct sds_set_doc *set = NULL;
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
        out->reference = fixed_path(catalog->document.revision_path, catalog->revision_bytes);
        break;
    case RAW_SET:
        out->reference = catalog->sets[entry->group].root;
        break;
    case RAW_CARRIER:
        kind = annotation_set_doc(ds, &catalog->sets[entry->group], &out->ref, &set, err);
        if (kind == SDS_OK) {
            out->reference = set->shards[entry->item].object;
        }
        break;
    }
    return kind;
}

static enum sds_kind get(struct signal_dataset *ds, const struct raw_entry *entry,
                         struct raw_file *out, struct sds_span *name, struct sds_err *err) {
    *out = (struct raw_file){.what = (enum raw_what)entry->what};
    enum sds_kind kind = reference_of(ds, entry, out, err);
    if (kind == SDS_OK) {
        *name = component(out->reference.path, entry->depth);
        out->path_len = (size_t)(name->at - (const uint8_t *)out->reference.path) + name->len;
    }
    return kind;
}

static struct sds_node node_of(const struct raw_entry *entry) {
    bool directory = entry->what == RAW_DIRECTORY;
    return node(directory ? NODE_RAW_DIRECTORY : NODE_RAW_FILE, entry->key);
}

void raw_file_fini(struct raw_file *file) {
    sds_cache_release(file->ref);
    file->ref = NULL;
}

enum sds_kind raw_get(struct signal_dataset *ds, uint64_t key, struct raw_file *out,
                      struct sds_err *err) {
    enum sds_kind kind = ensure(ds, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct raw_entry *entry = find(&ds->raw->paths, key);
    struct sds_span name;
    if (entry == NULL) {
        return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the dataset names no such file");
    }
    return get(ds, entry, out, &name, err);
}

enum sds_kind raw_lookup(struct signal_dataset *ds, uint64_t directory, struct sds_span name,
                         struct sds_node *out, struct sds_err *err) {
    enum sds_kind kind = ensure(ds, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct raw_entry *entry = find(&ds->raw->paths, child_key(directory, name));
    struct raw_file file = {0};
    struct sds_span found = {0};
    if (entry != NULL && entry->parent == directory &&
        (kind = get(ds, entry, &file, &found, err)) != SDS_OK) {
        return kind;
    }
    bool same = sds_span_eq(found, name);
    raw_file_fini(&file);
    if (!same) {
        return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the dataset names no such file");
    }
    *out = node_of(entry);
    return SDS_OK;
}

// The first child of a directory in paths->children.
static size_t first_child(const struct raw_paths *paths, uint64_t directory) {
    size_t low = 0, high = paths->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (paths->entries[paths->children[mid]].parent < directory) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

enum sds_kind raw_list(struct signal_dataset *ds, uint64_t directory, uint64_t cookie,
                       sds_list_fn emit, void *ctx, struct sds_err *err) {
    enum sds_kind kind = ensure(ds, err);
    if (kind != SDS_OK) {
        return kind;
    }
    const struct raw_paths *paths = &ds->raw->paths;
    size_t first = first_child(paths, directory);
    for (size_t i = first + cookie; i < paths->count; i++) {
        const struct raw_entry *entry = &paths->entries[paths->children[i]];
        struct raw_file file;
        struct sds_span name;
        if (entry->parent != directory) {
            break;
        }
        kind = get(ds, entry, &file, &name, err);
        if (kind != SDS_OK) {
            return kind;
        }
        struct sds_node child = node_of(entry);
        enum sds_node_type type = child.kind == NODE_RAW_DIRECTORY ? SDS_DIRECTORY : SDS_FILE;
        bool more = emit(ctx, name, child, type, i - first + 1);
        raw_file_fini(&file);
        if (!more) {
            break;
        }
    }
    return SDS_OK;
}
