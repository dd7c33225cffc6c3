// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/credentials.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "remote/credentials/credentials_internal.h"
#include "remote/credentials/expiry.h"

#define SEARCH_MS 30000U       // of a whole search, unless the store's operations have less time
#define TELLING_MS 1000U       // of these, for telling that it failed
#define FAILURE_STANDS_MS 1000 // so long everybody who asks is told the same failure
#define AGEING_PAUSE_MS 30000  // after a search ahead of the end that brought nothing new
#define RENEW_PAUSE_MS 30000   // before a refused value is looked for again

struct waiter {
    void (*then)(void *ctx);
    void *ctx;
    struct waiter *next;
};

struct sds_credentials {
    struct sds_credentials_setup setup;
    atomic_bool stop; // ends a search

    pthread_mutex_t lock; // protects the rest; a leaf: nothing else is locked under it
    pthread_cond_t wanted_or_closed;
    pthread_t thread;
    bool started, closed;

    bool wanted;             // a search is to be made, or is being made
    struct sds_event *event; // of that search, when somebody waits for its end
    struct waiter *waiters;  // likewise

    struct sds_found found;  // there when its serial is not 0
    int64_t found_at;        // seconds since the epoch
    bool refused;            // by a server: not given out until it has been looked for again
    uint64_t renewed_serial; // the value that was looked for again last because it was refused
    uint64_t renewed_ms;
    uint64_t ahead_ms;      // not to be looked for ahead of its end before this
    uint64_t serials;       // given out so far
    struct sds_err failure; // of the last search; kind OK: it did not fail
    uint64_t failed_ms;
};

static int64_t wall_clock(void) {
    return (int64_t)time(NULL);
}

enum sds_kind sds_credentials_new(const struct sds_credentials_setup *setup,
                                  struct sds_credentials **out, struct sds_err *err) {
    struct sds_credentials *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "credentials", "no memory for credentials");
    }
    c->setup = *setup;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wanted_or_closed, NULL);
    if (setup->find == NULL) {
        c->found.credential.anonymous = true;
        c->found.credential.serial = ++c->serials;
        sds_found_name(&c->found, "anonymous, as was asked for");
    }
    *out = c;
    return SDS_OK;
}

static enum sds_kind new_for(const struct sds_remote_options *options, struct sds_http *http,
                             sds_source find, struct sds_credentials **out, struct sds_err *err) {
    struct sds_credentials_setup setup = {.options = options,
                                          .http = http,
                                          .find = options->no_sign_request ? NULL : find,
                                          .now = wall_clock,
                                          .clock_ms = sds_clock_ms};
    return sds_credentials_new(&setup, out, err);
}

enum sds_kind sds_credentials_new_s3(const struct sds_remote_options *options,
                                     struct sds_http *http, struct sds_credentials **out,
                                     struct sds_err *err) {
    return new_for(options, http, sds_find_s3, out, err);
}

enum sds_kind sds_credentials_new_gcs(const struct sds_remote_options *options,
                                      struct sds_http *http, struct sds_credentials **out,
                                      struct sds_err *err) {
    return new_for(options, http, sds_find_gcs, out, err);
}

// --- the search, on the thread

static bool is_same(const struct sds_credential *a, const struct sds_credential *b) {
    return a->anonymous == b->anonymous && strcmp(a->key_id, b->key_id) == 0 &&
           strcmp(a->secret, b->secret) == 0 && strcmp(a->token, b->token) == 0;
}

// Less than whoever waits has, so that a search that is out of time can still tell them why.
static uint32_t search_ms(uint32_t timeout_ms) {
    uint32_t ms = timeout_ms != 0 && timeout_ms < SEARCH_MS ? timeout_ms : SEARCH_MS;
    return ms - (ms / 4 < TELLING_MS ? ms / 4 : TELLING_MS);
}

static enum sds_kind search(struct sds_credentials *c, struct sds_found *found,
                            struct sds_err *err) {
    uint32_t ms = search_ms(c->setup.options->timeout_ms);
    struct sds_finding finding = {
        .options = c->setup.options,
        .http = c->setup.http,
        .stop = &c->stop,
        .now = c->setup.now(),
        .deadline_ms = sds_clock_ms() + ms,
    };
    enum sds_kind kind = c->setup.find(&finding, found, err);
    if (kind == SDS_OK && found->credential.expires != 0 &&
        found->credential.expires <= finding.now) {
        kind = sds_fail(err, SDS_ERR_STORAGE, "credentials", "%s: what it gives has ended already",
                        found->source);
    }
    if (kind == SDS_ERR_NOT_FOUND) { // a file of ours, which must not be taken for an object
        kind = err->kind = SDS_ERR_INVALID;
    }
    if (kind != SDS_OK) {
        sds_found_wipe(found);
        snprintf(err->check, sizeof err->check, "credentials");
    }
    return kind;
}

// With the lock held: what was found takes the place of what there was. True when it comes from
// elsewhere than that.
static bool take_over(struct sds_credentials *c, const struct sds_found *found) {
    bool same =
        c->found.credential.serial != 0 && is_same(&c->found.credential, &found->credential);
    uint64_t serial = same ? c->found.credential.serial : ++c->serials;
    bool moved = strcmp(c->found.source, found->source) != 0;
    if (same && c->found.credential.expires == found->credential.expires) {
        c->ahead_ms = c->setup.clock_ms() + AGEING_PAUSE_MS;
    } else {
        c->found_at = c->setup.now();
        c->ahead_ms = 0;
    }
    c->found = *found;
    c->found.credential.serial = serial;
    c->failure.kind = SDS_OK;
    return moved;
}

static void keep_failure(struct sds_credentials *c, const struct sds_err *err) {
    c->failure = *err;
    c->failed_ms = c->setup.clock_ms();
    c->ahead_ms = c->failed_ms + AGEING_PAUSE_MS;
}

static void tell(struct sds_event *event, struct waiter *waiters) {
    if (event != NULL) {
        sds_event_fire(event);
        sds_event_unref(event);
    }
    while (waiters != NULL) {
        struct waiter *next = waiters->next;
        waiters->then(waiters->ctx);
        free(waiters);
        waiters = next;
    }
}

static void log_outcome(enum sds_kind kind, const struct sds_found *found, bool moved,
                        const struct sds_err *err) {
    if (kind == SDS_OK && moved) {
        sds_log(SDS_LOG_INFO, "credentials: %s", found->source);
    } else if (kind != SDS_OK) {
        // Of a mount that answers already: whoever opens a root is told by its error.
        sds_log(sds_log_holds() ? SDS_LOG_DEBUG : SDS_LOG_WARNING, "credentials: %s", err->message);
    }
}

// One search, with the lock held before and after.
static void search_once(struct sds_credentials *c) {
    struct sds_found found = {0};
    struct sds_err err = {0};
    bool moved = false;
    pthread_mutex_unlock(&c->lock);
    enum sds_kind kind = search(c, &found, &err);
    pthread_mutex_lock(&c->lock);
    bool changed = kind != SDS_OK && strcmp(c->failure.message, err.message) != 0;
    if (kind == SDS_OK) {
        moved = take_over(c, &found);
    } else {
        keep_failure(c, &err);
    }
    c->refused = c->refused && kind != SDS_OK;
    c->wanted = false;
    struct sds_event *event = c->event;
    struct waiter *waiters = c->waiters;
    c->event = NULL;
    c->waiters = NULL;
    bool quiet = c->closed;
    pthread_mutex_unlock(&c->lock);
    if (!quiet && (kind == SDS_OK || changed)) {
        log_outcome(kind, &found, moved, &err);
    }
    sds_found_wipe(&found);
    tell(event, waiters);
    pthread_mutex_lock(&c->lock);
}

static void *run(void *arg) {
    struct sds_credentials *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->closed) {
        if (c->wanted) {
            search_once(c);
        } else {
            pthread_cond_wait(&c->wanted_or_closed, &c->lock);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

// The thread is for no signal: those are the program's.
static enum sds_kind start(struct sds_credentials *c, struct sds_err *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "credentials", "no thread: %s", strerror(error));
    }
    c->started = true;
    return SDS_OK;
}

static enum sds_kind want(struct sds_credentials *c, struct sds_err *err) {
    enum sds_kind kind = c->started ? SDS_OK : start(c, err);
    if (kind == SDS_OK && !c->wanted) {
        c->wanted = true;
        pthread_cond_signal(&c->wanted_or_closed);
    }
    return kind;
}

// --- questions

static bool is_usable(const struct sds_credentials *c, enum sds_freshness *freshness) {
    *freshness = SDS_STALE;
    if (c->found.credential.serial == 0 || c->refused) {
        return false;
    }
    *freshness = sds_freshness_of(c->found_at, c->found.credential.expires, c->setup.now());
    return *freshness != SDS_STALE;
}

// Better one in its last minute than none.
static bool is_last_resort(const struct sds_credentials *c) {
    return c->found.credential.serial != 0 && !c->refused &&
           c->setup.now() < c->found.credential.expires;
}

// With the lock held. OK, a failure, or WAITING: a search is on its way, and the caller may wait.
static enum sds_kind at_hand(struct sds_credentials *c, struct sds_credential *out,
                             struct sds_err *err) {
    enum sds_freshness freshness;
    uint64_t now_ms = c->setup.clock_ms();
    if (c->closed) {
        return sds_fail(err, SDS_ERR_STORAGE, "closed", "the store is being closed");
    }
    if (is_usable(c, &freshness)) {
        *out = c->found.credential;
        if (freshness == SDS_AGEING && !c->wanted && now_ms >= c->ahead_ms) {
            (void)want(c, NULL); // without a thread there is still time
        }
        return SDS_OK;
    }
    if (!c->wanted && c->failure.kind != SDS_OK && now_ms - c->failed_ms < FAILURE_STANDS_MS) {
        if (is_last_resort(c)) {
            *out = c->found.credential;
            return SDS_OK;
        }
        if (err != NULL) {
            *err = c->failure;
        }
        return c->failure.kind;
    }
    enum sds_kind kind = want(c, err);
    return kind == SDS_OK ? sds_fail(err, SDS_ERR_WAITING, "waiting", "not there yet") : kind;
}

enum sds_kind sds_credentials_take(struct sds_credentials *c, struct sds_credential *out,
                                   void (*then)(void *ctx), void *ctx, struct sds_err *err) {
    struct waiter *waiter = malloc(sizeof *waiter);
    if (waiter == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "credentials", "no memory to wait with");
    }
    pthread_mutex_lock(&c->lock);
    enum sds_kind kind = at_hand(c, out, err);
    if (kind == SDS_ERR_WAITING) {
        *waiter = (struct waiter){then, ctx, c->waiters};
        c->waiters = SDS_STEAL(waiter);
    }
    pthread_mutex_unlock(&c->lock);
    free(waiter);
    return kind;
}

enum sds_kind sds_credentials_get(struct sds_credentials *c, struct sds_credential *out,
                                  struct sds_err *err) {
    for (;;) {
        struct sds_event *event = NULL;
        pthread_mutex_lock(&c->lock);
        enum sds_kind kind = at_hand(c, out, err);
        if (kind == SDS_ERR_WAITING) {
            c->event = c->event != NULL ? c->event : sds_event_new();
            event = c->event != NULL ? sds_event_ref(c->event) : NULL;
        }
        pthread_mutex_unlock(&c->lock);
        if (kind != SDS_ERR_WAITING) {
            return kind;
        }
        if (event == NULL) {
            return sds_fail(err, SDS_ERR_NO_MEMORY, "credentials", "no memory to wait with");
        }
        kind = sds_event_wait(event, err);
        sds_event_unref(event);
        if (kind != SDS_OK) {
            return kind;
        }
    }
}

bool sds_credentials_renew(struct sds_credentials *c, const struct sds_credential *refused) {
    pthread_mutex_lock(&c->lock);
    uint64_t now_ms = c->setup.clock_ms();
    bool again = c->setup.find != NULL && !c->closed;
    if (again && refused->serial == c->found.credential.serial && !c->refused) {
        again = c->renewed_serial != refused->serial || now_ms - c->renewed_ms >= RENEW_PAUSE_MS;
        if (again) {
            c->renewed_serial = refused->serial;
            c->renewed_ms = now_ms;
            c->refused = true;
            c->failure.kind = SDS_OK; // an older one
        }
    }
    pthread_mutex_unlock(&c->lock);
    return again;
}

void sds_credentials_forget(struct sds_credentials *c) {
    pthread_mutex_lock(&c->lock);
    if (c->setup.find != NULL && c->found.credential.serial != 0) {
        c->refused = true;
    }
    c->failure.kind = SDS_OK;
    pthread_mutex_unlock(&c->lock);
}

char *sds_credentials_source(struct sds_credentials *c, char *buf, size_t size) {
    pthread_mutex_lock(&c->lock);
    snprintf(buf, size, "%s", c->found.source);
    pthread_mutex_unlock(&c->lock);
    return buf;
}

// --- the end

void sds_credentials_abandon(struct sds_credentials *c) {
    pthread_mutex_lock(&c->lock);
    c->closed = true;
    atomic_store(&c->stop, true);
    pthread_cond_signal(&c->wanted_or_closed);
    struct sds_event *event = c->event;
    struct waiter *waiters = c->waiters;
    c->event = NULL;
    c->waiters = NULL;
    pthread_mutex_unlock(&c->lock);
    tell(event, waiters);
}

void sds_credentials_free(struct sds_credentials *c) {
    if (c == NULL) {
        return;
    }
    sds_credentials_abandon(c);
    if (c->started) {
        pthread_join(c->thread, NULL);
    }
    pthread_cond_destroy(&c->wanted_or_closed);
    pthread_mutex_destroy(&c->lock);
    sds_found_wipe(&c->found);
    free(c);
}
