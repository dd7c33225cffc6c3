// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/signal_dataset/again.h"
#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"

#define MAX_REVISIONS (2 * MAX_ANNOTATION_SETS)
_Static_assert(MAX_REVISIONS < 1 << RAW_GROUP_BITS, "a revision's number is the group of its path");

// ---- sets

static void set_unref(struct annotation_set *set) {
    if (set != NULL && atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) == 1) {
        free(set->name);
        free(set->publication_id);
        free(set->root_path);
        free(set);
    }
}

// The first known set whose slot is not below `slot`, as a position.
static size_t known_from(const struct annotation_catalog *catalog, uint32_t slot) {
    size_t low = 0, high = catalog->known_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (catalog->known[mid]->slot < slot) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static struct annotation_set *known_at(const struct annotation_catalog *catalog, uint32_t slot) {
    size_t i = known_from(catalog, slot);
    return i < catalog->known_count && catalog->known[i]->slot == slot ? catalog->known[i] : NULL;
}

// The known set with a hash, or NULL and the slot that a new one takes: two sets with one short
// hash, and the later one gets the next free slot.
static struct annotation_set *find_known(const struct annotation_catalog *catalog, uint64_t hash,
                                         uint32_t slot_mask, uint32_t *slot) {
    *slot = (uint32_t)hash & slot_mask;
    struct annotation_set *set = known_at(catalog, *slot);
    while (set != NULL && set->hash != hash) {
        *slot = (*slot + 1) & slot_mask;
        set = known_at(catalog, *slot);
    }
    return set;
}

const struct annotation_set *catalog_by_slot(const struct annotation_catalog *catalog,
                                             uint32_t slot) {
    return known_at(catalog, slot);
}

const struct annotation_set *catalog_by_hash(const struct annotation_catalog *catalog,
                                             uint64_t hash, uint32_t slot_mask) {
    uint32_t slot;
    return find_known(catalog, hash, slot_mask, &slot);
}

static int by_name(const void *a, const void *b) {
    const struct annotation_set *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int compare_name(const void *key, const void *element) {
    const struct sds_span *name = key;
    const struct annotation_set *const *set = element;
    return sds_span_cmp(*name, sds_span_str((*set)->name));
}

const struct annotation_set *catalog_find(const struct annotation_catalog *catalog,
                                          struct sds_span name) {
    struct annotation_set *const *found =
        catalog->count > 0
            ? bsearch(&name, catalog->sets, catalog->count, sizeof *found, compare_name)
            : NULL;
    return found != NULL ? *found : NULL;
}

const struct annotation_set *catalog_from_slot(const struct annotation_catalog *catalog,
                                               uint32_t slot) {
    for (size_t i = known_from(catalog, slot); i < catalog->known_count; i++) {
        const struct annotation_set *set = catalog->known[i];
        if (catalog_find(catalog, sds_span_str(set->name)) == set) {
            return set;
        }
    }
    return NULL;
}

// ---- loading

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for the annotation catalog");
}

// The set root is an object that never changes, so its path is who the set is.
static uint64_t identity(const struct sds_reference *root) {
    return root->path_hash != 0 ? root->path_hash : 1;
}

static struct annotation_set *new_set(const struct sds_set_ref *listed, uint32_t slot) {
    struct annotation_set *set = calloc(1, sizeof *set);
    if (set != NULL) {
        set->refs = 1;
        set->name = strdup(listed->name);
        set->root_path = strdup(listed->object.path);
        set->root = listed->object;
        set->root.path = set->root_path;
        set->hash = identity(&listed->object);
        set->slot = slot;
    }
    if (set != NULL && (set->name == NULL || set->root_path == NULL)) {
        set_unref(set);
        set = NULL;
    }
    return set;
}

static enum sds_kind add_set_paths(struct annotation_catalog *catalog,
                                   const struct annotation_set *set, const struct sds_set_doc *doc,
                                   struct sds_err *err) {
    struct raw_origin origin = {.what = RAW_SET, .group = set->slot};
    enum sds_kind kind = raw_paths_add(catalog->paths, &set->root, origin, err);
    origin.what = RAW_CARRIER;
    for (size_t i = 0; kind == SDS_OK && i < doc->shard_count; i++) {
        origin.item = i;
        kind = raw_paths_add(catalog->paths, &doc->shards[i].object, origin, err);
    }
    return kind;
}

// Reads a new set's root, which verifies it.
static enum sds_kind open_set(struct signal_dataset *ds, struct annotation_catalog *catalog,
                              struct annotation_set *set, struct sds_err *err) {
    struct sds_cache_ref *ref = NULL;
    const struct sds_set_doc *doc = NULL;
    enum sds_kind kind = annotation_set_doc(ds, set, &ref, &doc, err);
    if (kind != SDS_OK) {
        return kind;
    }
    set->publication_id = strdup(doc->publication_id);
    set->record_count = doc->record_count;
    set->shard_count = doc->shard_count;
    kind = set->publication_id != NULL ? add_set_paths(catalog, set, doc, err) : no_memory(err);
    sds_cache_release(ref);
    return kind;
}

static enum sds_kind insert_known(struct annotation_catalog *catalog, struct annotation_set *set,
                                  struct sds_err *err) {
    struct annotation_set **known =
        reallocarray(catalog->known, catalog->known_count + 1, sizeof *known);
    if (known == NULL) {
        return no_memory(err);
    }
    catalog->known = known;
    size_t at = known_from(catalog, set->slot);
    memmove(&known[at + 1], &known[at], (catalog->known_count - at) * sizeof *known);
    known[at] = set;
    catalog->known_count++;
    return SDS_OK;
}

static enum sds_kind add_new_set(struct signal_dataset *ds, struct annotation_catalog *catalog,
                                 const struct sds_set_ref *listed, uint32_t slot,
                                 struct annotation_set **out, struct sds_err *err) {
    if (catalog->known_count == MAX_ANNOTATION_SETS) {
        return sds_fail(err, SDS_ERR_LIMIT, "sets", "there are more annotation sets than %d",
                        MAX_ANNOTATION_SETS);
    }
    struct annotation_set *set = new_set(listed, slot);
    enum sds_kind kind = set != NULL ? open_set(ds, catalog, set, err) : no_memory(err);
    if (kind == SDS_OK) {
        kind = insert_known(catalog, set, err);
    }
    if (kind != SDS_OK) {
        set_unref(set);
        return kind;
    }
    *out = set;
    return SDS_OK;
}

// A set that is known was opened under its reference: a new one must be as right.
static enum sds_kind check_known(struct signal_dataset *ds, const struct annotation_set *set,
                                 const struct sds_set_ref *listed, struct sds_err *err) {
    const struct sds_reference *reference = &listed->object;
    if (reference_key(reference) == reference_key(&set->root)) {
        return SDS_OK;
    }
    struct sds_blob *text = NULL;
    enum sds_kind kind = reference_check_size(reference, set->root.stored_bytes, err);
    if (kind == SDS_OK) { // pinned otherwise
        kind = reference_read(ds->store, reference->path, reference, &text, err);
        sds_blob_unref(text);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", reference->path);
    }
    return kind;
}

// The roots of new sets are read one after the other, but all of them fetched at once, as far as
// there is memory for them.
static void prefetch_sets(struct signal_dataset *ds, const struct annotation_catalog *catalog,
                          const struct sds_revision_doc *revision) {
    if (!sds_store_is_remote(ds->store)) {
        return;
    }
    for (size_t i = 0; i < revision->count; i++) {
        const struct sds_reference *root = &revision->sets[i].object;
        uint32_t slot;
        if (!root->absolute &&
            find_known(catalog, identity(root), nodes_slot_mask(ds), &slot) == NULL) {
            reference_prefetch(ds->store, root);
        }
    }
}

static enum sds_kind add_sets(struct signal_dataset *ds, struct annotation_catalog *catalog,
                              const struct sds_revision_doc *revision, struct sds_err *err) {
    if (revision->count > MAX_ANNOTATION_SETS) {
        return sds_fail(err, SDS_ERR_LIMIT, "sets", "%zu annotation sets are more than %d",
                        revision->count, MAX_ANNOTATION_SETS);
    }
    prefetch_sets(ds, catalog, revision);
    catalog->sets = calloc(revision->count + 1, sizeof(struct annotation_set *));
    enum sds_kind kind = catalog->sets != NULL ? SDS_OK : no_memory(err);
    for (size_t i = 0; kind == SDS_OK && i < revision->count; i++) {
        const struct sds_set_ref *listed = &revision->sets[i];
        uint32_t slot;
        struct annotation_set *set =
            find_known(catalog, identity(&listed->object), nodes_slot_mask(ds), &slot);
        kind = set != NULL ? check_known(ds, set, listed, err)
                           : add_new_set(ds, catalog, listed, slot, &set, err);
        if (kind == SDS_OK) {
            catalog->sets[catalog->count++] = set;
        }
    }
    if (kind == SDS_OK) {
        qsort(catalog->sets, catalog->count, sizeof(struct annotation_set *), by_name);
    }
    return kind;
}

static enum sds_kind read_revision(struct signal_dataset *ds, const struct sds_catalog_doc *pointer,
                                   struct sds_blob **out, struct sds_err *err) {
    struct sds_blob *text = NULL;
    const struct sds_expected expected = {
        .pinned = pointer->pinned, .generation = pointer->generation, .whole = true};
    enum sds_kind kind = sds_store_read_all(ds->store, pointer->revision_path, &expected,
                                            SDS_MAX_DOCUMENT_BYTES, SDS_IMMUTABLE, &text, err);
    if (kind != SDS_OK) {
        return kind;
    }
    char hash[SDS_SHA256_HEX];
    sds_sha256_hex(sds_span(text->at, text->len), hash);
    if (strcmp(hash, pointer->revision_hash) != 0) {
        sds_blob_unref(text);
        return sds_fail(err, SDS_ERR_CORRUPT, "sha256", "the SHA-256 of its bytes is %s", hash);
    }
    *out = text;
    return SDS_OK;
}

enum sds_kind catalog_read_revision(struct signal_dataset *ds,
                                    const struct sds_catalog_doc *pointer, struct sds_blob **out,
                                    struct sds_err *err) {
    const struct sds_reference ref = {.pinned = pointer->pinned, .generation = pointer->generation};
    uint64_t since;
    enum sds_kind kind;
    do {
        since = sds_store_doubts(ds->store);
        kind = read_revision(ds, pointer, out, err);
    } while (document_again(ds->store, pointer->revision_path, &ref, since, kind));
    return kind;
}

static struct sds_reference fixed_reference(const char *path, uint64_t bytes) {
    return (struct sds_reference){
        .path = path, .path_len = (uint32_t)strlen(path), .stored_bytes = bytes};
}

// Adds a revision to those that are known, unless it is one of them.
static enum sds_kind note_revision(struct annotation_catalog *catalog, const char *path,
                                   uint64_t bytes, struct sds_err *err) {
    size_t count = catalog->revision_count;
    for (size_t i = count; i-- > 0;) {
        if (strcmp(catalog->revisions[i].path, path) == 0) {
            return SDS_OK;
        }
    }
    if (count == MAX_REVISIONS) {
        return sds_fail(err, SDS_ERR_LIMIT, "revisions",
                        "the catalog changed more than %d times since the dataset was opened",
                        MAX_REVISIONS);
    }
    struct annotation_revision *revisions =
        reallocarray(catalog->revisions, count + 1, sizeof *revisions);
    if (revisions == NULL) {
        return no_memory(err);
    }
    strcpy(revisions[count].path, path);
    revisions[count].bytes = bytes;
    catalog->revisions = revisions;
    catalog->revision_count++;
    struct sds_reference reference = fixed_reference(path, bytes);
    struct raw_origin origin = {.what = RAW_REVISION, .group = count};
    return raw_paths_add(catalog->paths, &reference, origin, err);
}

static enum sds_kind open_revision(struct signal_dataset *ds, struct annotation_catalog *catalog,
                                   const struct sds_catalog_doc *pointer, struct sds_err *err) {
    const char *path = pointer->revision_path;
    struct sds_blob *text = NULL;
    struct sds_revision_doc revision = {0};
    enum sds_kind kind = catalog_read_revision(ds, pointer, &text, err);
    if (kind == SDS_OK) {
        kind = sds_revision_parse(sds_span(text->at, text->len), &revision, err);
    }
    if (kind == SDS_OK) {
        kind = note_revision(catalog, path, text->len, err);
    }
    sds_blob_unref(text);
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
    } else {
        kind = add_sets(ds, catalog, &revision, err);
    }
    sds_revision_doc_fini(&revision);
    return in_chain(kind, err);
}

static enum sds_kind open_pointer(struct signal_dataset *ds, struct annotation_catalog *catalog,
                                  struct sds_err *err) {
    struct sds_catalog_doc pointer;
    struct sds_span text = sds_span(catalog->pointer->at, catalog->pointer->len);
    struct sds_reference reference = fixed_reference(CATALOG_PATH, text.len);
    struct raw_origin origin = {.what = RAW_CATALOG};
    enum sds_kind kind = sds_catalog_parse(text, &pointer, err);
    if (kind != SDS_OK) {
        sds_err_object(err, CATALOG_PATH);
        return kind;
    }
    kind = raw_paths_add(catalog->paths, &reference, origin, err);
    return kind == SDS_OK ? open_revision(ds, catalog, &pointer, err) : kind;
}

// ---- versions

struct annotation_catalog *catalog_ref(struct annotation_catalog *catalog) {
    atomic_fetch_add_explicit(&catalog->refs, 1, memory_order_relaxed);
    return catalog;
}

void catalog_unref(struct annotation_catalog *catalog) {
    if (catalog == NULL ||
        atomic_fetch_sub_explicit(&catalog->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < catalog->known_count; i++) {
        set_unref(catalog->known[i]);
    }
    free(catalog->sets);
    free(catalog->known);
    free(catalog->revisions);
    raw_paths_free(catalog->paths);
    sds_blob_unref(catalog->pointer);
    free(catalog);
}

static void *copy_array(const void *from, size_t count, size_t size) {
    void *copy = calloc(count + 1, size);
    if (copy != NULL && count > 0) {
        memcpy(copy, from, count * size);
    }
    return copy;
}

// Takes over all that the version before knew. False without memory.
static bool inherit(struct annotation_catalog *catalog, const struct annotation_catalog *before) {
    struct timespec last = before->pointer_mtime;
    if (catalog->pointer_mtime.tv_sec < last.tv_sec ||
        (catalog->pointer_mtime.tv_sec == last.tv_sec &&
         catalog->pointer_mtime.tv_nsec <= last.tv_nsec)) {
        last.tv_nsec++;
        catalog->pointer_mtime =
            last.tv_nsec < 1000000000 ? last : (struct timespec){.tv_sec = last.tv_sec + 1};
    }
    catalog->known = copy_array(before->known, before->known_count, sizeof *before->known);
    catalog->revisions =
        copy_array(before->revisions, before->revision_count, sizeof *before->revisions);
    catalog->paths = raw_paths_copy(before->paths);
    if (catalog->known == NULL || catalog->revisions == NULL || catalog->paths == NULL) {
        return false;
    }
    for (size_t i = 0; i < before->known_count; i++) {
        atomic_fetch_add_explicit(&before->known[i]->refs, 1, memory_order_relaxed);
    }
    catalog->known_count = before->known_count;
    catalog->revision_count = before->revision_count;
    return true;
}

enum sds_kind catalog_load(struct signal_dataset *ds, const struct annotation_catalog *before,
                           struct sds_blob *pointer, const struct sds_version *version,
                           struct annotation_catalog **out, struct sds_err *err) {
    struct annotation_catalog *catalog = calloc(1, sizeof *catalog);
    if (catalog == NULL) {
        return no_memory(err);
    }
    catalog->refs = 1;
    catalog->pointer = pointer != NULL ? sds_blob_ref(pointer) : NULL;
    catalog->version = *version;
    catalog->pointer_mtime = version->mtime;
    bool ready =
        before != NULL ? inherit(catalog, before) : (catalog->paths = raw_paths_new()) != NULL;
    enum sds_kind kind = ready ? SDS_OK : no_memory(err);
    if (kind == SDS_OK && pointer != NULL) {
        kind = open_pointer(ds, catalog, err);
    }
    if (kind == SDS_OK) {
        kind = raw_paths_seal(catalog->paths, err);
    }
    if (kind != SDS_OK) {
        catalog_unref(catalog);
        return kind;
    }
    *out = catalog;
    return SDS_OK;
}
