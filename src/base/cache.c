// SPDX-License-Identifier: Apache-2.0
#include "base/cache.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"

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
    struct sds_err err; // of a FAILED load, for those who waited
};

struct sds_cache {
    pthread_mutex_t lock;
    pthread_cond_t loaded; // some load ended
    struct sds_cache_ref **buckets;
    size_t bucket_count; // a power of two
    size_t entry_count;
    struct sds_cache_ref *newest, *oldest; // unpinned entries
    struct sds_cache_stats stats;
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
    cache->stats.budget = budget;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->loaded, NULL);
    return cache;
}

static void lru_remove(struct sds_cache *cache, struct sds_cache_ref *e) {
    *(e->lru_prev != NULL ? &e->lru_prev->lru_next : &cache->newest) = e->lru_next;
    *(e->lru_next != NULL ? &e->lru_next->lru_prev : &cache->oldest) = e->lru_prev;
    e->lru_prev = e->lru_next = NULL;
}

static void lru_add_newest(struct sds_cache *cache, struct sds_cache_ref *e) {
    e->lru_next = cache->newest;
    *(cache->newest != NULL ? &cache->newest->lru_prev : &cache->oldest) = e;
    cache->newest = e;
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
    return evict_to(cache, cache->stats.budget);
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

void sds_cache_make_room(struct sds_cache *cache, size_t bytes) {
    pthread_mutex_lock(&cache->lock);
    size_t budget = cache->stats.budget;
    struct sds_cache_ref *dead = evict_to(cache, bytes < budget ? budget - bytes : 0);
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
}

void sds_cache_free(struct sds_cache *cache) {
    if (cache == NULL) {
        return;
    }
    free_entries(evict_to(cache, 0));
    // What costs nothing survives an eviction by budget.
    while (cache->oldest != NULL) {
        struct sds_cache_ref *e = cache->oldest;
        lru_remove(cache, e);
        table_remove(cache, e);
        e->chain = NULL;
        free_entries(e);
    }
    pthread_cond_destroy(&cache->loaded);
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
    pthread_cond_broadcast(&cache->loaded);
    pthread_mutex_unlock(&cache->lock);
    free_entries(dead);
    if (kind != SDS_OK && err != NULL) {
        *err = why;
    }
    return kind;
}

enum sds_kind sds_cache_get(struct sds_cache *cache, struct sds_cache_key key,
                            const struct sds_cache_class *cls, void *ctx,
                            struct sds_cache_ref **ref, void **value, struct sds_err *err) {
    pthread_mutex_lock(&cache->lock);
    struct sds_cache_ref *e = table_find(cache, key);
    if (e == NULL) {
        cache->stats.misses++;
        e = calloc(1, sizeof *e);
        if (e == NULL) {
            pthread_mutex_unlock(&cache->lock);
            return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a cache entry");
        }
        *e = (struct sds_cache_ref){
            .cache = cache, .key = key, .cls = cls, .state = LOADING, .pins = 1};
        table_add(cache, e);
        pthread_mutex_unlock(&cache->lock);
        enum sds_kind kind = load(cache, e, ctx, err);
        if (kind == SDS_OK) {
            *ref = e;
            *value = e->value;
        }
        return kind;
    }
    cache->stats.hits++;
    if (e->state == READY) {
        pin(cache, e);
    } else {
        e->pins++;
        while (e->state == LOADING) {
            pthread_cond_wait(&cache->loaded, &cache->lock);
        }
    }
    if (e->state == FAILED) {
        enum sds_kind kind = e->err.kind;
        if (err != NULL) {
            *err = e->err;
        }
        struct sds_cache_ref *dead = unpin(cache, e);
        pthread_mutex_unlock(&cache->lock);
        free_entries(dead);
        return kind;
    }
    pthread_mutex_unlock(&cache->lock);
    *ref = e;
    *value = e->value;
    return SDS_OK;
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
    pthread_mutex_unlock(&cache->lock);
}
