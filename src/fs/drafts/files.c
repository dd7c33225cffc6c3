// SPDX-License-Identifier: Apache-2.0
//
// Finding, reading and writing. Each operation finds its file anew by the path that its number
// stands for: nothing is kept open between two requests.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "format/name.h"
#include "fs/drafts/drafts_internal.h"

// --- visits

void sds_visit_leave(struct sds_visit *visit) {
    if (visit->fd >= 0) {
        close(visit->fd);
    }
    sds_guard_leave(&visit->guard);
    sds_buf_fini(&visit->path);
}

static int add_name(struct sds_buf *path, struct sds_span name) {
    enum sds_kind kind = SDS_OK;
    if (name.len > 0 && path->len > 0) {
        kind = sds_buf_add_str(path, "/");
    }
    if (kind == SDS_OK) {
        kind = sds_buf_add_span(path, name);
    }
    if (kind == SDS_OK) {
        kind = sds_buf_add(path, "", 1);
    }
    return kind == SDS_OK ? 0 : kind == SDS_ERR_LIMIT ? ENAMETOOLONG : ENOMEM;
}

int sds_visit_path(struct sds_drafts *drafts, uint64_t id, struct sds_span name,
                   struct sds_visit *out) {
    *out = (struct sds_visit){
        .path = SDS_BUF_INIT(SDS_DRAFT_PATH_MAX), .guard = SDS_NO_GUARD, .fd = -1};
    int e = sds_drafts_ready(drafts, false);
    e = e != 0 ? e : sds_ids_path(drafts->ids, id, &out->path);
    e = e != 0 ? e : add_name(&out->path, name);
    if (e != 0) {
        sds_visit_leave(out);
        return e;
    }
    out->place = sds_place_of(sds_visit_text(out));
    return 0;
}

int sds_visit_open_parent(struct sds_drafts *drafts, struct sds_visit *visit) {
    char *path = (char *)visit->path.at;
    char cut = path[visit->place.parent_len];
    path[visit->place.parent_len] = '\0';
    visit->fd = sds_open_beneath(sds_backing_sets(drafts->backing), path, O_PATH | O_DIRECTORY, 0);
    int e = visit->fd >= 0 ? 0 : errno;
    path[visit->place.parent_len] = cut;
    return e;
}

int sds_visit_name(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                   enum sds_intent intent, struct sds_visit *out) {
    pthread_rwlock_rdlock(&drafts->moves);
    int e = sds_visit_path(drafts, dir, name, out);
    if (e == 0) {
        e = sds_guard_enter(drafts, sds_visit_text(out), &out->place, intent, &out->guard);
        e = e != 0 ? e : sds_visit_open_parent(drafts, out);
        if (e != 0) {
            sds_visit_leave(out);
        }
    }
    pthread_rwlock_unlock(&drafts->moves);
    return e;
}

static bool is_protected(enum sds_role role) {
    return role == SDS_ROLE_OURS || role == SDS_ROLE_COMMIT;
}

static int open_guarded(struct sds_drafts *drafts, uint64_t id, enum sds_intent intent, int flags,
                        struct sds_visit *visit) {
    if (intent != SDS_LOOK && is_protected(visit->place.role)) {
        return EPERM;
    }
    int e = sds_guard_enter(drafts, sds_visit_text(visit), &visit->place, intent, &visit->guard);
    if (e != 0) {
        return e;
    }
    visit->fd =
        sds_open_beneath(sds_backing_sets(drafts->backing), sds_visit_text(visit), flags, 0);
    if (visit->fd < 0) {
        return errno == ENOENT && id != SDS_DRAFTS_TOP ? ESTALE : errno;
    }
    return 0;
}

// Opens a file or directory by its number.
static int visit_file(struct sds_drafts *drafts, uint64_t id, enum sds_intent intent, int flags,
                      struct sds_visit *out) {
    pthread_rwlock_rdlock(&drafts->moves);
    int orphan = sds_ids_orphan(drafts->ids, id), e = 0;
    if (orphan >= 0) {
        *out = (struct sds_visit){.guard = SDS_NO_GUARD, .fd = orphan};
    } else {
        e = sds_visit_path(drafts, id, sds_span(NULL, 0), out);
    }
    if (e == 0 && orphan < 0) {
        e = open_guarded(drafts, id, intent, flags, out);
        if (e != 0) {
            sds_visit_leave(out);
        }
    }
    pthread_rwlock_unlock(&drafts->moves);
    return e;
}

// --- attributes and names

static int shown(const struct stat *st) {
    return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) ? 0 : ENOENT;
}

int sds_draft_stat(int dir, const char *name, struct stat *out) {
    return fstatat(dir, name, out, AT_SYMLINK_NOFOLLOW) == 0 ? shown(out) : errno;
}

// Every look-up of "commit" gets a number of its own: the kernel lets one write at a time into a
// file, in a way that not even SIGKILL interrupts, and commands last.
int sds_draft_found(struct sds_drafts *drafts, uint64_t dir, const struct sds_visit *visit,
                    struct sds_found *out) {
    const char *name = sds_visit_last(visit);
    int e = sds_draft_stat(visit->fd, name, &out->st);
    if (e != 0) {
        return e;
    }
    return visit->place.role == SDS_ROLE_COMMIT
               ? sds_ids_hold_alone(drafts->ids, dir, sds_span_str(name), &out->id)
               : sds_ids_hold(drafts->ids, dir, sds_span_str(name), &out->id);
}

static int find_number(struct sds_drafts *drafts, uint64_t id, struct sds_found *out) {
    out->id = id;
    int e = sds_drafts_getattr(drafts, id, &out->st);
    if (e != 0) {
        sds_drafts_forget(drafts, id, 1);
    }
    return e;
}

int sds_drafts_lookup(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                      struct sds_found *out) {
    if (sds_span_eq(name, sds_span_str("."))) {
        int e = sds_ids_hold_self(drafts->ids, dir);
        return e != 0 ? e : find_number(drafts, dir, out);
    }
    if (sds_span_eq(name, sds_span_str(".."))) {
        uint64_t parent;
        int e = sds_ids_hold_parent(drafts->ids, dir, &parent);
        return e != 0 ? e : find_number(drafts, parent, out);
    }
    if (dir == SDS_DRAFTS_TOP && !sds_is_portable(name)) {
        return ENOENT;
    }
    struct sds_visit visit;
    int e = sds_visit_name(drafts, dir, name, SDS_LOOK, &visit);
    if (e == 0) {
        e = sds_draft_found(drafts, dir, &visit, out);
        sds_visit_leave(&visit);
    }
    return e;
}

void sds_drafts_forget(struct sds_drafts *drafts, uint64_t id, uint64_t count) {
    sds_ids_drop(drafts->ids, id, count);
}

int sds_drafts_getattr(struct sds_drafts *drafts, uint64_t id, struct stat *out) {
    struct sds_visit visit;
    int e = visit_file(drafts, id, SDS_LOOK, O_PATH | O_NOFOLLOW, &visit);
    if (e == 0) {
        e = fstat(visit.fd, out) == 0 ? shown(out) : errno;
        sds_visit_leave(&visit);
    }
    return e;
}

// --- content

static int read_at(int fd, uint64_t off, struct sds_blob *blob) {
    size_t have = 0;
    while (have < blob->len) {
        ssize_t n = pread(fd, blob->at + have, blob->len - have, (off_t)(off + have));
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        if (n == 0) {
            break;
        }
        have += n > 0 ? (size_t)n : 0;
    }
    blob->len = have;
    return 0;
}

int sds_drafts_read(struct sds_drafts *drafts, uint64_t id, uint64_t off, size_t len,
                    struct sds_blob **out) {
    struct sds_visit visit;
    int e = visit_file(drafts, id, SDS_LOOK, O_RDONLY | O_NOFOLLOW, &visit);
    if (e != 0) {
        return e;
    }
    sds_autoblob struct sds_blob *blob = sds_blob_new(len);
    e = blob != NULL ? read_at(visit.fd, off, blob) : ENOMEM;
    if (e == 0) {
        *out = SDS_STEAL(blob);
    }
    sds_visit_leave(&visit);
    return e;
}

// A command that is being prepared would not have these bytes.
static void note_loss(struct sds_drafts *drafts, const struct sds_visit *visit, int e) {
    if (visit->path.len > 0 && sds_jobs_spoil(drafts->jobs, sds_visit_text(visit), e)) {
        struct sds_err err;
        sds_fail(&err, SDS_ERR_STORAGE, "state_dir", "it cannot be written: %s", strerror(e));
        sds_drafts_note(drafts, sds_visit_text(visit), &err);
    }
}

int sds_drafts_write(struct sds_drafts *drafts, uint64_t id, uint64_t off, struct sds_span bytes,
                     size_t *written) {
    struct sds_visit visit;
    int e = visit_file(drafts, id, SDS_WRITE, O_WRONLY | O_NOFOLLOW, &visit);
    if (e != 0) {
        return e;
    }
    ssize_t n;
    while ((n = pwrite(visit.fd, bytes.at, bytes.len, (off_t)off)) < 0 && errno == EINTR) {
    }
    e = n < 0 ? errno : 0;
    *written = n < 0 ? 0 : (size_t)n;
    if (e != 0) {
        note_loss(drafts, &visit, e);
    }
    sds_visit_leave(&visit);
    return e;
}

int sds_drafts_truncate(struct sds_drafts *drafts, uint64_t id, uint64_t size) {
    struct sds_visit visit;
    int e = visit_file(drafts, id, SDS_CHANGE, O_WRONLY | O_NOFOLLOW, &visit);
    if (e == 0) {
        e = ftruncate(visit.fd, (off_t)size) == 0 ? 0 : errno;
        sds_visit_leave(&visit);
    }
    return e;
}

int sds_drafts_utimes(struct sds_drafts *drafts, uint64_t id, const struct timespec times[2]) {
    struct sds_visit visit;
    int e = visit_file(drafts, id, SDS_CHANGE, O_RDONLY | O_NOFOLLOW, &visit);
    if (e == 0) {
        e = futimens(visit.fd, times) == 0 ? 0 : errno;
        sds_visit_leave(&visit);
    }
    return e;
}

int sds_drafts_sync(struct sds_drafts *drafts, uint64_t id, bool data_only) {
    struct sds_visit visit;
    int e = visit_file(drafts, id, SDS_LOOK, O_RDONLY | O_NOFOLLOW, &visit);
    if (e == 0) {
        e = (data_only ? fdatasync(visit.fd) : fsync(visit.fd)) == 0 ? 0 : errno;
        sds_visit_leave(&visit);
    }
    return e;
}
