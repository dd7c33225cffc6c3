// SPDX-License-Identifier: Apache-2.0
#include "remote/disk/disk_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define CHUNK (2 * SDS_DISK_ENTRY_MAX) // of entries, read at once
#define TOUCH_MS 60000                 // how exactly is known when a segment was read last

// --- one segment

static int check_header(int fd, const struct sds_disk_key *key) {
    uint8_t header[SDS_DISK_HEADER];
    if (sds_disk_pread(fd, 0, header, sizeof header) != 0) {
        return errno == EIO ? ENODATA : errno;
    }
    return sds_disk_header_is(key, header) ? 0 : EBADMSG;
}

static struct sds_disk_segment *segment_new(int fd, const struct sds_disk_key *key,
                                            const struct stat *st) {
    struct sds_disk_segment *segment = calloc(1, sizeof *segment);
    if (segment != NULL) {
        segment->key = *key;
        segment->fd = fd;
        segment->inode = st->st_ino;
        pthread_mutex_init(&segment->lock, NULL);
        sds_disk_index_init(&segment->index, key);
    }
    return segment;
}

struct sds_disk_segment *sds_disk_segment_open(const struct sds_disk_root *root,
                                               const struct sds_disk_key *key, int flags,
                                               struct stat *st) {
    char path[SDS_DISK_PATH];
    sds_disk_path(key, path);
    int fd = sds_disk_open(root, path, flags, st);
    if (fd < 0) {
        return NULL;
    }
    int e = (flags & O_CREAT) != 0 ? 0 : check_header(fd, key);
    struct sds_disk_segment *segment = e == 0 ? segment_new(fd, key, st) : NULL;
    if (segment == NULL) {
        close(fd);
        errno = e != 0 ? e : ENOMEM;
    }
    return segment;
}

void sds_disk_segment_free(struct sds_disk_segment *segment) {
    if (segment != NULL) {
        close(segment->fd);
        pthread_mutex_destroy(&segment->lock);
        sds_disk_index_fini(&segment->index);
        free(segment);
    }
}

bool sds_disk_segment_gone(const struct sds_disk_segment *segment) {
    struct stat st;
    return fstat(segment->fd, &st) != 0 || st.st_nlink == 0;
}

// Under the segment's lock, or before it is shared.
static int catch_up(struct sds_disk_segment *segment) {
    struct sds_disk_index *index = &segment->index;
    uint8_t chunk[CHUNK];
    for (;;) {
        uint32_t room = SDS_DISK_FRONT - index->position, before = index->position;
        ssize_t n = pread(segment->fd, chunk, room < CHUNK ? room : CHUNK, (off_t)before);
        if (n < 0) {
            return errno;
        }
        if (sds_disk_index_take(index, sds_span(chunk, (size_t)n)) != SDS_OK) {
            return ENOMEM;
        }
        if (n < CHUNK || before + CHUNK - index->position >= SDS_DISK_ENTRY_MAX) {
            return 0; // what is left would have held a whole one
        }
    }
}

int sds_disk_segment_catch_up(struct sds_disk_segment *segment) {
    pthread_mutex_lock(&segment->lock);
    int e = catch_up(segment);
    pthread_mutex_unlock(&segment->lock);
    return e;
}

// Eviction goes by the time of the file; that of reading is noted once a minute.
static void touch(struct sds_disk_segment *segment) {
    uint64_t now = sds_clock_ms(), then = atomic_load(&segment->touched_ms);
    if ((then == 0 || now - then > TOUCH_MS) &&
        atomic_compare_exchange_strong(&segment->touched_ms, &then, now)) {
        (void)!futimens(segment->fd, NULL); // of a disk that is read-only nothing is evicted
    }
}

// --- reading

// Pieces that follow each other, read in one go: the bytes between the ends of the first and the
// last. A piece that is not wanted as a whole is a run of its own.
struct run {
    struct sds_disk_piece pieces[64];
    unsigned count;
};

// The run that has the byte at off; false: there is none. Under the segment's lock.
static bool next_run(const struct sds_disk_index *index, uint32_t off, uint32_t end,
                     struct run *run) {
    const struct sds_disk_piece *piece = sds_disk_index_find(index, off);
    if (piece == NULL) {
        return false;
    }
    run->pieces[0] = *piece;
    run->count = 1;
    if (piece->start < off || piece->end > end) {
        return true;
    }
    const struct sds_disk_piece *last = index->pieces + index->count;
    for (uint32_t at = piece->end; ++piece < last && piece->start == at && piece->end <= end &&
                                   run->count < sizeof run->pieces / sizeof run->pieces[0];
         at = piece->end) {
        run->pieces[run->count++] = *piece;
    }
    return true;
}

static bool find_run(struct sds_disk_segment *segment, uint32_t off, uint32_t end,
                     struct run *run) {
    pthread_mutex_lock(&segment->lock);
    bool found = next_run(&segment->index, off, end, run);
    if (!found && catch_up(segment) == 0) {
        found = next_run(&segment->index, off, end, run);
    }
    pthread_mutex_unlock(&segment->lock);
    return found;
}

static bool right(const struct sds_disk_segment *segment, const struct sds_disk_piece *piece,
                  const uint8_t *bytes) {
    struct sds_span span = sds_span(bytes, piece->end - piece->start);
    return sds_disk_piece_sum(&segment->index, piece->start, span) == piece->sum;
}

// All pieces are wanted: they are read to where they are wanted.
static bool read_whole(const struct sds_disk_segment *segment, const struct run *run,
                       uint8_t *into) {
    uint32_t start = run->pieces[0].start, stop = run->pieces[run->count - 1].end;
    if (sds_disk_pread(segment->fd, SDS_DISK_FRONT + start, into, stop - start) != 0) {
        return false;
    }
    for (unsigned i = 0; i < run->count; i++) {
        if (!right(segment, &run->pieces[i], into + (run->pieces[i].start - start))) {
            return false;
        }
    }
    return true;
}

static bool read_part(const struct sds_disk_segment *segment, const struct sds_disk_piece *piece,
                      uint32_t off, uint32_t end, uint8_t *into) {
    uint8_t bytes[SDS_DISK_PIECE];
    if (sds_disk_pread(segment->fd, SDS_DISK_FRONT + piece->start, bytes,
                       piece->end - piece->start) != 0 ||
        !right(segment, piece, bytes)) {
        return false;
    }
    memcpy(into, bytes + (off - piece->start), end - off);
    return true;
}

enum sds_disk_found sds_disk_segment_read(struct sds_disk_segment *segment, uint32_t off, void *buf,
                                          uint32_t len) {
    uint32_t end = off + len;
    for (uint32_t at = off; at < end;) {
        struct run run;
        if (!find_run(segment, at, end, &run)) {
            return SDS_DISK_MISS;
        }
        uint32_t stop = run.pieces[run.count - 1].end;
        stop = stop < end ? stop : end;
        uint8_t *into = (uint8_t *)buf + (at - off);
        bool whole = run.pieces[0].start == at && run.pieces[run.count - 1].end == stop;
        if (!(whole ? read_whole(segment, &run, into)
                    : read_part(segment, &run.pieces[0], at, stop, into))) {
            return SDS_DISK_BAD;
        }
        at = stop;
    }
    touch(segment);
    return SDS_DISK_HIT;
}

bool sds_disk_segment_next(struct sds_disk_segment *segment, uint32_t off, uint32_t end,
                           uint32_t *start, uint32_t *stop) {
    pthread_mutex_lock(&segment->lock);
    bool found = sds_disk_index_run(&segment->index, off, end, start, stop);
    if ((!found || *start > off || *stop < end) && catch_up(segment) == 0) {
        found = sds_disk_index_run(&segment->index, off, end, start, stop);
    }
    pthread_mutex_unlock(&segment->lock);
    return found;
}
