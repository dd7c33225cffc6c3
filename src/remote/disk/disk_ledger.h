// SPDX-License-Identifier: Apache-2.0
//
// How much is on the disk, shared by all caches of a directory: a file "usage" with one counter for
// each directory of segments and one for the notes. Room is taken from it before anything is
// written, and set right afterwards, so the counters are never below what is there, whoever is
// killed when. What a killed process took and never used is found when its directory is counted
// anew (disk_evict.c). Counters are unknown, and counted before the next write, in a new file and
// after the machine was started anew, as the file may be older than the segments then.
//
// All locks are of open file descriptions (the kernel gives back what the dead held) and waited for
// a moment only: who does not get one drops what it wanted to write. One thread a ledger.
#ifndef SDSFS_REMOTE_DISK_LEDGER_H
#define SDSFS_REMOTE_DISK_LEDGER_H

#include "remote/disk/disk_dir.h"

#define SDS_DISK_NOTES SDS_DISK_DIRS // the counter of the notes
#define SDS_DISK_COUNTERS (SDS_DISK_DIRS + 1)
#define SDS_DISK_UNKNOWN UINT64_MAX

// What a segment and a directory take besides their blocks, names included.
#define SDS_DISK_FILE_COST 256
#define SDS_DISK_DIR_COST 4096

#define SDS_DISK_LEDGER_HEAD 64
struct sds_disk_ledger {
    int fd; // -1: not open
    uint64_t used;
    uint8_t head[SDS_DISK_LEDGER_HEAD]; // of a file that counts: magic, this start of the machine
};

void sds_disk_ledger_init(struct sds_disk_ledger *ledger);
void sds_disk_ledger_fini(struct sds_disk_ledger *ledger);

// Opens the file, unless the one that is open is still there. STORAGE, DENIED.
SDS_MUST_CHECK enum sds_kind sds_disk_ledger_open(struct sds_disk_ledger *ledger,
                                                  const struct sds_disk_root *root,
                                                  struct sds_err *err);

// While entered, nobody sets the counter of that directory. Whoever changes what is in it enters,
// changes, tells the ledger, leaves. CONFLICT: it is being counted just now.
SDS_MUST_CHECK enum sds_kind sds_disk_ledger_enter(struct sds_disk_ledger *ledger, unsigned which,
                                                   struct sds_err *err);
void sds_disk_ledger_leave(struct sds_disk_ledger *ledger, unsigned which);
// Enters alone, to count what is there; false when somebody else is in. Left like the other.
bool sds_disk_ledger_alone(struct sds_disk_ledger *ledger, unsigned which);

// Takes room for bytes below the limit; entered. Kinds: LIMIT, and how many bytes are missing;
// NOT_FOUND: some counters are unknown; CONFLICT: the lock could not be had; STORAGE, DENIED.
SDS_MUST_CHECK enum sds_kind sds_disk_ledger_take(struct sds_disk_ledger *ledger, unsigned which,
                                                  uint64_t bytes, uint64_t limit, uint64_t *missing,
                                                  struct sds_err *err);
// Adds a change; entered. A counter that would fall below 0 was wrong and becomes unknown.
void sds_disk_ledger_add(struct sds_disk_ledger *ledger, unsigned which, int64_t change);
// Sets what was counted; alone.
SDS_MUST_CHECK enum sds_kind sds_disk_ledger_set(struct sds_disk_ledger *ledger, unsigned which,
                                                 uint64_t bytes, struct sds_err *err);
// All counters. Kinds as take.
SDS_MUST_CHECK enum sds_kind sds_disk_ledger_read(struct sds_disk_ledger *ledger,
                                                  uint64_t counters[SDS_DISK_COUNTERS],
                                                  struct sds_err *err);

#endif
