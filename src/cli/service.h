// SPDX-License-Identifier: Apache-2.0
//
// A mount as a service: what the service manager is told of it (base/notify.h), reading the
// configuration again, and what control/config says. Begins before the mount answers and ends after
// it is gone.
#ifndef SDSFS_CLI_SERVICE_H
#define SDSFS_CLI_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/notify.h"
#include "cli/dataset.h"

struct sds_service {
    const struct sds_notifier *notifier;
    struct sds_opened *opened;
    struct sds_dataset *shown;
    const char *mountpoint;
    atomic_bool stopping;
    pthread_mutex_t lock;        // the options
    struct sds_options *options; // changed by reload alone
    char status[512];            // what was told last; of the thread that beats
};

// Everything is borrowed.
void sds_service_init(struct sds_service *service, const struct sds_notifier *notifier,
                      struct sds_options *options, struct sds_opened *opened,
                      struct sds_dataset *shown, const char *mountpoint);
void sds_service_fini(struct sds_service *service);

void sds_service_ready(struct sds_service *service);
void sds_service_stopping(struct sds_service *service); // further calls do nothing

// How often sds_service_beat is to be called, in milliseconds.
uint32_t sds_service_beat_ms(const struct sds_service *service);
// Tells that we are alive, if requests are answered, and what is going on. These two by one thread.
void sds_service_beat(struct sds_service *service, bool answers);
// Reads configuration and credentials again. What is wrong or cannot be changed is logged, and
// stays as it was.
void sds_service_reload(struct sds_service *service);

// The text of control/config; from any thread. Kinds: LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_service_show(struct sds_service *service, struct sds_buf *out);

#endif
