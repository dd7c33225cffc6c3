// SPDX-License-Identifier: Apache-2.0
//
// One tree of inodes: the driver's nodes and, at its root, our control directory with the drafts of
// annotations in it. What a number is made of stands in inode.h.
//
// Functions return 0 or an errno. A failure of the dataset (anything but a name that is not there)
// is noted in the error journal before it is returned. In a thread that works for a task
// (base/wait.h) whatever would have to wait is ERESTART: nothing was noted, taken or changed, and
// the call is to be made again. Safe from any thread. Nothing here knows FUSE.
#ifndef SDSFS_FS_TREE_H
#define SDSFS_FS_TREE_H

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "format/driver.h"
#include "fs/drafts/drafts.h"
#include "fs/errors.h"
#include "fs/requests.h"

struct sds_tree;

struct sds_tree_options {
    uid_t uid;
    gid_t gid;
    mode_t umask;
    const char *version;     // of this program
    const char *root;        // of the dataset, absolute
    const char *state_dir;   // where drafts are kept; NULL: the default (base/program_dir.h)
    struct sds_store *store; // whose counters control/ tells; NULL: nobody's
    // What control/config says (fs/control.h).
    enum sds_kind (*config)(void *ctx, struct sds_buf *out);
    void *config_ctx;
};

// Everything is borrowed and outlives the tree.
struct sds_tree *sds_tree_new(struct sds_dataset *ds, struct sds_errors *errors,
                              struct sds_requests *requests,
                              const struct sds_tree_options *options); // NULL: no memory
// Waits for what is being published.
void sds_tree_free(struct sds_tree *tree);
// Lets go of all who wait for a publication: nobody can take their answers any more. Nothing is
// written back after it.
void sds_tree_abandon(struct sds_tree *tree);
// What has the kernel write back what it holds of a file, and waits for it (fs/drafts/drafts.h); to
// be set before there are requests.
void sds_tree_set_write_back(struct sds_tree *tree, int (*write_back)(void *ctx, uint64_t ino),
                             void *ctx);
// Whether drafts can be made, as far as that can be seen without making anything.
SDS_MUST_CHECK enum sds_kind sds_tree_check_drafts(struct sds_tree *tree, struct sds_err *err);
// Called every few seconds, for the driver to let go of what is no longer in use.
void sds_tree_sweep(struct sds_tree *tree);

// Notes a failure that a caller met at a place, or a name in it, and returns what errno it is.
SDS_MUST_CHECK int sds_tree_note(struct sds_tree *tree, uint64_t ino, struct sds_span name,
                                 const struct sds_err *err);

struct sds_entry {
    uint64_t ino; // 0: known not to exist
    struct stat st;
    bool lasting;  // may be cached for ever
    bool changing; // all but the attributes, that is: they and the content have to be asked for
};

// Finds a name in a directory and takes one lookup of what it names, to be given back with
// sds_tree_forget. "." and ".." are answered too (for file handles that outlived the kernel's
// cache). ENOENT sets out->ino to 0 and out->lasting; any other error leaves out alone.
SDS_MUST_CHECK int sds_tree_lookup(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                                   struct sds_entry *out);
void sds_tree_forget(struct sds_tree *tree, uint64_t ino, uint64_t count);

SDS_MUST_CHECK int sds_tree_getattr(struct sds_tree *tree, uint64_t ino, struct sds_entry *out);

// Whether the kernel is to keep a directory's list of names. Fails when ino is no directory.
SDS_MUST_CHECK int sds_tree_opendir(struct sds_tree *tree, uint64_t ino, bool *keep);

// One entry of a directory; next is the position after it. Return false to stop (not taken).
struct sds_listed {
    struct sds_span name;
    struct sds_node node; // to be given to sds_tree_listed_entry; kind 0 for "." and ".."
    uint64_t ino;
    enum sds_node_type type;
    uint64_t next;
};
typedef bool (*sds_listed_fn)(void *ctx, const struct sds_listed *listed);

// Entries from a position on, "." and ".." first (at 0 and 1).
SDS_MUST_CHECK int sds_tree_list(struct sds_tree *tree, uint64_t ino, uint64_t position,
                                 sds_listed_fn emit, void *ctx);
// What a lookup of a listed name would answer; takes one lookup.
SDS_MUST_CHECK int sds_tree_listed_entry(struct sds_tree *tree, const struct sds_listed *listed,
                                         struct sds_entry *out);

// The directories of drafts have streams: NULL in *out for others, and for one with nothing in it.
SDS_MUST_CHECK int sds_tree_open_stream(struct sds_tree *tree, uint64_t ino,
                                        struct sds_draft_stream **out);
void sds_tree_close_stream(struct sds_draft_stream *stream);
SDS_MUST_CHECK int sds_tree_list_stream(struct sds_tree *tree, uint64_t ino,
                                        struct sds_draft_stream *stream, uint64_t position,
                                        sds_listed_fn emit, void *ctx);

// Up to len bytes at off, fewer only at the end. pieces->release has to be called if not NULL.
SDS_MUST_CHECK int sds_tree_read(struct sds_tree *tree, uint64_t ino, uint64_t off, size_t len,
                                 struct sds_pieces *pieces);
// Appends the target.
SDS_MUST_CHECK int sds_tree_readlink(struct sds_tree *tree, uint64_t ino, struct sds_buf *out);

// Appends an attribute's value; ENODATA when there is none of that name, EOPNOTSUPP outside
// "user.".
SDS_MUST_CHECK int sds_tree_getxattr(struct sds_tree *tree, uint64_t ino, const char *name,
                                     struct sds_buf *out);
// Appends the names, each with a NUL.
SDS_MUST_CHECK int sds_tree_listxattr(struct sds_tree *tree, uint64_t ino, struct sds_buf *out);

// --- changes: of drafts; EROFS for the rest of the tree (errors: fs/drafts/drafts.h) ---

// What an operation that nothing here has is answered with: EROFS, or EPERM among the drafts.
SDS_MUST_CHECK int sds_tree_refusal(struct sds_tree *tree, uint64_t ino);

// Each takes one lookup of what it made.
SDS_MUST_CHECK int sds_tree_mkdir(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                                  struct sds_entry *out);
SDS_MUST_CHECK int sds_tree_create(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                                   bool exclusive, struct sds_entry *out);
SDS_MUST_CHECK int sds_tree_remove(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                                   bool directory);
SDS_MUST_CHECK int sds_tree_rename(struct sds_tree *tree, uint64_t dir, struct sds_span name,
                                   uint64_t new_dir, struct sds_span new_name, unsigned flags);

// Permissions are not among them: they are accepted and stay as they are.
struct sds_new_attr {
    bool set_uid, set_gid, set_size, set_times;
    uid_t uid; // EPERM when it is not the one that is shown, and so for gid
    gid_t gid;
    uint64_t size;
    struct timespec times[2]; // as of utimensat(2)
};
SDS_MUST_CHECK int sds_tree_setattr(struct sds_tree *tree, uint64_t ino,
                                    const struct sds_new_attr *attr, struct sds_entry *out);
// A write to control/prefetch tells the driver what will be read (fs/prefetch.h).
SDS_MUST_CHECK int sds_tree_write(struct sds_tree *tree, uint64_t ino, uint64_t off,
                                  struct sds_span bytes, size_t *written);
SDS_MUST_CHECK int sds_tree_sync(struct sds_tree *tree, uint64_t ino, bool data_only);

// Whether a write to it is a command to a draft, and giving one: 0 when the waiter will be
// answered, from another thread.
bool sds_tree_takes_commands(struct sds_tree *tree, uint64_t ino);
SDS_MUST_CHECK int sds_tree_command(struct sds_tree *tree, uint64_t ino, struct sds_span line,
                                    const struct sds_waiter *waiter);

void sds_tree_statfs(const struct sds_tree *tree, struct statvfs *out); // from memory

#endif
