// SPDX-License-Identifier: Apache-2.0
//
// Opening what lies below a directory, and nothing else: never above it, through no symbolic link,
// and without waiting for what lies there (a FIFO in a file's place). With openat2(2) that is one
// call. Where there is none (gVisor, filters of system calls such as that of systemd's
// RestrictSUIDSGID=) the path is walked name by name.
#ifndef SDSFS_BASE_BENEATH_H
#define SDSFS_BASE_BENEATH_H

#include <sys/types.h>

// path is relative to dir, of any length, and has no ".."; "" is dir itself. flags and mode are
// open(2)'s; O_CLOEXEC, and O_NONBLOCK and O_NOCTTY unless only O_PATH is asked for, are added.
// A descriptor that is the caller's, or -1 with errno: ELOOP for a link anywhere on the path, EXDEV
// for a path that leads out.
int sds_open_beneath(int dir, const char *path, int flags, mode_t mode);

// The same without openat2(2), for the above and its tests. Here every ".." is EXDEV.
int sds_open_stepwise(int dir, const char *path, int flags, mode_t mode);

#endif
