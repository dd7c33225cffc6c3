// SPDX-License-Identifier: Apache-2.0
//
// Reading a range: what is at hand is copied, what is not is asked for, and waited for. All of a
// range is there before the first byte of it is copied out of memory, so that a task that has to
// wait uses nothing up.
#include <stdlib.h>
#include <string.h>

#include "base/ckd.h"
#include "remote/online/remote_internal.h"

#define SMALL (16U << 10) // reads below are widened…
#define BLOCK (64U << 10) // …to such blocks
#define FLYING_MAX 8      // extents of one range

// One read. The references keep what has come until the rest has.
struct range {
    struct sds_subject *subject;
    const struct sds_reading *reading;
    uint64_t off, end;
    uint8_t *buf;
    struct sds_extent **held;
    size_t count, cap;
    struct sds_extent *missing; // the first that is on its way, one of held
    unsigned flying;
};

static enum sds_kind hold(struct range *range, struct sds_extent *extent, struct sds_err *err) {
    if (range->count == range->cap) {
        size_t cap = range->cap == 0 ? 8 : range->cap * 2;
        struct sds_extent **held = realloc(range->held, cap * sizeof(struct sds_extent *));
        if (held == NULL) {
            sds_extent_unref(extent);
            return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a read");
        }
        range->held = held;
        range->cap = cap;
    }
    range->held[range->count++] = extent;
    return SDS_OK;
}

static void drop(struct range *range) {
    for (size_t i = 0; i < range->count; i++) {
        sds_extent_unref(range->held[i]);
    }
    free(range->held);
}

// What to ask for when the bytes from pos to end are missing: at least the first of them.
static void widen(const struct range *range, uint64_t pos, uint64_t end,
                  struct sds_extent_claim *out) {
    uint64_t size = range->reading->size, len = range->end - range->off;
    uint64_t unit = len < SMALL ? BLOCK : 0;
    if (range->reading->whole) {
        unit = size <= SDS_FETCH_LARGE ? size : SDS_FETCH_PIECE;
    }
    *out = (struct sds_extent_claim){.pos = pos, .from = pos, .to = end};
    if (unit > 0) {
        out->from = pos / unit * unit;
        out->to = sds_min(out->from + unit, size);
    } else if (len > SDS_FETCH_LARGE) {
        out->to = sds_min(end, pos + SDS_FETCH_PIECE);
    }
}

// More than was asked for only where there is memory for it, and nothing that is on the disk.
static void settle(const struct range *range, uint64_t end, struct sds_extent_claim *claim,
                   bool *keep) {
    struct sds_cache *ledger = range->subject->remote->ledger;
    uint64_t run;
    if (!sds_fetch_on_disk(range->subject, claim->pos, claim->to, &run) && run != UINT64_MAX) {
        claim->to = sds_min(claim->to, claim->pos + run);
    }
    *keep = claim->from < claim->pos || claim->to > end;
    claim->charged = (size_t)(claim->to - claim->from);
    if (*keep && (ledger == NULL || !sds_cache_try_charge(ledger, claim->charged))) {
        claim->from = claim->pos;
        claim->to = sds_min(sds_min(claim->to, end), claim->pos + SDS_FETCH_PIECE);
        claim->charged = (size_t)(claim->to - claim->from);
        *keep = false;
    }
    if (ledger == NULL) {
        claim->charged = 0;
    } else if (!*keep) {
        sds_cache_charge(ledger, claim->charged); // what somebody waits for is never refused
    }
}

static enum sds_kind ask(const struct range *range, uint64_t pos, uint64_t end,
                         struct sds_extent_view *out, struct sds_err *err) {
    struct sds_extent_claim claim;
    bool keep, fresh;
    widen(range, pos, end, &claim);
    settle(range, end, &claim, &keep);
    enum sds_kind kind = sds_extents_claim(&range->subject->extents, &claim, out, &fresh, err);
    if (kind == SDS_OK && fresh) {
        sds_fetch_start(range->subject, out->extent, keep); // whether it has ended shows in waiting
    }
    return kind;
}

// The bytes from *pos on, by whatever has them.
static enum sds_kind step(struct range *range, uint64_t *pos, struct sds_err *err) {
    struct sds_extent_view view;
    sds_extents_look(&range->subject->extents, *pos, &view);
    if (view.extent == NULL) {
        uint64_t end = sds_min(view.end, range->end), run;
        if (sds_fetch_on_disk(range->subject, *pos, end, &run) &&
            sds_fetch_from_disk(range->subject, *pos, range->buf + (*pos - range->off),
                                (size_t)run)) {
            *pos += run;
            return SDS_OK;
        }
        enum sds_kind kind = ask(range, *pos, end, &view, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    enum sds_kind kind = hold(range, view.extent, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (view.state == SDS_EXTENT_FAILED) { // which this task keeps
        return sds_extent_wait(view.extent, err);
    }
    if (view.state == SDS_EXTENT_FLYING) {
        range->missing = range->missing != NULL ? range->missing : view.extent;
        range->flying++;
    }
    *pos = view.end;
    return SDS_OK;
}

// Where no reference declares the size the server may tell another one by now.
static enum sds_kind check_size(const struct range *range, struct sds_err *err) {
    struct sds_known known;
    sds_subject_known(range->subject, &known);
    if (!known.sized || known.size == range->reading->size) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_STORAGE, "changed",
                    "the object was replaced since it was first read");
}

static enum sds_kind gather(struct range *range, struct sds_err *err) {
    enum sds_kind kind = check_size(range, err);
    for (uint64_t pos = range->off;
         kind == SDS_OK && pos < range->end && range->flying < FLYING_MAX;) {
        kind = step(range, &pos, err);
    }
    return kind;
}

static void copy(const struct range *range) {
    for (size_t i = 0; i < range->count; i++) {
        struct sds_extent *extent = range->held[i];
        uint64_t start = extent->off > range->off ? extent->off : range->off;
        uint64_t end = sds_min(extent->off + extent->len, range->end);
        if (start < end) {
            sds_extent_copy(extent, start, range->buf + (start - range->off),
                            (size_t)(end - start));
        }
    }
}

// What has come meanwhile has to be there when the task is run again.
static enum sds_kind wait_for(const struct range *range, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < range->count; i++) {
        kind = sds_extent_keep(range->held[i], err);
    }
    return kind == SDS_OK ? sds_extent_wait(range->missing, err) : kind;
}

static enum sds_kind read_range(struct range *range, struct sds_err *err) {
    for (bool first = true;; first = false) {
        struct range before = *range; // lets go of what came only after it was found again
        range->held = NULL;
        range->count = range->cap = range->flying = 0;
        range->missing = NULL;
        if (first) {
            sds_ahead_of(range->subject, range->reading, range->off, range->end - range->off);
        }
        enum sds_kind kind = gather(range, err);
        drop(&before);
        if (kind == SDS_OK && range->missing != NULL) {
            kind = wait_for(range, err);
        } else if (kind == SDS_OK) {
            copy(range);
            return SDS_OK;
        }
        if (kind != SDS_OK) {
            return kind;
        }
    }
}

enum sds_kind sds_read(struct sds_subject *subject, const struct sds_reading *reading, uint64_t off,
                       void *buf, size_t len, struct sds_err *err) {
    struct range range = {
        .subject = subject, .reading = reading, .off = off, .end = off + len, .buf = buf};
    if (len == 0) {
        return SDS_OK;
    }
    enum sds_kind kind = sds_look_for_disk(subject, off, len, err);
    if (kind == SDS_OK) {
        kind = read_range(&range, err);
        drop(&range);
    }
    if (kind != SDS_OK && kind != SDS_ERR_WAITING && check_size(&range, NULL) != SDS_OK) {
        kind = check_size(&range, err); // why there was no such range
    }
    return kind;
}
