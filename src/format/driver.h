// SPDX-License-Identifier: Apache-2.0
//
// What a driver of one on-disk layout offers: a dataset as a tree of nodes. The file system, `ls`,
// `cat`, `cp`, `info` and `verify` see datasets through this interface only.
//
// A node is a small value that a driver makes and reads: a kind, 56 bits of key, and, where that
// does not suffice, 64 bits more. It names one file, directory or link of the tree for as long as
// the dataset lives, needs no memory anywhere, and is the same after every mount of the same
// dataset: inode numbers are computed from it. Nodes with wide == 0 cost the file system nothing;
// others it keeps, under a hash, for as long as the kernel holds them.
//
// A dataset may be used from any thread. No function here knows the kernel.
#ifndef SDSFS_FORMAT_DRIVER_H
#define SDSFS_FORMAT_DRIVER_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <time.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/cache.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "remote/store.h"

struct sds_node {
    uint8_t kind;  // the driver's own, 1 to 199; the root of the dataset is kind 1, key 0
    uint64_t key;  // below 2^56
    uint64_t wide; // 0 for almost all
};

#define SDS_NODE_ROOT ((struct sds_node){.kind = 1})
#define SDS_NODE_KEY_BITS 56
#define SDS_NODE_KIND_MAX 199

enum sds_node_type { SDS_FILE, SDS_DIRECTORY, SDS_LINK };

struct sds_attr {
    enum sds_node_type type;
    uint64_t size; // of a file's content or a link's target; exact
    bool growing;  // a directory in which names may still appear (annotations published while
                   // mounted)
    bool changing; // a file whose content may be replaced
    struct timespec mtime; // of a changing file: another one whenever the content is
};

// A range of a file: up to four pieces that stay valid until release(owner). Pieces point into
// shared payloads; nothing is copied.
struct sds_pieces {
    struct iovec iov[4];
    int count;
    void (*release)(void *owner);
    void *owner;
};

struct sds_dataset;

struct sds_open_options {
    struct sds_cache *cache; // for everything that is kept in memory; borrowed
    uint64_t max_record;     // decoded bytes of a record (or chunk); more is LIMIT, check "limit"
    bool tolerate_annotations;
    const char *views; // how fields are shown: words separated by ',' or ':'; NULL: the layout's
                       // default. Read while opening
    unsigned decode_threads; // for decoding ahead of sequential readers; 0: none
    uint64_t read_ahead;     // bytes of records that may be decoded ahead of one; 0: none
    // How old the knowledge of what others publish may be when something growing is looked at, in
    // milliseconds; 0: each look asks the store.
    uint32_t refresh_ms;
    // Told of problems that do not fail the open (tolerated annotations), nor anything later (a new
    // catalog that is refused); from any thread, one at a time.
    void (*warn)(void *ctx, const struct sds_err *problem);
    void *ctx;
};

// One entry of a directory. next is the cookie of the entry after it: a stable position, valid in
// any handle and after a remount. Return false to stop (the entry was not taken).
typedef bool (*sds_list_fn)(void *ctx, struct sds_span name, struct sds_node node,
                            enum sds_node_type type, uint64_t next);
// One extended attribute, name without the "user.sds." prefix. Return false to stop.
typedef bool (*sds_xattr_fn)(void *ctx, const char *name, struct sds_span value);

// One entry of a scan over all metadata: what an index is made of. The values are tokens of the
// entry, valid during the call; absent ones and what is false in Python stand for null or {}.
// problem: the entry is bad, and why; there are no values then.
struct sds_scanned {
    uint64_t ordinal, shard;
    struct sds_value id, scene_id, metadata, fields;
    const struct sds_err *problem;
};
typedef bool (*sds_scan_fn)(void *ctx, const struct sds_scanned *entry); // false: stop

enum sds_severity { SDS_WARNING, SDS_PROBLEM };
struct sds_verify_options {
    bool records; // decode every record too
    // A finding; path is the place in the tree ("records/000042"), "" when there is none.
    void (*found)(void *ctx, enum sds_severity severity, const char *path,
                  const struct sds_err *what);
    void (*progress)(void *ctx, uint64_t done, uint64_t total, const char *unit);
    void *ctx;
};

// What is published: a whole set; the rows of one worker, with a pointer to them; the set that the
// workers' pointers make.
enum sds_annotate_what { SDS_ANNOTATE_SET, SDS_ANNOTATE_SHARD, SDS_ANNOTATE_COORDINATE };

#define SDS_ANNOTATE_METADATA "metadata"   // the object of an error in the set's metadata
#define SDS_ANNOTATE_MAX_PROBLEMS 20       // wrong rows that are told, each
#define SDS_ANNOTATE_MAX_ROW (64ULL << 20) // bytes of a line of rows.jsonl

struct sds_annotate_request {
    enum sds_annotate_what what;
    const char *set;              // its name
    const char *publication_id;   // NULL: derived (SET); SHARD and COORDINATE need one
    uint64_t records_per_shard;   // 0: the default
    const char *shard_id;         // SHARD: the logical shard id
    const char *const *shard_ids; // COORDINATE: those of all workers
    size_t shard_id_count;        //
    int rows;                     // SET, SHARD: a seekable descriptor of the rows, read with pread
    int directory;                // that names of .npy files in rows are relative to
    bool confined;                // they stay inside it, and no symbolic link is followed
    struct sds_span metadata;     // SET, COORDINATE: the set's metadata as JSON text; empty: {}
    int spool;                    // a directory for unnamed temporary files
    bool check_only;              // nothing is written to the store
    // Told of all that is wrong with the rows (or the workers' reports), at most
    // SDS_ANNOTATE_MAX_PROBLEMS; line counts from 1, 0 where the problem has no line of its own. An
    // INVALID answer without a problem is about the request itself. NULL: nobody is told.
    void (*problem)(void *ctx, uint64_t line, const struct sds_err *what);
    // Told now and then, and once at the end of each stage ("rows checked", "rows encoded", ...).
    // NULL: nobody is told.
    void (*progress)(void *ctx, const char *stage, uint64_t done, uint64_t total);
    // Told what is worth knowing although nothing failed: that a worker's shard was reported
    // before. warning: by other rows than these. NULL: nobody is told.
    void (*note)(void *ctx, const char *text, bool warning);
    void *ctx;
};

struct sds_totals {
    uint64_t bytes;        // stored
    uint64_t records;      // or what the layout counts
    struct timespec mtime; // of the root document
};

// Functions on nodes accept any value of a node: an NFS client, or whoever opens by handle, may
// have made it up, or have it from another snapshot. What does not exist is NOT_FOUND.
struct sds_driver_ops {
    const char *name;     // "signal_dataset"
    const char *document; // what a root has if it is one: "root.json"

    // Whether a word can stand in the option views=.
    bool (*knows_view)(struct sds_span word);

    // Does this root belong to me? From one or two small reads. Returns OK and sets *mine; an error
    // only when the store could not be asked.
    enum sds_kind (*probe)(struct sds_store *store, bool *mine, struct sds_err *err);
    // Verifies what has to be sound before anything is shown. The dataset borrows the store.
    enum sds_kind (*open)(struct sds_store *store, const struct sds_open_options *options,
                          struct sds_dataset **out, struct sds_err *err);
    void (*close)(struct sds_dataset *ds);

    void (*totals)(struct sds_dataset *ds, struct sds_totals *out);
    // Facts for `info` and control/status.json: an object the caller puts; at least the keys of the
    // contract ("driver", "dataset_id", "snapshot_id", "record_count", ...). Under a task it does
    // not wait: the status of a mount is told while its store hangs, without what is not at hand.
    enum sds_kind (*describe)(struct sds_dataset *ds, struct json_object **out,
                              struct sds_err *err);
    // Walks the whole chain. Problems go to options->found; fails only when it could not look.
    enum sds_kind (*verify)(struct sds_dataset *ds, const struct sds_verify_options *options,
                            struct sds_err *err);
    // Every record of [first, end), in order, bad ones too; reads large ranges, and blocks.
    // Fails only when something could not be had. NULL: the layout has nothing to search.
    enum sds_kind (*scan)(struct sds_dataset *ds, uint64_t first, uint64_t end, sds_scan_fn emit,
                          void *ctx, struct sds_err *err);
    // Where a stretch that begins with this ordinal had better end, so that nothing is read twice.
    uint64_t (*scan_end)(struct sds_dataset *ds, uint64_t first);
    // SHA-256, in hex, of what decides which records there are; with scan.
    void (*identity)(struct sds_dataset *ds, char out[SDS_SHA256_HEX]);
    // Counters for control/metrics: each with its OpenMetrics name and help. One in seconds (that
    // is what its name says) is given in nanoseconds.
    void (*metrics)(struct sds_dataset *ds,
                    void (*emit)(void *ctx, const char *name, const char *help, uint64_t value),
                    void *ctx);

    // Somebody is going to read these records soon, in this order (control/prefetch): has them
    // fetched ahead, as far as there is memory for them and the store is one that it pays for. Each
    // is below totals' records. Neither waits nor fails; what is announced later comes after what
    // was announced before. NULL: nobody can announce anything.
    void (*announce)(struct sds_dataset *ds, const uint64_t *ordinals, size_t count);

    // Called every few seconds: time to let go of what is no longer in use. NULL: nothing to do.
    void (*sweep)(struct sds_dataset *ds);

    // NOT_FOUND for a name that is not there. Other kinds mean that it could not be told, or that
    // it is known bad; a file of size 0 is never returned for content that failed.
    enum sds_kind (*lookup)(struct sds_dataset *ds, struct sds_node dir, struct sds_span name,
                            struct sds_node *out, struct sds_err *err);
    enum sds_kind (*getattr)(struct sds_dataset *ds, struct sds_node node, struct sds_attr *out,
                             struct sds_err *err);
    // Entries from cookie on (0: from the first). Without "." and "..". After SDS_ERR_WAITING what
    // was emitted counts for nothing, here and for xattrs.
    enum sds_kind (*list)(struct sds_dataset *ds, struct sds_node dir, uint64_t cookie,
                          sds_list_fn emit, void *ctx, struct sds_err *err);
    // Up to len bytes at off; fewer only at the end of the file. out is filled on success only.
    enum sds_kind (*read)(struct sds_dataset *ds, struct sds_node file, uint64_t off, size_t len,
                          struct sds_pieces *out, struct sds_err *err);
    // Appends the target, without NUL.
    enum sds_kind (*readlink)(struct sds_dataset *ds, struct sds_node link, struct sds_buf *out,
                              struct sds_err *err);
    enum sds_kind (*xattrs)(struct sds_dataset *ds, struct sds_node node, sds_xattr_fn emit,
                            void *ctx, struct sds_err *err);
    // Appends the path of a node in the tree ("records/000042/samples.npy"), as well as it can be
    // told without failing. For messages.
    void (*path)(struct sds_dataset *ds, struct sds_node node, struct sds_buf *out);

    // Publishes annotations. NULL: the layout has none. Every row is checked before anything is
    // written; writing is idempotent, so a failed call may be repeated and converges. After a
    // success what was published is visible in this dataset. *receipt is an object that the caller
    // puts, or NULL after a check: {"set", "publication_id", "objects": [{"path", "sha256",
    // "stored_bytes", "outcome": "created", "exists" or "written"}]} (a shard that was there
    // already has no sha256), and for SHARD "pointer", the pointer of whoever was first; it is
    // there to be printed (objects and pointer are texts inside). Kinds: INVALID (an argument, a
    // row, an .npy file), CONFLICT (check "exists": the name is taken by other content; "catalog":
    // lost too many races), UNSUPPORTED (the store cannot publish safely), CORRUPT (what lies there
    // already is not what it has to be), and those of the store.
    enum sds_kind (*annotate)(struct sds_dataset *ds, const struct sds_annotate_request *request,
                              struct json_object **receipt, struct sds_err *err);
};

// Every dataset begins with this.
struct sds_dataset {
    const struct sds_driver_ops *ops;
};

// Finds the driver that a root belongs to and opens it. CORRUPT (check "layout") when none does.
SDS_MUST_CHECK enum sds_kind sds_dataset_open(struct sds_store *store,
                                              const struct sds_open_options *options,
                                              struct sds_dataset **out, struct sds_err *err);
void sds_dataset_close(struct sds_dataset *ds); // NULL is fine

// Whether some driver knows the view.
bool sds_view_is_known(struct sds_span word);

#endif
