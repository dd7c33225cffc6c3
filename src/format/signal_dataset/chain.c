// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/signal_dataset/again.h"
#include "format/signal_dataset/dataset.h"

enum sds_kind in_chain(enum sds_kind kind, struct sds_err *err) {
    if (kind != SDS_ERR_NOT_FOUND) {
        return kind;
    }
    if (err != NULL) {
        err->kind = SDS_ERR_CORRUPT;
    }
    return SDS_ERR_CORRUPT;
}

struct sds_expected reference_expected(const struct sds_reference *ref) {
    return (struct sds_expected){
        .sized = !ref->absolute && ref->stored_bytes > 0 && ref->stored_bytes <= INT64_MAX,
        .size = ref->stored_bytes,
        .pinned = ref->pinned,
        .generation = ref->generation,
        .whole = ref->is_metadata,
    };
}

uint64_t reference_key(const struct sds_reference *ref) {
    uint64_t promised = ref->absolute ? 0 : ref->stored_bytes;
    if (ref->pinned) {
        promised = sds_mix64(promised) ^ sds_mix64(ref->generation + 1);
    }
    return ref->path_hash ^ sds_mix64(promised);
}

enum sds_kind reference_check_size(const struct sds_reference *ref, uint64_t size,
                                   struct sds_err *err) {
    if (size == ref->stored_bytes) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_CORRUPT, "stored_bytes",
                    "it has %llu bytes where its reference declares %llu", (unsigned long long)size,
                    (unsigned long long)ref->stored_bytes);
}

enum sds_kind reference_read(struct sds_store *store, const char *path,
                             const struct sds_reference *ref, struct sds_blob **out,
                             struct sds_err *err) {
    struct sds_blob *text = NULL;
    struct sds_expected expected = reference_expected(ref);
    expected.whole = true;
    enum sds_kind kind = sds_store_read_all(store, path, &expected, SDS_MAX_DOCUMENT_BYTES,
                                            SDS_IMMUTABLE, &text, err);
    if (kind == SDS_OK) {
        kind = reference_check_size(ref, text->len, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", path);
        sds_blob_unref(text);
        return kind;
    }
    *out = text;
    return SDS_OK;
}

void reference_prefetch(struct sds_store *store, const struct sds_reference *ref) {
    struct sds_object *object = NULL;
    struct sds_expected expected = reference_expected(ref);
    expected.whole = true;
    if (expected.sized && expected.size <= SDS_MAX_DOCUMENT_BYTES &&
        sds_store_object(store, ref->path, SDS_IMMUTABLE, &expected, &object, NULL) == SDS_OK) {
        sds_object_prefetch(object, 0, expected.size);
        sds_object_close(object);
    }
}

// An absent root.json may be an earlier prototype of the layout, which deserves its own words.
static enum sds_kind explain_absent_root(struct signal_dataset *ds, struct sds_err *err) {
    struct sds_object *legacy = NULL;
    struct sds_err why;
    enum sds_kind kind =
        sds_store_object(ds->store, "sds.json", SDS_IMMUTABLE, NULL, &legacy, &why);
    sds_object_close(legacy);
    if (kind == SDS_ERR_NOT_FOUND || kind == SDS_ERR_CORRUPT) {
        return SDS_ERR_NOT_FOUND;
    }
    if (kind != SDS_OK) { // whether it is there cannot be told
        if (err != NULL) {
            *err = why;
        }
        return kind;
    }
    return sds_fail(err, SDS_ERR_CORRUPT, "layout",
                    "the dataset was written by the earlier split-based prototype of "
                    "signal-dataset 0.1, which is not supported: publish it again");
}

// The whole of an object that is open.
static enum sds_kind read_whole(struct sds_object *object, struct sds_blob **out,
                                struct sds_err *err) {
    uint64_t size = sds_object_info(object)->size;
    if (size > SDS_MAX_DOCUMENT_BYTES) {
        return sds_fail(err, SDS_ERR_LIMIT, "size", "%llu bytes, more than the limit of %llu",
                        (unsigned long long)size, (unsigned long long)SDS_MAX_DOCUMENT_BYTES);
    }
    struct sds_blob *text = sds_blob_new((size_t)size);
    if (text == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a document");
    }
    enum sds_kind kind = sds_object_read(object, 0, text->at, text->len, err);
    if (kind != SDS_OK) {
        sds_blob_unref(text);
        return kind;
    }
    *out = text;
    return SDS_OK;
}

static enum sds_kind open_root(struct signal_dataset *ds, struct sds_err *err) {
    struct chain *chain = &ds->chain;
    struct sds_object *object = NULL;
    struct sds_blob *text = NULL;
    enum sds_kind kind =
        sds_store_object(ds->store, "root.json", SDS_IMMUTABLE, NULL, &object, err);
    if (kind == SDS_OK) {
        kind = read_whole(object, &text, err);
        chain->root_mtime = sds_object_info(object)->mtime;
        chain->root_bytes = sds_object_info(object)->size;
        sds_object_close(object);
    } else if (kind == SDS_ERR_NOT_FOUND) {
        kind = explain_absent_root(ds, err);
    }
    if (kind == SDS_OK) {
        sds_sha256_hex(sds_span(text->at, text->len), chain->root_hash);
        kind = sds_root_parse(sds_span(text->at, text->len), &chain->root, err);
        sds_blob_unref(text);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "root.json");
    }
    return kind;
}

// The path of the snapshot as it is joined to the root: an absolute local path cannot be joined,
// and "s3://x" becomes the relative "s3:/x".
static enum sds_kind snapshot_path(const struct sds_reference *ref, struct sds_buf *out,
                                   struct sds_err *err) {
    if (sds_path_normalise(sds_span(ref->path, ref->path_len), out)) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_CORRUPT, "path",
                    "snapshot.path %s is not a path relative to the root",
                    SDS_QUOTE(ref->path, ref->path_len));
}

// Root and snapshot are doubted together: what is wrong in one may show in the other, or in a page.
static bool again(struct signal_dataset *ds, uint64_t since) {
    static const struct sds_reference root;
    const struct sds_reference *ref = &ds->chain.root.snapshot;
    struct sds_buf path = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    bool again = document_again(ds->store, "root.json", &root, since, SDS_ERR_CORRUPT);
    if (ref->path != NULL && snapshot_path(ref, &path, NULL) == SDS_OK) {
        again |= document_again(ds->store, (char *)path.at, ref, since, SDS_ERR_CORRUPT);
    }
    sds_buf_fini(&path);
    return again;
}

static enum sds_kind open_snapshot(struct signal_dataset *ds, struct sds_err *err) {
    struct sds_buf path = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    struct sds_blob *text = NULL;
    const struct sds_reference *ref = &ds->chain.root.snapshot;
    enum sds_kind kind = snapshot_path(ref, &path, err);
    if (kind != SDS_OK) {
        sds_err_object(err, "root.json");
    } else {
        kind = reference_read(ds->store, (char *)path.at, ref, &text, err);
    }
    if (kind == SDS_OK) {
        sds_sha256_hex(sds_span(text->at, text->len), ds->chain.snapshot_hash);
        kind = sds_snapshot_parse(sds_span(text->at, text->len), &ds->chain.snapshot, err);
        sds_blob_unref(text);
        if (kind != SDS_OK) {
            sds_err_object(err, "%s", (char *)path.at);
        }
    }
    sds_buf_fini(&path);
    return in_chain(kind, err);
}

// An absolute manifest path is followed only below the root itself: such a path is made relative,
// in place, and any other is left for load_page to refuse.
static void make_relative(struct sds_snapshot_doc *snapshot, struct sds_reference *ref,
                          const char *root) {
    size_t len = strlen(root);
    if (!ref->absolute || strncmp(ref->path, root, len) != 0 || ref->path[len] != '/') {
        return;
    }
    struct sds_buf path = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    len += strspn(ref->path + len, "/");
    struct sds_span below = sds_span(ref->path + len, ref->path_len - len);
    if (sds_path_normalise(below, &path)) {
        memcpy(snapshot->strings + (ref->path - snapshot->strings), path.at, path.len);
        ref->path_len = (uint32_t)path.len - 1;
        ref->path_hash = sds_hash_stable(sds_span(ref->path, ref->path_len));
        ref->absolute = false;
    }
    sds_buf_fini(&path);
}

static enum sds_kind open_both(struct signal_dataset *ds, struct sds_err *err) {
    for (;;) {
        uint64_t since = sds_store_doubts(ds->store);
        enum sds_kind kind = open_root(ds, err);
        if (kind == SDS_OK) {
            kind = open_snapshot(ds, err);
        }
        bool read = ds->chain.root_bytes > 0; // else there is no root
        if (!sds_kind_is_verdict(kind) || !read || !again(ds, since)) {
            return kind;
        }
        chain_close(ds);
    }
}

enum sds_kind chain_open(struct signal_dataset *ds, struct sds_err *err) {
    struct sds_snapshot_doc *snapshot = &ds->chain.snapshot;
    enum sds_kind kind = open_both(ds, err);
    for (size_t i = 0; kind == SDS_OK && i < snapshot->page_count; i++) {
        make_relative(snapshot, &snapshot->pages[i].object, sds_store_root(ds->store));
    }
    return kind;
}

void chain_close(struct signal_dataset *ds) {
    sds_root_doc_fini(&ds->chain.root);
    sds_snapshot_doc_fini(&ds->chain.snapshot);
}

struct page_load {
    struct signal_dataset *ds;
    const struct sds_page_ref *ref;
};

static enum sds_kind compare_page(const struct sds_manifest_doc *page,
                                  const struct sds_page_ref *ref, struct sds_err *err) {
    const struct {
        const char *what;
        uint64_t found, declared;
    } checks[] = {
        {"first_ordinal", page->first_ordinal, ref->first_ordinal},
        {"record_count", page->record_count, ref->record_count},
        {"shard_count", page->shard_count, ref->shard_count},
        {"stored_bytes", page->stored_bytes, ref->stored_bytes},
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (checks[i].found != checks[i].declared) {
            return sds_fail(err, SDS_ERR_CORRUPT, checks[i].what,
                            "the page's %s is %llu where the snapshot declares %llu",
                            checks[i].what, (unsigned long long)checks[i].found,
                            (unsigned long long)checks[i].declared);
        }
    }
    return SDS_OK;
}

static void free_page(void *value) {
    sds_manifest_doc_fini(value);
    free(value);
}

static enum sds_kind parse_page(const struct page_load *load, struct sds_manifest_doc *page,
                                struct sds_err *err) {
    const struct sds_reference *ref = &load->ref->object;
    struct gate *gate = &load->ds->gate;
    struct sds_blob *text = NULL;
    enum sds_kind kind = gate_enter_document(gate, load->ds->cache, ref->stored_bytes, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = reference_read(load->ds->store, ref->path, ref, &text, err);
    if (kind == SDS_OK) {
        kind = sds_manifest_parse(sds_span(text->at, text->len), page, err);
        sds_blob_unref(text);
    }
    gate_leave_document(gate, ref->stored_bytes);
    return kind;
}

// A page that stays bad is one that its snapshot may have named wrongly: the next to open the
// dataset asks for all of it.
static enum sds_kind read_page(const struct page_load *load, struct sds_manifest_doc *page,
                               struct sds_err *err) {
    const struct sds_reference *ref = &load->ref->object;
    for (;;) {
        uint64_t since = sds_store_doubts(load->ds->store);
        enum sds_kind kind = parse_page(load, page, err);
        if (kind == SDS_OK) {
            kind = compare_page(page, load->ref, err);
        }
        if (!document_again(load->ds->store, ref->path, ref, since, kind)) {
            if (sds_kind_is_verdict(in_chain(kind, NULL))) {
                (void)again(load->ds, UINT64_MAX);
            }
            return kind;
        }
        sds_manifest_doc_fini(page);
    }
}

static enum sds_kind load_page(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    const struct page_load *load = ctx;
    const struct sds_reference *ref = &load->ref->object;
    struct sds_manifest_doc *page = calloc(1, sizeof *page);
    enum sds_kind kind = SDS_OK;
    if (page == NULL) {
        kind = sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a page");
    } else if (ref->absolute) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "path",
                        "the manifest's absolute path does not lead below the root");
    }
    if (kind == SDS_OK) {
        kind = read_page(load, page, err);
    }
    if (kind != SDS_OK) {
        sds_err_object(err, "%s", ref->path);
        if (page != NULL) {
            free_page(page);
        }
        return in_chain(kind, err);
    }
    *value = page;
    *cost = page->memory;
    return SDS_OK;
}

enum sds_kind chain_page(struct signal_dataset *ds, size_t page, struct sds_cache_ref **ref,
                         const struct sds_manifest_doc **out, struct sds_err *err) {
    static const struct sds_cache_class class = {.load = load_page, .free = free_page};
    struct page_load load = {.ds = ds, .ref = &ds->chain.snapshot.pages[page]};
    void *value = NULL;
    enum sds_kind kind =
        sds_cache_get(ds->cache, cached_key(CACHED_PAGE, 0, page), &class, &load, ref, &value, err);
    *out = value;
    return kind;
}

// The last page whose first record (or shard) is not beyond the wanted one. Empty pages share their
// first with the next one, so "last" skips them.
static size_t find_page(const struct sds_snapshot_doc *snapshot, uint64_t wanted, bool by_shard) {
    size_t low = 0, high = snapshot->page_count;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        const struct sds_page_ref *page = &snapshot->pages[mid];
        uint64_t first = by_shard ? page->first_shard : page->first_ordinal;
        *(first <= wanted ? &low : &high) = mid;
    }
    return low;
}

static size_t find_shard(const struct sds_manifest_doc *page, uint64_t ordinal) {
    size_t low = 0, high = page->shard_count;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        *(page->shards[mid].first_ordinal <= ordinal ? &low : &high) = mid;
    }
    return low;
}

const struct sds_page_ref *chain_page_of(const struct signal_dataset *ds, uint64_t ordinal) {
    return &ds->chain.snapshot.pages[find_page(&ds->chain.snapshot, ordinal, false)];
}

static struct location locate(const struct signal_dataset *ds, struct sds_cache_ref *ref,
                              const struct sds_manifest_doc *page, size_t number,
                              uint64_t ordinal) {
    size_t i = find_shard(page, ordinal);
    const struct sds_shard_entry *shard = &page->shards[i];
    uint64_t offset = ordinal - shard->first_ordinal;
    return (struct location){
        .ref = ref,
        .shard = shard,
        .shard_index = ds->chain.snapshot.pages[number].first_shard + i,
        .physical = shard->record_indices != NULL ? shard->record_indices[offset] : offset,
    };
}

enum sds_kind chain_locate(struct signal_dataset *ds, uint64_t ordinal, struct location *out,
                           struct sds_err *err) {
    size_t number = find_page(&ds->chain.snapshot, ordinal, false);
    const struct sds_manifest_doc *page = NULL;
    struct sds_cache_ref *ref = NULL;
    enum sds_kind kind = chain_page(ds, number, &ref, &page, err);
    if (kind == SDS_OK) {
        *out = locate(ds, ref, page, number, ordinal);
    }
    return kind;
}

bool chain_locate_at_hand(struct signal_dataset *ds, uint64_t ordinal, struct location *out) {
    size_t number = find_page(&ds->chain.snapshot, ordinal, false);
    void *page = NULL;
    struct sds_cache_ref *ref =
        sds_cache_peek(ds->cache, cached_key(CACHED_PAGE, 0, number), &page);
    if (ref != NULL) {
        *out = locate(ds, ref, page, number, ordinal);
    }
    return ref != NULL;
}

enum sds_kind chain_shard(struct signal_dataset *ds, uint64_t shard_index, struct location *out,
                          struct sds_err *err) {
    const struct sds_snapshot_doc *snapshot = &ds->chain.snapshot;
    size_t number = find_page(snapshot, shard_index, true);
    const struct sds_manifest_doc *page = NULL;
    struct sds_cache_ref *ref = NULL;
    enum sds_kind kind = chain_page(ds, number, &ref, &page, err);
    if (kind != SDS_OK) {
        return kind;
    }
    *out = (struct location){
        .ref = ref,
        .shard = &page->shards[shard_index - snapshot->pages[number].first_shard],
        .shard_index = shard_index,
    };
    return SDS_OK;
}

void location_fini(struct location *location) {
    sds_cache_release(location->ref);
    location->ref = NULL;
}
