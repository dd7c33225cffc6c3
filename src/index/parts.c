// SPDX-License-Identifier: Apache-2.0
#include "index/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index/build.h"
#include "index/set_lines.h"

// An index that turns out damaged is built again, but not for ever.
enum { MAX_DAMAGED = 8 };

// Of a thousand sets that somebody lists, so many stay open; the others are opened again.
enum { MAX_OPEN_SETS = 64 };

struct set_part {
    struct set_part *next;
    struct sds_index_parts *parts;
    struct sds_index_job job;
    struct sds_index_lines_file file; // fd: -1 where it is not open; size: if made
    bool made;
    uint64_t used; // when it was asked for last
    uint64_t key;
    char *name;
};

struct sds_index_parts {
    struct sds_dataset *ds;
    const char *cache_dir;
    atomic_bool stop;
    struct sds_index_job job;
    struct sds_index *index; // once the job is done
    atomic_uint_fast64_t done, total;
    pthread_mutex_t lock; // protects the lists; their members live as long as the parts
    struct set_part *sets;
    unsigned open_sets;
    uint64_t uses;
    struct sds_index *damaged[MAX_DAMAGED]; // may still be in use
    unsigned damaged_count;
};

static void note_progress(void *ctx, uint64_t done, uint64_t total) {
    struct sds_index_parts *parts = ctx;
    atomic_store_explicit(&parts->done, done, memory_order_relaxed);
    atomic_store_explicit(&parts->total, total, memory_order_relaxed);
}

// That there is no cache directory does not mean that a name in index/ is not there.
static enum sds_kind not_absence(enum sds_kind kind) {
    return kind == SDS_ERR_NOT_FOUND ? SDS_ERR_STORAGE : kind;
}

static enum sds_kind make_index(void *ctx, struct sds_err *err) {
    struct sds_index_parts *parts = ctx;
    struct sds_index_work work = {
        .ds = parts->ds,
        .cache_dir = parts->cache_dir,
        .progress = note_progress,
        .ctx = parts,
        .stop = &parts->stop,
    };
    struct sds_index *index = NULL;
    enum sds_kind kind = sds_index_build(&work, err);
    if (kind == SDS_OK) {
        kind = sds_index_open(parts->ds, parts->cache_dir, &index, err);
    }
    pthread_mutex_lock(&parts->lock);
    parts->index = index;
    pthread_mutex_unlock(&parts->lock);
    return not_absence(kind);
}

// Lock held.
static void close_set(struct sds_index_parts *parts, struct set_part *set) {
    if (set->file.fd >= 0) {
        close(set->file.fd);
        set->file.fd = -1;
        parts->open_sets--;
    }
}

// Lock held. Closes what was not asked for the longest.
static void make_room(struct sds_index_parts *parts) {
    while (parts->open_sets >= MAX_OPEN_SETS) {
        struct set_part *oldest = NULL;
        for (struct set_part *set = parts->sets; set != NULL; set = set->next) {
            bool older = set->file.fd >= 0 && (oldest == NULL || set->used < oldest->used);
            oldest = older ? set : oldest;
        }
        close_set(parts, oldest);
    }
}

static enum sds_kind make_set(void *ctx, struct sds_err *err) {
    struct set_part *set = ctx;
    struct sds_index_parts *parts = set->parts;
    struct sds_index_lines_file file = {.fd = -1};
    enum sds_kind kind = sds_index_set_lines(parts->ds, parts->cache_dir, set->name, &parts->stop,
                                             &file.fd, &file.size, err);
    if (kind == SDS_OK) {
        pthread_mutex_lock(&parts->lock);
        close_set(parts, set);
        make_room(parts);
        set->file = file;
        set->made = true;
        set->used = ++parts->uses;
        parts->open_sets++;
        pthread_mutex_unlock(&parts->lock);
    }
    return not_absence(kind);
}

struct sds_index_parts *sds_index_parts_new(struct sds_dataset *ds, const char *cache_dir) {
    struct sds_index_parts *parts = calloc(1, sizeof *parts);
    if (parts != NULL) {
        parts->ds = ds;
        parts->cache_dir = cache_dir;
        pthread_mutex_init(&parts->lock, NULL);
        sds_index_job_init(&parts->job, make_index, parts);
    }
    return parts;
}

void sds_index_parts_free(struct sds_index_parts *parts) {
    if (parts == NULL) {
        return;
    }
    atomic_store(&parts->stop, true);
    sds_index_job_fini(&parts->job);
    while (parts->sets != NULL) {
        struct set_part *set = parts->sets;
        parts->sets = set->next;
        sds_index_job_fini(&set->job);
        if (set->file.fd >= 0) {
            close(set->file.fd);
        }
        free(set->name);
        free(set);
    }
    sds_index_close(parts->index);
    for (unsigned i = 0; i < parts->damaged_count; i++) {
        sds_index_close(parts->damaged[i]);
    }
    pthread_mutex_destroy(&parts->lock);
    free(parts);
}

enum sds_kind sds_index_parts_index(struct sds_index_parts *parts, struct sds_index **out,
                                    struct sds_err *err) {
    enum sds_kind kind = sds_index_job_wait(&parts->job, err);
    *out = kind == SDS_OK ? sds_index_parts_built(parts) : NULL;
    if (kind == SDS_OK && *out == NULL) {
        return sds_fail(err, SDS_ERR_STORAGE, "index", "it was damaged, and is built again");
    }
    return kind;
}

struct sds_index *sds_index_parts_built(struct sds_index_parts *parts) {
    pthread_mutex_lock(&parts->lock);
    struct sds_index *index = parts->index;
    pthread_mutex_unlock(&parts->lock);
    return index;
}

void sds_index_parts_damaged(struct sds_index_parts *parts, struct sds_index *index) {
    pthread_mutex_lock(&parts->lock);
    bool first = parts->index == index && parts->damaged_count < MAX_DAMAGED;
    if (first) {
        parts->index = NULL;
        parts->damaged[parts->damaged_count++] = index;
        sds_index_discard(index);
    }
    pthread_mutex_unlock(&parts->lock);
    if (first) {
        sds_index_job_again(&parts->job);
    }
}

// Lock held.
static struct set_part *find(struct sds_index_parts *parts, uint64_t key) {
    struct set_part *set = parts->sets;
    while (set != NULL && set->key != key) {
        set = set->next;
    }
    return set;
}

// Lock held. NULL: no memory.
static struct set_part *find_or_add(struct sds_index_parts *parts, uint64_t key, const char *name) {
    struct set_part *set = find(parts, key);
    if (set != NULL) {
        return set;
    }
    set = calloc(1, sizeof *set);
    if (set == NULL || (set->name = strdup(name)) == NULL) {
        free(set);
        return NULL;
    }
    set->key = key;
    set->parts = parts;
    set->file.fd = -1;
    sds_index_job_init(&set->job, make_set, set);
    set->next = parts->sets;
    parts->sets = set;
    return set;
}

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a set");
}

// A descriptor of the caller's own, since ours may be closed. An errno; EBADF: it is not open.
static int copy_file(struct sds_index_parts *parts, struct set_part *set,
                     struct sds_index_lines_file *out) {
    pthread_mutex_lock(&parts->lock);
    set->used = ++parts->uses;
    *out = set->file;
    out->fd = fcntl(set->file.fd, F_DUPFD_CLOEXEC, 0);
    int e = out->fd >= 0 ? 0 : errno;
    pthread_mutex_unlock(&parts->lock);
    return e;
}

enum sds_kind sds_index_parts_set(struct sds_index_parts *parts, uint64_t key, const char *name,
                                  struct sds_index_lines_file *out, struct sds_err *err) {
    pthread_mutex_lock(&parts->lock);
    struct set_part *set = find_or_add(parts, key, name);
    pthread_mutex_unlock(&parts->lock);
    if (set == NULL) {
        return no_memory(err);
    }
    for (;;) {
        enum sds_kind kind = sds_index_job_wait(&set->job, err);
        if (kind != SDS_OK) {
            return kind;
        }
        int e = copy_file(parts, set, out);
        if (e != EBADF) {
            return e == 0
                       ? SDS_OK
                       : sds_fail(err, SDS_ERR_STORAGE, "index", "cannot open it: %s", strerror(e));
        }
        sds_index_job_again(&set->job); // it was closed for others
    }
}

enum sds_kind sds_index_parts_set_size(struct sds_index_parts *parts, uint64_t key,
                                       const char *name, uint64_t *size, struct sds_err *err) {
    pthread_mutex_lock(&parts->lock);
    struct set_part *set = find_or_add(parts, key, name);
    bool made = set != NULL && set->made;
    pthread_mutex_unlock(&parts->lock);
    if (set == NULL) {
        return no_memory(err);
    }
    enum sds_kind kind = made ? SDS_OK : sds_index_job_wait(&set->job, err);
    if (kind == SDS_OK) {
        pthread_mutex_lock(&parts->lock);
        *size = set->file.size;
        pthread_mutex_unlock(&parts->lock);
    }
    return kind;
}

void sds_index_parts_note_set(struct sds_index_parts *parts, uint64_t key, const char *set) {
    pthread_mutex_lock(&parts->lock);
    (void)find_or_add(parts, key, set);
    pthread_mutex_unlock(&parts->lock);
}

const char *sds_index_parts_set_name(struct sds_index_parts *parts, uint64_t key) {
    pthread_mutex_lock(&parts->lock);
    const struct set_part *set = find(parts, key);
    pthread_mutex_unlock(&parts->lock);
    return set != NULL ? set->name : NULL;
}

void sds_index_parts_state(struct sds_index_parts *parts, struct sds_index_state *out) {
    *out = (struct sds_index_state){
        .state = sds_index_job_state(&parts->job),
        .done = atomic_load_explicit(&parts->done, memory_order_relaxed),
        .total = atomic_load_explicit(&parts->total, memory_order_relaxed),
    };
    struct sds_index *index = sds_index_parts_built(parts);
    out->facts = index != NULL ? sds_index_facts(index) : NULL;
}
