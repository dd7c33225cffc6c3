// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/raw_paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/driver.h"
#include "format/name.h"

#define KEY_MASK ((1ULL << SDS_NODE_KEY_BITS) - 1)
#define MAX_PATH 4095
#define MAX_DEPTH 255 // names before the last one

struct raw_paths {
    struct raw_entry *entries; // in the order in which they were added
    size_t count, room;
    uint32_t *slots; // open addressing by key: position in entries plus one, 0 for free
    size_t slot_count;
    uint32_t *children; // positions in entries, sorted by (parent, position); when sealed
    bool full;
};

struct raw_paths *raw_paths_new(void) {
    return calloc(1, sizeof(struct raw_paths));
}

void raw_paths_free(struct raw_paths *paths) {
    if (paths != NULL) {
        free(paths->entries);
        free(paths->slots);
        free(paths->children);
        free(paths);
    }
}

// 0 is the top itself.
uint64_t raw_child_key(uint64_t directory, struct sds_span name) {
    uint64_t key = sds_mix64(sds_hash_stable(name) ^ sds_mix64(directory + 1)) & KEY_MASK;
    return key != RAW_TOP ? key : 1;
}

// The slot of a key: the one that leads to its entry, or the free one where it belongs.
static uint32_t *slot_of(const struct raw_paths *paths, uint64_t key) {
    size_t i = sds_mix64(key) & (paths->slot_count - 1);
    while (paths->slots[i] != 0 && paths->entries[paths->slots[i] - 1].key != key) {
        i = (i + 1) & (paths->slot_count - 1);
    }
    return &paths->slots[i];
}

const struct raw_entry *raw_paths_find(const struct raw_paths *paths, uint64_t key) {
    uint32_t position = paths->slot_count > 0 ? *slot_of(paths, key) : 0;
    return position != 0 ? &paths->entries[position - 1] : NULL;
}

static enum sds_kind no_memory(size_t count, struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %zu paths", count);
}

// Gives the table room for so many entries, with its slots at most half full.
static enum sds_kind set_room(struct raw_paths *paths, size_t room, struct sds_err *err) {
    struct raw_entry *entries = realloc(paths->entries, room * sizeof *entries);
    paths->entries = entries != NULL ? entries : paths->entries;
    uint32_t *slots = calloc(room * 2, sizeof *slots);
    if (entries == NULL || slots == NULL) {
        free(slots);
        return no_memory(room, err);
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

struct raw_paths *raw_paths_copy(const struct raw_paths *paths) {
    struct raw_paths *copy = raw_paths_new();
    if (copy == NULL || paths->room == 0) {
        return copy;
    }
    copy->full = paths->full;
    copy->entries = malloc(paths->room * sizeof *copy->entries);
    if (copy->entries != NULL) {
        memcpy(copy->entries, paths->entries, paths->count * sizeof *copy->entries);
        copy->count = paths->count;
    }
    if (copy->entries == NULL || set_room(copy, paths->room, NULL) != SDS_OK) {
        raw_paths_free(copy);
        return NULL;
    }
    return copy;
}

// Makes room for one more entry, unless the table is full.
static enum sds_kind grow(struct raw_paths *paths, struct sds_err *err) {
    if (paths->count < paths->room) {
        return SDS_OK;
    }
    size_t room = paths->room == 0 ? 256 : paths->room * 2;
    paths->full = room > RAW_MAX_ENTRIES;
    return paths->full ? SDS_OK : set_room(paths, room, err);
}

static enum sds_kind add_name(struct raw_paths *paths, struct raw_entry entry, bool *is_directory,
                              struct sds_err *err) {
    const struct raw_entry *there = raw_paths_find(paths, entry.key);
    *is_directory = (there != NULL ? there->what : entry.what) == RAW_DIRECTORY;
    if (there != NULL) {
        return SDS_OK;
    }
    enum sds_kind kind = grow(paths, err);
    if (kind == SDS_OK && !paths->full) {
        paths->entries[paths->count++] = entry;
        *slot_of(paths, entry.key) = (uint32_t)paths->count;
    }
    return kind;
}

struct sds_span raw_component(const char *path, unsigned depth) {
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
    struct sds_span first = raw_component(reference->path, 0);
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

enum sds_kind raw_paths_add(struct raw_paths *paths, const struct sds_reference *reference,
                            struct raw_origin origin, struct sds_err *err) {
    struct raw_entry entry = {.named_by = (uint8_t)origin.what,
                              .group = (uint32_t)origin.group & ((1u << RAW_GROUP_BITS) - 1),
                              .item = (uint32_t)origin.item};
    enum sds_kind kind = SDS_OK;
    uint64_t parent = RAW_TOP;
    const char *path = reference->path;
    bool inside = raw_is_shown(reference); // in a directory: there may be more below
    for (unsigned depth = 0; kind == SDS_OK && inside && !paths->full; depth++) {
        struct sds_span name = sds_span(path, strcspn(path, "/"));
        bool last = path[name.len] == '\0';
        uint64_t key = raw_child_key(parent, name);
        entry.key = key & KEY_MASK;
        entry.parent = parent & KEY_MASK;
        entry.depth = (uint8_t)depth;
        entry.what = (uint8_t)(last ? origin.what : RAW_DIRECTORY);
        kind = add_name(paths, entry, &inside, err);
        if (last) {
            break;
        }
        parent = key;
        path += name.len + 1;
    }
    return kind;
}

static int by_parent(const void *a, const void *b, void *entries) {
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint64_t p = ((const struct raw_entry *)entries)[i].parent;
    uint64_t q = ((const struct raw_entry *)entries)[k].parent;
    return p != q ? (p > q) - (p < q) : (i > k) - (i < k);
}

enum sds_kind raw_paths_seal(struct raw_paths *paths, struct sds_err *err) {
    if (paths->count == 0) {
        return SDS_OK;
    }
    paths->children = malloc(paths->count * sizeof *paths->children);
    if (paths->children == NULL) {
        return no_memory(paths->count, err);
    }
    for (size_t i = 0; i < paths->count; i++) {
        paths->children[i] = (uint32_t)i;
    }
    qsort_r(paths->children, paths->count, sizeof *paths->children, by_parent, paths->entries);
    return SDS_OK;
}

enum sds_kind raw_paths_check(const struct raw_paths *paths, struct sds_err *err) {
    if (!paths->full) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_LIMIT, "raw",
                    "the dataset names more than %u files: they are shown under shards/ only",
                    RAW_MAX_ENTRIES);
}

// Where the children of a directory, or of those after it, begin in paths->children.
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

size_t raw_paths_child_count(const struct raw_paths *paths, uint64_t directory) {
    return first_child(paths, directory + 1) - first_child(paths, directory);
}

const struct raw_entry *raw_paths_child(const struct raw_paths *paths, uint64_t directory,
                                        size_t number) {
    return &paths->entries[paths->children[first_child(paths, directory) + number]];
}
