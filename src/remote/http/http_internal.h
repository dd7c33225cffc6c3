// SPDX-License-Identifier: Apache-2.0
//
// The parts of the HTTP pool, for http*.c only. `lock` guards the inbox, by which other threads
// reach the pool's own; everything else belongs to that thread, but for what is atomic and the
// settings, which do not change.
#ifndef SDSFS_REMOTE_HTTP_INTERNAL_H
#define SDSFS_REMOTE_HTTP_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "remote/http/http.h"

#define SDS_HTTP_HEAD_MAX (64U << 10) // bytes of all lines of a head together
#define SDS_HTTP_IDLE_EASY 32         // handles that are kept for the next request

struct sds_http_settings {
    char *ca_bundle, *client_cert, *client_key; // NULL: the system's, none, in client_cert
    uint32_t connect_timeout_ms, stall_timeout_ms;
    unsigned max_connections;
};

// http_stats.c
struct sds_http_counters {
    _Atomic uint64_t requests, waiting, active, sent, received, connections, latency_sum_ms;
    _Atomic uint64_t statuses[6], failures[SDS_HTTP_FAILURES], latency[SDS_HTTP_LATENCY_BUCKETS];
};

// Requests to one server (scheme, host and port) that wait for others of it to end.
struct sds_http_host {
    char *origin;
    unsigned active;
    struct sds_http_request *first, **last;
    struct sds_http_host *next;
};

// A request on its way.
struct sds_http_transfer {
    struct sds_http *http;
    struct sds_http_request *request;
    struct sds_http_host *host;
    struct sds_http_transfer *next, **link; // of all that are on their way
    CURL *easy;
    struct curl_slist *headers;

    bool connected;
    uint64_t moved_ms; // when a byte was last seen to come or go
    int unsent;        // bytes in the socket when that was last looked at
    uint64_t at;       // of what is sent: the next byte

    struct sds_http_head head;
    size_t head_len;
    bool head_done; // the final one, not an interim answer's
    struct sds_buf body;
    size_t received;
    bool cut;

    enum sds_http_failure ended; // by us, and why; ANSWERED: not by us, or body cut
    const char *why;
    struct sds_err content_err;
    char error[CURL_ERROR_SIZE];
};

struct sds_http {
    struct sds_http_settings settings;
    CURLM *multi;
    pthread_t thread;
    struct sds_http_counters counters;
    atomic_bool abandoned;

    pthread_mutex_t lock;
    struct sds_http_request *inbox, **inbox_last; // protected by lock, like the two below
    struct sds_http_pause *new_pauses;
    bool stopping;

    struct sds_http_transfer *transfers;
    struct sds_http_host *hosts;
    struct sds_http_pause *pauses; // by time
    uint64_t next_look_ms;         // when a request may have run out of time
    CURL *idle[SDS_HTTP_IDLE_EASY];
    unsigned idle_count;
    bool leaving; // once nothing is left
};

// --- http_settings.c

SDS_MUST_CHECK enum sds_kind sds_http_settings_init(struct sds_http_settings *settings,
                                                    const struct sds_http_options *options,
                                                    struct sds_err *err);
void sds_http_settings_fini(struct sds_http_settings *settings);
// What is the same for all requests. False: no memory.
bool sds_http_settings_apply(const struct sds_http_settings *settings, CURL *easy);

// --- http_thread.c

void *sds_http_run(void *http);

// --- http_hosts.c: who waits for whom

// NULL: no memory.
struct sds_http_host *sds_http_host_of(struct sds_http *http, const char *url);
void sds_http_host_add(struct sds_http_host *host, struct sds_http_request *request);
// The request that has waited longest, off the queue; NULL: there is none.
struct sds_http_request *sds_http_host_take(struct sds_http_host *host);
// Takes those off all queues that are out of time (with all: every one), linked by `next`; tells
// when the next one will be, unless that is later than *next_ms.
struct sds_http_request *sds_http_hosts_expired(struct sds_http *http, bool all, uint64_t now,
                                                uint64_t *next_ms);
void sds_http_hosts_forget(struct sds_http *http); // those that nobody waits or works for

// --- http_transfer.c

// Sends a request; what went wrong otherwise.
enum sds_http_failure sds_http_transfer_begin(struct sds_http *http, struct sds_http_host *host,
                                              struct sds_http_request *request);
// It is over: frees it and tells whoever started it.
void sds_http_transfer_end(struct sds_http_transfer *transfer, CURLcode code);
// Looks at the time: whether the transfer has to end now (ended and why are set); lowers *next_ms.
bool sds_http_transfer_expired(struct sds_http_transfer *transfer, uint64_t now, uint64_t *next_ms);
// Tells about a request that never was a transfer.
void sds_http_tell(struct sds_http *http, struct sds_http_request *request,
                   enum sds_http_failure failure, const char *reason);

// --- http_body.c: what comes and goes; sets the callbacks of the transfer's easy handle

bool sds_http_body_setup(struct sds_http_transfer *transfer);
bool sds_http_sends_body(const struct sds_http_request *request);
static inline bool sds_http_is_head(const struct sds_http_request *request) {
    return strcmp(request->method, "HEAD") == 0;
}

// --- http_failure.c

// What a code of libcurl means, with a printable reason.
enum sds_http_failure sds_http_failure_of(CURLcode code, const char *detail, char *reason,
                                          size_t size);

// --- http_stats.c

void sds_http_count(struct sds_http_counters *counters, const struct sds_http_answer *answer);
static inline void sds_http_add(_Atomic uint64_t *counter, uint64_t n) {
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

#endif
