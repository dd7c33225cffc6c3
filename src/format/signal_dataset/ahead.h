// SPDX-License-Identifier: Apache-2.0
//
// Decoding ahead: a reader that takes records in order finds the next ones decoded. Readers in
// random order cost nothing: only a run of three ordinals starts it.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_AHEAD_H
#define SDSFS_FORMAT_SIGNAL_DATASET_AHEAD_H

#include <stdint.h>

#include "base/err.h"

struct signal_dataset;
struct ahead;

// Starts the threads. *out is NULL when threads is 0.
SDS_MUST_CHECK enum sds_kind ahead_start(struct signal_dataset *ds, unsigned threads,
                                         struct ahead **out, struct sds_err *err);
void ahead_stop(struct ahead *ahead); // NULL is fine; waits for the decode in hand

// Tells that a record of this many bytes begins to be read. NULL ahead is fine.
void ahead_note(struct ahead *ahead, uint64_t ordinal, uint64_t bytes);

#endif
