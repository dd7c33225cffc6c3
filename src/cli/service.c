// SPDX-License-Identifier: Apache-2.0
#include "cli/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "remote/root_shown.h"

enum { BEAT_MS = 5000 }; // also for what is told besides

void sds_service_init(struct sds_service *service, const struct sds_notifier *notifier,
                      struct sds_options *options, struct sds_opened *opened,
                      struct sds_dataset *shown, const char *mountpoint) {
    *service = (struct sds_service){.notifier = notifier,
                                    .options = options,
                                    .opened = opened,
                                    .shown = shown,
                                    .mountpoint = mountpoint};
    pthread_mutex_init(&service->lock, NULL);
}

void sds_service_fini(struct sds_service *service) {
    pthread_mutex_destroy(&service->lock);
}

// --- what is told

struct index_state {
    uint64_t building, scanned;
};

static void note_index(void *ctx, const char *name, const char *help, uint64_t value) {
    (void)help;
    struct index_state *state = ctx;
    if (strcmp(name, "sdsfs_index_building") == 0) {
        state->building = value;
    } else if (strcmp(name, "sdsfs_index_scanned_records") == 0) {
        state->scanned = value;
    }
}

// One line: what is mounted where, and whether its index is being built.
static void describe(const struct sds_service *service, char *out, size_t size) {
    struct sds_dataset *ds = service->shown;
    struct index_state index = {0};
    struct sds_totals totals;
    ds->ops->metrics(ds, note_index, &index);
    ds->ops->totals(ds, &totals);
    int n = snprintf(out, size, "%.200s on %.200s, %" PRIu64 " records",
                     sds_store_root(service->opened->store), service->mountpoint, totals.records);
    if (index.building != 0 && n > 0 && (size_t)n < size) {
        snprintf(out + n, size - (size_t)n, ", building the index: %" PRIu64 " done",
                 index.scanned);
    }
    sds_scrub(out); // a line feed would begin another assignment, and only UTF-8 is taken
}

void sds_service_ready(struct sds_service *service) {
    describe(service, service->status, sizeof service->status);
    // Who went into the background is another process than the one that was started.
    sds_notify(service->notifier, "READY=1\nMAINPID=%d\nSTATUS=%s", (int)getpid(), service->status);
}

void sds_service_stopping(struct sds_service *service) {
    if (!atomic_exchange(&service->stopping, true)) {
        char status[sizeof service->status];
        snprintf(status, sizeof status, "Unmounting %.200s", service->mountpoint);
        sds_notify(service->notifier, "STOPPING=1\nSTATUS=%s", sds_scrub(status));
    }
}

uint32_t sds_service_beat_ms(const struct sds_service *service) {
    uint32_t half = service->notifier->watchdog_ms / 2;
    return half == 0 || half > BEAT_MS ? BEAT_MS : half;
}

void sds_service_beat(struct sds_service *service, bool answers) {
    char status[sizeof service->status];
    if (!answers) {
        sds_log(SDS_LOG_WARNING,
                "%s: no request was answered for a while, and all threads are busy",
                service->mountpoint);
        return;
    }
    if (service->notifier->watchdog_ms != 0) {
        sds_notify(service->notifier, "WATCHDOG=1");
    }
    describe(service, status, sizeof status);
    if (strcmp(status, service->status) != 0) {
        memcpy(service->status, status, sizeof status);
        sds_notify(service->notifier, "STATUS=%s", status);
    }
}

// --- reloading

static void tell_change(void *ctx, const char *name, const char *value, bool changed) {
    (void)ctx;
    sds_log(changed ? SDS_LOG_INFO : SDS_LOG_WARNING, "reload: %s is now %s%s", name,
            SDS_ROOT_SHOWN(value), changed ? "" : ", which takes mounting again");
}

static void apply(struct sds_service *service) {
    const struct sds_options *options = service->options;
    sds_log_change(options->log_level, options->log_json);
    sds_cache_set_budget(service->opened->cache, (size_t)options->mem_cache);
    sds_store_reload(service->opened->store, options->remote.cache_size);
}

void sds_service_reload(struct sds_service *service) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sds_notify(service->notifier, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
               (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    char why[600];
    struct sds_options newer;
    if (sds_options_again(service->options, &newer, why, sizeof why)) {
        pthread_mutex_lock(&service->lock);
        sds_options_adopt(service->options, &newer, tell_change, NULL);
        pthread_mutex_unlock(&service->lock);
        sds_options_fini(&newer);
        apply(service);
        sds_log(SDS_LOG_INFO, "reload: done");
    } else {
        sds_log(SDS_LOG_ERROR, "reload: %s: everything stays as it was", why);
    }
    sds_notify(service->notifier, "READY=1");
}

enum sds_kind sds_service_show(struct sds_service *service, struct sds_buf *out) {
    bool remote = sds_store_is_remote(service->opened->store);
    pthread_mutex_lock(&service->lock);
    enum sds_kind kind = sds_options_show(service->options, remote, out);
    pthread_mutex_unlock(&service->lock);
    return kind;
}
