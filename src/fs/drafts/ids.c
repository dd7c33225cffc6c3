// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/ids.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"

enum { MIN_BUCKETS = 64, MAX_ORPHANS = 256 };

struct entry {
    struct entry *next_by_id, *next_by_name; // in their buckets
    struct entry *parent;                    // counted in its children
    uint64_t id;
    uint64_t lookups;
    uint64_t children; // entries that point here
    char *name;        // NULL: gone
    size_t name_len;
    bool alone; // is not to be found by its name
    int orphan; // descriptor of a file whose name is gone; -1
};

struct sds_ids {
    pthread_mutex_t lock; // everything below
    struct entry **by_id, **by_name;
    size_t bucket_count; // of each; a power of two
    size_t count;
    size_t orphan_count;
    uint64_t last_id;
    struct entry top;
};

struct sds_ids *sds_ids_new(void) {
    struct sds_ids *ids = calloc(1, sizeof *ids);
    if (ids == NULL) {
        return NULL;
    }
    ids->by_id = calloc(MIN_BUCKETS, sizeof(struct entry *));
    ids->by_name = calloc(MIN_BUCKETS, sizeof(struct entry *));
    if (ids->by_id == NULL || ids->by_name == NULL) {
        free(ids->by_id);
        free(ids->by_name);
        free(ids);
        return NULL;
    }
    ids->bucket_count = MIN_BUCKETS;
    ids->top = (struct entry){.id = SDS_IDS_TOP, .lookups = 1, .orphan = -1};
    pthread_mutex_init(&ids->lock, NULL);
    return ids;
}

static void free_entry(struct entry *entry) {
    if (entry->orphan >= 0) {
        close(entry->orphan);
    }
    free(entry->name);
    free(entry);
}

void sds_ids_free(struct sds_ids *ids) {
    if (ids == NULL) {
        return;
    }
    for (size_t i = 0; i < ids->bucket_count; i++) {
        for (struct entry *entry = ids->by_id[i], *next; entry != NULL; entry = next) {
            next = entry->next_by_id;
            free_entry(entry);
        }
    }
    free(ids->by_id);
    free(ids->by_name);
    pthread_mutex_destroy(&ids->lock);
    free(ids);
}

// --- the two tables; all with the lock held

static struct entry **id_bucket(const struct sds_ids *ids, uint64_t id) {
    return &ids->by_id[sds_mix64(id) & (ids->bucket_count - 1)];
}

static struct entry **name_bucket(const struct sds_ids *ids, uint64_t dir, struct sds_span name) {
    uint64_t hash = sds_mix64(dir);
    for (size_t i = 0; i < name.len; i++) {
        hash = (hash ^ name.at[i]) * UINT64_C(0x100000001b3); // FNV-1a
    }
    return &ids->by_name[sds_mix64(hash) & (ids->bucket_count - 1)];
}

static struct sds_span name_of(const struct entry *entry) {
    return sds_span(entry->name, entry->name_len);
}

static struct entry *find(struct sds_ids *ids, uint64_t id) {
    if (id == SDS_IDS_TOP) {
        return &ids->top;
    }
    struct entry *entry = *id_bucket(ids, id);
    while (entry != NULL && entry->id != id) {
        entry = entry->next_by_id;
    }
    return entry;
}

static struct entry *find_name(struct sds_ids *ids, uint64_t dir, struct sds_span name) {
    struct entry *entry = *name_bucket(ids, dir, name);
    while (entry != NULL && (entry->parent->id != dir || !sds_span_eq(name_of(entry), name))) {
        entry = entry->next_by_name;
    }
    return entry;
}

static void add_id(struct sds_ids *ids, struct entry *entry) {
    struct entry **bucket = id_bucket(ids, entry->id);
    entry->next_by_id = *bucket;
    *bucket = entry;
}

static void add_name(struct sds_ids *ids, struct entry *entry) {
    if (entry->name == NULL || entry->alone) {
        return;
    }
    struct entry **bucket = name_bucket(ids, entry->parent->id, name_of(entry));
    entry->next_by_name = *bucket;
    *bucket = entry;
}

static void take_id(struct sds_ids *ids, const struct entry *entry) {
    struct entry **link = id_bucket(ids, entry->id);
    while (*link != entry) {
        link = &(*link)->next_by_id;
    }
    *link = entry->next_by_id;
}

static void take_name(struct sds_ids *ids, const struct entry *entry) {
    if (entry->name == NULL || entry->alone) {
        return;
    }
    struct entry **link = name_bucket(ids, entry->parent->id, name_of(entry));
    while (*link != entry) {
        link = &(*link)->next_by_name;
    }
    *link = entry->next_by_name;
}

// Keeps about one entry a bucket. Without memory the old buckets serve on, only slower.
static void resize(struct sds_ids *ids, size_t bucket_count) {
    struct entry **by_id = calloc(bucket_count, sizeof(struct entry *));
    struct entry **by_name = calloc(bucket_count, sizeof(struct entry *));
    if (by_id == NULL || by_name == NULL) {
        free(by_id);
        free(by_name);
        return;
    }
    struct entry **old = ids->by_id;
    size_t old_count = ids->bucket_count;
    free(ids->by_name);
    ids->by_id = by_id;
    ids->by_name = by_name;
    ids->bucket_count = bucket_count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct entry *entry = old[i], *next; entry != NULL; entry = next) {
            next = entry->next_by_id;
            add_id(ids, entry);
            add_name(ids, entry);
        }
    }
    free(old);
}

static struct entry *add(struct sds_ids *ids, struct entry *parent, struct sds_span name,
                         bool alone) {
    struct entry *entry = malloc(sizeof *entry);
    char *copy = malloc(name.len + 1);
    if (entry == NULL || copy == NULL) {
        free(entry);
        free(copy);
        return NULL;
    }
    memcpy(copy, name.at, name.len);
    *entry = (struct entry){.parent = parent,
                            .id = ++ids->last_id,
                            .name = copy,
                            .name_len = name.len,
                            .alone = alone,
                            .orphan = -1};
    if (ids->count >= ids->bucket_count) {
        resize(ids, ids->bucket_count * 2);
    }
    parent->children++;
    add_id(ids, entry);
    add_name(ids, entry);
    ids->count++;
    return entry;
}

// Takes the name from an entry, which stays as a number.
static void lose_name(struct sds_ids *ids, struct entry *entry) {
    take_name(ids, entry);
    free(entry->name);
    entry->name = NULL;
}

// Frees an entry that nobody holds any more, and those above it that only it held.
static void settle(struct sds_ids *ids, struct entry *entry) {
    while (entry != &ids->top && entry->lookups == 0 && entry->children == 0) {
        struct entry *parent = entry->parent;
        take_name(ids, entry);
        take_id(ids, entry);
        ids->count--;
        ids->orphan_count -= entry->orphan >= 0;
        free_entry(entry);
        parent->children--;
        entry = parent;
    }
    if (ids->bucket_count > MIN_BUCKETS && ids->count < ids->bucket_count / 8) {
        resize(ids, ids->bucket_count / 2);
    }
}

// --- holding

static int hold(struct sds_ids *ids, uint64_t dir, struct sds_span name, bool alone, uint64_t *id) {
    pthread_mutex_lock(&ids->lock);
    struct entry *parent = find(ids, dir);
    struct entry *entry = parent != NULL && !alone ? find_name(ids, dir, name) : NULL;
    if (parent != NULL && entry == NULL) {
        entry = add(ids, parent, name, alone);
    }
    if (entry != NULL) {
        entry->lookups++;
        *id = entry->id;
    }
    pthread_mutex_unlock(&ids->lock);
    return entry != NULL ? 0 : parent != NULL ? ENOMEM : ESTALE;
}

int sds_ids_hold(struct sds_ids *ids, uint64_t dir, struct sds_span name, uint64_t *id) {
    return hold(ids, dir, name, false, id);
}

int sds_ids_hold_alone(struct sds_ids *ids, uint64_t dir, struct sds_span name, uint64_t *id) {
    return hold(ids, dir, name, true, id);
}

int sds_ids_hold_self(struct sds_ids *ids, uint64_t id) {
    pthread_mutex_lock(&ids->lock);
    struct entry *entry = find(ids, id);
    if (entry != NULL) {
        entry->lookups++;
    }
    pthread_mutex_unlock(&ids->lock);
    return entry != NULL ? 0 : ESTALE;
}

int sds_ids_hold_parent(struct sds_ids *ids, uint64_t id, uint64_t *parent) {
    pthread_mutex_lock(&ids->lock);
    struct entry *entry = find(ids, id);
    bool found = entry != NULL && entry != &ids->top;
    if (found) {
        entry->parent->lookups++;
        *parent = entry->parent->id;
    }
    pthread_mutex_unlock(&ids->lock);
    return found ? 0 : ESTALE;
}

void sds_ids_drop(struct sds_ids *ids, uint64_t id, uint64_t count) {
    pthread_mutex_lock(&ids->lock);
    struct entry *entry = find(ids, id);
    if (entry != NULL && entry != &ids->top) {
        entry->lookups -= count < entry->lookups ? count : entry->lookups;
        settle(ids, entry);
    }
    pthread_mutex_unlock(&ids->lock);
}

// --- names

// The length of the path of an entry, SIZE_MAX when a name on the way is gone.
static size_t path_len(const struct sds_ids *ids, const struct entry *entry) {
    size_t len = 0;
    for (; entry != &ids->top; entry = entry->parent) {
        if (entry->name == NULL) {
            return SIZE_MAX;
        }
        len += entry->name_len + (entry->parent != &ids->top);
    }
    return len;
}

// Writes the path from its end to its beginning.
static void write_path(const struct sds_ids *ids, const struct entry *entry, uint8_t *end) {
    for (; entry != &ids->top; entry = entry->parent) {
        end -= entry->name_len;
        memcpy(end, entry->name, entry->name_len);
        if (entry->parent != &ids->top) {
            *--end = '/';
        }
    }
}

int sds_ids_path(struct sds_ids *ids, uint64_t id, struct sds_buf *out) {
    int e = ESTALE;
    pthread_mutex_lock(&ids->lock);
    const struct entry *entry = find(ids, id);
    size_t len = entry != NULL ? path_len(ids, entry) : SIZE_MAX;
    if (len != SIZE_MAX) {
        enum sds_kind kind = sds_buf_reserve(out, len);
        e = kind == SDS_OK ? 0 : kind == SDS_ERR_LIMIT ? ENAMETOOLONG : ENOMEM;
    }
    if (e == 0 && len > 0) { // an empty buffer may have no memory to point into
        write_path(ids, entry, out->at + out->len + len);
        out->len += len;
    }
    pthread_mutex_unlock(&ids->lock);
    return e;
}

// With the lock held; NULL when it is not held.
static struct entry *find_path(struct sds_ids *ids, const char *path) {
    struct entry *entry = &ids->top;
    for (const char *at = path; entry != NULL && *at != '\0';) {
        size_t len = strcspn(at, "/");
        entry = find_name(ids, entry->id, sds_span(at, len));
        at += len + (at[len] == '/');
    }
    return entry;
}

// Whether one is the other or lies in it, under names that are still there.
static bool is_below(const struct sds_ids *ids, const struct entry *entry,
                     const struct entry *above) {
    while (entry != above && entry != &ids->top && entry->name != NULL) {
        entry = entry->parent;
    }
    return entry == above;
}

int sds_ids_below(struct sds_ids *ids, const char *path, struct sds_buf *out) {
    enum sds_kind kind = SDS_OK;
    pthread_mutex_lock(&ids->lock);
    const struct entry *above = find_path(ids, path);
    for (size_t i = 0; above != NULL && i < ids->bucket_count; i++) {
        for (const struct entry *entry = ids->by_id[i]; entry != NULL && kind == SDS_OK;
             entry = entry->next_by_id) {
            if (!entry->alone && is_below(ids, entry, above)) {
                kind = sds_buf_add(out, &entry->id, sizeof entry->id);
            }
        }
    }
    pthread_mutex_unlock(&ids->lock);
    return kind == SDS_OK ? 0 : ENOMEM;
}

bool sds_ids_is_held(struct sds_ids *ids, uint64_t dir, struct sds_span name) {
    pthread_mutex_lock(&ids->lock);
    bool held = find_name(ids, dir, name) != NULL;
    pthread_mutex_unlock(&ids->lock);
    return held;
}

// Takes the name away, and keeps the descriptor if there is use and room for it; returns what is to
// be closed. With the lock held.
static int orphan(struct sds_ids *ids, struct entry *entry, int fd) {
    if (entry == NULL || entry == &ids->top) {
        return fd;
    }
    lose_name(ids, entry);
    if (fd >= 0 && ids->orphan_count < MAX_ORPHANS) {
        entry->orphan = fd;
        ids->orphan_count++;
        fd = -1;
    }
    return fd;
}

void sds_ids_remove(struct sds_ids *ids, uint64_t dir, struct sds_span name, int fd) {
    pthread_mutex_lock(&ids->lock);
    fd = orphan(ids, find_name(ids, dir, name), fd);
    pthread_mutex_unlock(&ids->lock);
    if (fd >= 0) {
        close(fd);
    }
}

void sds_ids_remove_path(struct sds_ids *ids, const char *path, int fd) {
    pthread_mutex_lock(&ids->lock);
    fd = orphan(ids, find_path(ids, path), fd);
    pthread_mutex_unlock(&ids->lock);
    if (fd >= 0) {
        close(fd);
    }
}

int sds_ids_orphan(struct sds_ids *ids, uint64_t id) {
    pthread_mutex_lock(&ids->lock);
    const struct entry *entry = find(ids, id);
    int fd = entry != NULL && entry->orphan >= 0 ? dup(entry->orphan) : -1;
    pthread_mutex_unlock(&ids->lock);
    return fd;
}

void sds_ids_move(struct sds_ids *ids, uint64_t dir, struct sds_span name, uint64_t new_dir,
                  struct sds_span new_name) {
    pthread_mutex_lock(&ids->lock);
    struct entry *entry = find_name(ids, dir, name);
    struct entry *new_parent = find(ids, new_dir);
    if (entry != NULL) {
        struct entry *old_parent = entry->parent;
        lose_name(ids, entry);
        entry->name = new_parent != NULL ? malloc(new_name.len + 1) : NULL;
        if (entry->name != NULL) {
            memcpy(entry->name, new_name.at, new_name.len);
            entry->name_len = new_name.len;
            entry->parent = new_parent;
            new_parent->children++;
            add_name(ids, entry);
            old_parent->children--;
            settle(ids, old_parent);
        }
    }
    pthread_mutex_unlock(&ids->lock);
}

size_t sds_ids_count(struct sds_ids *ids) {
    pthread_mutex_lock(&ids->lock);
    size_t count = ids->count;
    pthread_mutex_unlock(&ids->lock);
    return count;
}
