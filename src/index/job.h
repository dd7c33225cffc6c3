// SPDX-License-Identifier: Apache-2.0
//
// Something that is built in a thread of its own when it is first asked for, while all who ask wait
// as base/wait.h has it. A failure is told to those who wait and for a second after; then whoever
// asks has it tried again.
#ifndef SDSFS_INDEX_JOB_H
#define SDSFS_INDEX_JOB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wait.h"

struct sds_index_job {
    enum sds_kind (*run)(void *ctx, struct sds_err *err);
    void *ctx;
    pthread_mutex_t lock; // protects all below
    enum sds_index_job_state {
        SDS_INDEX_IDLE,
        SDS_INDEX_RUNNING,
        SDS_INDEX_DONE,
        SDS_INDEX_FAILED
    } state;
    bool joinable;
    pthread_t thread;
    struct sds_event *ended; // of this run
    uint64_t failed_ms;
    struct sds_err err;
};

void sds_index_job_init(struct sds_index_job *job,
                        enum sds_kind (*run)(void *ctx, struct sds_err *err), void *ctx);
// Waits for the thread, which somebody has told to stop.
void sds_index_job_fini(struct sds_index_job *job);

// OK once it has run without failure; WAITING; what it failed with.
SDS_MUST_CHECK enum sds_kind sds_index_job_wait(struct sds_index_job *job, struct sds_err *err);
// What it made is of no use any more: it runs again when it is asked for. Only once it is done.
void sds_index_job_again(struct sds_index_job *job);
enum sds_index_job_state sds_index_job_state(struct sds_index_job *job);

#endif
