// SPDX-License-Identifier: Apache-2.0
//
// HTTP: a pool of connections and the one thread that drives them (libcurl). It sends what it is
// given and tells what came; it knows no provider, follows no redirect, decodes no content and
// repeats nothing, but a request that a kept connection had no answer for.
//
// Any thread may start a request. Whoever started it is told once, on the pool's thread, with no
// lock held; what is told there must not block, and may start other requests. A request is bounded
// in time by its deadline and by the pool's patience with a server that sends nothing, and in
// memory by what its body may be.
//
// A pool has a thread from its birth on, so it is made after the last fork.
#ifndef SDSFS_REMOTE_HTTP_H
#define SDSFS_REMOTE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/bytes.h"
#include "base/err.h"
#include "remote/http/http_head.h"
#include "remote/store.h"

#define SDS_HTTP_ERROR_BODY_MAX (64U << 10) // of the body of an answer that is not 2xx

struct sds_http;

// Texts are copied. Where ca_bundle is NULL, the first of AWS_CA_BUNDLE, CURL_CA_BUNDLE and
// SSL_CERT_FILE in the environment that is set and not empty is used, else the system's.
struct sds_http_options {
    const char *ca_bundle;       // PEM file: these and no others
    const char *client_cert;     // PEM file; NULL: none
    const char *client_key;      // PEM file; NULL: in client_cert
    uint32_t connect_timeout_ms; // name, TCP and TLS together; 0: 5 s
    uint32_t stall_timeout_ms;   // no byte in either direction for so long; 0: 10 s
    unsigned max_connections;    // requests on their way to one host, others wait; 0: 64
};

// Kinds: INVALID (a file that cannot be read, checks "ca_bundle", "client_cert", "client_key"),
// NO_MEMORY, INTERNAL (no thread).
SDS_MUST_CHECK enum sds_kind sds_http_new(const struct sds_http_options *options,
                                          struct sds_http **out, struct sds_err *err);
// Every request ends now with SDS_HTTP_CANCELLED and every pause is over; those that are started
// later end at once. Does not wait for that.
void sds_http_abandon(struct sds_http *http);
// Abandons, and waits until everybody has been told. Not from the pool's thread; nothing may be
// started by others any more. NULL is fine.
void sds_http_free(struct sds_http *http);

// --- requests

struct sds_http_header {
    char *name, *value;
};

enum sds_http_failure {
    SDS_HTTP_ANSWERED,   // with whatever status
    SDS_HTTP_RESOLVE,    // the name of the server, or of the proxy
    SDS_HTTP_CONNECT,    // refused, unreachable, or gone in the middle of the TLS handshake
    SDS_HTTP_TLS,        // the server is not who it should be, or we are not for it
    SDS_HTTP_BROKEN,     // reset, closed early, malformed
    SDS_HTTP_STALLED,    // nothing came or went for too long
    SDS_HTTP_TIMEOUT,    // the deadline, or no connection in time
    SDS_HTTP_CANCELLED,  // the pool was abandoned
    SDS_HTTP_TOO_LONG,   // the body is longer than there is room for
    SDS_HTTP_BODY,       // what was to be sent could not be read: content_err tells
    SDS_HTTP_UNSENDABLE, // our own request is malformed
    SDS_HTTP_NO_MEMORY,
    SDS_HTTP_FAILURES, // how many there are
};

struct sds_http_answer { // valid while it is told
    enum sds_http_failure failure;
    char reason[160]; // printable, "" when answered
    // What came, also with a failure after it: status is 0 when no head did.
    int status;
    struct sds_http_head head;
    struct sds_span body;              // what was collected; empty when it went to `into`
    size_t received;                   // bytes of the body, wherever they went
    bool body_cut;                     // of an answer that is not 2xx: there was more
    const void *into;                  // the request's, when the body went there; else NULL
    uint32_t took_ms;                  // since the start, waiting for a connection included
    const struct sds_err *content_err; // with SDS_HTTP_BODY only, else NULL
};

typedef void (*sds_http_done)(void *ctx, const struct sds_http_answer *answer);

// Belongs to whoever starts it, and stays untouched and in place until it is done. Zeroed before
// use. Secrets go into headers, never into the URL: only that may be shown.
struct sds_http_request {
    const char *method; // static text
    char *url;          // complete, percent-encoded; freed by fini
    struct sds_http_header *headers;
    size_t header_count, header_cap;

    // What is sent: prefix, then all of the content, then suffix, with their sum as Content-Length.
    // Content is read on the pool's thread, so it is in memory or in local files. Methods but GET,
    // HEAD and DELETE always send a length, 0 when there is nothing.
    const struct sds_content *body; // borrowed; NULL: none
    struct sds_span prefix, suffix; // borrowed

    // Where the body of a 2xx goes, of at most into_len bytes; longer: TOO_LONG, as soon as that
    // shows. With NULL it is collected in the answer, up to max_body bytes. The body of any other
    // answer is collected always, and cut where it is longer than SDS_HTTP_ERROR_BODY_MAX.
    void *into;
    size_t into_len;
    size_t max_body;

    uint64_t deadline_ms; // of sds_clock_ms(); 0: none
    bool direct;          // past any proxy: servers that only this machine has (metadata)

    // The pool's own, while it is on its way.
    sds_http_done done;
    void *ctx;
    uint64_t started_ms;
    struct sds_http_request *next;
};

void sds_http_request_fini(struct sds_http_request *request); // url and headers; zeroed is fine
// Sets the URL, replacing one that was there. Kinds: INVALID (other bytes than printable ASCII),
// NO_MEMORY; here and below the caller says in an error what it was about.
SDS_MUST_CHECK enum sds_kind sds_http_request_url(struct sds_http_request *request, const char *fmt,
                                                  ...) SDS_PRINTF(2, 3);
// Appends a header. Kinds: INVALID (a name that is no token, a value with control bytes),
// NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_http_request_header(struct sds_http_request *request,
                                                     const char *name, const char *fmt, ...)
    SDS_PRINTF(3, 4);
// The value of the first header of that name, in whatever case; NULL when there is none.
const char *sds_http_request_find(const struct sds_http_request *request, const char *name);

// done is told exactly once, on the pool's thread, also when the request could not be sent.
void sds_http_start(struct sds_http *http, struct sds_http_request *request, sds_http_done done,
                    void *ctx);

// --- pauses

// Belongs to whoever pauses, and stays in place until it is told.
struct sds_http_pause {
    void (*then)(void *ctx);
    void *ctx;
    uint64_t at_ms;
    struct sds_http_pause *next;
};

// Tells `then` on the pool's thread when ms milliseconds are over, or the pool is abandoned.
void sds_http_after(struct sds_http *http, struct sds_http_pause *pause, uint32_t ms,
                    void (*then)(void *ctx), void *ctx);

// --- for those who may block

struct sds_http_reply {
    int status;
    struct sds_http_head head;
    struct sds_blob *body; // never NULL; empty when it went to `into`
    size_t received;
    uint32_t took_ms;
};
void sds_http_reply_fini(struct sds_http_reply *reply);

// Starts it and waits until it is done, even under a task. OK with any status; kinds as
// sds_http_failed, INTERNAL on the pool's own thread.
SDS_MUST_CHECK enum sds_kind sds_http_call(struct sds_http *http, struct sds_http_request *request,
                                           struct sds_http_reply *out, struct sds_err *err);

// What a failure (not ANSWERED) is to those above: TIMEOUT, checks "stalled" and "timeout";
// STORAGE, checks "resolve", "connect", "tls", "broken", "closed" (cancelled) and "too_long";
// INVALID, check "request"; NO_MEMORY; for BODY what reading it failed with.
enum sds_kind sds_http_failed(const struct sds_http_answer *answer, struct sds_err *err);

// --- counters

#define SDS_HTTP_LATENCY_BUCKETS 14

struct sds_http_stats {
    uint64_t requests;                    // started, so far
    uint64_t waiting, active;             // now: for their turn, on their way
    uint64_t statuses[6];                 // answered, by the first digit of the status
    uint64_t failures[SDS_HTTP_FAILURES]; // by enum sds_http_failure; [ANSWERED] is their sum
    uint64_t sent, received;              // bytes of bodies
    uint64_t connections;                 // opened
    // How long requests took that were answered: latency[i] of them at most
    // sds_http_latency_bounds_ms[i] (and more than the bound before), the last one is the rest.
    uint64_t latency[SDS_HTTP_LATENCY_BUCKETS];
    uint64_t latency_sum_ms;
};
extern const uint32_t sds_http_latency_bounds_ms[SDS_HTTP_LATENCY_BUCKETS - 1];

// From any thread. Each number is right, they need not be of one moment.
void sds_http_stats(const struct sds_http *http, struct sds_http_stats *out);

#endif
