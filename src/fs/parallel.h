// SPDX-License-Identifier: Apache-2.0
//
// Look-ups in one directory at the same time. Unless a file system says that it can do that, the
// kernel takes a lock of the directory for each, so that one that waits has all others in the
// directory wait, and they cannot even be killed. libfuse before 3.16.2 never passes on that we can
// (FUSE_CAP_PARALLEL_DIROPS), so it is added to its answer to INIT on the way out.
#ifndef SDSFS_FS_PARALLEL_H
#define SDSFS_FS_PARALLEL_H

struct sds_session;

// To be called for a mounted session, before it is served. 0 or an errno.
int sds_parallel_set_up(struct sds_session *session);

#endif
