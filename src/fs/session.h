// SPDX-License-Identifier: Apache-2.0
//
// A mounted tree: the FUSE session from mounting to the end, and the signals that end it. One
// session a process, since signal handlers reach it. The only modules that know FUSE are this one
// and what it is made of (operations.c, directory.c, changes.c, kernel_call.c, invalidate.c).
#ifndef SDSFS_FS_SESSION_H
#define SDSFS_FS_SESSION_H

#include <stdbool.h>

#include "fs/requests.h"
#include "fs/tree.h"

struct sds_session;

struct sds_session_options {
    const char *source;     // what the mount table shows as mounted
    const char *mountpoint; // absolute; "/dev/fd/N": N is the device of a mount made by others
    const char *flags;      // generic mount flags, comma-separated ("ro,noexec"); may be ""
    bool allow_other;
    bool auto_unmount;   // a process of fusermount3's sees to it when this one is killed
    unsigned threads;    // at most so many requests at a time, those that wait not counted
    uint32_t timeout_ms; // a request that has waited for so long is ETIMEDOUT; 0: never
    // Called once, from another thread, when a signal ends the session, while it is still served:
    // whatever requests and publications wait for has to fail at once. NULL: nobody is told.
    void (*stop)(void *ctx);
    // Called once, from another thread, when the kernel has made contact and was answered.
    void (*ready)(void *ctx);
    // Called by one thread, never at the same time, while requests are served; each may be NULL.
    // beat: every so many milliseconds (0: five seconds). answers: false when all threads have been
    // at work on the same requests since the last time, so that nobody takes new ones.
    uint32_t beat_ms;
    void (*beat)(void *ctx, bool answers);
    void (*reload)(void *ctx); // SIGHUP
    void *ctx;
};

// Mounts. A failure of any kind has check "mount" and the reason, with its cure where there is one,
// as the message. tree, requests and the options' strings outlive the session.
SDS_MUST_CHECK enum sds_kind sds_session_open(struct sds_tree *tree, struct sds_requests *requests,
                                              const struct sds_session_options *options,
                                              struct sds_session **out, struct sds_err *err);
// Serves until the mount is gone (umount) or SIGTERM or SIGINT arrives. STORAGE (check "fuse") when
// the kernel connection failed instead.
SDS_MUST_CHECK enum sds_kind sds_session_run(struct sds_session *session, struct sds_err *err);
// Unmounts, lazily if the mount is in use, and frees.
void sds_session_close(struct sds_session *session);

#endif
