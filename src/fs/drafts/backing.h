// SPDX-License-Identifier: Apache-2.0
//
// Where drafts lie on the disk: <state directory>/drafts/<key of the root>/ with
//
//   root    the root, for whoever looks around there
//   sets/   what control/annotations shows
//   tmp/    files before they get their name, and drafts that are being removed
//
// Every path below is opened without following symbolic links. Functions return 0 or an errno
// where nothing else is said. Safe from any thread.
#ifndef SDSFS_FS_DRAFTS_BACKING_H
#define SDSFS_FS_DRAFTS_BACKING_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"

struct sds_backing;

// state_dir as base/program_dir.h takes it, root absolute. Touches no file. NULL: no memory.
struct sds_backing *sds_backing_new(const char *state_dir, const char *root);
void sds_backing_free(struct sds_backing *backing);

// Whether the directories can be opened with make, as far as that can be seen without making any.
SDS_MUST_CHECK enum sds_kind sds_backing_check(const struct sds_backing *backing,
                                               struct sds_err *err);

// Opens the directories, made where make says so; for the first that opens them after all others
// are gone, with a tmp/ that is empty. ENOENT when they are not there; EPERM when there can be
// none. err has the reason for whatever is not ENOENT. *first tells whoever opened them first.
SDS_MUST_CHECK int sds_backing_open(struct sds_backing *backing, bool make, bool *first,
                                    struct sds_err *err);
// After that:
int sds_backing_sets(const struct sds_backing *backing);
int sds_backing_tmp(const struct sds_backing *backing);

// Names in tmp/ that are handed out have room for this many bytes.
#define SDS_TMP_NAME 33
// Writes a file to tmp/ that is to take the place of what has a name in dir, if anything has: its
// time of change is later than that one's. durable: its content is on the disk.
SDS_MUST_CHECK int sds_backing_stage(struct sds_backing *backing, int dir, const char *name,
                                     struct sds_span content, bool durable, char *staged);
// Puts it there; it is gone from tmp/ in any case.
SDS_MUST_CHECK int sds_backing_put(struct sds_backing *backing, const char *staged, int dir,
                                   const char *name);

// A directory in tmp/, to be filled and moved to its place.
SDS_MUST_CHECK int sds_backing_prepare(struct sds_backing *backing, char *name, int *dir);
// Moves a directory out of sight, to be removed by sds_backing_remove.
SDS_MUST_CHECK int sds_backing_hide(struct sds_backing *backing, int dir, const char *name,
                                    char *hidden);
// Removes a directory in tmp/ with all that is in it.
SDS_MUST_CHECK int sds_backing_remove(struct sds_backing *backing, const char *name);

#endif
