// SPDX-License-Identifier: Apache-2.0
#include "remote/disk/disk_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"

#define BUCKETS 1024
#define SLOTS 16 // of a bucket
#define SLOT 256
#define BUCKET (SLOTS * SLOT)
#define TAG_AT 40 // behind checksum, name, size, time

void sds_disk_note_name(const char *name, uint8_t out[16]) {
    uint8_t digest[SDS_SHA256_BYTES];
    sds_sha256(sds_span_str(name), digest);
    memcpy(out, digest, 16);
}

static uint64_t bucket_of(const struct sds_disk_note *note) {
    return sds_le64(note->name) % BUCKETS * BUCKET;
}

static uint64_t sum(const uint8_t *slot) {
    return sds_hash_fast(sds_span(slot + 8, SLOT - 8), 1);
}

static bool right(const uint8_t *slot) {
    return sds_le64(slot) == sum(slot) && memchr(slot + TAG_AT, '\0', SDS_DISK_TAG) != NULL;
}

static uint64_t time_of(const uint8_t *slot) {
    return right(slot) ? sds_le64(slot + 32) : 0;
}

static bool is_of(const uint8_t *slot, const struct sds_disk_note *note) {
    return memcmp(slot + 8, note->name, sizeof note->name) == 0;
}

// What is not in the file is empty.
static bool read_bucket(int fd, uint64_t at, uint8_t bucket[BUCKET]) {
    memset(bucket, 0, BUCKET);
    return pread(fd, bucket, BUCKET, (off_t)at) >= 0;
}

bool sds_disk_notes_recall(struct sds_disk_dir *dir, struct sds_disk_note *note) {
    struct sds_disk_root *root = sds_disk_dir_get(dir);
    if (root == NULL) {
        return false;
    }
    struct stat st;
    sds_autofd int fd = sds_disk_open(root, "notes", O_RDONLY, &st);
    sds_disk_root_put(root);
    uint8_t bucket[BUCKET];
    if (fd < 0 || !read_bucket(fd, bucket_of(note), bucket)) {
        return false;
    }
    for (const uint8_t *slot = bucket; slot < bucket + BUCKET; slot += SLOT) {
        if (is_of(slot, note) && right(slot)) {
            note->size = sds_le64(slot + 24);
            memcpy(note->tag, slot + TAG_AT, SDS_DISK_TAG);
            return true;
        }
    }
    return false;
}

static void fill(uint8_t *slot, const struct sds_disk_note *note) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    memset(slot, 0, SLOT);
    memcpy(slot + 8, note->name, sizeof note->name);
    sds_put_le64(slot + 24, note->size);
    sds_put_le64(slot + 32, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
    memcpy(slot + TAG_AT, note->tag, strnlen(note->tag, SDS_DISK_TAG - 1));
    sds_put_le64(slot, sum(slot));
}

// Where it was, else where nothing is (time 0), else the oldest.
static size_t place_in(const uint8_t bucket[BUCKET], const struct sds_disk_note *note) {
    size_t best = 0;
    for (size_t at = 0; at < BUCKET; at += SLOT) {
        if (is_of(bucket + at, note)) {
            return at;
        }
        if (time_of(bucket + at) < time_of(bucket + best)) {
            best = at;
        }
    }
    return best;
}

static enum sds_kind write_to(int fd, const struct sds_disk_note *note, struct sds_err *err) {
    uint8_t bucket[BUCKET], slot[SLOT];
    if (!read_bucket(fd, bucket_of(note), bucket)) {
        return sds_disk_failed(err, "reading notes");
    }
    size_t place = place_in(bucket, note);
    fill(slot, note);
    return sds_disk_pwrite(fd, bucket_of(note) + place, slot, SLOT) == 0
               ? SDS_OK
               : sds_disk_failed(err, "writing notes");
}

// What lies there and is no file of ours is in the way.
static int open_notes(const struct sds_disk_root *root, struct stat *st) {
    int fd = sds_disk_open(root, "notes", O_RDWR | O_CREAT, st);
    if (fd < 0 && (errno == ESTALE || errno == ELOOP) && unlinkat(root->fd, "notes", 0) == 0) {
        fd = sds_disk_open(root, "notes", O_RDWR | O_CREAT, st);
    }
    return fd;
}

static enum sds_kind keep(struct sds_disk_room *room, const struct sds_disk_note *note,
                          int64_t *grown, struct sds_err *err) {
    struct sds_disk_root *root = sds_disk_dir_get(room->dir);
    struct stat before, after;
    sds_autofd int fd = open_notes(root, &before);
    sds_disk_root_put(root);
    if (fd < 0) {
        return sds_disk_failed(err, "opening notes");
    }
    enum sds_kind kind = write_to(fd, note, err);
    // Two at once may both count a block, which errs to the safe side.
    *grown = fstat(fd, &after) == 0 ? ((int64_t)after.st_blocks - before.st_blocks) * 512 : BUCKET;
    return kind;
}

enum sds_kind sds_disk_notes_keep(struct sds_disk_room *room, const struct sds_disk_note *note,
                                  struct sds_err *err) {
    enum sds_kind kind = sds_disk_room_take(room, SDS_DISK_NOTES, (uint64_t)2 * BUCKET, err);
    if (kind == SDS_OK) {
        int64_t grown = 0;
        kind = keep(room, note, &grown, err);
        sds_disk_room_give(room, SDS_DISK_NOTES, (uint64_t)2 * BUCKET, grown);
    }
    return kind;
}
