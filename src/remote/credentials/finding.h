// SPDX-License-Identifier: Apache-2.0
//
// One search for a credential: what all sources are given, what they answer, and what they ask
// servers with. A source is a function of this; it runs on the thread of its credentials and may
// block, but ends soon once the search is stopped.
#ifndef SDSFS_REMOTE_CREDENTIALS_FINDING_H
#define SDSFS_REMOTE_CREDENTIALS_FINDING_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "remote/credentials/credentials.h"
#include "remote/http/http.h"

struct sds_finding {
    const struct sds_remote_options *options;
    struct sds_http *http;
    const atomic_bool *stop;
    int64_t now;          // seconds since the epoch, when it began
    uint64_t deadline_ms; // of sds_clock_ms(), for all of it
};

struct sds_found {
    struct sds_credential credential;
    char source[256]; // "" as long as nothing was found
};
void sds_found_wipe(struct sds_found *found);
static inline bool sds_found_there(const struct sds_found *found) {
    return found->source[0] != '\0';
}
void sds_found_name(struct sds_found *found, const char *fmt, ...) SDS_PRINTF(2, 3);

// A source: OK with nothing found where it is not configured; a failure where it is and does not
// work. found is empty before, and is what was found only with OK.
typedef enum sds_kind (*sds_source)(const struct sds_finding *finding, struct sds_found *found,
                                    struct sds_err *err);

// All of a provider's sources in order, anonymous at the end. Kinds as sds_credentials_get.
enum sds_kind sds_find_s3(const struct sds_finding *finding, struct sds_found *found,
                          struct sds_err *err);
enum sds_kind sds_find_gcs(const struct sds_finding *finding, struct sds_found *found,
                           struct sds_err *err);

// Waits; false when the search was stopped or is out of time.
bool sds_finding_pause(const struct sds_finding *finding, uint32_t ms);

// --- questions to servers

struct sds_ask {
    const char *method;
    const char *url;
    struct {
        const char *name, *value;
    } headers[6]; // those without a value are left out
    struct sds_span body;
    bool direct;         // a server that only this machine has: past any proxy
    uint32_t timeout_ms; // of one try; 0: 10 s
    unsigned tries;      // 0: 3
};
// What came; the body is wiped by fini.
void sds_said_fini(struct sds_http_reply *reply);
#define sds_autosaid __attribute__((cleanup(sds_said_fini)))

// Asks, and again after a pause while no answer comes, or one that can get better (429, 5xx). OK
// with any status. Kinds of failure: STORAGE, TIMEOUT, INVALID, NO_MEMORY; check "credentials".
SDS_MUST_CHECK enum sds_kind sds_ask(const struct sds_finding *finding, const struct sds_ask *ask,
                                     struct sds_http_reply *out, struct sds_err *err);
// Fails with a status that is not 200, and the code of the error document if it is a plain word:
// STORAGE for 429 and 5xx, else DENIED. OK for 200.
SDS_MUST_CHECK enum sds_kind sds_said_well(const struct sds_http_reply *reply, struct sds_err *err);
static inline struct sds_span sds_said_body(const struct sds_http_reply *reply) {
    return sds_span(reply->body->at, reply->body->len);
}

#endif
