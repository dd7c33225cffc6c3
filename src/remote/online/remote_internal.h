// SPDX-License-Identifier: Apache-2.0
//
// What the files of a store on a server share: the store, and what it knows of each object.
#ifndef SDSFS_REMOTE_REMOTE_INTERNAL_H
#define SDSFS_REMOTE_REMOTE_INTERNAL_H

#include "remote/backend.h"
#include "remote/disk/disk_cache.h"
#include "remote/online/extents.h"
#include "remote/online/operation.h"
#include "remote/online/readahead.h"
#include "remote/online/stats.h"

struct sds_remote;

// What came with the first answer that told an object's version; see first_answer.c.
struct sds_first_answer {
    unsigned answers; // that told the version: none, one, or more
    uint64_t off, len, hash;
};

// An object as the store sees it, shared by all who have it open and by its extents: how its bytes
// are asked for, the version that was seen, and what is in memory of it. One that is replaceable is
// looked at anew each time, so each look (a task's runs are one) has a subject of its own. So has
// each size that references declare: what contradicts one of them is never taken in.
struct sds_subject {
    struct sds_remote *remote;
    char *bucket, *key;
    char *name;    // with its server, for the disk cache: "s3://host/bucket/key"
    uint64_t hash; // of the name, for pins
    bool pinned;   // to a generation
    uint64_t generation;
    bool declared; // its size, by the reference that it was opened by
    uint64_t declared_size;
    enum sds_mutability mutability;

    unsigned refs;            // protected by subjects.lock, like the two below
    bool over;                // replaceable: another one came after it, look again
    struct sds_subject *next; // of the bucket of the table

    pthread_mutex_t lock; // protects the version and readahead
    bool tagged, sized;   // what is known
    bool noted;           // by the disk cache
    struct sds_tag tag;
    uint64_t size;
    int64_t modified;
    struct sds_first_answer first;
    struct sds_readahead readahead;

    struct sds_extents extents;
    struct sds_extents heads; // looks without bytes: the extent [0, 1) of this is a HEAD
};

#define SDS_SUBJECT_BUCKETS 1024
#define SDS_SUBJECTS_RECENT 32

struct sds_subjects {
    pthread_mutex_t lock;
    struct sds_subject *buckets[SDS_SUBJECT_BUCKETS]; // those that somebody has
    // References to the last new ones, so that opening an object twice is not looking at it twice.
    struct sds_subject *recent[SDS_SUBJECTS_RECENT];
    size_t next_recent;
};

struct sds_remote {
    struct sds_store base;
    struct sds_remote_options options; // its texts are the caller's
    char *cache_dir;
    struct sds_cache *ledger;              // NULL: nothing is held
    _Atomic(struct sds_disk_cache *) disk; // NULL: none, for now; one that is there stays
    pthread_mutex_t reloading;
    char *prefix;
    struct sds_remote_stats stats;
    struct sds_operations operations;
    struct sds_subjects subjects;
    struct sds_extents_owner extents_owner;
    atomic_uint flying_ahead; // fetches for nobody yet
    atomic_int conditions;    // conditions.c: what is known of the server
    struct sds_pins *doubted; // doubt.c: what was asked for again, and as which doubt
};

// --- subject.c

void sds_subjects_init(struct sds_remote *remote);   // the table, and how extents are owned
void sds_subjects_forget(struct sds_remote *remote); // the recent ones
// A reference to the subject of an object. A replaceable one is a new subject each time, but within
// a task, which keeps it. Kinds: NO_MEMORY.
struct sds_subject_name {
    const char *bucket, *key; // the whole key
    enum sds_mutability mutability;
    const struct sds_expected *expected; // may be NULL
};
SDS_MUST_CHECK enum sds_kind sds_subject_get(struct sds_remote *remote,
                                             const struct sds_subject_name *name,
                                             struct sds_subject **out, struct sds_err *err);
void sds_subject_unref(struct sds_subject *subject); // NULL is fine
void sds_subject_over(struct sds_subject *subject);  // this task's next look is another one

// --- version.c

// What is known so far.
struct sds_known {
    bool tagged, sized;
    struct sds_tag tag;
    uint64_t size;
    int64_t modified;
};
void sds_subject_known(struct sds_subject *subject, struct sds_known *out);
// Takes in what an answer told. STORAGE, check "changed", when it is another version than was seen.
// CORRUPT, checks "generation" and "stored_bytes", when it is not what its reference promises; then
// nothing is taken in.
SDS_MUST_CHECK enum sds_kind sds_subject_learn(struct sds_subject *subject,
                                               const struct sds_told *told, struct sds_err *err);
// The size is to be asked for again, unless a reference declares it.
void sds_subject_forget_size(struct sds_subject *subject);
// Takes over what the disk cache noted, if this store has seen that version under the name before.
bool sds_subject_recall(struct sds_subject *subject, const char *tag, uint64_t size);
// The operation that asks for it, with the version as it is known.
void sds_subject_operation(struct sds_subject *subject, enum sds_action action,
                           struct sds_operation *out);
// A number for the version in the table of pins.
uint64_t sds_tag_hash(const struct sds_tag *tag);

// --- fetch.c

#define SDS_FETCH_LOOK (64U << 10) // that come with the first look at an object
#define SDS_FETCH_PIECE (4U << 20) // of large ranges and objects
#define SDS_FETCH_LARGE (8U << 20) // what is longer is fetched in pieces

// Has an extent, which was claimed a moment ago, fetched: with a GET, or with a HEAD (one of
// subject->heads). keep: for others than those who wait.
void sds_fetch_start(struct sds_subject *subject, struct sds_extent *extent, bool keep);
// The bytes that the disk cache has at pos of the version that is known: true with their number, or
// false with how many are to be fetched first (UINT64_MAX: nothing more is there).
bool sds_fetch_on_disk(struct sds_subject *subject, uint64_t pos, uint64_t end, uint64_t *len);
bool sds_fetch_from_disk(struct sds_subject *subject, uint64_t pos, void *buf, size_t len);

// Whether the disk cache may have bytes of it, under which version: true when that is known.
bool sds_fetch_disk_object(struct sds_subject *subject, struct sds_disk_object *out);

// --- first_answer.c

// An answer told the version that is known, with these bytes of the object.
void sds_version_seen(struct sds_subject *subject, uint64_t off, struct sds_span bytes);
// The server has another version than the one that was asked for. SETTLED: by now the object's is
// known to be another one, so it is worth asking again; UNSETTLED: it was replaced; SETTLING: then
// is told which, on the pool's thread, until when the caller keeps the subject.
enum sds_settled { SDS_UNSETTLED, SDS_SETTLED, SDS_SETTLING };
enum sds_settled sds_version_settle(struct sds_subject *subject, const struct sds_operation *asked,
                                    void (*then)(void *ctx, bool settled), void *ctx);

// --- doubt.c

// As sds_object_doubt has it, of an immutable object.
bool sds_subject_doubt(struct sds_subject *subject, uint64_t off, uint64_t len, uint64_t since);

// --- look.c, read.c and ahead.c

// How a reader goes about it.
struct sds_reading {
    uint64_t size; // of the object, as the reader has it
    bool whole;    // small parts all over it will be wanted
};

// Finds out size and version, unless they are known: a small object's bytes come along, and stay as
// long as *first, which is the caller's (NULL: nothing came). Kinds: as sds_store_object.
SDS_MUST_CHECK enum sds_kind sds_look(struct sds_subject *subject, struct sds_extent **first,
                                      struct sds_err *err);
// The size and version as of now, without bytes.
SDS_MUST_CHECK enum sds_kind sds_look_head(struct sds_subject *subject, struct sds_err *err);
// Before the first bytes are read: if the disk cache may have them, which version the server has.
SDS_MUST_CHECK enum sds_kind sds_look_for_disk(struct sds_subject *subject, uint64_t off,
                                               uint64_t len, struct sds_err *err);
// The same without waiting: true when the version is on its way now.
bool sds_look_ahead_for_disk(struct sds_subject *subject, uint64_t off, uint64_t len);
SDS_MUST_CHECK enum sds_kind sds_read(struct sds_subject *subject,
                                      const struct sds_reading *reading, uint64_t off, void *buf,
                                      size_t len, struct sds_err *err);
// Somebody reads, or will read: fetches what comes next, or just that, as far as there is memory.
void sds_ahead_of(struct sds_subject *subject, const struct sds_reading *reading, uint64_t off,
                  uint64_t len);
void sds_ahead_announced(struct sds_subject *subject, const struct sds_reading *reading,
                         uint64_t off, uint64_t len);

// --- remote_write.c and conditions.c

enum sds_kind sds_remote_can_publish(struct sds_store *store, struct sds_err *err);
enum sds_kind sds_remote_create(struct sds_store *store, const char *path,
                                const struct sds_content *content, struct sds_err *err);
enum sds_kind sds_remote_read_version(struct sds_store *store, const char *path, uint64_t max,
                                      struct sds_blob **out, struct sds_version *version,
                                      struct sds_err *err);
enum sds_kind sds_remote_version(struct sds_store *store, const char *path,
                                 struct sds_version *version, struct sds_err *err);
enum sds_kind sds_remote_swap(struct sds_store *store, const char *path, struct sds_span bytes,
                              const struct sds_version *seen, struct sds_err *err);

// UNSUPPORTED, check "conditional_writes", when it is known that the server ignores conditions.
enum sds_kind sds_conditions_known(struct sds_remote *remote, struct sds_err *err);
// Whether the server honours conditions on writes, tried on an object that we have just created
// with this content, once a store. UNSUPPORTED, check "conditional_writes".
SDS_MUST_CHECK enum sds_kind sds_conditions_check(struct sds_remote *remote,
                                                  const struct sds_operation *created,
                                                  struct sds_err *err);

// --- remote_open.c

// Begins a disk cache of so many bytes; the log tells when there can be none.
void sds_remote_open_disk(struct sds_remote *remote, uint64_t size);

// --- remote_store.c

extern const struct sds_store_ops sds_remote_ops;

struct sds_remote_object {
    struct sds_object base;
    struct sds_subject *subject;
    struct sds_reading reading;
    struct sds_extent *first; // what came with the look at it
};

// Opens an object; "changed" of a replaceable one means to look again (sds_subject_over).
SDS_MUST_CHECK enum sds_kind
sds_remote_open_object(struct sds_remote *remote, const struct sds_subject_name *name,
                       const char *shown, struct sds_remote_object **out, struct sds_err *err);
// Opens and reads a whole object of at most max bytes; *tag (may be NULL) is its version. One that
// is replaced meanwhile is read again.
SDS_MUST_CHECK enum sds_kind sds_remote_read_whole(struct sds_remote *remote, const char *path,
                                                   enum sds_mutability mutability,
                                                   const struct sds_expected *expected,
                                                   uint64_t max, struct sds_blob **out,
                                                   struct sds_tag *tag, struct sds_err *err);
// Below the root; NULL without memory; freed by the caller.
char *sds_remote_key(const struct sds_remote *remote, const char *path);

#endif
