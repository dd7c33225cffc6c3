// SPDX-License-Identifier: Apache-2.0
#include "remote/online/extents.h"

#include <stdlib.h>
#include <string.h>

#include "remote/online/extents_index.h"

void sds_extents_init(struct sds_extents *extents, const struct sds_extents_owner *how,
                      void *owner) {
    *extents = (struct sds_extents){.how = how, .owner = owner};
    pthread_mutex_init(&extents->lock, NULL);
}

void sds_extents_fini(struct sds_extents *extents) {
    pthread_mutex_destroy(&extents->lock);
    free(extents->live);
}

// A reference to what has the byte.
static bool view(const struct sds_extents *extents, uint64_t pos, struct sds_extent_view *out) {
    struct sds_extent *extent = sds_extents_live_at(extents, pos);
    if (extent == NULL) {
        extent = sds_extents_failed_at(extents, pos);
    }
    if (extent == NULL) {
        uint64_t start;
        *out = (struct sds_extent_view){.extent = NULL};
        sds_extents_gap_at(extents, pos, &start, &out->end);
        return false;
    }
    extent->refs++;
    *out = (struct sds_extent_view){
        .extent = extent, .state = extent->state, .end = extent->off + extent->len};
    return true;
}

void sds_extents_look(struct sds_extents *extents, uint64_t pos, struct sds_extent_view *out) {
    pthread_mutex_lock(&extents->lock);
    view(extents, pos, out);
    pthread_mutex_unlock(&extents->lock);
}

// --- the ledger

static void charge(struct sds_extents *extents, size_t bytes) {
    if (extents->how->ledger != NULL && bytes > 0) {
        sds_cache_charge(extents->how->ledger, bytes);
    }
}

static void uncharge(struct sds_extents *extents, size_t bytes) {
    if (extents->how->ledger != NULL && bytes > 0) {
        sds_cache_uncharge(extents->how->ledger, bytes);
    }
}

static struct sds_cache_key key_of(const struct sds_extent *extent) {
    return (struct sds_cache_key){.kind_and_owner = 0x5e7e4d << 8, .id = (uintptr_t)extent};
}

static enum sds_kind hand_over(void *ctx, void **value, size_t *cost, struct sds_err *err) {
    (void)err;
    struct sds_extent *extent = ctx;
    *value = sds_extent_ref(extent);
    *cost = extent->blob->cap;
    return SDS_OK;
}

// Those who still have it make it count as pinned again. Only this writes `charged` meanwhile, and
// the reference that it gives back comes before the last one.
static void taken_out(void *value) {
    struct sds_extent *extent = value;
    struct sds_extents *extents = extent->of;
    pthread_mutex_lock(&extents->lock);
    extent->put = false;
    bool others = extent->refs > 1;
    pthread_mutex_unlock(&extents->lock);
    if (others) {
        charge(extents, extent->blob->cap);
        extent->charged = extent->blob->cap;
    }
    sds_extent_unref(extent);
}

static const struct sds_cache_class extent_class = {.load = hand_over, .free = taken_out};

// Without memory for it the extent lives as long as those who have it now.
static void put(struct sds_extent *extent) {
    struct sds_extents *extents = extent->of;
    struct sds_cache_ref *ref;
    void *value;
    if (extents->how->ledger == NULL || extent->blob == NULL) {
        return;
    }
    size_t charged = extent->charged;
    extent->charged = 0;
    pthread_mutex_lock(&extents->lock);
    extent->put = true;
    pthread_mutex_unlock(&extents->lock);
    if (sds_cache_get(extents->how->ledger, key_of(extent), &extent_class, extent, &ref, &value,
                      NULL) == SDS_OK) {
        uncharge(extents, charged);
        sds_cache_release(ref);
    } else {
        pthread_mutex_lock(&extents->lock);
        extent->put = false;
        pthread_mutex_unlock(&extents->lock);
        extent->charged = charged;
    }
}

// --- references

struct sds_extent *sds_extent_ref(struct sds_extent *extent) {
    pthread_mutex_lock(&extent->of->lock);
    extent->refs++;
    pthread_mutex_unlock(&extent->of->lock);
    return extent;
}

static void free_extent(struct sds_extent *extent) {
    struct sds_extents *extents = extent->of;
    const struct sds_extents_owner *how = extents->how;
    if (extent->ahead) {
        atomic_fetch_sub(how->ahead, extent->len - extent->read);
        if (extent->state == SDS_EXTENT_THERE) {
            atomic_fetch_add(how->wasted, extent->len - extent->read);
        }
    }
    uncharge(extents, extent->charged);
    sds_blob_unref(extent->blob);
    sds_event_unref(extent->ended);
    free(extent);
    how->let_go(extents->owner);
}

void sds_extent_unref(struct sds_extent *extent) {
    if (extent == NULL) {
        return;
    }
    struct sds_extents *extents = extent->of;
    pthread_mutex_lock(&extents->lock);
    bool last = --extent->refs == 0;
    if (last && extent->state == SDS_EXTENT_FAILED) {
        sds_extents_remove_failed(extents, extent);
    } else if (last) {
        sds_extents_remove_live(extents, extent);
    }
    pthread_mutex_unlock(&extents->lock);
    if (last) {
        free_extent(extent);
    }
}

// --- beginning and ending

static struct sds_extent *new_extent(struct sds_extents *extents) {
    struct sds_extent *extent = calloc(1, sizeof *extent);
    if (extent != NULL && (extent->ended = sds_event_new()) == NULL) {
        free(extent);
        return NULL;
    }
    if (extent != NULL) {
        extent->of = extents;
        extent->refs = 2;
    }
    return extent;
}

// Cuts the claim to the gap and enters it. The lock is held.
static bool enter(struct sds_extents *extents, struct sds_extent *extent,
                  const struct sds_extent_claim *claim) {
    uint64_t start, end;
    sds_extents_gap_at(extents, claim->pos, &start, &end);
    start = start > claim->from ? start : claim->from;
    end = end < claim->to ? end : claim->to;
    extent->off = start;
    extent->len = end - start;
    extent->ahead = claim->ahead;
    return sds_extents_add_live(extents, extent);
}

// The ledger is told what the extent really takes.
static void settle(struct sds_extent *extent, size_t charged) {
    size_t takes = (size_t)extent->len;
    if (takes > charged) {
        charge(extent->of, takes - charged);
    } else {
        uncharge(extent->of, charged - takes);
    }
    extent->charged = takes;
    if (extent->ahead) {
        atomic_fetch_add(extent->of->how->ahead, extent->len);
    }
}

enum sds_kind sds_extents_claim(struct sds_extents *extents, const struct sds_extent_claim *claim,
                                struct sds_extent_view *out, bool *fresh, struct sds_err *err) {
    struct sds_extent *extent = new_extent(extents);
    *fresh = false;
    pthread_mutex_lock(&extents->lock);
    bool there = view(extents, claim->pos, out);
    bool entered = !there && extent != NULL && enter(extents, extent, claim);
    pthread_mutex_unlock(&extents->lock);
    if (entered) {
        extents->how->hold(extents->owner);
        settle(extent, claim->charged);
        *fresh = true;
        *out = (struct sds_extent_view){.extent = extent, .end = extent->off + extent->len};
        return SDS_OK;
    }
    if (extent != NULL) {
        sds_event_unref(extent->ended);
        free(extent);
    }
    uncharge(extents, claim->charged);
    return there ? SDS_OK
                 : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a range of an object");
}

// The reference goes first: what nobody but those who wait has is gone when they let go.
static void end_fetch(struct sds_extent *extent) {
    struct sds_event *ended = sds_event_ref(extent->ended);
    sds_extent_unref(extent);
    sds_event_fire(ended);
    sds_event_unref(ended);
}

void sds_extent_there(struct sds_extent *extent, uint64_t len, bool keep) {
    struct sds_extents *extents = extent->of;
    pthread_mutex_lock(&extents->lock);
    uint64_t missing = extent->len - len;
    extent->len = len;
    extent->state = SDS_EXTENT_THERE;
    pthread_mutex_unlock(&extents->lock);
    if (extent->ahead) {
        atomic_fetch_sub(extents->how->ahead, missing);
    }
    if (keep) {
        put(extent);
    }
    end_fetch(extent);
}

void sds_extent_failed(struct sds_extent *extent, const struct sds_err *err) {
    struct sds_extents *extents = extent->of;
    pthread_mutex_lock(&extents->lock);
    sds_extents_remove_live(extents, extent);
    extent->err = *err;
    extent->state = SDS_EXTENT_FAILED;
    extent->next_failed = extents->failed;
    extents->failed = extent;
    pthread_mutex_unlock(&extents->lock);
    end_fetch(extent);
}

static void let_go(void *value) {
    sds_extent_unref(value);
}

enum sds_kind sds_extent_keep(struct sds_extent *extent, struct sds_err *err) {
    if (!sds_task_here() || sds_task_keeps(extent)) {
        return SDS_OK;
    }
    sds_extent_ref(extent);
    if (sds_task_keep(extent, let_go)) {
        return SDS_OK;
    }
    sds_extent_unref(extent);
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for waiting");
}

enum sds_kind sds_extent_wait(struct sds_extent *extent, struct sds_err *err) {
    enum sds_kind kind = sds_extent_keep(extent, err);
    if (kind == SDS_OK) {
        kind = sds_event_wait(extent->ended, err);
    }
    if (kind == SDS_OK) {
        pthread_mutex_lock(&extent->of->lock);
        bool failed = extent->state == SDS_EXTENT_FAILED;
        pthread_mutex_unlock(&extent->of->lock);
        kind = failed ? extent->err.kind : SDS_OK;
        if (failed && err != NULL) {
            *err = extent->err;
        }
    }
    return kind;
}

// --- reading

// What was fetched ahead and has all been read is of no more use: those above keep what they made
// of it. Records come in any order, each once as a rule, so their bytes are just added up.
static void count_read(struct sds_extent *extent, uint64_t len) {
    struct sds_extents *extents = extent->of;
    pthread_mutex_lock(&extents->lock);
    uint64_t left = extent->len - extent->read;
    uint64_t more = len < left ? len : left;
    extent->read += more;
    bool over = more > 0 && extent->read == extent->len && extent->put;
    pthread_mutex_unlock(&extents->lock);
    if (more > 0) {
        atomic_fetch_sub(extents->how->ahead, more);
        atomic_fetch_add(extents->how->used, more);
    }
    if (over) {
        sds_cache_drop(extents->how->ledger, key_of(extent));
    }
}

static void touch(struct sds_extent *extent) {
    void *value;
    if (extent->of->how->ledger != NULL) {
        sds_cache_release(sds_cache_peek(extent->of->how->ledger, key_of(extent), &value));
    }
}

void sds_extent_copy(struct sds_extent *extent, uint64_t off, void *buf, size_t len) {
    uint64_t start = off - extent->off;
    memcpy(buf, extent->blob->at + start, len);
    if (extent->ahead) {
        count_read(extent, len);
    }
    touch(extent);
}

// --- dropping

// Takes one that is there out of the live ones, with a reference; NULL: there is none.
static struct sds_extent *take_out(struct sds_extents *extents, uint64_t start, uint64_t end,
                                   bool *put) {
    struct sds_extent *found = NULL;
    pthread_mutex_lock(&extents->lock);
    for (size_t i = 0; found == NULL && i < extents->count; i++) {
        struct sds_extent *extent = extents->live[i];
        bool overlaps = extent->off < end && extent->off + extent->len > start;
        found = overlaps && extent->state == SDS_EXTENT_THERE ? extent : NULL;
    }
    if (found != NULL) {
        found->refs++;
        *put = found->put;
        sds_extents_remove_live(extents, found);
    }
    pthread_mutex_unlock(&extents->lock);
    return found;
}

void sds_extents_drop(struct sds_extents *extents, uint64_t start, uint64_t end) {
    struct sds_extent *extent;
    bool put;
    while ((extent = take_out(extents, start, end, &put)) != NULL) {
        if (put) {
            sds_cache_drop(extents->how->ledger, key_of(extent));
        }
        sds_extent_unref(extent);
    }
}
