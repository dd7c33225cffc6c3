// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/killed.h"

enum { MAX_RUNNING = 4, WATCH_MS = 100 };

struct waiting {
    struct waiting *next;
    struct sds_waiter waiter;
};

enum phase { WAITING, PREPARING, RUNNING };

struct job {
    struct job *next;
    char *draft;
    int verb;
    struct sds_job_work work;
    struct waiting *waiting;
    enum phase phase;
    int spoilt; // the errno of a write that failed while it was prepared
};

struct sds_jobs {
    pthread_mutex_t lock; // everything below; not held while work is done or an answer given
    pthread_cond_t changed;
    struct job *all; // oldest first
    unsigned threads;
    bool watching;  // the thread that looks after waiters has been started
    bool abandoned; // nothing is begun any more
    unsigned preparing;
    unsigned answering; // threads that are giving answers
};

struct sds_jobs *sds_jobs_new(void) {
    struct sds_jobs *jobs = calloc(1, sizeof *jobs);
    if (jobs == NULL) {
        return NULL;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return jobs;
}

// Gives one answer to a list of waiters, and frees it. With the lock held, which it lets go
// meanwhile.
static void answer(struct sds_jobs *jobs, struct waiting *waiting, int e) {
    jobs->answering++;
    pthread_mutex_unlock(&jobs->lock);
    while (waiting != NULL) {
        struct waiting *next = waiting->next;
        waiting->waiter.done(waiting->waiter.ctx, e);
        free(waiting);
        waiting = next;
    }
    pthread_mutex_lock(&jobs->lock);
    jobs->answering--;
    pthread_cond_broadcast(&jobs->changed);
}

static void unlink_job(struct sds_jobs *jobs, const struct job *job) {
    struct job **link = &jobs->all;
    while (*link != job) {
        link = &(*link)->next;
    }
    *link = job->next;
}

static void free_job(struct job *job) {
    job->work.dispose(job->work.ctx);
    free(job->draft);
    free(job);
}

// --- running

static struct job *next_job(struct sds_jobs *jobs) {
    struct job *job = jobs->abandoned ? NULL : jobs->all;
    while (job != NULL && job->phase != WAITING) {
        job = job->next;
    }
    return job;
}

// With the lock held, which it lets go meanwhile.
static int prepare(struct sds_jobs *jobs, struct job *job) {
    job->phase = PREPARING;
    jobs->preparing++;
    pthread_mutex_unlock(&jobs->lock);
    int e = job->work.prepare != NULL ? job->work.prepare(job->work.ctx) : 0;
    pthread_mutex_lock(&jobs->lock);
    jobs->preparing--;
    pthread_cond_broadcast(&jobs->changed);
    return e != 0 ? e : jobs->abandoned ? EINTR : job->spoilt;
}

// The same.
static int run(struct sds_jobs *jobs, struct job *job) {
    int e = prepare(jobs, job);
    if (e == 0) {
        job->phase = RUNNING;
        pthread_mutex_unlock(&jobs->lock);
        e = job->work.run(job->work.ctx);
        pthread_mutex_lock(&jobs->lock);
    }
    return e;
}

// A job's thread goes on with the next one, and ends when there is none.
static void *run_jobs(void *arg) {
    struct sds_jobs *jobs = arg;
    pthread_mutex_lock(&jobs->lock);
    for (struct job *job; (job = next_job(jobs)) != NULL;) {
        int e = run(jobs, job);
        unlink_job(jobs, job);
        struct waiting *waiting = job->waiting;
        free_job(job);
        answer(jobs, waiting, e);
    }
    jobs->threads--;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

// With the lock held.
static int start_thread(struct sds_jobs *jobs, void *(*body)(void *)) {
    pthread_t thread;
    int e = pthread_create(&thread, NULL, body, jobs);
    if (e == 0) {
        pthread_detach(thread);
        jobs->threads++;
    }
    return e;
}

// --- waiters that are being killed

// The kernel interrupts a request at the first signal only, and a signal that is fatal may be the
// second one. So every waiter is looked at now and then.
static struct waiting *take_dying(struct sds_jobs *jobs) {
    struct waiting *dying = NULL;
    for (struct job *job = jobs->all; job != NULL; job = job->next) {
        for (struct waiting **link = &job->waiting; *link != NULL;) {
            struct waiting *waiting = *link;
            if (waiting->waiter.pid != 0 && sds_is_being_killed(waiting->waiter.pid)) {
                *link = waiting->next;
                waiting->next = dying;
                dying = waiting;
            } else {
                link = &waiting->next;
            }
        }
    }
    return dying;
}

static bool has_waiters(const struct sds_jobs *jobs) {
    for (const struct job *job = jobs->all; job != NULL; job = job->next) {
        if (job->waiting != NULL) {
            return true;
        }
    }
    return false;
}

static void wait_ms(struct sds_jobs *jobs, long ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until);
}

// Lives as long as somebody waits.
static void *watch(void *arg) {
    struct sds_jobs *jobs = arg;
    pthread_mutex_lock(&jobs->lock);
    while (has_waiters(jobs)) {
        wait_ms(jobs, WATCH_MS);
        answer(jobs, take_dying(jobs), EINTR);
    }
    jobs->watching = false;
    jobs->threads--;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

// --- asking

static struct job *find_job(struct sds_jobs *jobs, const char *draft) {
    struct job *job = jobs->all;
    while (job != NULL && strcmp(job->draft, draft) != 0) {
        job = job->next;
    }
    return job;
}

static struct job *add_job(struct sds_jobs *jobs, const char *draft, int verb,
                           const struct sds_job_work *work) {
    struct job *job = malloc(sizeof *job);
    char *name = strdup(draft);
    if (job == NULL || name == NULL) {
        free(job);
        free(name);
        return NULL;
    }
    *job = (struct job){.draft = name, .verb = verb, .work = *work};
    struct job **end = &jobs->all;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = job;
    return job;
}

// A thread for what was added, if there may be one more; with the lock held.
static int start_worker(struct sds_jobs *jobs) {
    unsigned workers = jobs->threads - jobs->watching;
    int e = workers < MAX_RUNNING ? start_thread(jobs, run_jobs) : 0;
    return workers > 0 ? 0 : e;
}

// With the lock held; *taken: the work has become a job's.
static int submit(struct sds_jobs *jobs, const char *draft, int verb,
                  const struct sds_job_work *work, struct waiting *waiting, bool *taken) {
    if (jobs->abandoned) {
        return EINTR;
    }
    struct job *job = find_job(jobs, draft);
    if (job != NULL && job->verb != verb) {
        return EBUSY;
    }
    int e = 0;
    if (job == NULL) {
        job = add_job(jobs, draft, verb, work);
        if (job == NULL) {
            return ENOMEM;
        }
        e = start_worker(jobs);
        if (e != 0) { // no thread, so nobody has seen it
            unlink_job(jobs, job);
            free(job->draft);
            free(job);
            return e;
        }
        *taken = true;
    }
    waiting->next = job->waiting;
    job->waiting = waiting;
    if (!jobs->watching) { // without a thread for it, waiters wait to the end
        jobs->watching = start_thread(jobs, watch) == 0;
    }
    return 0;
}

int sds_jobs_submit(struct sds_jobs *jobs, const char *draft, int verb,
                    const struct sds_job_work *work, const struct sds_waiter *waiter) {
    struct waiting *waiting = malloc(sizeof *waiting);
    bool taken = false;
    int e = ENOMEM;
    if (waiting != NULL) {
        *waiting = (struct waiting){.waiter = *waiter};
        pthread_mutex_lock(&jobs->lock);
        e = submit(jobs, draft, verb, work, waiting, &taken);
        pthread_mutex_unlock(&jobs->lock);
    }
    if (!taken) {
        work->dispose(work->ctx);
    }
    if (e != 0) {
        free(waiting);
    }
    return e;
}

// The first job from one on whose draft a path is, or lies in; with the lock held.
static struct job *covering(struct job *job, const char *path) {
    for (; job != NULL; job = job->next) {
        size_t len = strlen(job->draft);
        if (strncmp(job->draft, path, len) == 0 && (path[len] == '/' || path[len] == '\0')) {
            break;
        }
    }
    return job;
}

bool sds_jobs_cover(struct sds_jobs *jobs, const char *path) {
    pthread_mutex_lock(&jobs->lock);
    bool cover = covering(jobs->all, path) != NULL;
    pthread_mutex_unlock(&jobs->lock);
    return cover;
}

bool sds_jobs_at_work(struct sds_jobs *jobs, const char *path) {
    pthread_mutex_lock(&jobs->lock);
    const struct job *job = covering(jobs->all, path);
    while (job != NULL && job->phase != RUNNING) {
        job = covering(job->next, path);
    }
    pthread_mutex_unlock(&jobs->lock);
    return job != NULL;
}

bool sds_jobs_spoil(struct sds_jobs *jobs, const char *path, int e) {
    bool spoilt = false;
    pthread_mutex_lock(&jobs->lock);
    for (struct job *job = jobs->all; (job = covering(job, path)) != NULL; job = job->next) {
        if (job->phase == PREPARING) {
            job->spoilt = e;
            spoilt = true;
        }
    }
    pthread_mutex_unlock(&jobs->lock);
    return spoilt;
}

void sds_jobs_abandon(struct sds_jobs *jobs) {
    struct waiting *all = NULL;
    pthread_mutex_lock(&jobs->lock);
    jobs->abandoned = true;
    for (struct job *job = jobs->all; job != NULL; job = job->next) {
        while (job->waiting != NULL) {
            struct waiting *waiting = job->waiting;
            job->waiting = waiting->next;
            waiting->next = all;
            all = waiting;
        }
    }
    answer(jobs, all, EINTR);
    while (jobs->answering > 0 || jobs->preparing > 0) {
        pthread_cond_wait(&jobs->changed, &jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
}

void sds_jobs_free(struct sds_jobs *jobs) {
    if (jobs == NULL) {
        return;
    }
    sds_jobs_abandon(jobs);
    pthread_mutex_lock(&jobs->lock);
    while (jobs->threads > 0) {
        pthread_cond_wait(&jobs->changed, &jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    for (struct job *job = jobs->all, *next; job != NULL; job = next) {
        next = job->next;
        free_job(job);
    }
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}
