// SPDX-License-Identifier: Apache-2.0
//
// What users of the disk cache call: reading here, everything else in the writer's thread.
#include "remote/disk/disk_cache.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/ckd.h"
#include "base/hash.h"
#include "remote/disk/disk_writer.h"

#define LEAST ((uint64_t)4 << 20)

struct sds_disk_cache {
    struct sds_disk_dir *dir; // the writer's
    struct sds_disk_writer *writer;
    struct sds_disk_table table;
    _Atomic uint64_t hits, misses, hit_bytes;
};

enum sds_kind sds_disk_cache_open(const struct sds_disk_options *options,
                                  struct sds_disk_cache **out, struct sds_err *err) {
    if (options->dir[0] != '/') {
        return sds_fail(err, SDS_ERR_INVALID, "cache_dir", "the path is not absolute");
    }
    if (options->size < LEAST) {
        return sds_fail(err, SDS_ERR_INVALID, "cache_size", "a cache has at least %llu bytes",
                        (unsigned long long)LEAST);
    }
    struct sds_disk_cache *cache = calloc(1, sizeof *cache);
    struct sds_disk_dir *dir = calloc(1, sizeof *dir);
    if (cache == NULL || dir == NULL || !sds_disk_dir_init(dir, options->dir) ||
        (cache->writer = sds_disk_writer_new(dir, options)) == NULL) {
        free(cache);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a disk cache");
    }
    cache->dir = dir;
    sds_disk_table_init(&cache->table);
    *out = cache;
    return SDS_OK;
}

void sds_disk_cache_close(struct sds_disk_cache *cache) {
    if (cache != NULL) {
        sds_disk_writer_free(cache->writer);
        sds_disk_table_fini(&cache->table);
        free(cache);
    }
}

void sds_disk_cache_resize(struct sds_disk_cache *cache, uint64_t size) {
    sds_disk_writer_resize(cache->writer, size < LEAST ? 0 : size);
}

struct sds_disk_object sds_disk_object_of(const char *name, const char *tag) {
    struct sds_disk_object object = {0};
    uint8_t digests[2 * SDS_SHA256_BYTES], digest[SDS_SHA256_BYTES];
    sds_sha256(sds_span_str(name), digests);
    sds_sha256(sds_span_str(tag), digests + SDS_SHA256_BYTES);
    sds_sha256(sds_span(digests, sizeof digests), digest);
    memcpy(object.id, digest, sizeof object.id);
    return object;
}

static struct sds_disk_key key_at(const struct sds_disk_object *object, uint64_t off) {
    struct sds_disk_key key = {.number = off / SDS_DISK_SEGMENT};
    memcpy(key.id, object->id, sizeof key.id);
    return key;
}

// How much of len bytes from off on lies in one segment.
static uint32_t part_of(uint64_t off, uint64_t len) {
    uint64_t room = SDS_DISK_SEGMENT - off % SDS_DISK_SEGMENT;
    return (uint32_t)(len < room ? len : room);
}

// --- reading

static struct sds_disk_segment *get(struct sds_disk_cache *cache, const struct sds_disk_key *key) {
    bool wrong;
    if (sds_disk_writer_forgot(cache->writer, key)) {
        return NULL;
    }
    struct sds_disk_segment *segment = sds_disk_table_get(&cache->table, cache->dir, key, &wrong);
    if (wrong) {
        sds_disk_writer_remove(cache->writer, key, 0);
    }
    return segment;
}

// *again: the file was removed while it was open, and there may be another one by now.
static bool read_once(struct sds_disk_cache *cache, const struct sds_disk_key *key, uint32_t off,
                      void *buf, uint32_t len, bool *again) {
    struct sds_disk_segment *segment = get(cache, key);
    *again = false;
    if (segment == NULL) {
        return false;
    }
    enum sds_disk_found found = sds_disk_segment_read(segment, off, buf, len);
    if (found != SDS_DISK_HIT) {
        *again = sds_disk_segment_gone(segment);
        if (*again || found == SDS_DISK_BAD) {
            sds_disk_table_drop(&cache->table, segment);
        }
        if (!*again && found == SDS_DISK_BAD) {
            sds_disk_writer_remove(cache->writer, key, segment->inode);
        }
    }
    sds_disk_table_put(&cache->table, segment);
    return found == SDS_DISK_HIT;
}

static bool read_part(struct sds_disk_cache *cache, const struct sds_disk_key *key, uint32_t off,
                      void *buf, uint32_t len) {
    bool again;
    return read_once(cache, key, off, buf, len, &again) ||
           (again && read_once(cache, key, off, buf, len, &again));
}

bool sds_disk_cache_read(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                         uint64_t off, void *buf, size_t len) {
    uint64_t end;
    bool hit = !sds_ckd_add(&end, off, len);
    for (uint64_t at = off; hit && at < end;) {
        struct sds_disk_key key = key_at(object, at);
        uint32_t part = part_of(at, end - at);
        hit = read_part(cache, &key, (uint32_t)(at % SDS_DISK_SEGMENT), (uint8_t *)buf + (at - off),
                        part);
        at += part;
    }
    atomic_fetch_add(hit ? &cache->hits : &cache->misses, 1);
    atomic_fetch_add(&cache->hit_bytes, hit ? len : 0);
    return hit;
}

// Bytes of the run that [off, off + len), of one segment, has: where, and how many; 0: none.
static uint32_t next_in(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                        uint64_t off, uint32_t len, uint64_t *start) {
    struct sds_disk_key key = key_at(object, off);
    struct sds_disk_segment *segment = get(cache, &key);
    uint32_t in = (uint32_t)(off % SDS_DISK_SEGMENT), first = 0, stop = 0;
    if (segment == NULL) {
        return 0;
    }
    bool found = sds_disk_segment_next(segment, in, in + len, &first, &stop);
    bool gone = sds_disk_segment_gone(segment);
    if (gone) {
        sds_disk_table_drop(&cache->table, segment);
    }
    sds_disk_table_put(&cache->table, segment);
    *start = off + (first - in);
    return found && !gone ? stop - first : 0;
}

bool sds_disk_cache_next(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                         uint64_t off, uint64_t end, uint64_t *start, uint64_t *len) {
    *len = 0;
    while (off < end) {
        uint64_t at;
        uint32_t part = part_of(off, end - off), have = next_in(cache, object, off, part, &at);
        if (have == 0 || (*len > 0 && at != off)) {
            if (*len > 0) {
                break;
            }
        } else {
            *start = *len > 0 ? *start : at;
            *len += have;
            if (at + have < off + part) { // it ends in this segment
                break;
            }
        }
        off += part;
    }
    return *len > 0;
}

// --- the rest

void sds_disk_cache_forget(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                           uint64_t off, uint64_t len) {
    for (uint64_t done = 0, part; done < len; done += part) {
        struct sds_disk_key key = key_at(object, off + done);
        part = part_of(off + done, len - done);
        sds_disk_writer_forget(cache->writer, &key);
    }
}

void sds_disk_cache_write(struct sds_disk_cache *cache, const struct sds_disk_object *object,
                          uint64_t off, struct sds_blob *blob, size_t pos, size_t len) {
    uint64_t end;
    if (len > 0 && !sds_ckd_add(&end, off, len)) {
        sds_disk_writer_write(cache->writer, object, off, blob, pos, len);
    }
}

void sds_disk_cache_note(struct sds_disk_cache *cache, const char *name, const char *tag,
                         uint64_t size) {
    struct sds_disk_note note = {.size = size};
    if (strlen(tag) < sizeof note.tag) {
        sds_disk_note_name(name, note.name);
        memcpy(note.tag, tag, strlen(tag));
        sds_disk_writer_note(cache->writer, &note);
    }
}

bool sds_disk_cache_recall(struct sds_disk_cache *cache, const char *name, char tag[SDS_DISK_TAG],
                           uint64_t *size) {
    struct sds_disk_note note = {0};
    sds_disk_note_name(name, note.name);
    if (!sds_disk_notes_recall(cache->dir, &note)) {
        return false;
    }
    memcpy(tag, note.tag, SDS_DISK_TAG);
    *size = note.size;
    return true;
}

void sds_disk_cache_flush(struct sds_disk_cache *cache) {
    sds_disk_writer_flush(cache->writer);
}

void sds_disk_cache_stats(struct sds_disk_cache *cache, struct sds_disk_stats *out) {
    sds_disk_writer_stats(cache->writer, out);
    out->hits = atomic_load(&cache->hits);
    out->misses = atomic_load(&cache->misses);
    out->hit_bytes = atomic_load(&cache->hit_bytes);
}
