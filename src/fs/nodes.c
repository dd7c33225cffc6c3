// SPDX-License-Identifier: Apache-2.0
#include "fs/nodes.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"

enum { MIN_BUCKETS = 64 };

static const uint64_t number_mask = (UINT64_C(1) << SDS_NODE_KEY_BITS) - 1;

struct held {
    struct held *next; // in its bucket
    uint64_t number;
    uint64_t refs;
    struct sds_node node;
};

struct sds_nodes {
    pthread_mutex_t lock; // everything below
    struct held **buckets;
    size_t bucket_count; // a power of two
    size_t held_count;
};

struct sds_nodes *sds_nodes_new(void) {
    struct sds_nodes *nodes = calloc(1, sizeof *nodes);
    if (nodes == NULL) {
        return NULL;
    }
    nodes->buckets = calloc(MIN_BUCKETS, sizeof(struct held *));
    if (nodes->buckets == NULL) {
        free(nodes);
        return NULL;
    }
    nodes->bucket_count = MIN_BUCKETS;
    pthread_mutex_init(&nodes->lock, NULL);
    return nodes;
}

void sds_nodes_free(struct sds_nodes *nodes) {
    if (nodes == NULL) {
        return;
    }
    for (size_t i = 0; i < nodes->bucket_count; i++) {
        for (struct held *held = nodes->buckets[i], *next; held != NULL; held = next) {
            next = held->next;
            free(held);
        }
    }
    free(nodes->buckets);
    pthread_mutex_destroy(&nodes->lock);
    free(nodes);
}

uint64_t sds_nodes_number(struct sds_node node) {
    uint64_t hash = sds_mix64(node.wide ^ sds_mix64(node.key ^ sds_mix64(node.kind)));
    return hash & number_mask;
}

static struct held **bucket_of(const struct sds_nodes *nodes, uint64_t number) {
    return &nodes->buckets[number & (nodes->bucket_count - 1)];
}

// The link that points at the entry under number, or at the NULL that ends its bucket.
static struct held **find_link(const struct sds_nodes *nodes, uint64_t number) {
    struct held **link = bucket_of(nodes, number);
    while (*link != NULL && (*link)->number != number) {
        link = &(*link)->next;
    }
    return link;
}

// Keeps about one entry a bucket. Without memory the old buckets serve on, only slower.
static void resize(struct sds_nodes *nodes, size_t bucket_count) {
    struct held **buckets = calloc(bucket_count, sizeof(struct held *));
    if (buckets == NULL) {
        return;
    }
    struct held **old = nodes->buckets;
    size_t old_count = nodes->bucket_count;
    nodes->buckets = buckets;
    nodes->bucket_count = bucket_count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct held *held = old[i], *next; held != NULL; held = next) {
            next = held->next;
            struct held **bucket = bucket_of(nodes, held->number);
            held->next = *bucket;
            *bucket = held;
        }
    }
    free(old);
}

static bool add(struct sds_nodes *nodes, struct sds_node node, uint64_t number) {
    struct held *held = malloc(sizeof *held);
    if (held == NULL) {
        return false;
    }
    if (nodes->held_count >= nodes->bucket_count) {
        resize(nodes, nodes->bucket_count * 2);
    }
    struct held **bucket = bucket_of(nodes, number);
    *held = (struct held){.next = *bucket, .number = number, .refs = 1, .node = node};
    *bucket = held;
    nodes->held_count++;
    return true;
}

bool sds_nodes_hold(struct sds_nodes *nodes, struct sds_node node, uint64_t *number) {
    bool ok = true;
    pthread_mutex_lock(&nodes->lock);
    uint64_t at = sds_nodes_number(node);
    struct held *held;
    while ((held = *find_link(nodes, at)) != NULL && !sds_node_same(held->node, node)) {
        at = (at + 1) & number_mask;
    }
    if (held != NULL) {
        held->refs++;
    } else {
        ok = add(nodes, node, at);
    }
    pthread_mutex_unlock(&nodes->lock);
    if (ok) {
        *number = at;
    }
    return ok;
}

void sds_nodes_drop(struct sds_nodes *nodes, uint64_t number, uint64_t count) {
    pthread_mutex_lock(&nodes->lock);
    struct held **link = find_link(nodes, number);
    struct held *held = *link;
    if (held != NULL && held->refs > count) {
        held->refs -= count;
    } else if (held != NULL) {
        *link = held->next;
        free(held);
        nodes->held_count--;
        if (nodes->bucket_count > MIN_BUCKETS && nodes->held_count < nodes->bucket_count / 8) {
            resize(nodes, nodes->bucket_count / 2);
        }
    }
    pthread_mutex_unlock(&nodes->lock);
}

bool sds_nodes_find(struct sds_nodes *nodes, uint64_t number, struct sds_node *out) {
    pthread_mutex_lock(&nodes->lock);
    const struct held *held = *find_link(nodes, number);
    if (held != NULL) {
        *out = held->node;
    }
    pthread_mutex_unlock(&nodes->lock);
    return held != NULL;
}

size_t sds_nodes_count(struct sds_nodes *nodes) {
    pthread_mutex_lock(&nodes->lock);
    size_t count = nodes->held_count;
    pthread_mutex_unlock(&nodes->lock);
    return count;
}
