// SPDX-License-Identifier: Apache-2.0
//
// control/annotations: a small writable file system in the state directory, in which each directory
// at the top is the draft of an annotation set. A line written to its file "commit" checks it,
// publishes it through the dataset's driver, or discards it (docs/tree.md, "Publishing
// annotations").
//
// Files and directories have numbers (ids.h), held as long as the kernel holds them. Functions
// return 0 or an errno, know neither FUSE nor any format, and are safe from any thread.
#ifndef SDSFS_FS_DRAFTS_DRAFTS_H
#define SDSFS_FS_DRAFTS_DRAFTS_H

#include <sys/stat.h>

#include "base/blob.h"
#include "base/bytes.h"
#include "format/driver.h"
#include "fs/drafts/ids.h"
#include "fs/drafts/jobs.h"
#include "fs/errors.h"

#define SDS_DRAFTS_TOP SDS_IDS_TOP
#define SDS_DRAFTS_PATH "control/annotations" // in the mount, for messages

struct sds_drafts;

// state_dir as base/program_dir.h takes it. The rest is borrowed. NULL: no memory.
struct sds_drafts *sds_drafts_new(struct sds_dataset *ds, struct sds_errors *errors,
                                  const char *state_dir, const char *root);
// Waits for what is being published.
void sds_drafts_free(struct sds_drafts *drafts);
// Lets go of all who wait for a publication: nobody can take their answers any more. No command is
// begun, and nothing is written back, after it.
void sds_drafts_abandon(struct sds_drafts *drafts);

// What programs put into shared mappings of files is seen by every reader at once, and comes to us
// when the kernel writes it back. This has it do so with a file, and waits until the writes are
// answered: 0, also for a file it does not know, or an errno.
struct sds_write_back {
    int (*file)(void *ctx, uint64_t id);
    void *ctx;
};
// To be set before there are commands. Without it nobody holds anything back.
void sds_drafts_set_write_back(struct sds_drafts *drafts, const struct sds_write_back *write_back);

// Whether drafts can be made, as far as that can be seen without making anything: DENIED,
// NOT_FOUND, STORAGE (check "state_dir").
SDS_MUST_CHECK enum sds_kind sds_drafts_check(struct sds_drafts *drafts, struct sds_err *err);

// What is found, with the attributes of the backing file; owner, permissions and inode number are
// the tree's business.
struct sds_found {
    uint64_t id; // one lookup taken
    struct stat st;
};

// "." and ".." are answered, too; ".." of the top is ESTALE.
SDS_MUST_CHECK int sds_drafts_lookup(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                                     struct sds_found *out);
void sds_drafts_forget(struct sds_drafts *drafts, uint64_t id, uint64_t count);
// ENOENT for the top while nobody has made a draft.
SDS_MUST_CHECK int sds_drafts_getattr(struct sds_drafts *drafts, uint64_t id, struct stat *out);

// Up to len bytes at off, fewer only at the end. *out is the caller's.
SDS_MUST_CHECK int sds_drafts_read(struct sds_drafts *drafts, uint64_t id, uint64_t off, size_t len,
                                   struct sds_blob **out);

// --- changes; EBUSY in a draft that is being worked on, EROFS in one that is published, EPERM for
// a file of ours ---

SDS_MUST_CHECK int sds_drafts_mkdir(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                                    struct sds_found *out);
// exclusive: EEXIST when it is there.
SDS_MUST_CHECK int sds_drafts_create(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                                     bool exclusive, struct sds_found *out);
SDS_MUST_CHECK int sds_drafts_remove(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                                     bool directory);
// flags as of renameat2(2); EINVAL for other ones than RENAME_NOREPLACE.
SDS_MUST_CHECK int sds_drafts_rename(struct sds_drafts *drafts, uint64_t dir, struct sds_span name,
                                     uint64_t new_dir, struct sds_span new_name, unsigned flags);
// At least one byte, if any is asked for.
SDS_MUST_CHECK int sds_drafts_write(struct sds_drafts *drafts, uint64_t id, uint64_t off,
                                    struct sds_span bytes, size_t *written);
SDS_MUST_CHECK int sds_drafts_truncate(struct sds_drafts *drafts, uint64_t id, uint64_t size);
// As of futimens(2).
SDS_MUST_CHECK int sds_drafts_utimes(struct sds_drafts *drafts, uint64_t id,
                                     const struct timespec times[2]);
SDS_MUST_CHECK int sds_drafts_sync(struct sds_drafts *drafts, uint64_t id, bool data_only);

// --- commands ---

// Whether a write to this file is a command.
bool sds_drafts_is_commit(struct sds_drafts *drafts, uint64_t id);
// One command. 0: the waiter will be answered, from another thread. Errors of a publication: EINVAL
// (rows, options), EEXIST (the name is taken), EPERM (the store cannot publish safely), ETIMEDOUT,
// EACCES, EIO, EBUSY (another command is at work); ENOSPC and the like from the state directory.
// One that fails takes the receipt from a draft that was published.
SDS_MUST_CHECK int sds_drafts_command(struct sds_drafts *drafts, uint64_t commit,
                                      struct sds_span line, const struct sds_waiter *waiter);

// --- listing ---

// An open directory: what was read of it and not yet taken. Not to be used by two threads at once.
struct sds_draft_stream;
struct sds_draft_entry {
    struct sds_span name; // "." and ".." come, too
    uint64_t ino;         // of the backing file
    enum sds_node_type type;
    uint64_t next; // position after it
};

// NULL in *out: an empty directory that is not there yet.
SDS_MUST_CHECK int sds_drafts_open_dir(struct sds_drafts *drafts, uint64_t dir,
                                       struct sds_draft_stream **out);
// Entries from a position on. emit returns false to stop (not taken).
SDS_MUST_CHECK int sds_draft_stream_list(struct sds_draft_stream *stream, uint64_t position,
                                         bool (*emit)(void *ctx, const struct sds_draft_entry *),
                                         void *ctx);
void sds_draft_stream_close(struct sds_draft_stream *stream);
#endif
