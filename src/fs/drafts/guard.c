// SPDX-License-Identifier: Apache-2.0
//
// Commands and changes keep out of each other's way by flock on the drafts' directories, so that it
// holds between mounts and after a crash: a change locks the drafts it lies in shared, for as long
// as it takes; a command locks its own draft alone, and the set around it shared. Where the file
// system of the state directory has no such locks (NFS), it holds within this mount.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "fs/drafts/drafts_internal.h"

enum { CLAIM_TRIES = 200, CLAIM_STEP_MS = 10 };

bool sds_draft_is_published(int draft) {
    return faccessat(draft, SDS_DRAFT_RECEIPT, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int lock(int fd, int how) {
    if (flock(fd, how | LOCK_NB) == 0) {
        return 0;
    }
    return errno == EWOULDBLOCK ? EBUSY : 0; // or there are no locks here
}

// Opens the draft that the first len bytes of a path lead to, and locks it.
static int open_locked(struct sds_drafts *drafts, const char *path, size_t len, int how, int *out) {
    sds_autofree char *draft = strndup(path, len);
    if (draft == NULL) {
        return ENOMEM;
    }
    int fd = sds_open_beneath(sds_backing_sets(drafts->backing), draft, O_RDONLY | O_DIRECTORY, 0);
    int e = fd >= 0 ? lock(fd, how) : errno;
    if (e != 0 && fd >= 0) {
        close(fd);
        return e;
    }
    *out = fd;
    return e;
}

static int guard_one(struct sds_drafts *drafts, const char *path, size_t len,
                     enum sds_intent intent, int *out) {
    if (len == 0) {
        return 0;
    }
    int e = open_locked(drafts, path, len, LOCK_SH, out);
    return e == 0 && intent != SDS_REMOVE && sds_draft_is_published(*out) ? EROFS : e;
}

int sds_guard_enter(struct sds_drafts *drafts, const char *path, const struct sds_place *place,
                    enum sds_intent intent, struct sds_guard *out) {
    *out = SDS_NO_GUARD;
    if (intent == SDS_LOOK) {
        return 0;
    }
    bool busy = intent == SDS_WRITE ? sds_jobs_at_work(drafts->jobs, path)
                                    : sds_jobs_cover(drafts->jobs, path);
    int e = busy ? EBUSY : 0;
    e = e != 0 ? e : guard_one(drafts, path, place->set_len, intent, &out->set);
    e = e != 0 ? e : guard_one(drafts, path, place->shard_len, intent, &out->shard);
    if (e != 0) {
        sds_guard_leave(out);
    }
    return e;
}

static void close_both(int *a, int *b) {
    if (*a >= 0) {
        close(*a);
    }
    if (*b >= 0) {
        close(*b);
    }
    *a = *b = -1;
}

void sds_guard_leave(struct sds_guard *guard) {
    close_both(&guard->set, &guard->shard);
}

int sds_claim_try(struct sds_drafts *drafts, const char *draft, struct sds_claim *out) {
    *out = SDS_NO_CLAIM;
    struct sds_place place = sds_place_of(draft);
    int e = 0;
    if (place.set_len > 0) {
        e = open_locked(drafts, draft, place.set_len, LOCK_SH, &out->set);
    }
    e = e != 0 ? e : open_locked(drafts, draft, strlen(draft), LOCK_EX, &out->dir);
    if (e != 0) {
        sds_claim_drop(out);
    }
    return e;
}

int sds_claim_take(struct sds_drafts *drafts, const char *draft, struct sds_claim *out) {
    int e = sds_claim_try(drafts, draft, out);
    for (int i = 0; e == EBUSY && i < CLAIM_TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = CLAIM_STEP_MS * 1000000L}, NULL);
        e = sds_claim_try(drafts, draft, out);
    }
    return e;
}

void sds_claim_drop(struct sds_claim *claim) {
    close_both(&claim->dir, &claim->set);
}
