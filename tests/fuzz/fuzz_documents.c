// SPDX-License-Identifier: Apache-2.0
// Control documents, paths, reader versions and directory entries. The first byte chooses; what
// comes out of a parser is held against what its header promises.
#include <stdlib.h>

#include "format/name.h"
#include "format/signal_dataset/documents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool promise) {
    if (!promise) {
        abort();
    }
}

static void check_reference(const struct sds_reference *reference) {
    struct sds_span path = sds_span(reference->path, reference->path_len);
    insist(strlen(reference->path) == path.len);
    insist(path.len > 0);
    insist(reference->absolute == sds_path_is_absolute(path));
    insist(reference->pinned || reference->generation == 0);
    if (!reference->absolute) {
        struct sds_buf again = SDS_BUF_INIT(path.len + 1);
        insist(sds_path_normalise(path, &again));
        insist(again.len == path.len + 1 && memcmp(again.at, path.at, path.len) == 0);
        sds_buf_fini(&again);
    }
}

static void check_text(const char *text, size_t len) {
    insist(len > 0 && text[len] == '\0');
}

static void fuzz_root(struct sds_span text) {
    struct sds_root_doc root;
    if (sds_root_parse(text, &root, NULL) == SDS_OK) {
        check_text(root.dataset_id, root.dataset_id_len);
        check_reference(&root.snapshot);
        insist(root.metadata[0] == '{' && root.metadata[strlen(root.metadata) - 1] == '}');
        sds_root_doc_fini(&root);
    }
}

static void fuzz_snapshot(struct sds_span text) {
    struct sds_snapshot_doc snapshot;
    if (sds_snapshot_parse(text, &snapshot, NULL) != SDS_OK) {
        return;
    }
    uint64_t records = 0, shards = 0, stored_bytes = 0;
    for (size_t i = 0; i < snapshot.page_count; i++) {
        const struct sds_page_ref *page = &snapshot.pages[i];
        insist(page->first_ordinal == records && page->first_shard == shards);
        check_reference(&page->object);
        records += page->record_count;
        shards += page->shard_count;
        stored_bytes += page->stored_bytes;
    }
    check_text(snapshot.snapshot_id, snapshot.snapshot_id_len);
    insist(records == snapshot.record_count && shards == snapshot.shard_count);
    insist(stored_bytes == snapshot.stored_bytes && records <= SDS_MAX_RECORDS);
    sds_snapshot_doc_fini(&snapshot);
}

static void fuzz_manifest(struct sds_span text) {
    struct sds_manifest_doc manifest;
    if (sds_manifest_parse(text, &manifest, NULL) != SDS_OK) {
        return;
    }
    uint64_t end = manifest.first_ordinal;
    uint64_t indices = 0;
    for (size_t i = 0; i < manifest.shard_count; i++) {
        const struct sds_shard_entry *shard = &manifest.shards[i];
        insist(shard->first_ordinal == end);
        check_reference(&shard->data);
        check_reference(&shard->metadata);
        if (shard->record_indices != NULL) {
            insist(shard->record_indices == manifest.indices + indices);
            indices += shard->record_count;
        }
        end += shard->record_count;
    }
    insist(end - manifest.first_ordinal == manifest.record_count);
    insist(indices * sizeof *manifest.indices <= manifest.memory);
    sds_manifest_doc_fini(&manifest);
}

static void fuzz_catalog(struct sds_span text) {
    struct sds_catalog_doc catalog;
    if (sds_catalog_parse(text, &catalog, NULL) == SDS_OK) {
        insist(strlen(catalog.revision_hash) == 64);
        insist(strstr(catalog.revision_path, catalog.revision_hash) != NULL);
    }
}

static void fuzz_revision(struct sds_span text) {
    struct sds_revision_doc revision;
    if (sds_revision_parse(text, &revision, NULL) == SDS_OK) {
        for (size_t i = 0; i < revision.count; i++) {
            insist(sds_is_portable(sds_span_str(revision.sets[i].name)));
            check_reference(&revision.sets[i].object);
            insist(!revision.sets[i].object.absolute);
        }
        sds_revision_doc_fini(&revision);
    }
}

static void fuzz_set(struct sds_span text) {
    struct sds_set_doc set;
    if (sds_set_parse(text, &set, NULL) != SDS_OK) {
        return;
    }
    uint64_t end = 0;
    for (size_t i = 0; i < set.shard_count; i++) {
        insist(set.shards[i].first_ordinal == end && set.shards[i].record_count > 0);
        check_reference(&set.shards[i].object);
        end += set.shards[i].record_count;
    }
    insist(end == set.record_count);
    insist(sds_is_portable(sds_span_str(set.name)));
    insist(sds_is_portable(sds_span_str(set.publication_id)));
    check_text(set.source_snapshot_id, set.source_snapshot_id_len);
    sds_set_doc_fini(&set);
}

static bool is_nonempty(struct sds_value v) {
    return sds_value_type(v) == SDS_JSON_STRING && sds_value_string_len(v) > 0;
}

static void fuzz_pointer(struct sds_span text) {
    struct sds_pointer_doc pointer;
    if (sds_pointer_parse(text, &pointer, NULL) != SDS_OK) {
        return;
    }
    insist(is_nonempty(pointer.name) && is_nonempty(pointer.publication_id));
    insist(is_nonempty(pointer.source_snapshot_id) && is_nonempty(pointer.logical_shard_id));
    insist(is_nonempty(pointer.uri));
    uint64_t count = 0;
    for (struct sds_iter it = sds_value_iter(pointer.record_ids); sds_iter_next(&it); count++) {
        insist(is_nonempty(it.value));
    }
    insist(count > 0 && count == pointer.record_count);
    sds_pointer_doc_fini(&pointer);
}

static void fuzz_version(struct sds_span text) {
    int accepted = sds_reader_accepts(text);
    insist(accepted >= -1 && accepted <= 1);
}

static void fuzz_name(struct sds_span text) {
    char entry[SDS_NAME_MAX + 1];
    size_t len = sds_name_encode(text, ".npy", entry);
    insist(len <= SDS_NAME_MAX && strlen(entry) == len);
    insist(strchr(entry, '/') == NULL && entry[0] != '.');
}

static void fuzz_path(struct sds_span text) {
    struct sds_buf path = SDS_BUF_INIT(text.len + 1);
    if (sds_path_normalise(text, &path)) {
        insist(path.len >= 2 && path.at[0] != '/' && strstr((char *)path.at, "//") == NULL);
    }
    sds_buf_fini(&path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const targets[])(struct sds_span text) = {
        fuzz_root, fuzz_snapshot, fuzz_manifest, fuzz_catalog, fuzz_revision,
        fuzz_set,  fuzz_version,  fuzz_name,     fuzz_path,    fuzz_pointer,
    };
    const size_t count = sizeof targets / sizeof targets[0];
    if (size > 0 && data[0] < count) {
        targets[data[0]](sds_span(data + 1, size - 1));
    }
    return 0;
}
