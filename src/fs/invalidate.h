// SPDX-License-Identifier: Apache-2.0
//
// Makes the kernel drop its pages of a file, and write back those that are dirty before that:
//
// - after it put bytes into its pages that we then refused: a shared mapping that root wrote into
//   keeps them for ever otherwise. A thread of its own tells the kernel, since the answer may have
//   to wait for a page that some request is to fill;
// - before the bytes of a file are read behind its back.
//
// Safe from any thread, but for what is said below.
#ifndef SDSFS_FS_INVALIDATE_H
#define SDSFS_FS_INVALIDATE_H

#include <stdint.h>

#include "base/err.h"

struct fuse_session;
struct sds_invalidator;

// Kinds: NO_MEMORY, INTERNAL (no thread).
SDS_MUST_CHECK enum sds_kind
sds_invalidator_start(struct fuse_session *fuse, struct sds_invalidator **out, struct sds_err *err);
// Ends the thread, and waits for those in sds_write_back; what is still waiting stays as it is. To
// be called while requests are still served, or the connection is gone: the kernel may wait for an
// answer. Further calls do nothing.
void sds_invalidator_stop(struct sds_invalidator *invalidator);
void sds_invalidator_free(struct sds_invalidator *invalidator); // stopped; NULL is fine

// Has the pages of a file dropped, soon.
void sds_invalidate(struct sds_invalidator *invalidator, uint64_t ino);

// Has them dropped, and waits until what was dirty has been written back and answered. Not in a
// thread that serves requests, nor for a file to which a write is still to be answered. 0, EINTR
// when it was stopped, EIO.
SDS_MUST_CHECK int sds_write_back(struct sds_invalidator *invalidator, uint64_t ino);

#endif
