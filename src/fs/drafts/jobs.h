// SPDX-License-Identifier: Apache-2.0
//
// Work on drafts that takes its time: in threads of its own, a few at a time, so that whoever asked
// waits and nobody else does. Who asks for what is already being done waits for that. A waiter that
// is being killed is let go; the work runs on. Safe from any thread.
#ifndef SDSFS_FS_DRAFTS_JOBS_H
#define SDSFS_FS_DRAFTS_JOBS_H

#include <stdbool.h>
#include <sys/types.h>

struct sds_jobs;

// Who waits for an answer: 0 or an errno, given exactly once, from any thread.
struct sds_waiter {
    void (*done)(void *ctx, int e);
    void *ctx;
    pid_t pid; // the thread that waits; 0: not known, so it cannot be seen dying
};

struct sds_job_work {
    // Before it, while the draft can still be written to: an errno is the answer. NULL: nothing.
    int (*prepare)(void *ctx);
    int (*run)(void *ctx);
    void (*dispose)(void *ctx); // after run, or instead of it; may be told from any thread
    void *ctx;
};

struct sds_jobs *sds_jobs_new(void); // NULL: no memory
// Waits for what is running; what has not begun to run is disposed of.
void sds_jobs_free(struct sds_jobs *jobs);

// Has work done on the draft at a path. verb tells what it is: the same one for the same draft is
// joined, another one EBUSY. The work is taken over in any case. Returns 0 when the waiter will be
// answered, else an errno, and it will not.
int sds_jobs_submit(struct sds_jobs *jobs, const char *draft, int verb,
                    const struct sds_job_work *work, const struct sds_waiter *waiter);
// Whether a path is, or lies in, a draft that waits for its work or is being worked on.
bool sds_jobs_cover(struct sds_jobs *jobs, const char *path);
// The same for work that is neither waiting nor being prepared.
bool sds_jobs_at_work(struct sds_jobs *jobs, const char *path);
// Something could not be written there: work that is being prepared on it will not be done, and
// this is the answer. False: there is none.
bool sds_jobs_spoil(struct sds_jobs *jobs, const char *path, int e);

// Answers all waiters with EINTR, and whoever comes later at once: nobody can take an answer any
// more. Nothing is being prepared when it returns, and nothing is begun after it.
void sds_jobs_abandon(struct sds_jobs *jobs);

#endif
