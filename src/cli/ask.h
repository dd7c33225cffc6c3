// SPDX-License-Identifier: Apache-2.0
//
// Asking a mount that may hang. A daemon that took a request and never answers hangs whoever asks,
// and not even SIGKILL frees it; so a child does.
#ifndef SDSFS_CLI_ASK_H
#define SDSFS_CLI_ASK_H

#include "base/buf.h"

enum sds_answer {
    SDS_ANSWER_GIVEN,
    SDS_ANSWER_NONE,  // there is no such file, or it could not be read
    SDS_ANSWER_DEAD,  // the daemon behind the mount is gone
    SDS_ANSWER_LATE,  // none in time
    SDS_ANSWER_STUCK, // the same, and the child hangs in it, with a file of the mount open
};

// Appends the content of a file, as far as out has room for it.
// timeout_ms is what the mount has to answer in.
#define SDS_ASK_MS 2000
enum sds_answer sds_ask_mount(const char *mountpoint, const char *file, unsigned timeout_ms,
                              struct sds_buf *out);

// Whether the file system that is mounted there answers at all: GIVEN or NONE; else DEAD, or LATE
// or STUCK.
enum sds_answer sds_ask_alive(const char *mountpoint, unsigned timeout_ms);

#endif
