// SPDX-License-Identifier: Apache-2.0
#include "remote/http/http.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "remote/http/http_internal.h"

static void wake(struct sds_http *http) {
    curl_multi_wakeup(http->multi);
}

// --- birth and death

// Signals are for the threads that expect them; a broken connection's must not end the program.
static int start_thread(struct sds_http *http) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&http->thread, NULL, sds_http_run, http);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void free_all(struct sds_http *http) {
    for (unsigned i = 0; i < http->idle_count; i++) {
        curl_easy_cleanup(http->idle[i]);
    }
    curl_multi_cleanup(http->multi);
    pthread_mutex_destroy(&http->lock);
    sds_http_settings_fini(&http->settings);
    free(http);
    curl_global_cleanup();
}

static enum sds_kind start(struct sds_http *http, struct sds_err *err) {
    http->multi = curl_multi_init();
    if (http->multi == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for connections");
    }
    // Kept connections, to all hosts together.
    long kept = (long)http->settings.max_connections + 16;
    curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, kept);
    int error = start_thread(http);
    return error == 0 ? SDS_OK
                      : sds_fail(err, SDS_ERR_INTERNAL, "thread", "no thread for connections: %s",
                                 strerror(error));
}

enum sds_kind sds_http_new(const struct sds_http_options *options, struct sds_http **out,
                           struct sds_err *err) {
    struct sds_http *http = calloc(1, sizeof *http);
    if (http == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(http);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for connections");
    }
    pthread_mutex_init(&http->lock, NULL);
    http->inbox_last = &http->inbox;
    http->next_look_ms = UINT64_MAX;
    enum sds_kind kind = sds_http_settings_init(&http->settings, options, err);
    if (kind == SDS_OK) {
        kind = start(http, err);
    }
    if (kind != SDS_OK) {
        free_all(http);
        return kind;
    }
    *out = http;
    return SDS_OK;
}

void sds_http_abandon(struct sds_http *http) {
    atomic_store(&http->abandoned, true);
    wake(http);
}

void sds_http_free(struct sds_http *http) {
    if (http == NULL) {
        return;
    }
    sds_http_abandon(http);
    pthread_mutex_lock(&http->lock);
    http->stopping = true;
    pthread_mutex_unlock(&http->lock);
    wake(http);
    pthread_join(http->thread, NULL);
    free_all(http);
}

// --- the inbox

void sds_http_start(struct sds_http *http, struct sds_http_request *request, sds_http_done done,
                    void *ctx) {
    request->done = done;
    request->ctx = ctx;
    request->started_ms = sds_clock_ms();
    request->next = NULL;
    sds_http_add(&http->counters.requests, 1);
    pthread_mutex_lock(&http->lock);
    bool first = http->inbox == NULL;
    *http->inbox_last = request;
    http->inbox_last = &request->next;
    pthread_mutex_unlock(&http->lock);
    if (first) { // else it has been woken and did not look yet
        wake(http);
    }
}

void sds_http_after(struct sds_http *http, struct sds_http_pause *pause, uint32_t ms,
                    void (*then)(void *ctx), void *ctx) {
    pause->then = then;
    pause->ctx = ctx;
    pause->at_ms = sds_clock_ms() + ms;
    pthread_mutex_lock(&http->lock);
    pause->next = http->new_pauses;
    http->new_pauses = pause;
    pthread_mutex_unlock(&http->lock);
    wake(http);
}
