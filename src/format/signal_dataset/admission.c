// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/admission.h"

#include <stdlib.h>
#include <time.h>

#include "base/wait.h"

#define RELIEVE_NS (20 * 1000000L)

// Of a task, which keeps it. It is in the queue, then among the holders.
struct ticket {
    struct admission *of;
    uint64_t what;
    size_t wants;
    size_t bytes; // that are counted for it: none while somebody else holds them
    bool shares;  // what somebody who is in, or is about to be, wants too
    bool in;
    struct sds_event *admitted;
    struct ticket *next;
};

// The rest of the budget is for indexes, entries and what is read ahead: without those every reader
// that is let in would have to ask for them again.
static size_t capacity(const struct admission *admission) {
    return sds_cache_budget(admission->cache) / 4 * 3;
}

void admission_init(struct admission *admission, const struct sds_cache *cache,
                    void (*relieve)(void *ctx), void *ctx) {
    *admission = (struct admission){.cache = cache, .relieve = relieve, .ctx = ctx};
    admission->end = &admission->first;
    pthread_mutex_init(&admission->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&admission->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void admission_stop(struct admission *admission) {
    pthread_mutex_lock(&admission->lock);
    admission->stop = true;
    pthread_cond_signal(&admission->work);
    pthread_mutex_unlock(&admission->lock);
    if (admission->started) {
        pthread_join(admission->thread, NULL);
    }
}

void admission_fini(struct admission *admission) {
    pthread_cond_destroy(&admission->work);
    pthread_mutex_destroy(&admission->lock);
}

bool admission_is_pressed(const struct admission *admission) {
    return atomic_load_explicit(&admission->queued, memory_order_relaxed) > 0;
}

// --- with the lock held

// One that is in and wants this, and holds bytes for it or does not.
static struct ticket *holder_of(const struct admission *admission, uint64_t what, bool bytes) {
    struct ticket *ticket = admission->holders;
    while (ticket != NULL && !(ticket->what == what && (ticket->bytes > 0) == bytes)) {
        ticket = ticket->next;
    }
    return ticket;
}

static bool has_room(const struct admission *admission, size_t bytes) {
    size_t most = capacity(admission);
    return admission->in == 0 || (admission->used <= most && bytes <= most - admission->used);
}

static void count(struct admission *admission, size_t bytes) {
    admission->used += bytes;
    admission->in++;
}

static void uncount(struct admission *admission, size_t bytes) {
    admission->used -= bytes;
    admission->in--;
}

static void let_in(struct admission *admission, struct ticket *ticket) {
    if (holder_of(admission, ticket->what, true) == NULL) {
        ticket->bytes = ticket->wants;
        count(admission, ticket->bytes);
    }
    ticket->in = true;
    ticket->next = admission->holders;
    admission->holders = ticket;
}

static void add_queued(struct admission *admission, struct ticket *ticket) {
    ticket->next = NULL;
    *admission->end = ticket;
    admission->end = &ticket->next;
    admission->queued++;
}

static void remove_held(struct admission *admission, const struct ticket *ticket) {
    struct ticket **link = &admission->holders;
    while (*link != ticket) {
        link = &(*link)->next;
    }
    *link = ticket->next;
}

static void remove_queued(struct admission *admission, const struct ticket *ticket) {
    struct ticket **link = &admission->first;
    while (*link != ticket) {
        link = &(*link)->next;
    }
    *link = ticket->next;
    if (admission->end == &ticket->next) {
        admission->end = link;
    }
    admission->queued--;
}

// Puts those who want what the first one does right behind it, to share it.
static void gather(struct admission *admission, struct ticket *first) {
    struct ticket **to = &first->next, **link = to;
    while (*link != NULL) {
        struct ticket *ticket = *link;
        if (ticket->what != first->what) {
            link = &ticket->next;
            continue;
        }
        ticket->shares = true;
        if (link != to) {
            *link = ticket->next;
            ticket->next = *to;
            *to = ticket;
        } else {
            link = &ticket->next;
        }
        to = &ticket->next;
    }
    admission->end = link;
}

// Lets the first one in, if there is room: its event, with a reference, or NULL.
static struct sds_event *let_first_in(struct admission *admission) {
    struct ticket *first = admission->first;
    if (first == NULL || !(first->shares || has_room(admission, first->wants))) {
        return NULL;
    }
    if (!first->shares) {
        gather(admission, first);
    }
    remove_queued(admission, first);
    let_in(admission, first);
    return sds_event_ref(first->admitted);
}

// --- without

// One at a time, since tickets may go as soon as the lock is free.
static void let_some_in(struct admission *admission) {
    struct sds_event *admitted;
    do {
        pthread_mutex_lock(&admission->lock);
        admitted = let_first_in(admission);
        pthread_mutex_unlock(&admission->lock);
        if (admitted != NULL) {
            sds_event_fire(admitted);
            sds_event_unref(admitted);
        }
    } while (admitted != NULL);
}

// The task is over. What it holds is taken over by another one that wants the same.
static void leave(void *value) {
    struct ticket *ticket = value;
    struct admission *admission = ticket->of;
    pthread_mutex_lock(&admission->lock);
    if (!ticket->in) {
        remove_queued(admission, ticket);
    } else {
        remove_held(admission, ticket);
        struct ticket *heir = ticket->bytes > 0 ? holder_of(admission, ticket->what, false) : NULL;
        if (heir != NULL) {
            heir->bytes = ticket->bytes;
        } else if (ticket->bytes > 0) {
            uncount(admission, ticket->bytes);
        }
    }
    pthread_mutex_unlock(&admission->lock);
    let_some_in(admission);
    sds_event_unref(ticket->admitted);
    free(ticket);
}

// --- those who wait for room

static void *relieve(void *arg) {
    struct admission *admission = arg;
    pthread_mutex_lock(&admission->lock);
    while (!admission->stop) {
        if (admission->first == NULL) {
            pthread_cond_wait(&admission->work, &admission->lock);
            continue;
        }
        pthread_mutex_unlock(&admission->lock);
        admission->relieve(admission->ctx);
        let_some_in(admission);
        nanosleep(&(struct timespec){.tv_nsec = RELIEVE_NS}, NULL);
        pthread_mutex_lock(&admission->lock);
    }
    pthread_mutex_unlock(&admission->lock);
    return NULL;
}

// Without the thread it goes slower: values are let go when other ones are read. Lock held.
static void start_relieving(struct admission *admission) {
    if (!admission->started) {
        admission->started = pthread_create(&admission->thread, NULL, relieve, admission) == 0;
    }
    pthread_cond_signal(&admission->work);
}

// Enters the ticket, in the queue or past it; whether it is in.
static bool queue_up(struct admission *admission, struct ticket *ticket) {
    pthread_mutex_lock(&admission->lock);
    ticket->shares = holder_of(admission, ticket->what, true) != NULL;
    bool in = ticket->shares || (admission->first == NULL && has_room(admission, ticket->wants));
    if (in) {
        let_in(admission, ticket);
    } else {
        add_queued(admission, ticket);
        start_relieving(admission);
    }
    pthread_mutex_unlock(&admission->lock);
    return in;
}

static struct ticket *new_ticket(struct admission *admission, uint64_t what, size_t bytes) {
    struct ticket *ticket = calloc(1, sizeof *ticket);
    struct sds_event *admitted = sds_event_new();
    if (ticket == NULL || admitted == NULL) {
        free(ticket);
        sds_event_unref(admitted);
        return NULL;
    }
    *ticket = (struct ticket){.of = admission, .what = what, .wants = bytes, .admitted = admitted};
    return ticket;
}

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for waiting");
}

// Whoever is in and wants another thing, too, holds bytes of both; the larger one counts.
static void want_more(struct admission *admission, struct ticket *ticket, uint64_t what,
                      size_t bytes) {
    pthread_mutex_lock(&admission->lock);
    if (ticket->what != what && bytes > ticket->bytes) {
        if (ticket->bytes > 0) {
            uncount(admission, ticket->bytes);
        }
        ticket->bytes = bytes;
        count(admission, bytes);
    }
    pthread_mutex_unlock(&admission->lock);
}

enum sds_kind admission_enter(struct admission *admission, uint64_t what, size_t bytes,
                              struct sds_err *err) {
    if (bytes <= ADMISSION_SMALL || !sds_task_here()) {
        return SDS_OK;
    }
    struct ticket *ticket = sds_task_kept(leave);
    if (ticket == NULL) {
        ticket = new_ticket(admission, what, bytes);
        if (ticket == NULL) {
            return no_memory(err);
        }
        bool in = queue_up(admission, ticket);
        if (!sds_task_keep(ticket, leave)) {
            leave(ticket);
            return no_memory(err);
        }
        return in ? SDS_OK : sds_event_wait(ticket->admitted, err);
    }
    pthread_mutex_lock(&admission->lock);
    bool in = ticket->in;
    pthread_mutex_unlock(&admission->lock);
    if (in) {
        want_more(admission, ticket, what, bytes);
    }
    return in ? SDS_OK : sds_event_wait(ticket->admitted, err);
}

// --- values that are being read

void admission_hold(struct admission *admission, size_t bytes) {
    pthread_mutex_lock(&admission->lock);
    count(admission, bytes);
    pthread_mutex_unlock(&admission->lock);
}

void admission_let_go(struct admission *admission, size_t bytes) {
    pthread_mutex_lock(&admission->lock);
    uncount(admission, bytes);
    pthread_mutex_unlock(&admission->lock);
    let_some_in(admission);
}
