// SPDX-License-Identifier: Apache-2.0
//
// Whether somebody who waits for us has to be let go. The kernel tells of the first signal that a
// waiting thread gets, whatever it is, and of no other one: so whoever keeps threads waiting looks
// at them now and then, in /proc. Safe from any thread.
#ifndef SDSFS_FS_KILLED_H
#define SDSFS_FS_KILLED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Whether a thread has a signal that will end it as soon as it is let go. False for one that cannot
// be seen from here.
bool sds_is_being_killed(pid_t thread);

// Whether there is no such thread any more.
bool sds_is_gone(pid_t thread);

// A set of threads to look at. Starts as {0}; one thread uses it.
struct sds_askers {
    pid_t *pids;
    size_t count, cap;
};

// Without memory it is left out, to be looked at another time.
void sds_askers_add(struct sds_askers *askers, pid_t thread);
// Looks at all: leaves those that are being killed or gone, in the order of their numbers.
void sds_askers_keep_dying(struct sds_askers *askers);
bool sds_askers_has(const struct sds_askers *askers, pid_t thread); // after that
void sds_askers_fini(struct sds_askers *askers);

#endif
