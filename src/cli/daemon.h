// SPDX-License-Identifier: Apache-2.0
//
// Going into the background in a way that the caller can rely on: the process that was started ends
// only when the daemon has said how it went. Until then the daemon talks to the user's stderr and
// dies with the terminal's Ctrl-C; afterwards it has let go of both.
#ifndef SDSFS_CLI_DAEMON_H
#define SDSFS_CLI_DAEMON_H

#include <stdbool.h>

#include "cli/command.h"

struct sds_daemon {
    int report; // the parent listens at the other end; -1 in the foreground
};

// Forks. keep: a descriptor that the daemon goes on with, or -1. True in the daemon. False in the
// parent, once the daemon has reported, with its exit code; a daemon that ends without a word is
// SDS_EXIT_MOUNT, with a message.
bool sds_daemon_start(struct sds_daemon *daemon, const char *what, int keep, enum sds_exit *code);
// Lets the parent go with an exit code.
void sds_daemon_report(struct sds_daemon *daemon, enum sds_exit code);
// Leaves the terminal, the current directory and standard input, output and error.
void sds_daemon_detach(void);

#endif
