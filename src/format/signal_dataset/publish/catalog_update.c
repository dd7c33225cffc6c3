// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/catalog_update.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/hash.h"
#include "format/signal_dataset/catalog.h"
#include "format/signal_dataset/publish/receipt.h"
#include "format/signal_dataset/record.h"
#include "format/tensor/named.h"

enum { ATTEMPTS = 8 };

// The catalog as it was read: the revision's document, and which version of the pointer named it.
struct catalog_now {
    struct sds_version version;
    struct sds_blob *text; // of the revision; NULL when there is no catalog
    struct sds_json *doc;
    struct sds_revision_doc revision; // its sets, in the order of the document
};

static void forget(struct catalog_now *now) {
    sds_revision_doc_fini(&now->revision);
    sds_json_free(now->doc);
    sds_blob_unref(now->text);
    *now = (struct catalog_now){0};
}

static enum sds_kind read_pointer(struct sds_store *store, struct sds_version *version,
                                  struct sds_catalog_doc *out, struct sds_err *err) {
    struct sds_blob *text = NULL;
    enum sds_kind kind =
        sds_store_read_version(store, CATALOG_PATH, SDS_MAX_DOCUMENT_BYTES, &text, version, err);
    if (kind == SDS_OK) {
        kind = sds_catalog_parse(sds_span(text->at, text->len), out, err);
        sds_blob_unref(text);
    }
    if (kind != SDS_OK && kind != SDS_ERR_NOT_FOUND) {
        sds_err_object(err, CATALOG_PATH);
    }
    return kind;
}

// Every rule of a revision is checked, then its values are taken as they are written: what other
// publishers put there stays as it is.
static enum sds_kind read_revision(struct signal_dataset *ds, const struct sds_catalog_doc *pointer,
                                   struct catalog_now *now, struct sds_err *err) {
    const struct sds_json_limits limits = {
        .bytes = SDS_MAX_DOCUMENT_BYTES, .depth = SDS_JSON_DEPTH, .nodes = SDS_JSON_NODES};
    enum sds_kind kind = in_chain(catalog_read_revision(ds, pointer, &now->text, err), err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_span text = sds_span(now->text->at, now->text->len);
    kind = sds_revision_parse(text, &now->revision, err);
    return kind == SDS_OK ? sds_json_parse(text, &limits, &now->doc, err) : kind;
}

// No catalog is a catalog without sets.
static enum sds_kind read_catalog(struct signal_dataset *ds, struct catalog_now *now,
                                  struct sds_err *err) {
    struct sds_catalog_doc pointer;
    *now = (struct catalog_now){0};
    enum sds_kind kind = read_pointer(ds->store, &now->version, &pointer, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        return SDS_OK;
    }
    if (kind == SDS_OK) {
        kind = read_revision(ds, &pointer, now, err);
        if (kind != SDS_OK) {
            sds_err_object(err, "%s", pointer.revision_path);
            forget(now);
        }
    }
    return kind;
}

static struct sds_value sets_of(const struct catalog_now *now) {
    return now->doc != NULL ? sds_value_get(sds_json_top(now->doc), "sets") : (struct sds_value){0};
}

static struct sds_value entry_of(const struct catalog_now *now, const struct publication *pub) {
    return sds_value_get(sets_of(now), pub->request->set);
}

// An entry that says the same in another way is another one, as for the reference: without its
// generation, say.
static bool is_entry(struct sds_value entry, const char *path, uint64_t stored_bytes) {
    uint64_t bytes;
    struct sds_value generation = sds_value_get(entry, "generation");
    return sds_value_count(entry) == 3 && sds_value_is(sds_value_get(entry, "path"), path) &&
           sds_value_there(generation) && sds_value_type(generation) == SDS_JSON_NULL &&
           sds_value_u64(sds_value_get(entry, "stored_bytes"), &bytes) && bytes == stored_bytes;
}

// Whether a catalog takes the set: the name is free and there is room, or the entry is this very
// one.
static enum sds_kind judge(const struct catalog_now *now, const struct publication *pub,
                           const char *path, uint64_t stored_bytes, struct sds_err *err) {
    struct sds_value entry = entry_of(now, pub);
    if (sds_value_there(entry)) {
        return is_entry(entry, path, stored_bytes) ? SDS_OK : publication_name_taken(pub, err);
    }
    if (now->revision.count >= MAX_ANNOTATION_SETS) {
        return sds_fail(err, SDS_ERR_LIMIT, "sets",
                        "the catalog has %zu sets, and no room for more", now->revision.count);
    }
    return SDS_OK;
}

enum sds_kind catalog_look(const struct publication *pub, const char *path, bool *listed,
                           struct sds_err *err) {
    struct catalog_now now;
    enum sds_kind kind = read_catalog(pub->ds, &now, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_value entry = entry_of(&now, pub);
    *listed = sds_value_there(entry);
    if (*listed && !sds_value_is(sds_value_get(entry, "path"), path)) {
        kind = publication_name_taken(pub, err);
    } else if (!*listed) {
        kind = judge(&now, pub, path, 0, err);
    }
    forget(&now);
    return kind;
}

enum sds_kind catalog_check(const struct publication *pub, const char *path, uint64_t stored_bytes,
                            struct sds_err *err) {
    struct catalog_now now;
    enum sds_kind kind = read_catalog(pub->ds, &now, err);
    if (kind == SDS_OK) {
        kind = judge(&now, pub, path, stored_bytes, err);
        forget(&now);
    }
    return kind;
}

// ---- the new revision

struct listed_set {
    const char *name;
    struct sds_value entry; // absent: the one that is published
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct listed_set *)a)->name, ((const struct listed_set *)b)->name);
}

static void write_entry(struct text *text, const char *path, uint64_t stored_bytes) {
    text_add(text, "{\"generation\":null,\"path\":\"");
    text_add(text, path);
    text_add(text, "\",\"stored_bytes\":");
    text_add_number(text, stored_bytes);
    text_add(text, "}");
}

// Writes the sets that the catalog has and, if it is not one of them, the one that is published.
static enum sds_kind write_revision(const struct publication *pub, const struct catalog_now *now,
                                    const char *path, uint64_t stored_bytes, struct sds_buf *out,
                                    struct sds_err *err) {
    struct text text = {.out = out, .err = err};
    size_t count = 0;
    struct listed_set *sets = calloc(now->revision.count + 1, sizeof *sets);
    if (sets == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a catalog");
    }
    for (struct sds_iter it = sds_value_iter(sets_of(now)); sds_iter_next(&it); count++) {
        sets[count] = (struct listed_set){now->revision.sets[count].name, it.value};
    }
    if (!sds_value_there(entry_of(now, pub))) {
        sets[count++] = (struct listed_set){.name = pub->request->set};
    }
    qsort(sets, count, sizeof *sets, by_name);
    text_add(&text, "{\"sets\":{");
    for (size_t i = 0; i < count; i++) { // the names are portable: nothing in them is escaped
        text_add(&text, i > 0 ? ",\"" : "\"");
        text_add(&text, sets[i].name);
        text_add(&text, "\":");
        if (sds_value_there(sets[i].entry)) {
            text_add_value(&text, sets[i].entry);
        } else {
            write_entry(&text, path, stored_bytes);
        }
    }
    text_add(&text, "}}");
    free(sets);
    return text.kind;
}

static enum sds_kind create_revision(struct publication *pub, struct sds_span text,
                                     struct object_path *path, struct sds_err *err) {
    char hash[SDS_SHA256_HEX];
    bool same = false;
    sds_sha256_hex(text, hash);
    snprintf(path->text, sizeof path->text, "annotations/catalogs/%s.json", hash);
    enum sds_kind kind = publication_create(pub, path->text, text, &same, err);
    if (kind == SDS_OK && !same) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "sha256", "it holds other bytes than its name says");
        sds_err_object(err, "%s", path->text);
    }
    return kind;
}

static enum sds_kind swap_pointer(struct publication *pub, const struct object_path *revision,
                                  const struct sds_version *seen, struct sds_err *err) {
    struct sds_buf buf = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    struct text text = {.out = &buf, .err = err};
    text_add(&text, "{\"revision\":{\"generation\":null,\"path\":\"");
    text_add(&text, revision->text);
    text_add(&text, "\"}}");
    struct sds_span bytes = sds_buf_span(&buf);
    enum sds_kind kind = text.kind;
    if (kind == SDS_OK) {
        kind = sds_store_swap(pub->ds->store, CATALOG_PATH, bytes, seen, err);
    }
    if (kind == SDS_OK) {
        receipt_add_bytes(pub->receipt, CATALOG_PATH, bytes, "written");
    }
    sds_buf_fini(&buf);
    return kind;
}

// ---- the update

// One attempt. *lost: another publisher was faster.
static enum sds_kind attempt(struct publication *pub, const char *path, uint64_t stored_bytes,
                             bool *lost, struct sds_err *err) {
    struct catalog_now now;
    enum sds_kind kind = read_catalog(pub->ds, &now, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES);
    struct object_path revision;
    kind = judge(&now, pub, path, stored_bytes, err);
    if (kind == SDS_OK) {
        kind = write_revision(pub, &now, path, stored_bytes, &text, err);
    }
    if (kind == SDS_OK) {
        kind = create_revision(pub, sds_buf_span(&text), &revision, err);
    }
    if (kind == SDS_OK) {
        kind = swap_pointer(pub, &revision, &now.version, err);
        *lost = kind == SDS_ERR_CONFLICT;
    }
    sds_buf_fini(&text);
    forget(&now);
    return kind;
}

// Between half and all of 10 ms, doubled with each attempt up to 500 ms: two publishers that
// collided do not do so again in step.
static void back_off(unsigned attempt_number) {
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        random = (uint32_t)clock();
    }
    uint64_t most = (uint64_t)10000000 << attempt_number;
    most = most < 500000000 ? most : 500000000;
    uint64_t ns = most / 2 + (most / 2) * random / UINT32_MAX;
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)ns};
    nanosleep(&pause, NULL);
}

enum sds_kind catalog_update(struct publication *pub, const char *path, uint64_t stored_bytes,
                             struct sds_err *err) {
    for (unsigned i = 0;; i++) {
        bool lost = false;
        enum sds_kind kind = attempt(pub, path, stored_bytes, &lost, err);
        if (!lost) {
            return kind;
        }
        if (i + 1 == ATTEMPTS) {
            return sds_fail(err, SDS_ERR_CONFLICT, "catalog",
                            "annotation catalog update retry limit exceeded: other publishers were "
                            "faster %d times",
                            ATTEMPTS);
        }
        back_off(i);
    }
}
