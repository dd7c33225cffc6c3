// SPDX-License-Identifier: Apache-2.0
//
// The directory where this program keeps what has to outlive it: drafts, temporary files. It
// belongs to the user who runs the program, and nobody else may write there.
#ifndef SDSFS_BASE_STATE_DIR_H
#define SDSFS_BASE_STATE_DIR_H

#include <stdbool.h>

#include "base/err.h"

// Its absolute path: what the option names, or without one (NULL) the first directory of
// $STATE_DIRECTORY (systemd), else /var/lib/sdsfs for root, else sdsfs in $XDG_STATE_HOME or in
// ~/.local/state. *out is the caller's, to be freed. NOT_FOUND (check "state_dir") when the
// environment names none of these.
SDS_MUST_CHECK enum sds_kind sds_state_dir_path(const char *option, char **out,
                                                struct sds_err *err);

// Opens it. make: with its parents if it is not there, mode 0700; else its absence is NOT_FOUND.
// *fd is the caller's, to be closed. DENIED when it is not ours alone, or when it may not be made;
// STORAGE for the rest; check "state_dir".
SDS_MUST_CHECK enum sds_kind sds_state_dir_open(const char *path, bool make, int *fd,
                                                struct sds_err *err);

// Whether it could be opened with make and written to, as far as that can be seen without making
// anything. The kinds of that.
SDS_MUST_CHECK enum sds_kind sds_state_dir_check(const char *path, struct sds_err *err);

#endif
