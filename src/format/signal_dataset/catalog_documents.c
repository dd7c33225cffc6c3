// SPDX-License-Identifier: Apache-2.0
//
// The annotation catalog, section 7: the pointer in catalog.json, and the revision that it names.
#include "format/signal_dataset/documents.h"

#include <stdlib.h>

#include "format/signal_dataset/document_reader.h"

#define HASH_LEN (sizeof((struct sds_catalog_doc *)0)->revision_hash - 1)

// What follows prefix in text; false when text does not begin with it.
static bool skip(struct sds_span *text, struct sds_span prefix) {
    if (text->len < prefix.len || memcmp(text->at, prefix.at, prefix.len) != 0) {
        return false;
    }
    *text = sds_span(text->at + prefix.len, text->len - prefix.len);
    return true;
}

static size_t hex_len(struct sds_span text) {
    size_t len = 0;
    while (len < text.len && ((text.at[len] >= '0' && text.at[len] <= '9') ||
                              (text.at[len] >= 'a' && text.at[len] <= 'f'))) {
        len++;
    }
    return len;
}

// annotations/catalogs/<64 hex>.json, literally.
static bool take_revision_hash(struct sds_span path, char hash[HASH_LEN + 1]) {
    if (!skip(&path, sds_span_str("annotations/catalogs/")) || hex_len(path) != HASH_LEN) {
        return false;
    }
    memcpy(hash, path.at, HASH_LEN);
    hash[HASH_LEN] = '\0';
    return skip(&path, sds_span(path.at, HASH_LEN)) && sds_span_eq(path, sds_span_str(".json"));
}

static void read_catalog(const struct sds_item *top, struct sds_catalog_doc *catalog) {
    static const char *const pointer_keys[] = {"revision", NULL};
    static const char *const revision_keys[] = {"path", "generation", NULL};
    sds_check_keys(top, pointer_keys);
    struct sds_item revision = sds_item_member(top, "revision");
    sds_check_keys(&revision, revision_keys);
    struct sds_item path = sds_item_member(&revision, "path");
    sds_document_reserve(top->doc, sds_string_room(path.value));
    size_t len;
    const char *text = sds_read_string(&path, &len);
    if (text == NULL) {
        return;
    }
    if (!take_revision_hash(sds_span(text, len), catalog->revision_hash)) {
        sds_item_unexpected(&path, "annotations/catalogs/<64 hex digits>.json");
        return;
    }
    memcpy(catalog->revision_path, text, len + 1);
    catalog->pinned = sds_read_generation(&revision, &catalog->generation);
}

enum sds_kind sds_catalog_parse(struct sds_span text, struct sds_catalog_doc *out,
                                struct sds_err *err) {
    struct sds_document doc;
    struct sds_item top = sds_document_open(&doc, text, err);
    struct sds_catalog_doc catalog = {0};
    if (doc.kind == SDS_OK) {
        read_catalog(&top, &catalog);
    }
    if (doc.kind == SDS_OK) {
        *out = catalog;
    }
    sds_document_close(&doc);
    return doc.kind;
}

// annotations/sets/<name>/<publication id>/root.json, of a normalised path.
static bool is_set_root_path(struct sds_span path, struct sds_span name) {
    if (!skip(&path, sds_span_str("annotations/sets/")) || !skip(&path, name) ||
        !skip(&path, sds_span_str("/"))) {
        return false;
    }
    const uint8_t *slash = memchr(path.at, '/', path.len);
    struct sds_span publication = sds_span(path.at, slash != NULL ? (size_t)(slash - path.at) : 0);
    return sds_is_portable(publication) && skip(&path, publication) &&
           sds_span_eq(path, sds_span_str("/root.json"));
}

static void read_set(const struct sds_item *sets, const struct sds_iter *it,
                     struct sds_set_ref *set) {
    static const char *const keys[] = {"path", "generation", "stored_bytes", NULL};
    struct sds_item name = *sets; // a bad name has no place of its own
    name.value = it->key;
    size_t name_len;
    set->name = sds_read_string(&name, &name_len);
    if (!sds_is_portable(sds_span(set->name, name_len))) {
        sds_item_unexpected(&name, "a portable identifier as name");
        return;
    }
    struct sds_item item = sds_item_element(sets, 0, it->value);
    item.key = set->name;
    sds_check_keys(&item, keys);
    set->object = sds_item_reference(&item);
    struct sds_span path = sds_span(set->object.path, set->object.path_len);
    if (!is_set_root_path(path, sds_span(set->name, name_len))) {
        struct sds_item member = sds_item_member(&item, "path");
        sds_item_unexpected(&member, "annotations/sets/<name of the set>/<id>/root.json");
    }
}

static size_t string_room(const struct sds_item *sets) {
    size_t room = 0;
    for (struct sds_iter it = sds_value_iter(sets->value); sds_iter_next(&it);) {
        room += sds_string_room(it.key) + sds_reference_room(it.value);
    }
    return room;
}

static void read_revision(const struct sds_item *top, struct sds_revision_doc *revision) {
    static const char *const keys[] = {"sets", NULL};
    sds_check_keys(top, keys);
    struct sds_item sets = sds_item_member(top, "sets");
    if (!sds_item_is(&sets, SDS_JSON_OBJECT)) {
        sds_item_unexpected(&sets, "an object");
        return;
    }
    sds_document_reserve(top->doc, string_room(&sets));
    revision->sets =
        sds_document_array(top->doc, sds_value_count(sets.value), sizeof *revision->sets);
    struct sds_iter it = sds_value_iter(sets.value);
    while (top->doc->kind == SDS_OK && sds_iter_next(&it)) {
        read_set(&sets, &it, &revision->sets[revision->count++]);
    }
}

enum sds_kind sds_revision_parse(struct sds_span text, struct sds_revision_doc *out,
                                 struct sds_err *err) {
    struct sds_document doc;
    struct sds_item top = sds_document_open(&doc, text, err);
    struct sds_revision_doc revision = {0};
    if (doc.kind == SDS_OK) {
        read_revision(&top, &revision);
        revision.strings = sds_document_strings(&doc);
    }
    if (doc.kind == SDS_OK) {
        *out = revision;
    } else {
        sds_revision_doc_fini(&revision);
    }
    sds_document_close(&doc);
    return doc.kind;
}

void sds_revision_doc_fini(struct sds_revision_doc *revision) {
    free(revision->sets);
    free(revision->strings);
    *revision = (struct sds_revision_doc){0};
}
