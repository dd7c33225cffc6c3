// SPDX-License-Identifier: Apache-2.0
//
// Making, removing and renaming. A draft comes into being whole: with its files, by one rename.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "format/name.h"
#include "fs/drafts/drafts_internal.h"

static bool is_portable(const struct sds_visit *visit) {
    return sds_is_portable(sds_span_str(sds_visit_last(visit)));
}

static int make_file(int dir, const char *name, bool exclusive) {
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (exclusive ? O_EXCL : 0);
    int fd = openat(dir, name, flags, 0600);
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return 0;
}

// --- making

static int fill_draft(struct sds_drafts *drafts, const struct sds_visit *visit, int dir) {
    int e = make_file(dir, SDS_DRAFT_COMMIT, true);
    if (e != 0) {
        return e;
    }
    struct sds_status *status =
        sds_status_new(sds_visit_text(visit), visit->place.role == SDS_ROLE_SET ? "set" : "shard");
    e = status != NULL ? sds_status_write(drafts, NULL, dir, status, false) : ENOMEM;
    sds_status_free(status);
    return e;
}

static int make_draft(struct sds_drafts *drafts, const struct sds_visit *visit) {
    char tmp[SDS_TMP_NAME];
    sds_autofd int dir = -1;
    int e = sds_backing_prepare(drafts->backing, tmp, &dir);
    if (e != 0) {
        return e;
    }
    e = fill_draft(drafts, visit, dir);
    if (e == 0 &&
        renameat(sds_backing_tmp(drafts->backing), tmp, visit->fd, sds_visit_last(visit)) != 0) {
        e = errno == ENOTEMPTY || errno == ENOTDIR ? EEXIST : errno;
    }
    if (e != 0) {
        int ignored = sds_backing_remove(drafts->backing, tmp);
        (void)ignored; // it stays in tmp/ until the next mount
    }
    return e;
}

// An error number is all that the maker gets.
static int refuse_name(struct sds_drafts *drafts, const char *path, struct sds_span name) {
    struct sds_err err;
    sds_fail(
        &err, SDS_ERR_INVALID, "name",
        "%s is no name: 1 to 128 letters, digits, \".\", \"_\" and \"-\", the first a letter or "
        "a digit",
        SDS_QUOTE(name.at, name.len));
    sds_drafts_note(drafts, path, &err);
    return EINVAL;
}

static int make_directory(struct sds_drafts *drafts, const struct sds_visit *visit) {
    switch (visit->place.role) {
    case SDS_ROLE_SET:
    case SDS_ROLE_SHARD:
        return is_portable(visit) ? make_draft(drafts, visit)
                                  : refuse_name(drafts, sds_visit_text(visit),
                                                sds_span_str(sds_visit_last(visit)));
    case SDS_ROLE_COMMIT:
    case SDS_ROLE_OURS:
        return EPERM;
    case SDS_ROLE_TOP:
    case SDS_ROLE_SHARDS:
    case SDS_ROLE_USERS:
        break;
    }
    return mkdirat(visit->fd, sds_visit_last(visit), 0700) == 0 ? 0 : errno;
}

int sds_drafts_mkdir(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                     struct sds_found *out) {
    if (dir == SDS_DRAFTS_TOP) {
        if (!sds_is_portable(name)) {
            return refuse_name(drafts, "", name);
        }
        int e = sds_drafts_ready(drafts, true);
        if (e != 0) {
            return e;
        }
    }
    struct sds_visit visit;
    int e = sds_visit_name(drafts, dir, name, SDS_CHANGE, &visit);
    if (e == 0) {
        e = make_directory(drafts, &visit);
        e = e != 0 ? e : sds_draft_found(drafts, dir, &visit, out);
        sds_visit_leave(&visit);
    }
    return e;
}

int sds_drafts_create(struct sds_drafts *drafts, uint64_t dir, struct sds_span name, bool exclusive,
                      struct sds_found *out) {
    struct sds_visit visit;
    int e = dir != SDS_DRAFTS_TOP ? sds_visit_name(drafts, dir, name, SDS_CHANGE, &visit) : EPERM;
    if (e != 0) {
        return e;
    }
    // A "commit" that was removed may be made again: it comes to life when it is written to.
    e = visit.place.role != SDS_ROLE_OURS ? make_file(visit.fd, sds_visit_last(&visit), exclusive)
                                          : EPERM;
    e = e != 0 ? e : sds_draft_found(drafts, dir, &visit, out);
    sds_visit_leave(&visit);
    return e;
}

// --- removing

// A descriptor for those who have the file open, if it is a file that anybody may have.
static int orphan_of(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                     const struct sds_visit *visit) {
    struct stat st;
    if (!sds_ids_is_held(drafts->ids, dir, name) ||
        sds_draft_stat(visit->fd, sds_visit_last(visit), &st) != 0 || !S_ISREG(st.st_mode)) {
        return -1;
    }
    return openat(visit->fd, sds_visit_last(visit), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

int sds_drafts_remove(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                      bool directory) {
    struct sds_visit visit;
    int e = sds_visit_name(drafts, dir, name, SDS_REMOVE, &visit);
    if (e != 0) {
        return e;
    }
    int orphan = directory ? -1 : orphan_of(drafts, dir, name, &visit);
    if (unlinkat(visit.fd, sds_visit_last(&visit), directory ? AT_REMOVEDIR : 0) == 0) {
        sds_ids_remove(drafts->ids, dir, name, orphan);
    } else {
        e = errno;
        if (orphan >= 0) {
            close(orphan);
        }
    }
    sds_visit_leave(&visit);
    return e;
}

// --- renaming

struct move {
    struct sds_drafts *drafts;
    struct sds_visit from, to;
    struct sds_claim claim; // of a draft that moves as a whole
};

// A thing stays what it is: a draft a draft, a plain directory one. EXDEV makes mv copy it instead,
// by which it becomes what belongs there.
static int may_move(const struct move *move, const struct stat *what) {
    enum sds_role from = move->from.place.role, to = move->to.place.role;
    if (from == SDS_ROLE_OURS || from == SDS_ROLE_COMMIT || to == SDS_ROLE_OURS ||
        to == SDS_ROLE_COMMIT || from == SDS_ROLE_SHARDS || to == SDS_ROLE_SHARDS) {
        return EPERM;
    }
    if (!S_ISDIR(what->st_mode)) {
        return to == SDS_ROLE_SET ? EPERM : 0;
    }
    if (from != to) {
        return EXDEV;
    }
    return sds_role_is_draft(to) && !is_portable(&move->to) ? EINVAL : 0;
}

static bool is_published(const struct sds_visit *visit) {
    sds_autofd int dir = openat(visit->fd, sds_visit_last(visit),
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return dir >= 0 && sds_draft_is_published(dir);
}

static int claim_draft(struct move *move) {
    if (is_published(&move->from) || is_published(&move->to)) {
        return EROFS;
    }
    if (sds_jobs_cover(move->drafts->jobs, sds_visit_text(&move->to))) {
        return EBUSY;
    }
    return sds_claim_try(move->drafts, sds_visit_text(&move->from), &move->claim);
}

static int check_move(struct move *move) {
    struct stat what;
    int e = sds_draft_stat(move->from.fd, sds_visit_last(&move->from), &what);
    e = e != 0 ? e : may_move(move, &what);
    if (e == 0 && S_ISDIR(what.st_mode) && sds_role_is_draft(move->from.place.role)) {
        e = claim_draft(move);
    }
    return e;
}

static int visit_for_move(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                          struct sds_visit *visit) {
    int e = sds_visit_path(drafts, dir, name, visit);
    if (e != 0) {
        return e;
    }
    e = sds_guard_enter(drafts, sds_visit_text(visit), &visit->place, SDS_CHANGE, &visit->guard);
    e = e != 0 ? e : sds_visit_open_parent(drafts, visit);
    if (e != 0) {
        sds_visit_leave(visit);
    }
    return e;
}

static int move_name(struct move *move, uint64_t dir, struct sds_span name, uint64_t new_dir,
                     struct sds_span new_name, unsigned flags) {
    struct sds_drafts *drafts = move->drafts;
    int orphan = orphan_of(drafts, new_dir, new_name, &move->to);
    if (renameat2(move->from.fd, sds_visit_last(&move->from), move->to.fd,
                  sds_visit_last(&move->to), flags) != 0) {
        int e = errno;
        if (orphan >= 0) {
            close(orphan);
        }
        return e;
    }
    sds_ids_remove(drafts->ids, new_dir, new_name, orphan);
    sds_ids_move(drafts->ids, dir, name, new_dir, new_name);
    if (move->claim.dir >= 0) {
        sds_status_renamed(drafts, sds_visit_text(&move->to), move->claim.dir);
    }
    return 0;
}

static int rename_locked(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                         uint64_t new_dir, struct sds_span new_name, unsigned flags) {
    struct move move = {.drafts = drafts, .claim = SDS_NO_CLAIM};
    int e = visit_for_move(drafts, dir, name, &move.from);
    if (e != 0) {
        return e;
    }
    e = visit_for_move(drafts, new_dir, new_name, &move.to);
    if (e == 0) {
        e = check_move(&move);
        e = e != 0 ? e : move_name(&move, dir, name, new_dir, new_name, flags);
        sds_claim_drop(&move.claim);
        sds_visit_leave(&move.to);
    }
    sds_visit_leave(&move.from);
    return e;
}

int sds_drafts_rename(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                      uint64_t new_dir, struct sds_span new_name, unsigned flags) {
    if ((flags & ~(unsigned)RENAME_NOREPLACE) != 0) {
        return EINVAL;
    }
    pthread_rwlock_wrlock(&drafts->moves);
    int e = rename_locked(drafts, dir, name, new_dir, new_name, flags);
    pthread_rwlock_unlock(&drafts->moves);
    return e;
}
