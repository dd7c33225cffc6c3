// SPDX-License-Identifier: Apache-2.0
#include "index/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/program_dir.h"

// Of the tables and of how rows are made: another number is another index.
#define INDEX_FORMAT "sdsfs index 3"

enum { LOOK_MS = 50 };

static void make_identity(struct sds_dataset *ds, const char *part, char out[SDS_SHA256_HEX]) {
    char of_dataset[SDS_SHA256_HEX], of_part[SDS_SHA256_HEX], text[512];
    ds->ops->identity(ds, of_dataset);
    sds_sha256_hex(sds_span_str(part), of_part);
    int len = snprintf(text, sizeof text, INDEX_FORMAT "\n%s\n%s\n%s", ds->ops->name, of_dataset,
                       of_part);
    sds_sha256_hex(sds_span(text, (size_t)len), out);
}

static enum sds_kind make_directory(const char *cache_dir, bool make, const char *directory,
                                    struct sds_err *err) {
    sds_autofd int fd = -1;
    enum sds_kind kind = sds_program_dir_open(SDS_CACHE_DIR, cache_dir, make, &fd, err);
    sds_autofd int own = -1; // somebody else's in our place is refused like the cache itself
    return kind == SDS_OK ? sds_program_dir_open(SDS_CACHE_DIR, directory, make, &own, err) : kind;
}

static bool make_names(struct sds_index_place *place, const char *cache_dir, const char *suffix) {
    return asprintf(&place->directory, "%s/index", cache_dir) >= 0 &&
           asprintf(&place->file, "%s/%.32s.%s", place->directory, place->identity, suffix) >= 0 &&
           asprintf(&place->building, "%s/%.32s.building", place->directory, place->identity) >=
               0 &&
           asprintf(&place->lock, "%s/%.32s.lock", place->directory, place->identity) >= 0;
}

enum sds_kind sds_index_place_of(struct sds_dataset *ds, const char *cache_dir, const char *part,
                                 const char *suffix, bool make, struct sds_index_place *out,
                                 struct sds_err *err) {
    struct sds_index_place place = {0};
    sds_autofree char *path = NULL;
    enum sds_kind kind = sds_program_dir_path(SDS_CACHE_DIR, cache_dir, &path, err);
    if (kind != SDS_OK) {
        return kind;
    }
    make_identity(ds, part, place.identity);
    kind = make_names(&place, path, suffix)
               ? make_directory(path, make, place.directory, err)
               : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for the names of an index");
    if (kind != SDS_OK) {
        sds_index_place_fini(&place);
        return kind;
    }
    *out = place;
    return SDS_OK;
}

void sds_index_place_fini(struct sds_index_place *place) {
    free(place->directory);
    free(place->file);
    free(place->building);
    free(place->lock);
    *place = (struct sds_index_place){0};
}

int sds_index_place_open(const char *path) {
    struct stat st;
    sds_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return -1;
    }
    int opened = fd;
    fd = -1;
    return opened;
}

enum sds_kind sds_index_place_lock(const struct sds_index_place *place, const atomic_bool *stop,
                                   int *fd, struct sds_err *err) {
    sds_autofd int lock = open(place->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "index", "%s: %s",
                        SDS_QUOTE(place->lock, strlen(place->lock)), strerror(errno));
    }
    while (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return sds_fail(err, SDS_ERR_STORAGE, "index", "cannot lock it: %s", strerror(errno));
        }
        if (stop != NULL && atomic_load(stop)) {
            return sds_fail(err, SDS_ERR_INVALID, "stopped", "told to stop");
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    }
    *fd = lock;
    lock = -1;
    return SDS_OK;
}
