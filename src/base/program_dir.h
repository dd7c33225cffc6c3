// SPDX-License-Identifier: Apache-2.0
//
// The directories where this program keeps things. The state directory has what must outlive it:
// drafts, temporary files. The cache directory has what could be fetched again. They belong to the
// user who runs the program, and nobody else may write there.
#ifndef SDSFS_BASE_PROGRAM_DIR_H
#define SDSFS_BASE_PROGRAM_DIR_H

#include <stdbool.h>

#include "base/err.h"

// In errors the check is the name of the option: "state_dir" or "cache_dir".
enum sds_program_dir { SDS_STATE_DIR, SDS_CACHE_DIR };

// Its absolute path: what the option names, or without one (NULL) the first directory of
// $STATE_DIRECTORY or $CACHE_DIRECTORY (systemd), else /var/lib/sdsfs or /var/cache/sdsfs for root,
// else sdsfs in $XDG_STATE_HOME or $XDG_CACHE_HOME, or in ~/.local/state or ~/.cache. *out is the
// caller's, to be freed. NOT_FOUND when the environment names none of these.
SDS_MUST_CHECK enum sds_kind sds_program_dir_path(enum sds_program_dir which, const char *option,
                                                  char **out, struct sds_err *err);

// Opens it. make: with its parents if it is not there, mode 0700; else its absence is NOT_FOUND.
// *fd is the caller's, to be closed. DENIED when it is not ours alone, or when it may not be made;
// STORAGE for the rest.
SDS_MUST_CHECK enum sds_kind sds_program_dir_open(enum sds_program_dir which, const char *path,
                                                  bool make, int *fd, struct sds_err *err);

// Whether it could be opened with make and written to, as far as that can be seen without making
// anything. The kinds of that.
SDS_MUST_CHECK enum sds_kind sds_program_dir_check(enum sds_program_dir which, const char *path,
                                                   struct sds_err *err);

#endif
