// SPDX-License-Identifier: Apache-2.0
#include "index/job.h"

#include "base/clock.h"

enum { REMEMBER_MS = 1000 };

void sds_index_job_init(struct sds_index_job *job,
                        enum sds_kind (*run)(void *ctx, struct sds_err *err), void *ctx) {
    *job = (struct sds_index_job){.run = run, .ctx = ctx};
    pthread_mutex_init(&job->lock, NULL);
}

void sds_index_job_fini(struct sds_index_job *job) {
    if (job->joinable) {
        pthread_join(job->thread, NULL);
    }
    sds_event_unref(job->ended);
    pthread_mutex_destroy(&job->lock);
}

static void *run(void *arg) {
    struct sds_index_job *job = arg;
    struct sds_err err;
    enum sds_kind kind = job->run(job->ctx, &err);
    pthread_mutex_lock(&job->lock);
    job->state = kind == SDS_OK ? SDS_INDEX_DONE : SDS_INDEX_FAILED;
    if (kind != SDS_OK) {
        job->err = err;
        job->err.kind = kind;
        job->failed_ms = sds_clock_ms();
    }
    struct sds_event *ended = sds_event_ref(job->ended);
    pthread_mutex_unlock(&job->lock);
    sds_event_fire(ended);
    sds_event_unref(ended);
    return NULL;
}

// Lock held; the thread of a run has ended, or is just ending.
static void join(struct sds_index_job *job) {
    if (job->joinable) {
        pthread_join(job->thread, NULL);
        job->joinable = false;
    }
}

// Lock held.
static enum sds_kind start(struct sds_index_job *job, struct sds_err *err) {
    struct sds_event *ended = sds_event_new();
    if (ended == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for waiting");
    }
    join(job);
    sds_event_unref(job->ended);
    job->ended = ended;
    if (pthread_create(&job->thread, NULL, run, job) != 0) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "thread", "cannot start a thread");
    }
    job->joinable = true;
    job->state = SDS_INDEX_RUNNING;
    return SDS_OK;
}

// Takes the state a step further, if it is time. Lock held.
static enum sds_kind look(struct sds_index_job *job, struct sds_err *err) {
    switch (job->state) {
    case SDS_INDEX_IDLE:
        return start(job, err);
    case SDS_INDEX_FAILED:
        if (sds_clock_ms() - job->failed_ms >= REMEMBER_MS) {
            return start(job, err);
        }
        if (err != NULL) {
            *err = job->err;
        }
        return job->err.kind;
    case SDS_INDEX_DONE:
        join(job); // or its stack would stay
        break;
    case SDS_INDEX_RUNNING:
        break;
    }
    return SDS_OK;
}

enum sds_kind sds_index_job_wait(struct sds_index_job *job, struct sds_err *err) {
    for (;;) {
        pthread_mutex_lock(&job->lock);
        enum sds_kind kind = look(job, err);
        bool done = job->state == SDS_INDEX_DONE;
        struct sds_event *ended = kind == SDS_OK && !done ? sds_event_ref(job->ended) : NULL;
        pthread_mutex_unlock(&job->lock);
        if (ended == NULL) {
            return kind;
        }
        kind = sds_event_wait(ended, err);
        sds_event_unref(ended);
        if (kind != SDS_OK) {
            return kind;
        }
    }
}

void sds_index_job_again(struct sds_index_job *job) {
    pthread_mutex_lock(&job->lock);
    if (job->state == SDS_INDEX_DONE) {
        job->state = SDS_INDEX_IDLE;
    }
    pthread_mutex_unlock(&job->lock);
}

enum sds_index_job_state sds_index_job_state(struct sds_index_job *job) {
    pthread_mutex_lock(&job->lock);
    enum sds_index_job_state state = job->state;
    pthread_mutex_unlock(&job->lock);
    return state;
}
