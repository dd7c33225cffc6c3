// SPDX-License-Identifier: Apache-2.0
//
// Telling the service manager how we are (sd_notify's protocol: a datagram to the socket that
// $NOTIFY_SOCKET names). Without one nothing is told. Never blocks, never fails. Safe from any
// thread.
#ifndef SDSFS_BASE_NOTIFY_H
#define SDSFS_BASE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"

struct sds_notifier {
    struct sockaddr_un address;
    socklen_t len;        // of it; 0: nobody is told
    uint32_t watchdog_ms; // how often WATCHDOG=1 is expected; 0: never
};

// Reads the environment of the process that was started, and takes the variables out of it, so that
// no child believes to be meant. Before other threads are there, and before going into the
// background.
void sds_notifier_init(struct sds_notifier *notifier);

// Sends assignments, one a line ("READY=1\nSTATUS=..."); a line that is not to end there has no
// line feed in it.
void sds_notify(const struct sds_notifier *notifier, const char *fmt, ...) SDS_PRINTF(2, 3);

#endif
