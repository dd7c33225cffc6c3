// SPDX-License-Identifier: Apache-2.0
#include "base/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/wait.h"

struct sds_cache_ref {
    struct sds_cache *cache;
    struct sds_cache_key key;
    const struct sds_cache_class *cls;
    void *value;
    size_t cost;
    // All below: protected by cache->lock.
    enum { LOADING, READY, FAILED } state;
    unsigned pins;                  // readers and waiters
    struct sds_cache_ref *chain;    // hash bucket
    struct sds_cache_ref *lru_prev; // towards the more recently used; only while READY and unpinned
    struct sds_cache_ref *lru_next;
    bool in_table;
    struct sds_event *loaded; // happens when the load has ended; only while somebody waits for it
    struct sds_err err;       // of a FAILED load, for those who waited
};

struct sds_cache {
    pthread_mutex_t lock;
    struct sds_cache_ref **buckets;
    size_t bucket_count; // a power of two
    size_t entry_count;
    struct sds_cache_ref *newest, *oldest; // unpinned entries
    size_t unpinned_bytes;                 // their cost
    struct sds_cache_stats stats;          // all but the budget
    _Atomic size_t budget;                 // changed with the lock held, read without it
};

static size_t bucket_of(const struct sds_cache *cache, struct sds_cache_key key) {
    return sds_mix64(sds_mix64(key.kind_and_owner) ^ key.id) & (cache->bucket_count - 1);
}

struct sds_cache *sds_cache_new(size_t budget) {
    struct sds_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    cache->bucket_count = 1024;
    cache->buckets = calloc(cache->bucket_count, sizeof *cache->buckets);
    if (cache->buckets == NULL) {
        free(cache);
        return NULL;
    }
    cache->budget = budget;
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

size_t sds_cache_budget(const struct sds_cache *cache) {
    return cache->budget;
}

static void lru_remove(struct sds_cache *cache, struct sds_cache_ref *e) {
    *(e->lru_prev != NULL ? &e->lru_prev->lru_next : &cache->newest) = e->lru_next;
    *(e->lru_next != NULL ? &e->lru_next->lru_prev : &cache->oldest) = e->lru_prev;
    e->lru_prev = e->lru_next = NULL;
    cache->unpinned_bytes -= e->cost;
}

static void lru_add_newest(struct sds_cache *cache, struct sds_cache_ref *e) {
    e->lru_next = cache->newest;
    *(cache->newest != NULL ? &cache->newest->lru_prev : &cache->oldest) = e;
    cache->newest = e;
    cache->unpinned_bytes += e->cost;
}

static void table_remove(struct sds_cache *cache, struct sds_cache_ref *e) {
    struct sds_cache_ref **link = &cache->buckets[bucket_of(cache, e->key)];
    while (*link != e) {
        link = &(*link)->chain;
    }
    *link = e->chain;
    e->in_table = false;
    cache->entry_count--;
    cache->stats.bytes -= e->cost;
}

// Doubles the table when it is full; without memory it just gets slower.
static void table_grow(struct sds_cache *cache) {
    size_t old_count = cache->bucket_count;
    struct sds_cache_ref **old = cache->buckets;
    struct sds_cache_ref **buckets = calloc(old_count * 2, sizeof(struct sds_cache_ref *));
    if (buckets == NULL) {
        return;
    }
    cache->buckets = buckets;
    cache->bucket_count = old_count * 2;
    for (size_t i = 0; i < old_count; i++) {
        for (struct sds_cache_ref *e = old[i], *next; e != NULL; e = next) {
            next = e->chain;
            size_t b = bucket_of(cache, e->key);
            e->chain = buckets[b];
            buckets[b] = e;
        }
    }
    free(old);
}

static void table_add(struct sds_cache *cache, struct sds_cache_ref *e) {
    if (cache->entry_count >= cache->bucket_count) {
        table_grow(cache);
    }
    size_t b = bucket_of(cache, e->key);
    e->chain = cache->buckets[b];
    cache->buckets[b] = e;
    e->in_table = true;
    cache->entry_count++;
}

static struct sds_cache_ref *table_find(struct sds_cache *cache, struct sds_cache_key key) {
    struct sds_cache_ref *e = cache->buckets[bucket_of(cache, key)];
    while (e != NULL && (e->key.kind_and_owner != key.kind_and_owner || e->key.id != key.id)) {
        e = e->chain;
    }
    return e;
}

// Takes unpinned entries out, oldest first, until the rest costs at most `target`; returns them as
// a list (chain) for the caller to free without the lock.
static struct sds_cache_ref *evict_to(struct sds_cache *cache, size_t target) {
    struct sds_cache_ref *dead = NULL;
    while (cache->stats.bytes > target && cache->oldest != NULL) {
        struct sds_cache_ref *e = cache->oldest;
        lru_remove(cache, e);
        table_remove(cache, e);
        cache->stats.evicted++;
        e->chain = dead;
        dead = e;
    }
    return dead;
}

static struct sds_cache_ref *evict(struct sds_cache *cache) {
    return evict_to(cache, cache->budget);
}

static void free_entries(struct sds_cache_ref *dead) {
    while (dead != NULL) {
        struct sds_cache_ref *next = dead->chain;
        if (dead->state == READY) {
            dead->cls->free(dead->value);
        }
        free(dead);
        dead = next;
    }
}

void sds_cache_drop(struct sds_cache *cache, struct sds_cache_key key) {
    pthread_mutex_lock(&cache->lock);
    struct sds_cache_ref *e = table_find(cache, key);
    if (e != NULL && (e->state != READY || e->pins > 0)) {
        e = NULL;
    }
    if (e != NULL) {
        lru_remove(cache, e);
        table_remove(cache, e);
        e->chain = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    free_entries(e);
}

void sds_cache_make_room(struct sds_cache *cache, size_t bytes) {
    pthread_mutex_lock(&cache->lock);
    size_t budget = cache->budget;
    struct sds_cache_ref *dead = evict_to(cache, bytes < budget ? budget - bytes : 0);
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
}

void sds_cache_set_budget(struct sds_cache *cache, size_t budget) {
    pthread_mutex_lock(&cache->lock);
    cache->budget = budget;
    struct sds_cache_ref *dead = evict(cache);
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
}

void sds_cache_charge(struct sds_cache *cache, size_t bytes) {
    pthread_mutex_lock(&cache->lock);
    cache->stats.bytes += bytes;
    struct sds_cache_ref *dead = evict(cache);
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
}

bool sds_cache_try_charge(struct sds_cache *cache, size_t bytes) {
    pthread_mutex_lock(&cache->lock);
    size_t pinned = cache->stats.bytes - cache->unpinned_bytes;
    bool fits = pinned <= cache->budget && bytes <= cache->budget - pinned;
    struct sds_cache_ref *dead = NULL;
    if (fits) {
        cache->stats.bytes += bytes;
        dead = evict(cache);
    }
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
    return fits;
}

void sds_cache_uncharge(struct sds_cache *cache, size_t bytes) {
    pthread_mutex_lock(&cache->lock);
    cache->stats.bytes -= bytes;
    pthread_mutex_unlock(&cache->lock);
}

void sds_cache_clear(struct sds_cache *cache) {
    pthread_mutex_lock(&cache->lock);
    struct sds_cache_ref *dead = NULL;
    while (cache->oldest != NULL) {
        struct sds_cache_ref *e = cache->oldest;
        lru_remove(cache, e);
        table_remove(cache, e);
        e->chain = dead;
        dead = e;
    }
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
}

void sds_cache_free(struct sds_cache *cache) {
    if (cache == NULL) {
        return;
    }
    sds_cache_clear(cache);
    pthread_mutex_destroy(&cache->lock);
    free(cache->buckets);
    free(cache);
}

// Pins a READY entry. Lock held.
static void pin(struct sds_cache *cache, struct sds_cache_ref *e) {
    if (e->pins++ == 0) {
        lru_remove(cache, e);
    }
}

// Drops one pin; returns what to free afterwards, without the lock. Lock held.
static struct sds_cache_ref *unpin(struct sds_cache *cache, struct sds_cache_ref *e) {
    if (--e->pins > 0) {
        return NULL;
    }
    if (!e->in_table) { // a failed load that its last waiter has left
        e->chain = NULL;
        return e;
    }
    lru_add_newest(cache, e);
    return evict(cache);
}

void sds_cache_release(struct sds_cache_ref *ref) {
    if (ref == NULL) {
        return;
    }
    struct sds_cache *cache = ref->cache;
    pthread_mutex_lock(&cache->lock);
    struct sds_cache_ref *dead = unpin(cache, ref);
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
}

struct sds_cache_ref *sds_cache_pin(struct sds_cache_ref *ref) {
    pthread_mutex_lock(&ref->cache->lock);
    ref->pins++;
    pthread_mutex_unlock(&ref->cache->lock);
    return ref;
}

size_t sds_cache_cost(const struct sds_cache_ref *ref) {
    return ref->cost; // set once, before anybody could pin it
}

// Runs the load of a fresh LOADING entry that this thread owns and publishes how it ended.
static enum sds_kind load(struct sds_cache *cache, struct sds_cache_ref *e, void *ctx,
                          struct sds_err *err) {
    struct sds_err why = {.kind = SDS_OK};
    void *value = NULL;
    size_t cost = 0;
    enum sds_kind kind = e->cls->load(ctx, &value, &cost, &why);
    pthread_mutex_lock(&cache->lock);
    struct sds_cache_ref *dead;
    if (kind == SDS_OK) {
        e->value = value;
        e->cost = cost + sizeof *e;
        e->state = READY;
        cache->stats.bytes += e->cost;
        dead = evict(cache);
    } else {
        why.kind = kind;
        e->err = why;
        e->state = FAILED;
        table_remove(cache, e);
        dead = unpin(cache, e);
    }
    struct sds_event *loaded = e->loaded;
    e->loaded = NULL;
    pthread_mutex_unlock(&cache->lock);
    if (loaded != NULL) {
        sds_event_fire(loaded);
        sds_event_unref(loaded);
    }
    free_entries(dead);
    if (kind != SDS_OK && err != NULL) {
        *err = why;
    }
    return kind;
}

// A fresh entry for a key that is not in the table. Lock held.
static struct sds_cache_ref *add_loading(struct sds_cache *cache, struct sds_cache_key key,
                                         const struct sds_cache_class *cls) {
    struct sds_cache_ref *e = calloc(1, sizeof *e);
    if (e != NULL) {
        *e = (struct sds_cache_ref){
            .cache = cache, .key = key, .cls = cls, .state = LOADING, .pins = 1};
        table_add(cache, e);
    }
    return e;
}

// Waits until somebody else's load has ended. The entry is pinned; lock held, and again on return.
static enum sds_kind wait_for_load(struct sds_cache *cache, struct sds_cache_ref *e,
                                   struct sds_err *err) {
    if (e->loaded == NULL) {
        e->loaded = sds_event_new();
    }
    if (e->loaded == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for waiting");
    }
    struct sds_event *loaded = sds_event_ref(e->loaded);
    pthread_mutex_unlock(&cache->lock);
    enum sds_kind kind = sds_event_wait(loaded, err);
    sds_event_unref(loaded);
    pthread_mutex_lock(&cache->lock);
    return kind;
}

// Pins an entry that was in the table and sees its load through. Lock held, released on return.
// *again: the load was a task's, which has to wait for something; whoever comes next may try.
static enum sds_kind join(struct sds_cache *cache, struct sds_cache_ref *e, bool *again,
                          struct sds_err *err) {
    struct sds_cache_ref *dead = NULL;
    enum sds_kind kind = SDS_OK;
    if (e->state == READY) {
        pin(cache, e);
    } else {
        e->pins++;
        kind = e->state == LOADING ? wait_for_load(cache, e, err) : SDS_OK;
        if (kind == SDS_OK && e->state == FAILED) {
            kind = e->err.kind;
            *again = kind == SDS_ERR_WAITING;
            if (err != NULL) {
                *err = e->err;
            }
        }
        if (kind != SDS_OK) {
            dead = unpin(cache, e);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
    return kind;
}

enum sds_kind sds_cache_get(struct sds_cache *cache, struct sds_cache_key key,
                            const struct sds_cache_class *cls, void *ctx,
                            struct sds_cache_ref **ref, void **value, struct sds_err *err) {
    for (;;) {
        pthread_mutex_lock(&cache->lock);
        struct sds_cache_ref *e = table_find(cache, key);
        enum sds_kind kind;
        if (e != NULL) {
            cache->stats.hits++;
            bool again = false;
            kind = join(cache, e, &again, err);
            if (again) {
                continue;
            }
        } else {
            cache->stats.misses++;
            e = add_loading(cache, key, cls);
            pthread_mutex_unlock(&cache->lock);
            kind = e != NULL
                       ? load(cache, e, ctx, err)
                       : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a cache entry");
        }
        if (kind == SDS_OK) {
            *ref = e;
            *value = e->value;
        }
        return kind;
    }
}

struct sds_cache_ref *sds_cache_peek(struct sds_cache *cache, struct sds_cache_key key,
                                     void **value) {
    pthread_mutex_lock(&cache->lock);
    struct sds_cache_ref *e = table_find(cache, key);
    if (e != NULL && e->state == READY) {
        pin(cache, e);
        *value = e->value;
    } else {
        e = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    return e;
}

void sds_cache_stats(struct sds_cache *cache, struct sds_cache_stats *out) {
    pthread_mutex_lock(&cache->lock);
    *out = cache->stats;
    out->budget = cache->budget;
    pthread_mutex_unlock(&cache->lock);
}
