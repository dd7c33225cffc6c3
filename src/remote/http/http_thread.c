// SPDX-License-Identifier: Apache-2.0
//
// The pool's thread: takes what others left in the inbox, gives requests their turn, lets libcurl
// work, and tells. Whoever is told may put something into the inbox, and nothing else, so the lists
// here change in these functions only.
#include <stdlib.h>

#include "base/clock.h"
#include "remote/http/http_internal.h"

#define LONGEST_SLEEP_MS 60000

static void sooner(uint64_t *next_ms, uint64_t ms) {
    *next_ms = ms < *next_ms ? ms : *next_ms;
}

// --- the inbox

static void add_pause(struct sds_http *http, struct sds_http_pause *pause) {
    struct sds_http_pause **link = &http->pauses;
    while (*link != NULL && (*link)->at_ms <= pause->at_ms) {
        link = &(*link)->next;
    }
    pause->next = *link;
    *link = pause;
}

static void add_request(struct sds_http *http, struct sds_http_request *request) {
    struct sds_http_host *host = sds_http_host_of(http, request->url);
    if (host == NULL) {
        sds_http_tell(http, request, SDS_HTTP_NO_MEMORY, "no memory for a request");
        return;
    }
    sds_http_host_add(host, request);
    sds_http_add(&http->counters.waiting, 1);
    if (request->deadline_ms != 0) {
        sooner(&http->next_look_ms, request->deadline_ms);
    }
}

// True when there is nothing left and there will not be.
static bool take_inbox(struct sds_http *http) {
    pthread_mutex_lock(&http->lock);
    struct sds_http_request *requests = http->inbox;
    struct sds_http_pause *pauses = http->new_pauses;
    http->inbox = NULL;
    http->inbox_last = &http->inbox;
    http->new_pauses = NULL;
    http->leaving = http->stopping;
    pthread_mutex_unlock(&http->lock);
    bool idle = requests == NULL && pauses == NULL && http->pauses == NULL &&
                http->transfers == NULL && http->hosts == NULL;
    while (requests != NULL) {
        struct sds_http_request *request = requests;
        requests = request->next;
        add_request(http, request);
    }
    while (pauses != NULL) {
        struct sds_http_pause *pause = pauses;
        pauses = pause->next;
        add_pause(http, pause);
    }
    return http->leaving && idle;
}

// --- ends

static void tell_all(struct sds_http *http, struct sds_http_request *requests,
                     enum sds_http_failure failure, const char *reason) {
    while (requests != NULL) {
        struct sds_http_request *request = requests;
        requests = request->next;
        sds_http_add(&http->counters.waiting, (uint64_t)-1);
        sds_http_tell(http, request, failure, reason);
    }
}

static void end_pauses(struct sds_http *http, uint64_t until) {
    while (http->pauses != NULL && http->pauses->at_ms <= until) {
        struct sds_http_pause *pause = http->pauses;
        http->pauses = pause->next;
        pause->then(pause->ctx);
    }
}

static void cancel_all(struct sds_http *http) {
    uint64_t next_ms = UINT64_MAX;
    while (http->transfers != NULL) {
        http->transfers->ended = SDS_HTTP_CANCELLED;
        http->transfers->why = "the connections are being closed";
        sds_http_transfer_end(http->transfers, CURLE_OK);
    }
    tell_all(http, sds_http_hosts_expired(http, true, 0, &next_ms), SDS_HTTP_CANCELLED,
             "the connections are being closed");
    end_pauses(http, UINT64_MAX);
}

// Whatever is out of time ends; notes when to look again.
static void look_at_time(struct sds_http *http) {
    uint64_t now = sds_clock_ms(), next_ms = UINT64_MAX;
    if (now < http->next_look_ms) {
        return;
    }
    struct sds_http_transfer *next;
    for (struct sds_http_transfer *t = http->transfers; t != NULL; t = next) {
        next = t->next;
        if (sds_http_transfer_expired(t, now, &next_ms)) {
            sds_http_transfer_end(t, CURLE_OK);
        }
    }
    tell_all(http, sds_http_hosts_expired(http, false, now, &next_ms), SDS_HTTP_TIMEOUT,
             "the deadline passed before there was a connection to be had");
    http->next_look_ms = next_ms;
}

// --- work

static void begin_next(struct sds_http *http, struct sds_http_host *host) {
    struct sds_http_request *request = sds_http_host_take(host);
    sds_http_add(&http->counters.waiting, (uint64_t)-1);
    enum sds_http_failure failure = sds_http_transfer_begin(http, host, request);
    if (failure != SDS_HTTP_ANSWERED) {
        sds_http_tell(http, request, failure, "no memory for a request");
        return;
    }
    sooner(&http->next_look_ms, sds_clock_ms());
}

static void give_turns(struct sds_http *http) {
    for (struct sds_http_host *host = http->hosts; host != NULL; host = host->next) {
        while (host->first != NULL && host->active < http->settings.max_connections) {
            begin_next(http, host);
        }
    }
}

static void reap(struct sds_http *http) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
        struct sds_http_transfer *t = NULL;
        CURLcode code = message->data.result;
        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t) == CURLE_OK &&
            t != NULL) {
            sds_http_transfer_end(t, code);
        }
    }
}

static void sleep_until_needed(struct sds_http *http) {
    uint64_t now = sds_clock_ms(), next_ms = now + LONGEST_SLEEP_MS;
    if (http->leaving) { // what is left ends in the next round
        return;
    }
    sooner(&next_ms, http->next_look_ms);
    if (http->pauses != NULL) {
        sooner(&next_ms, http->pauses->at_ms);
    }
    for (struct sds_http_host *host = http->hosts; host != NULL; host = host->next) {
        if (host->first != NULL && host->active < http->settings.max_connections) {
            return; // somebody's turn has come meanwhile
        }
    }
    curl_multi_poll(http->multi, NULL, 0, next_ms > now ? (int)(next_ms - now) : 0, NULL);
}

void *sds_http_run(void *arg) {
    struct sds_http *http = arg;
    int running;
    while (!take_inbox(http)) {
        if (atomic_load(&http->abandoned)) {
            cancel_all(http);
        }
        end_pauses(http, sds_clock_ms());
        give_turns(http);
        curl_multi_perform(http->multi, &running);
        reap(http);
        look_at_time(http);
        sds_http_hosts_forget(http);
        sleep_until_needed(http);
    }
    return NULL;
}
