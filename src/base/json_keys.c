// SPDX-License-Identifier: Apache-2.0
//
// The keys of an object: their order, and repeated ones (docs/formats/signal-dataset.md, section
// 2). For the latter small objects, nearly all of them, are compared pair by pair. Large ones go
// through a hash table whose hash is keyed by a secret, so that no document can be made to fill one
// chain and take quadratic time.
#include <stdlib.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/json_internal.h"

#define SMALL_OBJECT 16

// Keys are read as polynomials over the integers modulo this prime, three bytes a coefficient, and
// hashed to their value at a secret point: two different keys of n bytes meet at no more than n / 3
// + 1 of its two thousand million values.
#define PRIME ((1ULL << 31) - 1)

static int by_key(const void *left, const void *right, void *arg) {
    const struct sds_iter *members = arg;
    struct sds_value a = {.doc = members->doc, .token = *(const uint32_t *)left};
    struct sds_value b = {.doc = members->doc, .token = *(const uint32_t *)right};
    return sds_string_cmp(a, b);
}

void sds_json_sort_keys(struct sds_iter members, uint32_t *keys) {
    size_t count = 0;
    while (sds_iter_next(&members)) {
        keys[count++] = members.key.token;
    }
    qsort_r(keys, count, sizeof keys[0], by_key, &members);
}

void sds_json_keys_fini(struct sds_json_keys *keys) {
    free(keys->slots);
    *keys = (struct sds_json_keys){0};
}

static struct sds_value value_at(struct sds_value object, uint32_t token) {
    return (struct sds_value){.doc = object.doc, .token = token};
}

// Whether two keys are equal. Nearly all are written without escapes, and differ in their length or
// their first byte (the quote behind an empty one).
static bool are_equal(const struct sds_json *doc, uint32_t a, uint32_t b) {
    const struct sds_token *x = &doc->tokens[a], *y = &doc->tokens[b];
    if (((x->info | y->info) & SDS_TOKEN_ESCAPED) != 0) {
        return sds_string_eq((struct sds_value){.doc = doc, .token = a},
                             (struct sds_value){.doc = doc, .token = b});
    }
    const uint8_t *left = doc->text.at + x->at + 1, *right = doc->text.at + y->at + 1;
    return x->len == y->len && *left == *right && memcmp(left, right, x->len - 1) == 0;
}

static uint32_t repeated_in_small(struct sds_value object) {
    const struct sds_json *doc = object.doc;
    uint32_t seen[SMALL_OBJECT];
    size_t count = 0;
    uint32_t end = sds_token_of(object)->next;
    for (uint32_t key = object.token + 1; key < end; key = doc->tokens[key + 1].next) {
        for (size_t i = 0; i < count; i++) {
            if (are_equal(doc, seen[i], key)) {
                return key;
            }
        }
        seen[count++] = key;
    }
    return 0;
}

// Without randomness from the kernel, the address of a stack that moves with each start has to do.
static uint64_t draw_point(void) {
    uint64_t point = 0;
    if (getrandom(&point, sizeof point, GRND_NONBLOCK) != (ssize_t)sizeof point) {
        point = sds_mix64((uint64_t)(uintptr_t)&point);
    }
    return point % (PRIME - 2) + 2;
}

static uint64_t hash_key(struct sds_value key, uint64_t point) {
    uint64_t hash = 0;
    uint64_t coefficient = 1; // above its bytes: "a" and "a\0" are different polynomials
    struct sds_unescaped u = sds_unescape(key);
    for (int byte = sds_unescaped_next(&u); byte >= 0; byte = sds_unescaped_next(&u)) {
        coefficient = coefficient << 8 | (uint64_t)byte;
        if (coefficient >> 24 != 0) {
            hash = (hash * point + coefficient) % PRIME;
            coefficient = 1;
        }
    }
    return sds_mix64((hash * point + coefficient) % PRIME);
}

// A table at most half full.
static enum sds_kind clear_table(struct sds_json_keys *keys, uint32_t count, size_t *slots) {
    *slots = 64;
    while (*slots < 2 * (size_t)count) {
        *slots *= 2;
    }
    if (*slots > keys->capacity) {
        free(keys->slots);
        keys->slots = malloc(*slots * sizeof keys->slots[0]);
        keys->capacity = keys->slots == NULL ? 0 : *slots;
    }
    if (keys->slots == NULL) {
        return SDS_ERR_NO_MEMORY;
    }
    memset(keys->slots, 0, *slots * sizeof keys->slots[0]);
    return SDS_OK;
}

// Enters a key. false when an equal one is there already.
static bool enter(struct sds_json_keys *keys, size_t slots, struct sds_value key) {
    size_t i = hash_key(key, keys->point) & (slots - 1);
    while (keys->slots[i] != 0) {
        if (sds_string_eq(value_at(key, keys->slots[i]), key)) {
            return false;
        }
        i = (i + 1) & (slots - 1);
    }
    keys->slots[i] = key.token;
    return true;
}

enum sds_kind sds_json_keys_check(struct sds_json_keys *keys, struct sds_value object,
                                  uint32_t *repeated) {
    uint32_t count = sds_token_count(sds_token_of(object));
    if (count <= SMALL_OBJECT) {
        *repeated = repeated_in_small(object);
        return SDS_OK;
    }
    if (keys->point == 0) {
        keys->point = draw_point();
    }
    size_t slots;
    enum sds_kind kind = clear_table(keys, count, &slots);
    if (kind != SDS_OK) {
        return kind;
    }
    *repeated = 0;
    for (struct sds_iter it = sds_value_iter(object); sds_iter_next(&it);) {
        if (!enter(keys, slots, it.key)) {
            *repeated = it.key.token;
            break;
        }
    }
    return SDS_OK;
}
