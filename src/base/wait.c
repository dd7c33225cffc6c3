// SPDX-License-Identifier: Apache-2.0
#include "base/wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct sds_event {
    atomic_uint refs;
    bool fired;             // protected by `lock`, like the two below
    unsigned blocked;       // threads
    struct sds_task *tasks; // parked
};

// Events are short and many, so they share one lock and one condition; neither is held for long.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fired = PTHREAD_COND_INITIALIZER;

static _Thread_local struct sds_task *here;

// --- events

struct sds_event *sds_event_new(void) {
    struct sds_event *event = calloc(1, sizeof *event);
    if (event != NULL) {
        event->refs = 1;
    }
    return event;
}

struct sds_event *sds_event_ref(struct sds_event *event) {
    atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
    return event;
}

void sds_event_unref(struct sds_event *event) {
    if (event != NULL && atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) == 1) {
        free(event);
    }
}

void sds_event_fire(struct sds_event *event) {
    pthread_mutex_lock(&lock);
    event->fired = true;
    struct sds_task *tasks = event->tasks;
    event->tasks = NULL;
    for (struct sds_task *task = tasks; task != NULL; task = task->next) {
        task->waits_for = NULL; // which tells sds_task_unpark that it comes too late
    }
    if (event->blocked > 0) {
        pthread_cond_broadcast(&fired);
    }
    pthread_mutex_unlock(&lock);
    while (tasks != NULL) {
        struct sds_task *next = tasks->next; // a resumed task may be gone at once
        tasks->resume(tasks);
        tasks = next;
        sds_event_unref(event); // the task's
    }
}

bool sds_event_has_fired(struct sds_event *event) {
    pthread_mutex_lock(&lock);
    bool has = event->fired;
    pthread_mutex_unlock(&lock);
    return has;
}

enum sds_kind sds_event_wait(struct sds_event *event, struct sds_err *err) {
    pthread_mutex_lock(&lock);
    if (here == NULL) {
        event->blocked++;
        while (!event->fired) {
            pthread_cond_wait(&fired, &lock);
        }
        event->blocked--;
    }
    bool has = event->fired;
    pthread_mutex_unlock(&lock);
    if (has) {
        return SDS_OK;
    }
    sds_event_unref(here->waits_for);
    here->waits_for = sds_event_ref(event);
    return sds_fail(err, SDS_ERR_WAITING, "waiting", "not there yet");
}

// --- tasks

void sds_task_init(struct sds_task *task, void (*resume)(struct sds_task *task)) {
    *task = (struct sds_task){.resume = resume};
}

void sds_task_fini(struct sds_task *task) {
    sds_event_unref(task->waits_for);
    for (size_t i = task->kept_count; i-- > 0;) {
        task->kept[i].release(task->kept[i].value);
    }
    free(task->kept);
    *task = (struct sds_task){0};
}

void sds_task_enter(struct sds_task *task) {
    here = task;
}

void sds_task_leave(void) {
    here = NULL;
}

bool sds_task_here(void) {
    return here != NULL;
}

bool sds_task_park(struct sds_task *task) {
    pthread_mutex_lock(&lock);
    struct sds_event *event = task->waits_for;
    bool park = event != NULL && !event->fired;
    if (park) {
        task->next = event->tasks;
        event->tasks = task;
    } else {
        task->waits_for = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (!park) {
        sds_event_unref(event);
    }
    return park;
}

bool sds_task_unpark(struct sds_task *task) {
    pthread_mutex_lock(&lock);
    struct sds_event *event = task->waits_for;
    struct sds_task **link = event != NULL ? &event->tasks : NULL;
    while (link != NULL && *link != task) {
        link = *link != NULL ? &(*link)->next : NULL;
    }
    if (link != NULL) {
        *link = task->next;
        task->waits_for = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (link != NULL) {
        sds_event_unref(event);
    }
    return link != NULL;
}

bool sds_task_keep(void *value, void (*release)(void *value)) {
    if (here == NULL) {
        return false;
    }
    if (here->kept_count == here->kept_cap) {
        size_t cap = here->kept_cap == 0 ? 4 : here->kept_cap * 2;
        struct sds_kept *kept = realloc(here->kept, cap * sizeof *kept);
        if (kept == NULL) {
            return false;
        }
        here->kept = kept;
        here->kept_cap = cap;
    }
    here->kept[here->kept_count++] = (struct sds_kept){value, release};
    return true;
}

bool sds_task_keeps(const void *value) {
    for (size_t i = 0; here != NULL && i < here->kept_count; i++) {
        if (here->kept[i].value == value) {
            return true;
        }
    }
    return false;
}

void *sds_task_kept(void (*release)(void *value)) {
    for (size_t i = 0; here != NULL && i < here->kept_count; i++) {
        if (here->kept[i].release == release) {
            return here->kept[i].value;
        }
    }
    return NULL;
}

// --- turns

enum sds_kind sds_turns_take(struct sds_turns *turns, struct sds_err *err) {
    struct sds_event *mine = sds_event_new();
    if (mine == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a turn");
    }
    for (;;) {
        pthread_mutex_lock(&lock);
        struct sds_event *taken = turns->taken;
        if (taken == NULL) {
            turns->taken = mine;
        } else {
            sds_event_ref(taken);
        }
        pthread_mutex_unlock(&lock);
        if (taken == NULL) {
            return SDS_OK;
        }
        enum sds_kind kind = sds_event_wait(taken, err);
        sds_event_unref(taken);
        if (kind != SDS_OK) {
            sds_event_unref(mine);
            return kind;
        }
    }
}

void sds_turns_give(struct sds_turns *turns) {
    pthread_mutex_lock(&lock);
    struct sds_event *taken = turns->taken;
    turns->taken = NULL;
    pthread_mutex_unlock(&lock);
    sds_event_fire(taken);
    sds_event_unref(taken);
}
