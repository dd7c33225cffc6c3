// SPDX-License-Identifier: Apache-2.0
//
// Reading ahead: a reader that takes records in an order (streams.h) or announced them
// (announced.h) finds them fetched and decoded. Readers in random order cost nothing. Each record
// is brought in by a task, so that on a server many are on their way while few threads decode. Safe
// from any thread; nothing here waits for a store.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_AHEAD_H
#define SDSFS_FORMAT_SIGNAL_DATASET_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct signal_dataset;
struct ahead;

// Starts the threads. *out is NULL when threads is 0.
SDS_MUST_CHECK enum sds_kind ahead_start(struct signal_dataset *ds, unsigned threads,
                                         struct ahead **out, struct sds_err *err);
void ahead_stop(struct ahead *ahead); // NULL is fine; waits for the decode in hand

// Tells that a record of this many bytes begins to be read. NULL ahead is fine, here and below.
void ahead_note(struct ahead *ahead, uint64_t ordinal, uint64_t bytes);
// Tells which records will be read.
void ahead_announce(struct ahead *ahead, const uint64_t *ordinals, size_t count);
// Brings in a record's entry of metadata for whoever asks again, unless that is under way. ahead is
// not NULL.
void ahead_entry(struct ahead *ahead, uint64_t ordinal);
// Called every few seconds: goes on where nobody came for what was announced.
void ahead_sweep(struct ahead *ahead);

#endif
