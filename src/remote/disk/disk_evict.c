// SPDX-License-Identifier: Apache-2.0
//
// What is removed to make room: of the segments in a few directories, picked at random, those that
// were written or read longest ago. As a segment's directory follows from a hash, those directories
// are a sample of all, and the oldest of a sample are among the oldest of all: with 16 of 256, and
// at most a 128th of the cache removed at once, it is the oldest eighth of the sample that goes.
// A cache with no more than 16 directories in use forgets exactly the oldest. Directories that are
// looked at are counted, too, which puts the ledger right where a killed process left it wrong.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "remote/disk/disk_room.h"

#define SAMPLE 16
#define BATCH 128       // this part of the cache is removed beyond what is needed
#define MOST_FILES 8192 // remembered of a sample: the oldest

struct file {
    unsigned which;
    struct timespec time;
    char path[SDS_DISK_PATH];
};

struct sample {
    struct file *files;
    size_t count, cap;
};

// --- looking at a directory

static int older_first(const void *left, const void *right) {
    const struct file *a = left, *b = right;
    if (a->time.tv_sec != b->time.tv_sec) {
        return a->time.tv_sec < b->time.tv_sec ? -1 : 1;
    }
    return (a->time.tv_nsec > b->time.tv_nsec) - (a->time.tv_nsec < b->time.tv_nsec);
}

// What does not fit in is not removed this time.
static void remember(struct sample *sample, unsigned which, const char *name,
                     const struct stat *st) {
    if (sample->count == MOST_FILES) {
        qsort(sample->files, sample->count, sizeof *sample->files, older_first);
        sample->count = MOST_FILES / 2;
    }
    if (sample->count == sample->cap) {
        size_t cap = sample->cap > 0 ? 2 * sample->cap : 64;
        struct file *files = realloc(sample->files, cap * sizeof *files);
        if (files == NULL) {
            return;
        }
        sample->files = files;
        sample->cap = cap;
    }
    struct file *file = &sample->files[sample->count];
    int len = snprintf(file->path, sizeof file->path, "%02x/%s", which, name);
    if (len > 0 && (size_t)len < sizeof file->path) {
        file->which = which;
        file->time = st->st_mtim;
        sample->count++;
    }
}

static uint64_t look_at(int fd, DIR *stream, unsigned which, struct sample *sample) {
    struct stat st;
    uint64_t bytes = SDS_DISK_DIR_COST;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 > bytes) {
        bytes = (uint64_t)st.st_blocks * 512;
    }
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(st.st_mode)) {
            continue;
        }
        bytes += (uint64_t)st.st_blocks * 512 + SDS_DISK_FILE_COST;
        if (sample != NULL) {
            remember(sample, which, entry->d_name, &st);
        }
    }
    return bytes;
}

// What a directory takes; its files are added to the sample (NULL: nobody wants them).
static enum sds_kind look(const struct sds_disk_root *root, unsigned which, struct sample *sample,
                          uint64_t *bytes, struct sds_err *err) {
    char name[8];
    snprintf(name, sizeof name, "%02x", which);
    *bytes = 0;
    int fd = openat(root->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? SDS_OK : sds_disk_failed(err, "opening a directory");
    }
    DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        close(fd);
        return sds_disk_failed(err, "reading a directory");
    }
    *bytes = look_at(fd, stream, which, sample);
    closedir(stream);
    return SDS_OK;
}

// The same, and the counter is set unless somebody is at work there.
static enum sds_kind look_and_count(struct sds_disk_room *room, unsigned which,
                                    struct sample *sample, uint64_t *bytes, struct sds_err *err) {
    struct sds_disk_root *root = sds_disk_dir_get(room->dir);
    bool alone = sds_disk_ledger_alone(&room->ledger, which);
    enum sds_kind kind = look(root, which, sample, bytes, err);
    if (alone) {
        if (kind == SDS_OK) {
            kind = sds_disk_ledger_set(&room->ledger, which, *bytes, err);
        }
        sds_disk_ledger_leave(&room->ledger, which);
    }
    sds_disk_root_put(root);
    return kind != SDS_OK || alone
               ? kind
               : sds_fail(err, SDS_ERR_CONFLICT, "cache_dir", "somebody is at work there");
}

// --- counting what is unknown

static enum sds_kind count_notes(struct sds_disk_room *room, struct sds_err *err) {
    struct sds_disk_root *root = sds_disk_dir_get(room->dir);
    struct stat st;
    uint64_t bytes = fstatat(root->fd, "notes", &st, AT_SYMLINK_NOFOLLOW) == 0
                         ? (uint64_t)st.st_blocks * 512
                         : 0;
    sds_disk_root_put(root);
    if (!sds_disk_ledger_alone(&room->ledger, SDS_DISK_NOTES)) {
        return sds_fail(err, SDS_ERR_CONFLICT, "cache_dir", "somebody is at work there");
    }
    enum sds_kind kind = sds_disk_ledger_set(&room->ledger, SDS_DISK_NOTES, bytes, err);
    sds_disk_ledger_leave(&room->ledger, SDS_DISK_NOTES);
    return kind;
}

enum sds_kind sds_disk_room_count(struct sds_disk_room *room, struct sds_err *err) {
    uint64_t counters[SDS_DISK_COUNTERS], bytes;
    enum sds_kind kind = sds_disk_ledger_read(&room->ledger, counters, err);
    for (unsigned i = 0; i < SDS_DISK_DIRS && kind == SDS_OK; i++) {
        if (counters[i] == SDS_DISK_UNKNOWN) {
            kind = look_and_count(room, i, NULL, &bytes, err);
        }
    }
    if (kind == SDS_OK && counters[SDS_DISK_NOTES] == SDS_DISK_UNKNOWN) {
        kind = count_notes(room, err);
    }
    return kind;
}

// --- evicting

static uint64_t random_below(struct sds_disk_room *room, uint64_t bound) {
    room->random += 0x9e3779b97f4a7c15;
    return sds_mix64(room->random) % bound;
}

// Fills which with directories that have files, as the ledger has it, in random order.
static unsigned choose(struct sds_disk_room *room, const uint64_t counters[SDS_DISK_COUNTERS],
                       unsigned which[SDS_DISK_DIRS]) {
    unsigned used = 0;
    for (unsigned i = 0; i < SDS_DISK_DIRS; i++) {
        if (counters[i] > SDS_DISK_DIR_COST) {
            which[used++] = i;
        }
    }
    unsigned chosen = used < SAMPLE ? used : SAMPLE;
    for (unsigned i = 0; i < chosen; i++) {
        unsigned other = i + (unsigned)random_below(room, used - i), swapped = which[i];
        which[i] = which[other];
        which[other] = swapped;
    }
    return chosen;
}

// Looks at the chosen directories; *healed: bytes that the ledger had too many.
static enum sds_kind gather(struct sds_disk_room *room, struct sample *sample, uint64_t *healed,
                            struct sds_err *err) {
    uint64_t counters[SDS_DISK_COUNTERS];
    unsigned which[SDS_DISK_DIRS];
    enum sds_kind kind = sds_disk_ledger_read(&room->ledger, counters, err);
    unsigned chosen = kind == SDS_OK ? choose(room, counters, which) : 0;
    for (unsigned i = 0; i < chosen && kind == SDS_OK; i++) {
        uint64_t bytes, had = counters[which[i]];
        kind = look_and_count(room, which[i], sample, &bytes, err);
        if (kind == SDS_OK && had > bytes) {
            *healed += had - bytes;
        }
        kind = kind == SDS_ERR_CONFLICT ? SDS_OK : kind;
    }
    return kind;
}

static enum sds_kind remove_oldest(struct sds_disk_room *room, struct sample *sample, uint64_t goal,
                                   uint64_t *freed, struct sds_err *err) {
    if (sample->count > 0) {
        qsort(sample->files, sample->count, sizeof *sample->files, older_first);
    }
    for (size_t i = 0; i < sample->count && *freed < goal; i++) {
        uint64_t bytes = 0;
        struct file *file = &sample->files[i];
        enum sds_kind kind = sds_disk_room_remove(room, file->which, file->path, 0, &bytes, err);
        if (kind != SDS_OK && kind != SDS_ERR_CONFLICT) {
            return kind;
        }
        room->evicted += bytes > 0;
        *freed += bytes;
    }
    return SDS_OK;
}

enum sds_kind sds_disk_room_evict(struct sds_disk_room *room, uint64_t missing,
                                  struct sds_err *err) {
    struct sample sample = {0};
    uint64_t freed = 0;
    enum sds_kind kind = gather(room, &sample, &freed, err);
    if (kind == SDS_OK && freed < missing) {
        kind = remove_oldest(room, &sample, missing + room->limit / BATCH, &freed, err);
    }
    free(sample.files);
    if (kind != SDS_OK || freed > 0) {
        return kind;
    }
    return sds_fail(err, SDS_ERR_LIMIT, "cache_dir", "it is full, and nothing can be removed");
}
