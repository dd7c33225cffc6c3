// SPDX-License-Identifier: Apache-2.0
//
// Waiting without holding a thread. Whatever takes its time (a fetch, somebody else's load) has an
// event that happens once. A thread that works for nobody in particular just blocks until then. A
// thread that works for a task does not: sds_event_wait returns SDS_ERR_WAITING at once, which is
// passed up like any failure, and the task is run again, from its beginning, when the event has
// happened. So everything below a task has to be such that it may be run again: what it found out
// is in a cache, or the task keeps it (sds_task_keep), so that each run gets further than the last.
//
// Rules for code that may run under a task:
//   - SDS_ERR_WAITING is passed up as it is: not logged, not cached, not taken for absence;
//   - no lock is held across sds_event_wait (sds_turns is the lock that may be);
//   - side effects come after the last thing that may wait, or do no harm twice.
#ifndef SDSFS_BASE_WAIT_H
#define SDSFS_BASE_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

// --- events; all functions from any thread

struct sds_event;

struct sds_event *sds_event_new(void); // one reference; NULL: no memory
struct sds_event *sds_event_ref(struct sds_event *event);
void sds_event_unref(struct sds_event *event); // NULL is fine
// Lets everybody go who waits; later calls do nothing. Tasks are resumed from this thread, with no
// lock held.
void sds_event_fire(struct sds_event *event);
bool sds_event_has_fired(struct sds_event *event);
// OK when it has happened. Under a task SDS_ERR_WAITING when it has not; else blocks until it has.
SDS_MUST_CHECK enum sds_kind sds_event_wait(struct sds_event *event, struct sds_err *err);

// --- tasks

struct sds_kept {
    void *value;
    void (*release)(void *value);
};

// What may be run several times. Members are wait.c's own, but for the first.
struct sds_task {
    // What the task waited for has happened: have it run again, in whatever thread. Called from the
    // thread that fired the event, which has other things to do.
    void (*resume)(struct sds_task *task);
    struct sds_event *waits_for;
    struct sds_task *next; // waiting for the same event
    struct sds_kept *kept;
    size_t kept_count, kept_cap;
};

void sds_task_init(struct sds_task *task, void (*resume)(struct sds_task *task));
void sds_task_fini(struct sds_task *task); // it is over: lets go of what was kept

// This thread works for the task until sds_task_leave.
void sds_task_enter(struct sds_task *task);
void sds_task_leave(void);
// Whether this thread works for a task, so that it will not be blocked.
bool sds_task_here(void);

// After a run that ended with SDS_ERR_WAITING (and sds_task_leave): true when the task will be
// resumed; it may be running again already and is no longer the caller's. False when what it waits
// for has happened meanwhile: run it again.
bool sds_task_park(struct sds_task *task);
// Takes a parked task back from its event: true when it is the caller's now, false when it is not
// parked: it runs, or was or is being resumed. Its memory has to be there meanwhile.
bool sds_task_unpark(struct sds_task *task);

// Keeps a value until this thread's task is over: what a wait was for would otherwise be gone by
// the time the task is run again. False without a task or without memory: the value stays the
// caller's.
bool sds_task_keep(void *value, void (*release)(void *value));
bool sds_task_keeps(const void *value); // whether this thread's task does
// What this thread's task keeps that is released this way, the first; NULL: nothing.
void *sds_task_kept(void (*release)(void *value));

// --- turns: a lock that is waited for like an event, so it may be held across waits of others

struct sds_turns {
    struct sds_event *taken; // NULL: free
};

// Whose turn it is gives it back from the same or another thread. Kinds: WAITING, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_turns_take(struct sds_turns *turns, struct sds_err *err);
void sds_turns_give(struct sds_turns *turns);

#endif
