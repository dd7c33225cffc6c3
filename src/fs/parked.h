// SPDX-License-Identifier: Apache-2.0
//
// Calls that wait without holding a thread. A call is a task (base/wait.h) that somebody waits for
// the answer of. When a run of it ended with ERESTART it is given here: it is run again, by a few
// threads of ours, each time what it waits for has happened, until it has answered. Meanwhile one
// thread watches all: a call that takes too long is answered, whatever it waits for does, and one
// whose asker is being killed is let go. What it waited for goes on for others.
//
// Knows no FUSE. The struct of a call is its owner's until it is given here, and from then on ours
// until its `free`. Safe from any thread.
#ifndef SDSFS_FS_PARKED_H
#define SDSFS_FS_PARKED_H

#include <stdatomic.h>

#include "base/wait.h"
#include <sys/types.h>

struct sds_parking;
struct sds_parked;

// Why a call ends without having answered.
enum sds_parked_end {
    SDS_PARKED_LATE,    // the time is over
    SDS_PARKED_KILLED,  // whoever asked is being killed, or is gone
    SDS_PARKED_STOPPED, // nobody serves any more
    SDS_PARKED_TOO_MANY,
    SDS_PARKED_NO_MEMORY, // told by owners, who make the struct
};

struct sds_parked_ops {
    // Runs it from its beginning, as a task: 0 when it has answered, ERESTART when it waits.
    int (*run)(struct sds_parked *call);
    // Answers it instead. This thread works for the task, so that nothing blocks it.
    void (*end)(struct sds_parked *call, enum sds_parked_end why);
    // Whether whoever asked got some signal since; takes no lock under which we are called.
    bool (*is_interrupted)(struct sds_parked *call);
    void (*free)(struct sds_parked *call); // after it was answered; the task has been let go
};

enum sds_parked_state { SDS_PARKED_WAITS, SDS_PARKED_QUEUED, SDS_PARKED_RUNS };

struct sds_parked {
    struct sds_task task; // made with sds_parked_resume
    const struct sds_parked_ops *ops;
    pid_t pid; // the thread that asked; 0: not known, so it cannot be seen dying
    // parked.c's own:
    struct sds_parking *parking;
    struct sds_parked *next, *previous; // of all
    struct sds_parked *next_queued;
    enum sds_parked_state state;
    uint64_t deadline; // of sds_clock_ms
};

// What has happened so far.
struct sds_parked_counts {
    atomic_uint_fast64_t now, total, late, killed;
};

struct sds_parking_options {
    uint32_t timeout_ms; // how long a call may take, from when it is first given here; 0: for ever
    unsigned threads;    // that run calls again
    unsigned most;       // calls at a time
    struct sds_parked_counts *counts; // borrowed
};

// Kinds: NO_MEMORY, INTERNAL (no thread).
SDS_MUST_CHECK enum sds_kind sds_parking_start(const struct sds_parking_options *options,
                                               struct sds_parking **out, struct sds_err *err);
// Ends all calls that wait, and from then on each that would have to. Does not wait for those that
// run.
void sds_parking_refuse(struct sds_parking *parking);
// The same, and none is left when it returns.
void sds_parking_stop(struct sds_parking *parking);
void sds_parking_free(struct sds_parking *parking); // stopped; NULL is fine

void sds_parked_resume(struct sds_task *task);
// Takes over a call whose first run ended with ERESTART.
void sds_parking_take(struct sds_parking *parking, struct sds_parked *call);

#endif
