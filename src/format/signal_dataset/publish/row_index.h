// SPDX-License-Identifier: Apache-2.0
//
// The first pass over the rows: every line is parsed and checked as far as it goes alone, and what
// stays is where the row of each ordinal is. 24 bytes a row, in memory that grows with the file.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ROW_INDEX_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ROW_INDEX_H

#include "format/signal_dataset/publish/problems.h"
#include "format/signal_dataset/publish/rows_file.h"

struct signal_dataset;

struct row_place {
    uint64_t ordinal;
    uint64_t off;
    uint32_t len;
    uint32_t line; // counted from 1
};

struct row_index {
    struct row_place *rows; // by ordinal, without gaps
    size_t count, room;
};

// Reads all rows. They must have exactly one for every ordinal: of the dataset when `dense`, else
// of one range of it, which is not empty. What is wrong goes to problems, and the call fails with
// their verdict. Kinds: INVALID, and those of reading.
SDS_MUST_CHECK enum sds_kind row_index_make(struct signal_dataset *ds, struct rows_file *file,
                                            bool dense, struct problems *problems,
                                            struct row_index *out, struct sds_err *err);
void row_index_fini(struct row_index *index);

#endif
