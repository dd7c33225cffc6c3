// SPDX-License-Identifier: Apache-2.0
#include "remote/pins.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"

struct pin {
    uint64_t object; // 0: free
    uint64_t version;
};

// Open addressing, at most half full.
struct sds_pins {
    pthread_mutex_t lock; // protects all below
    struct pin *slots;
    size_t slot_count; // a power of two
    size_t used;
};

struct sds_pins *sds_pins_new(void) {
    struct sds_pins *pins = calloc(1, sizeof *pins);
    if (pins != NULL) {
        pthread_mutex_init(&pins->lock, NULL);
    }
    return pins;
}

void sds_pins_free(struct sds_pins *pins) {
    if (pins != NULL) {
        pthread_mutex_destroy(&pins->lock);
        free(pins->slots);
        free(pins);
    }
}

// The slot that holds the object, or the free one where it belongs.
static struct pin *find(struct pin *slots, size_t slot_count, uint64_t object) {
    size_t i = sds_mix64(object) & (slot_count - 1);
    while (slots[i].object != 0 && slots[i].object != object) {
        i = (i + 1) & (slot_count - 1);
    }
    return &slots[i];
}

static bool grow(struct sds_pins *pins) {
    size_t slot_count = pins->slot_count == 0 ? 64 : pins->slot_count * 2;
    struct pin *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < pins->slot_count; i++) {
        if (pins->slots[i].object != 0) {
            *find(slots, slot_count, pins->slots[i].object) = pins->slots[i];
        }
    }
    free(pins->slots);
    pins->slots = slots;
    pins->slot_count = slot_count;
    return true;
}

// The object's pin, made with this version when there is none yet; NULL when it cannot be
// remembered. The lock is held.
static struct pin *find_or_add(struct sds_pins *pins, uint64_t object, uint64_t version) {
    object |= (object == 0);
    struct pin *pin = pins->slot_count > 0 ? find(pins->slots, pins->slot_count, object) : NULL;
    if (pin != NULL && pin->object == object) {
        return pin;
    }
    if (pins->used >= SDS_PINS_MAX || (pins->used * 2 >= pins->slot_count && !grow(pins))) {
        return NULL;
    }
    pin = find(pins->slots, pins->slot_count, object);
    *pin = (struct pin){.object = object, .version = version};
    pins->used++;
    return pin;
}

bool sds_pins_check(struct sds_pins *pins, uint64_t object, uint64_t version) {
    pthread_mutex_lock(&pins->lock);
    const struct pin *pin = find_or_add(pins, object, version);
    bool same = pin == NULL || pin->version == version;
    pthread_mutex_unlock(&pins->lock);
    return same;
}

bool sds_pins_get(struct sds_pins *pins, uint64_t object, uint64_t *version) {
    object |= (object == 0);
    pthread_mutex_lock(&pins->lock);
    const struct pin *pin =
        pins->slot_count > 0 ? find(pins->slots, pins->slot_count, object) : NULL;
    bool has = pin != NULL && pin->object == object;
    if (has) {
        *version = pin->version;
    }
    pthread_mutex_unlock(&pins->lock);
    return has;
}

bool sds_pins_has(struct sds_pins *pins, uint64_t object, uint64_t version) {
    uint64_t seen;
    return sds_pins_get(pins, object, &seen) && seen == version;
}

void sds_pins_set(struct sds_pins *pins, uint64_t object, uint64_t version) {
    pthread_mutex_lock(&pins->lock);
    struct pin *pin = find_or_add(pins, object, version);
    if (pin != NULL) {
        pin->version = version;
    }
    pthread_mutex_unlock(&pins->lock);
}
