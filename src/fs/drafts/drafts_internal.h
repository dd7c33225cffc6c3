// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the drafts share: files.c (operations), names.c (making, removing, renaming),
// guard.c (what may be changed), commit.c (commands), status.c, documents.c, written_back.c.
#ifndef SDSFS_FS_DRAFTS_DRAFTS_INTERNAL_H
#define SDSFS_FS_DRAFTS_DRAFTS_INTERNAL_H

#include <pthread.h>

#include "base/buf.h"
#include "fs/drafts/backing.h"
#include "fs/drafts/drafts.h"
#include "fs/drafts/place.h"

#define SDS_DRAFT_PATH_MAX (64 << 10)

struct sds_drafts {
    struct sds_dataset *ds;
    struct sds_errors *errors;
    struct sds_backing *backing;
    struct sds_ids *ids;
    struct sds_jobs *jobs;
    struct sds_write_back write_back;
    // Shared while a path is made and opened, exclusive while something moves: a path that was just
    // made has to lead where it led. Held across these system calls, never across I/O on content.
    pthread_rwlock_t moves;
};

// Opens the backing directories. make: ones that are not there yet; why it cannot be is noted in
// the error journal, and EPERM. Else ENOENT when there are none.
SDS_MUST_CHECK int sds_drafts_ready(struct sds_drafts *drafts, bool make);

// Notes a failure that concerns a path below control/annotations in the error journal.
void sds_drafts_note(struct sds_drafts *drafts, const char *path, const struct sds_err *what);

// --- guard.c ---

// The right to change something in a draft: while it is held no command works on the draft, here or
// in another mount of the same root.
struct sds_guard {
    int set, shard; // descriptors of the drafts' directories, locked shared; -1
};
#define SDS_NO_GUARD ((struct sds_guard){-1, -1})

enum sds_intent {
    SDS_LOOK,   // nothing is guarded
    SDS_WRITE,  // as SDS_CHANGE, but allowed while a command is only being prepared
    SDS_CHANGE, // EROFS in a published draft
    SDS_REMOVE, // allowed in a published draft
};

// EBUSY while a command works on it.
SDS_MUST_CHECK int sds_guard_enter(struct sds_drafts *drafts, const char *path,
                                   const struct sds_place *place, enum sds_intent intent,
                                   struct sds_guard *out);
void sds_guard_leave(struct sds_guard *guard);

// The same for a command on the draft at a path, alone: waits a little for changes to end. dir is
// the draft's directory.
struct sds_claim {
    int dir;
    int set; // of the set that a worker's draft lies in; else -1
};
#define SDS_NO_CLAIM ((struct sds_claim){-1, -1})
SDS_MUST_CHECK int sds_claim_take(struct sds_drafts *drafts, const char *draft,
                                  struct sds_claim *out);
void sds_claim_drop(struct sds_claim *claim);
// Claims at once or not at all (EBUSY).
SDS_MUST_CHECK int sds_claim_try(struct sds_drafts *drafts, const char *draft,
                                 struct sds_claim *out);

bool sds_draft_is_published(int draft);

// --- files.c ---

// A file or directory, or a name in a directory, opened for a purpose.
struct sds_visit {
    struct sds_buf path; // NUL-terminated
    struct sds_place place;
    struct sds_guard guard;
    int fd; // what was opened; -1
};

// The path of a number, or of a name in it (an empty one is none), and its place. To be left.
SDS_MUST_CHECK int sds_visit_path(struct sds_drafts *drafts, uint64_t id, struct sds_span name,
                                  struct sds_visit *out);
// Opens the directory that a name lies in, or is to lie in, and guards it.
SDS_MUST_CHECK int sds_visit_name(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                                  enum sds_intent intent, struct sds_visit *out);
// The second step of that, for those who hold `moves` themselves.
SDS_MUST_CHECK int sds_visit_open_parent(struct sds_drafts *drafts, struct sds_visit *visit);
void sds_visit_leave(struct sds_visit *visit);
static inline const char *sds_visit_text(const struct sds_visit *visit) {
    return (const char *)visit->path.at;
}
static inline const char *sds_visit_last(const struct sds_visit *visit) { // component
    size_t len = visit->place.parent_len;
    return sds_visit_text(visit) + len + (len > 0);
}

// The attributes of a name in a directory, as they are told; ENOENT for what is neither a file nor
// a directory.
SDS_MUST_CHECK int sds_draft_stat(int dir, const char *name, struct stat *out);
// Those of a name that was visited in a directory, with a lookup taken.
SDS_MUST_CHECK int sds_draft_found(struct sds_drafts *drafts, uint64_t dir,
                                   const struct sds_visit *visit, struct sds_found *out);

// --- status.c ---

struct sds_status;

// Of the draft at a path; what: "set", "shard" or "coordinate".
struct sds_status *sds_status_new(const char *draft, const char *what); // NULL: no memory
void sds_status_free(struct sds_status *status);
void sds_status_begin(struct sds_status *status, const char *state);
void sds_status_what(struct sds_status *status, const char *what);
void sds_status_progress(struct sds_status *status, const char *stage, uint64_t done,
                         uint64_t total);
void sds_status_problem(struct sds_status *status, uint64_t line, const struct sds_err *what);
void sds_status_note(struct sds_status *status, const char *text);
void sds_status_end(struct sds_status *status, const char *state, const struct sds_err *error);
// The rest as sds_document_write.
SDS_MUST_CHECK int sds_status_write(struct sds_drafts *drafts, const char *path, int draft,
                                    const struct sds_status *status, bool durable);
// Marks what a daemon was working on when it ended as interrupted, in all drafts nobody works on.
void sds_drafts_recover(struct sds_drafts *drafts);
// Tells the new path of a draft in its status, as well as it can; for those who hold `moves`
// exclusively.
void sds_status_renamed(struct sds_drafts *drafts, const char *path, int draft);

// --- documents.c ---

// Writes an object as a document of ours in the draft at a path (NULL: where nobody sees it yet),
// whose directory is open. Who has the one before open goes on reading that one, so nobody reads a
// bit of both. durable: on the disk when it returns.
struct json_object;
SDS_MUST_CHECK int sds_document_write(struct sds_drafts *drafts, const char *path, int draft,
                                      const char *name, struct json_object *object, bool durable);
// The same, not durable, for those who hold `moves` exclusively.
SDS_MUST_CHECK int sds_document_write_moving(struct sds_drafts *drafts, const char *path, int draft,
                                             const char *name, struct json_object *object);
// Removes one, if it is there. Who has it open goes on reading it.
SDS_MUST_CHECK int sds_document_remove(struct sds_drafts *drafts, const char *path, int draft,
                                       const char *name);

// --- written_back.c ---

// Has the kernel write back what it holds of all files that a command on the draft at a path reads.
// Holding no lock, and not in a thread that the kernel waits for.
SDS_MUST_CHECK int sds_drafts_write_back(struct sds_drafts *drafts, const char *draft);

#endif
