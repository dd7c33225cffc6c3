// SPDX-License-Identifier: Apache-2.0
#include "remote/disk/disk_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BLOCK 4096

void sds_disk_store_init(struct sds_disk_store *store, struct sds_disk_dir *dir, uint64_t size) {
    store->last = NULL;
    sds_disk_room_init(&store->room, dir, size);
}

static void forget_last(struct sds_disk_store *store) {
    sds_disk_segment_free(store->last);
    store->last = NULL;
}

void sds_disk_store_fini(struct sds_disk_store *store) {
    forget_last(store);
    sds_disk_room_fini(&store->room);
}

// --- the segment

// Opens the segment, if it is there, and leaves it in store->last.
static void open_existing(struct sds_disk_store *store, const struct sds_disk_key *key) {
    struct sds_disk_segment *last = store->last;
    if (last != NULL &&
        (last->key.number != key->number || memcmp(last->key.id, key->id, sizeof key->id) != 0 ||
         sds_disk_segment_gone(last))) {
        forget_last(store);
    }
    if (store->last == NULL) {
        struct sds_disk_root *root = sds_disk_dir_get(store->room.dir);
        struct stat st;
        store->last = sds_disk_segment_open(root, key, O_RDWR, &st);
        sds_disk_root_put(root);
    }
    if (store->last != NULL && sds_disk_segment_catch_up(store->last) != 0) {
        forget_last(store);
    }
}

// Makes the directory of a segment; *cost grows when it was not there.
static enum sds_kind make_dir(const struct sds_disk_root *root, const struct sds_disk_key *key,
                              int64_t *cost, struct sds_err *err) {
    char path[SDS_DISK_PATH];
    sds_disk_path(key, path);
    *strchr(path, '/') = '\0';
    if (mkdirat(root->fd, path, 0700) == 0) {
        *cost += SDS_DISK_DIR_COST;
        return SDS_OK;
    }
    return errno == EEXIST ? SDS_OK : sds_disk_failed(err, "making a directory");
}

// What is in the way of a segment is removed; the bytes are dropped this time.
static enum sds_kind clear_way(const struct sds_disk_root *root, const struct sds_disk_key *key,
                               struct sds_err *err) {
    if (errno != ESTALE && errno != ELOOP && errno != EISDIR && errno != ENXIO) {
        return sds_disk_failed(err, "making a file");
    }
    char path[SDS_DISK_PATH];
    sds_disk_path(key, path);
    (void)!unlinkat(root->fd, path, errno == EISDIR ? AT_REMOVEDIR : 0);
    return sds_fail(err, SDS_ERR_CONFLICT, "cache_dir", "something else has the name of a file");
}

static enum sds_kind create(struct sds_disk_store *store, const struct sds_disk_key *key,
                            int64_t *cost, struct sds_err *err) {
    forget_last(store);
    struct sds_disk_root *root = sds_disk_dir_get(store->room.dir);
    struct stat st;
    enum sds_kind kind = make_dir(root, key, cost, err);
    if (kind == SDS_OK) {
        store->last = sds_disk_segment_open(root, key, O_RDWR | O_CREAT, &st);
        kind = store->last != NULL ? SDS_OK : clear_way(root, key, err);
    }
    if (kind == SDS_OK && st.st_size == 0) {
        *cost += SDS_DISK_FILE_COST;
    }
    sds_disk_root_put(root);
    return kind;
}

// The segment, locked against other writers and against removal.
static enum sds_kind lock_segment(struct sds_disk_store *store, const struct sds_disk_key *key,
                                  int64_t *cost, struct sds_err *err) {
    for (int i = 0; i < 3; i++) { // others may remove what we open
        if (store->last == NULL) {
            enum sds_kind kind = create(store, key, cost, err);
            if (kind != SDS_OK) {
                return kind;
            }
        }
        if (flock(store->last->fd, LOCK_EX | LOCK_NB) != 0) {
            return errno == EWOULDBLOCK || errno == EINTR
                       ? sds_fail(err, SDS_ERR_CONFLICT, "cache_dir", "the file is being written")
                       : sds_disk_failed(err, "locking a file");
        }
        if (!sds_disk_segment_gone(store->last)) {
            return SDS_OK;
        }
        forget_last(store);
    }
    return sds_fail(err, SDS_ERR_CONFLICT, "cache_dir", "the file is removed again and again");
}

// A new file gets its header, and one with another header is begun anew.
static enum sds_kind ensure_header(const struct sds_disk_segment *segment, struct sds_err *err) {
    uint8_t header[SDS_DISK_HEADER];
    if (sds_disk_pread(segment->fd, 0, header, sizeof header) == 0 &&
        sds_disk_header_is(&segment->key, header)) {
        return SDS_OK;
    }
    sds_disk_header_write(&segment->key, header);
    return ftruncate(segment->fd, 0) == 0 &&
                   sds_disk_pwrite(segment->fd, 0, header, sizeof header) == 0
               ? SDS_OK
               : sds_disk_failed(err, "writing a file");
}

// --- writing

static enum sds_kind append(struct sds_disk_segment *segment, uint32_t off, struct sds_span bytes,
                            struct sds_err *err) {
    enum sds_kind kind = ensure_header(segment, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (sds_disk_segment_catch_up(segment) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "cache_dir", "a file cannot be read");
    }
    struct sds_disk_index *index = &segment->index;
    uint8_t entry[SDS_DISK_ENTRY_MAX];
    if (sds_disk_entry_size(off, (uint32_t)bytes.len) > SDS_DISK_FRONT - index->position) {
        return sds_fail(err, SDS_ERR_LIMIT, "cache_dir", "too many small pieces in a file");
    }
    uint32_t size = sds_disk_entry_write(index, off, bytes, entry);
    return sds_disk_pwrite(segment->fd, SDS_DISK_FRONT + off, bytes.at, bytes.len) == 0 &&
                   sds_disk_pwrite(segment->fd, index->position, entry, size) == 0
               ? SDS_OK
               : sds_disk_failed(err, "writing a file");
}

static int64_t blocks(const struct sds_disk_segment *segment) {
    struct stat st;
    return fstat(segment->fd, &st) == 0 ? (int64_t)st.st_blocks * 512 : 0;
}

// Room was taken. *became: what the directory has grown by, whatever else happens.
static enum sds_kind write_taken(struct sds_disk_store *store, const struct sds_disk_key *key,
                                 uint32_t off, struct sds_span bytes, int64_t *became,
                                 struct sds_err *err) {
    enum sds_kind kind = lock_segment(store, key, became, err);
    if (kind != SDS_OK) {
        return kind;
    }
    int64_t before = blocks(store->last);
    kind = append(store->last, off, bytes, err);
    *became += blocks(store->last) - before;
    flock(store->last->fd, LOCK_UN);
    if (kind != SDS_OK) {
        forget_last(store);
    }
    return kind;
}

// Leaves out what is there at the beginning and at the end.
static void trim(const struct sds_disk_segment *segment, uint32_t *off, struct sds_span *bytes) {
    uint32_t start, stop, end = *off + (uint32_t)bytes->len, at = *off;
    if (sds_disk_index_run(&segment->index, at, end, &start, &stop) && start == at) {
        *bytes = sds_span(bytes->at + (stop - at), end - stop);
        *off = at = stop;
    }
    while (at < end && sds_disk_index_run(&segment->index, at, end, &start, &stop)) {
        if (stop == end) {
            bytes->len = start - *off;
            return;
        }
        at = stop;
    }
}

// The most that writing can take, in whole blocks at both ends.
static uint64_t most(uint32_t off, struct sds_span bytes) {
    uint64_t data = (bytes.len + BLOCK - 1) / BLOCK * BLOCK + BLOCK;
    uint64_t entry = sds_disk_entry_size(off, (uint32_t)bytes.len) + 2 * BLOCK;
    return data + entry + SDS_DISK_HEADER + SDS_DISK_FILE_COST + SDS_DISK_DIR_COST;
}

enum sds_kind sds_disk_store_write(struct sds_disk_store *store, const struct sds_disk_key *key,
                                   uint32_t off, struct sds_span bytes, uint32_t *written,
                                   struct sds_err *err) {
    *written = 0;
    open_existing(store, key);
    if (store->last != NULL) {
        trim(store->last, &off, &bytes);
    }
    if (bytes.len == 0) {
        return SDS_OK;
    }
    unsigned which = sds_disk_dir_of(key);
    uint64_t taken = most(off, bytes);
    enum sds_kind kind = sds_disk_room_take(&store->room, which, taken, err);
    if (kind != SDS_OK) {
        return kind;
    }
    int64_t became = 0;
    kind = write_taken(store, key, off, bytes, &became, err);
    sds_disk_room_give(&store->room, which, taken, became);
    *written = kind == SDS_OK ? (uint32_t)bytes.len : 0;
    return kind;
}
