// SPDX-License-Identifier: Apache-2.0
//
// Bytes of objects on a local disk, so that they are fetched once and not once a mount. The
// directory is shared by any number of caches, in this process and in others, and is never wiped:
// what is in it is keyed by object and version, and checked against a checksum whenever it is read
// back. A cache is ready at once, however much is in its directory, and takes room there before it
// writes, so that all of them together stay below the size. Whatever goes wrong with the directory
// (no space, no permission, a broken disk, somebody removed it) makes reads miss and writes be
// dropped, is told once, and is tried again after a while; a cache never fails a read.
//
// All functions may be called from any thread. Reading does local I/O in the calling thread;
// writing is done by a thread of the cache's own. How it lies on the disk: docs/architecture.md.
#ifndef SDSFS_REMOTE_DISK_CACHE_H
#define SDSFS_REMOTE_DISK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/err.h"

struct sds_disk_cache;

// The most bytes of blobs that wait to be written; what comes on top of them is dropped.
#define SDS_DISK_QUEUE_BYTES ((size_t)16 << 20)

struct sds_disk_options {
    const char *dir; // absolute; made when it is not there (base/program_dir.h)
    uint64_t size;   // bytes on the disk that all its users together stay below
    // Told when the directory stops working (why) and when it works again (NULL), each once; by
    // sds_disk_cache_open or by the cache's thread. Must not call the cache. NULL: nobody.
    void (*tell)(void *ctx, const struct sds_err *why);
    void *ctx;
    uint32_t retry_ms; // how long one that does not work is left alone; 0: 30 seconds
};

// Opens a cache; reads nothing but a few bytes. A directory that does not work, or that is not ours
// alone, is no error but told as above. options->dir is copied. Kinds: INVALID (dir not
// absolute, size below 4 MiB), NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_disk_cache_open(const struct sds_disk_options *options,
                                                 struct sds_disk_cache **out, struct sds_err *err);
// Writes what is queued if that is done within two seconds, and drops the rest.
void sds_disk_cache_close(struct sds_disk_cache *cache); // NULL is fine

// Another size, from the next write on. Less than what a cache has at least: nothing is written any
// more, and nothing removed.
void sds_disk_cache_resize(struct sds_disk_cache *cache, uint64_t size);

// One version of one object.
struct sds_disk_object {
    uint8_t id[16];
};
// name: of the object, with its server and bucket, e.g. "s3://endpoint/bucket/key"; tag: of the
// version, as strong as the server gives them ("" would mix versions).
struct sds_disk_object sds_disk_object_of(const char *name, const char *tag);

// Copies the bytes [off, off + len) if all of them are there and pass their checksums, and false
// otherwise, with anything in buf. It does not matter in which pieces they were written.
bool sds_disk_cache_read(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                         uint64_t off, void *buf, size_t len);
// The first run of bytes in [off, end) that is there, as the index has it and without reading them:
// for planning what to fetch. False: nothing of it is.
bool sds_disk_cache_next(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                         uint64_t off, uint64_t end, uint64_t *start, uint64_t *len);

// Has the bytes [pos, pos + len) of a blob written as those at off of the object. Takes a reference
// of the blob, which must not change any more, and returns at once.
void sds_disk_cache_write(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                          uint64_t off, struct sds_blob *blob, size_t pos, size_t len);

// What was written of the bytes [off, off + len) is wrong although its checksums are right: from
// now on they miss, and what is written later is kept as ever. Whole segments go.
void sds_disk_cache_forget(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                           uint64_t off, uint64_t len);

// Remembers which version of an object was seen last, so that a mount need not ask for what another
// knew. note is written later, like bytes; a tag of more than SDS_DISK_TAG - 1 bytes is not kept.
// recall: false when nothing is remembered.
#define SDS_DISK_TAG 192
void sds_disk_cache_note(struct sds_disk_cache *cache, const char *name, const char *tag,
                         uint64_t size);
bool sds_disk_cache_recall(struct sds_disk_cache *cache, const char *name, char tag[SDS_DISK_TAG],
                           uint64_t *size);

// Waits until what was queued before is written or dropped, however long that takes.
void sds_disk_cache_flush(struct sds_disk_cache *cache);

struct sds_disk_stats {
    uint64_t hits, misses;  // of reads
    uint64_t hit_bytes;     // copied to readers
    uint64_t written_bytes; // of objects
    uint64_t dropped_bytes; // not written: the queue was full, or the directory does not work
    uint64_t evicted;       // files removed to make room
    uint64_t corrupt;       // files removed because a checksum was wrong
    uint64_t forgotten;     // files removed because of sds_disk_cache_forget
    uint64_t used_bytes;    // on the disk, of all users, when this cache last wrote
    bool working;
};
void sds_disk_cache_stats(struct sds_disk_cache *cache, struct sds_disk_stats *out);

#endif
