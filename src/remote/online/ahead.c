// SPDX-License-Identifier: Apache-2.0
//
// Fetching what nobody has asked for yet: behind sequential readers, and what was announced. It
// takes what memory and connections are to spare, and less than it wants rather than nothing.
#include "base/ckd.h"
#include "remote/online/remote_internal.h"

#define FLYING_AHEAD_MAX 32 // of a store's connections, so that readers find free ones
#define LEAST (64U << 10)   // not worth a request below, unless there is no more
#define SHARE 4             // of the ledger

// How many of the wanted bytes may be held ahead, charged already; 0: none.
static size_t charge(struct sds_remote *remote, uint64_t wanted) {
    uint64_t share = sds_cache_budget(remote->ledger) / SHARE, ahead = remote->stats.ahead;
    uint64_t least = sds_min(wanted, LEAST);
    uint64_t n = sds_min(wanted, ahead < share ? share - ahead : 0);
    while (n >= least && !sds_cache_try_charge(remote->ledger, (size_t)n)) {
        n /= 2;
    }
    return n >= least ? (size_t)n : 0;
}

// Asks for bytes from *pos on, or passes those that are at hand. False: enough.
static bool step(struct sds_subject *subject, uint64_t *pos, uint64_t end, uint64_t piece) {
    struct sds_remote *remote = subject->remote;
    struct sds_extent_view view;
    uint64_t run;
    bool fresh;
    sds_extents_look(&subject->extents, *pos, &view);
    if (view.extent != NULL) {
        sds_extent_unref(view.extent);
        *pos = view.end;
        return true;
    }
    uint64_t to = sds_min(sds_min(view.end, end), *pos + piece);
    bool on_disk = sds_fetch_on_disk(subject, *pos, to, &run);
    if (on_disk) {
        *pos += run;
        return true;
    }
    to = run == UINT64_MAX ? to : sds_min(to, *pos + run);
    size_t n = remote->flying_ahead < FLYING_AHEAD_MAX ? charge(remote, to - *pos) : 0;
    if (n == 0) {
        return false;
    }
    struct sds_extent_claim claim = {
        .pos = *pos, .from = *pos, .to = *pos + n, .charged = n, .ahead = true};
    if (sds_extents_claim(&subject->extents, &claim, &view, &fresh, NULL) != SDS_OK) {
        return false;
    }
    if (fresh) {
        sds_fetch_start(subject, view.extent, true);
    }
    *pos = view.end;
    sds_extent_unref(view.extent);
    return true;
}

static uint64_t fetch(struct sds_subject *subject, uint64_t start, uint64_t end, uint64_t piece) {
    uint64_t pos = start;
    while (pos < end && !subject->remote->operations.closed && step(subject, &pos, end, piece)) {
    }
    return pos;
}

void sds_ahead_of(struct sds_subject *subject, const struct sds_reading *reading, uint64_t off,
                  uint64_t len) {
    struct sds_remote *remote = subject->remote;
    if (remote->ledger == NULL || remote->options.read_ahead == 0 ||
        (reading->whole && reading->size <= SDS_FETCH_LARGE)) {
        return;
    }
    uint64_t window = sds_min(remote->options.read_ahead, sds_cache_budget(remote->ledger) / SHARE);
    struct sds_ahead ahead;
    pthread_mutex_lock(&subject->lock);
    bool wanted = sds_readahead_note(&subject->readahead, off, len, reading->size, window, &ahead);
    pthread_mutex_unlock(&subject->lock);
    if (!wanted) {
        return;
    }
    uint64_t reached = fetch(subject, ahead.start, ahead.end, ahead.piece);
    pthread_mutex_lock(&subject->lock);
    sds_readahead_reached(&subject->readahead, ahead.start, reached);
    pthread_mutex_unlock(&subject->lock);
}

// In one request what reading it would take one for.
void sds_ahead_announced(struct sds_subject *subject, const struct sds_reading *reading,
                         uint64_t off, uint64_t len) {
    if (subject->remote->ledger == NULL || sds_look_ahead_for_disk(subject, off, len)) {
        return;
    }
    if (reading->whole && reading->size <= SDS_FETCH_LARGE) {
        off = 0;
        len = reading->size;
    }
    fetch(subject, off, off + len, len <= SDS_FETCH_LARGE ? len : SDS_FETCH_PIECE);
}
