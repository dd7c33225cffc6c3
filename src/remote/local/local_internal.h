// SPDX-License-Identifier: Apache-2.0
//
// What the files of the local store share. Writing follows the protocol that other writers of such
// roots follow, since both may be at it at once (docs/stores.md).
#ifndef SDSFS_REMOTE_LOCAL_INTERNAL_H
#define SDSFS_REMOTE_LOCAL_INTERNAL_H

#include <sys/stat.h>

#include "remote/backend.h"

struct sds_local_store {
    struct sds_store base;
    int root_fd;
    char *real_root; // without symbolic links, as a mount table has it
    uid_t owner;     // of root.json: the "same" policy trusts this user's files
    bool has_owner;
};

// local.c

// Opens a regular file beneath dir for reading. Kinds as sds_store_object.
SDS_MUST_CHECK enum sds_kind sds_local_open_file(int dir, const char *path, int *fd,
                                                 struct stat *st, struct sds_err *err);
// What an errno of opening means for an object below the root (or an external file).
enum sds_kind sds_local_open_failed(int error, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_local_pread(int fd, uint64_t off, void *buf, size_t len,
                                             struct sds_err *err);
// Remembers what we created as the version to be found under the path.
void sds_local_pin(struct sds_store *store, const char *path, const struct stat *st);

// local_version.c

enum sds_kind sds_local_read_version(struct sds_store *store, const char *path, uint64_t max,
                                     struct sds_blob **out, struct sds_version *version,
                                     struct sds_err *err);
enum sds_kind sds_local_version(struct sds_store *store, const char *path,
                                struct sds_version *version, struct sds_err *err);
// The version of a file beneath dir and when it was written. Absent is OK with there = false.
SDS_MUST_CHECK enum sds_kind sds_local_version_at(int dir, const char *path,
                                                  struct sds_version *version,
                                                  struct timespec *mtime, struct sds_err *err);

// local_write.c

enum sds_kind sds_local_can_publish(struct sds_store *store, struct sds_err *err);
enum sds_kind sds_local_create(struct sds_store *store, const char *path,
                               const struct sds_content *content, struct sds_err *err);
enum sds_kind sds_local_swap(struct sds_store *store, const char *path, struct sds_span bytes,
                             const struct sds_version *seen, struct sds_err *err);

// local_readers.c

// The read bits that root.json has for its group and for others: everything new gets them. None
// without a root.json.
mode_t sds_local_readers(const struct sds_local_store *local);
// Adds those bits to a file that was made, whatever the umask; where modes can be set at all.
SDS_MUST_CHECK enum sds_kind sds_local_let_read(int fd, mode_t readers, struct sds_err *err);

// local_directory.c

// Opens the directory that holds (or will hold) the object of a path, made when it is missing, and
// points name at the last component. Refuses when the root's path leads to another directory now.
SDS_MUST_CHECK enum sds_kind sds_local_parent(const struct sds_local_store *local, const char *path,
                                              int *dir, const char **name, struct sds_err *err);
// Makes the names in a directory durable.
SDS_MUST_CHECK enum sds_kind sds_local_sync(int fd, struct sds_err *err);
// What an errno means that some step of writing failed with; doing is "cannot …".
enum sds_kind sds_local_write_failed(int error, const char *doing, struct sds_err *err);

#endif
