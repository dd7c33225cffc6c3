// SPDX-License-Identifier: Apache-2.0
#include "fs/parked.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fs/killed.h"

enum {
    WATCH_MS = 100,
    STOP_MS = 10,
    ROUNDS = 5,      // in so many looks each asker is looked at, interrupted ones in every look
    GRACE_MS = 1000, // for the store to tell by itself what took so long
};

struct sds_parking {
    struct sds_parking_options options;
    pthread_mutex_t lock; // everything below, and the calls; not held while one is run or answered
    pthread_cond_t work;  // something was queued
    pthread_cond_t watch; // there is something to look after
    pthread_cond_t ended; // a call, or a thread
    struct sds_parked *first, *last;
    struct sds_parked *queue, *queue_last;
    unsigned count; // of calls, also of those that are no longer listed but not yet freed
    unsigned threads;
    bool stopped;
    bool over; // and no call is left
};

// --- lists, with the lock held

static void link_call(struct sds_parking *parking, struct sds_parked *call) {
    call->next = NULL;
    call->previous = parking->last;
    *(call->previous != NULL ? &call->previous->next : &parking->first) = call;
    parking->last = call;
}

static void unlink_call(struct sds_parking *parking, struct sds_parked *call) {
    *(call->previous != NULL ? &call->previous->next : &parking->first) = call->next;
    *(call->next != NULL ? &call->next->previous : &parking->last) = call->previous;
}

static void enqueue(struct sds_parking *parking, struct sds_parked *call) {
    call->state = SDS_PARKED_QUEUED;
    call->next_queued = NULL;
    *(parking->queue != NULL ? &parking->queue_last->next_queued : &parking->queue) = call;
    parking->queue_last = call;
    pthread_cond_signal(&parking->work);
}

static struct sds_parked *dequeue(struct sds_parking *parking) {
    struct sds_parked *call = parking->queue;
    if (call != NULL) {
        parking->queue = call->next_queued;
        call->state = SDS_PARKED_RUNS;
    }
    return call;
}

static void remove_queued(struct sds_parking *parking, struct sds_parked *call) {
    struct sds_parked *before = NULL;
    for (struct sds_parked *at = parking->queue; at != call; at = at->next_queued) {
        before = at;
    }
    *(before != NULL ? &before->next_queued : &parking->queue) = call->next_queued;
    if (parking->queue_last == call) {
        parking->queue_last = before;
    }
}

// Takes a call from whatever would run it: false when it runs, or is being resumed this moment.
static bool seize(struct sds_parking *parking, struct sds_parked *call) {
    if (call->state == SDS_PARKED_QUEUED) {
        remove_queued(parking, call);
    } else if (call->state == SDS_PARKED_RUNS || !sds_task_unpark(&call->task)) {
        return false;
    }
    call->state = SDS_PARKED_RUNS;
    return true;
}

// --- ends

// The call has answered.
static void finish(struct sds_parking *parking, struct sds_parked *call) {
    pthread_mutex_lock(&parking->lock);
    unlink_call(parking, call);
    pthread_mutex_unlock(&parking->lock);
    sds_task_fini(&call->task);
    call->ops->free(call);
    pthread_mutex_lock(&parking->lock);
    parking->count--;
    atomic_fetch_sub(&parking->options.counts->now, 1);
    pthread_cond_broadcast(&parking->ended);
    pthread_mutex_unlock(&parking->lock);
}

static void answer(struct sds_parked *call, enum sds_parked_end why) {
    sds_task_enter(&call->task);
    call->ops->end(call, why);
    sds_task_leave();
}

static void end(struct sds_parking *parking, struct sds_parked *call, enum sds_parked_end why) {
    if (why == SDS_PARKED_LATE) {
        atomic_fetch_add(&parking->options.counts->late, 1);
    } else if (why == SDS_PARKED_KILLED) {
        atomic_fetch_add(&parking->options.counts->killed, 1);
    }
    answer(call, why);
    finish(parking, call);
}

// --- running again

// Lets a call wait whose run ended with ERESTART. It may be gone when this returns.
static void park(struct sds_parking *parking, struct sds_parked *call) {
    pthread_mutex_lock(&parking->lock);
    bool stopped = parking->stopped;
    bool late = sds_clock_ms() >= call->deadline;
    if (!stopped && !late) {
        call->state = SDS_PARKED_WAITS;
    }
    pthread_mutex_unlock(&parking->lock);
    if (stopped || late) {
        end(parking, call, stopped ? SDS_PARKED_STOPPED : SDS_PARKED_LATE);
    } else if (!sds_task_park(&call->task)) { // it has happened meanwhile
        sds_parked_resume(&call->task);
    }
}

static void run_again(struct sds_parking *parking, struct sds_parked *call) {
    sds_task_enter(&call->task);
    int e = call->ops->run(call);
    sds_task_leave();
    if (e == ERESTART) {
        park(parking, call);
    } else {
        finish(parking, call);
    }
}

void sds_parked_resume(struct sds_task *task) {
    struct sds_parked *call = (struct sds_parked *)(void *)task;
    struct sds_parking *parking = call->parking;
    pthread_mutex_lock(&parking->lock);
    enqueue(parking, call);
    pthread_mutex_unlock(&parking->lock);
}

static void *run_calls(void *arg) {
    struct sds_parking *parking = arg;
    pthread_mutex_lock(&parking->lock);
    while (!parking->over) {
        struct sds_parked *call = dequeue(parking);
        if (call == NULL) {
            pthread_cond_wait(&parking->work, &parking->lock);
            continue;
        }
        pthread_mutex_unlock(&parking->lock);
        run_again(parking, call);
        pthread_mutex_lock(&parking->lock);
    }
    parking->threads--;
    pthread_cond_broadcast(&parking->ended);
    pthread_mutex_unlock(&parking->lock);
    return NULL;
}

void sds_parking_take(struct sds_parking *parking, struct sds_parked *call) {
    uint32_t timeout = parking->options.timeout_ms;
    call->parking = parking;
    call->state = SDS_PARKED_RUNS;
    call->deadline = timeout > 0 ? sds_clock_ms() + timeout + GRACE_MS : UINT64_MAX;
    pthread_mutex_lock(&parking->lock);
    bool too_many = parking->count >= parking->options.most;
    link_call(parking, call);
    parking->count++;
    atomic_fetch_add(&parking->options.counts->now, 1);
    atomic_fetch_add(&parking->options.counts->total, 1);
    if (parking->count == 1) {
        pthread_cond_signal(&parking->watch);
    }
    pthread_mutex_unlock(&parking->lock);
    if (too_many) {
        end(parking, call, SDS_PARKED_TOO_MANY);
    } else {
        park(parking, call);
    }
}

// --- watching

// Calls that were taken out to be ended; linked by next_queued.
struct seized {
    struct sds_parked *calls;
};

static void keep_seized(struct seized *seized, struct sds_parked *call) {
    call->next_queued = seized->calls;
    seized->calls = call;
}

static void end_seized(struct sds_parking *parking, struct seized *seized,
                       enum sds_parked_end why) {
    for (struct sds_parked *call = seized->calls, *next; call != NULL; call = next) {
        next = call->next_queued;
        end(parking, call, why);
    }
    seized->calls = NULL;
}

// With the lock held: takes out those whose time is over, and says whom to look at. A reader that
// runs ahead of what was asked for (readahead) is never told to be interrupted, although it is
// given up with its process; such askers are looked at in turns.
static void survey(struct sds_parking *parking, unsigned round, struct seized *late,
                   struct sds_askers *askers) {
    uint64_t now = sds_clock_ms();
    for (struct sds_parked *call = parking->first; call != NULL; call = call->next) {
        if (now >= call->deadline && seize(parking, call)) {
            keep_seized(late, call);
        } else if (call->pid != 0 && call->state != SDS_PARKED_RUNS &&
                   ((unsigned)call->pid % ROUNDS == round || call->ops->is_interrupted(call))) {
            sds_askers_add(askers, call->pid);
        }
    }
}

static void seize_dying(struct sds_parking *parking, const struct sds_askers *dying,
                        struct seized *out) {
    for (struct sds_parked *call = parking->first; call != NULL; call = call->next) {
        if (call->pid != 0 && sds_askers_has(dying, call->pid) && seize(parking, call)) {
            keep_seized(out, call);
        }
    }
}

// With the lock held, which it lets go meanwhile.
static void look(struct sds_parking *parking, unsigned round, struct sds_askers *askers) {
    struct seized late = {0}, killed = {0};
    askers->count = 0;
    survey(parking, round, &late, askers);
    pthread_mutex_unlock(&parking->lock);
    end_seized(parking, &late, SDS_PARKED_LATE);
    sds_askers_keep_dying(askers); // which reads /proc
    pthread_mutex_lock(&parking->lock);
    seize_dying(parking, askers, &killed);
    pthread_mutex_unlock(&parking->lock);
    end_seized(parking, &killed, SDS_PARKED_KILLED);
    pthread_mutex_lock(&parking->lock);
}

static void wait_ms(struct sds_parking *parking, pthread_cond_t *what, long ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(what, &parking->lock, &until);
}

static void *watch_calls(void *arg) {
    struct sds_parking *parking = arg;
    struct sds_askers askers = {0};
    pthread_mutex_lock(&parking->lock);
    for (unsigned round = 0; !parking->stopped; round = (round + 1) % ROUNDS) {
        if (parking->first == NULL) {
            pthread_cond_wait(&parking->watch, &parking->lock);
        }
        wait_ms(parking, &parking->watch, parking->stopped ? 0 : WATCH_MS);
        look(parking, round, &askers);
    }
    parking->threads--;
    pthread_cond_broadcast(&parking->ended);
    pthread_mutex_unlock(&parking->lock);
    sds_askers_fini(&askers);
    return NULL;
}

// --- the whole

static int start_thread(struct sds_parking *parking, void *(*body)(void *)) {
    pthread_t thread;
    pthread_mutex_lock(&parking->lock);
    int e = pthread_create(&thread, NULL, body, parking);
    if (e == 0) {
        pthread_detach(thread);
        parking->threads++;
    }
    pthread_mutex_unlock(&parking->lock);
    return e;
}

enum sds_kind sds_parking_start(const struct sds_parking_options *options, struct sds_parking **out,
                                struct sds_err *err) {
    struct sds_parking *parking = calloc(1, sizeof *parking);
    if (parking == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory");
    }
    parking->options = *options;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&parking->lock, NULL);
    pthread_cond_init(&parking->work, NULL);
    pthread_cond_init(&parking->watch, &monotonic);
    pthread_cond_init(&parking->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int e = start_thread(parking, watch_calls);
    for (unsigned i = 0; i < options->threads && e == 0; i++) {
        e = start_thread(parking, run_calls);
    }
    if (e != 0) {
        sds_parking_stop(parking);
        sds_parking_free(parking);
        return sds_fail(err, SDS_ERR_INTERNAL, "threads", "cannot start a thread: %s", strerror(e));
    }
    *out = parking;
    return SDS_OK;
}

// With the lock held, which it lets go meanwhile: ends what waits. What runs, or is being resumed,
// comes to park and is ended there; what is being parked this very moment is found the next time.
static void end_waiting(struct sds_parking *parking) {
    struct seized all = {0};
    for (struct sds_parked *call = parking->first; call != NULL; call = call->next) {
        if (seize(parking, call)) {
            keep_seized(&all, call);
        }
    }
    pthread_mutex_unlock(&parking->lock);
    end_seized(parking, &all, SDS_PARKED_STOPPED);
    pthread_mutex_lock(&parking->lock);
}

void sds_parking_refuse(struct sds_parking *parking) {
    pthread_mutex_lock(&parking->lock);
    parking->stopped = true;
    pthread_cond_broadcast(&parking->watch);
    end_waiting(parking);
    pthread_mutex_unlock(&parking->lock);
}

void sds_parking_stop(struct sds_parking *parking) {
    sds_parking_refuse(parking);
    pthread_mutex_lock(&parking->lock);
    for (end_waiting(parking); parking->count > 0; end_waiting(parking)) {
        wait_ms(parking, &parking->ended, STOP_MS);
    }
    parking->over = true;
    pthread_cond_broadcast(&parking->work);
    pthread_mutex_unlock(&parking->lock);
}

void sds_parking_free(struct sds_parking *parking) {
    if (parking == NULL) {
        return;
    }
    pthread_mutex_lock(&parking->lock);
    while (parking->threads > 0) {
        pthread_cond_wait(&parking->ended, &parking->lock);
    }
    pthread_mutex_unlock(&parking->lock);
    pthread_cond_destroy(&parking->ended);
    pthread_cond_destroy(&parking->watch);
    pthread_cond_destroy(&parking->work);
    pthread_mutex_destroy(&parking->lock);
    free(parking);
}
