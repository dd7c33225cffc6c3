// SPDX-License-Identifier: Apache-2.0
//
// Indexes are keyed by what they are made from, so one of a snapshot that is no more is never asked
// for again, nor overwritten. Whoever finishes another one takes away what nobody has opened for a
// month. That costs nobody more than time: who has a file open keeps it, and who misses one has it
// built again.
#ifndef SDSFS_INDEX_TIDY_H
#define SDSFS_INDEX_TIDY_H

#include "index/place.h"

// Goes through the place's directory. Nothing that somebody is building is touched, and what
// cannot be removed stays.
void sds_index_tidy(const struct sds_index_place *place);

// A file was opened: notes the day, in its time of modification.
void sds_index_note_use(int fd);

#endif
