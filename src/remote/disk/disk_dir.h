// SPDX-License-Identifier: Apache-2.0
//
// The directory of a disk cache and the files in it: <cache_dir>/blocks-1/ with usage (the ledger),
// notes, and 256 directories of segments. Nothing in it is opened through a symbolic link, and
// nothing that is not a regular file of our own. The directory may vanish and be made again while
// it is in use, so it is counted who uses which one. Safe from any thread.
#ifndef SDSFS_REMOTE_DISK_DIR_H
#define SDSFS_REMOTE_DISK_DIR_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "remote/disk/disk_index.h"

#define SDS_DISK_DIRS 256 // of segments

struct sds_disk_root {
    int fd;
    atomic_uint refs;
};

struct sds_disk_dir {
    char *path;           // <cache_dir>
    pthread_mutex_t lock; // of root; never held across I/O
    struct sds_disk_root *root;
};

SDS_MUST_CHECK bool sds_disk_dir_init(struct sds_disk_dir *dir,
                                      const char *path); // touches nothing
void sds_disk_dir_fini(struct sds_disk_dir *dir);

// Opens the directory, made when it is missing, unless the one that is open is still there. Kinds
// of base/program_dir.h; one thread at a time.
SDS_MUST_CHECK enum sds_kind sds_disk_dir_open(struct sds_disk_dir *dir, struct sds_err *err);
// As open at the moment; NULL: it never was. To be put back.
struct sds_disk_root *sds_disk_dir_get(struct sds_disk_dir *dir);
void sds_disk_root_put(struct sds_disk_root *root); // NULL is fine

// Opens a file beneath; -1 with errno, ESTALE for what is no regular file of ours alone.
int sds_disk_open(const struct sds_disk_root *root, const char *path, int flags, struct stat *st);

// The path of a segment, "c3/<id>-<number>", and which of the directories that is.
#define SDS_DISK_PATH 64
void sds_disk_path(const struct sds_disk_key *key, char out[SDS_DISK_PATH]);
unsigned sds_disk_dir_of(const struct sds_disk_key *key);

// All of the bytes or -1 with errno (pread: EIO when the file ends before).
int sds_disk_pread(int fd, uint64_t off, void *buf, size_t len);
int sds_disk_pwrite(int fd, uint64_t off, const void *buf, size_t len);

// Says what errno means while doing something; check "cache_dir".
enum sds_kind sds_disk_failed(struct sds_err *err, const char *doing);

#endif
