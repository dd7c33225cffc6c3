// SPDX-License-Identifier: Apache-2.0
//
// The lines of rows.jsonl: one after the other, and again by their place. One thread a reader.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ROWS_FILE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ROWS_FILE_H

#include "base/buf.h"
#include "format/signal_dataset/publish/file_state.h"

struct rows_file {
    int fd;                // borrowed
    struct sds_buf window; // bytes of the file from `start` on
    uint64_t start;
    uint64_t next;           // where the next line begins
    struct file_state state; // when it was opened
};

SDS_MUST_CHECK enum sds_kind rows_file_open(int fd, struct rows_file *out, struct sds_err *err);
void rows_file_fini(struct rows_file *file);

// The next line that is not only white space, without its LF; valid until the next call. *skipped
// counts the lines passed over. At the end *found is false. Kinds: INVALID, check "row_size"
// (a line of more than SDS_ANNOTATE_MAX_ROW bytes); STORAGE; NO_MEMORY.
SDS_MUST_CHECK enum sds_kind rows_file_next(struct rows_file *file, bool *found,
                                            struct sds_span *line, uint64_t *off, uint64_t *skipped,
                                            struct sds_err *err);

// The line at a place that rows_file_next told; valid until the next call. Reading in order is
// cheap.
SDS_MUST_CHECK enum sds_kind rows_file_line(struct rows_file *file, uint64_t off, size_t len,
                                            struct sds_span *line, struct sds_err *err);

// Fails (INVALID, check "changed") when the file is not what it was when it was opened.
SDS_MUST_CHECK enum sds_kind rows_file_unchanged(const struct rows_file *file, struct sds_err *err);

#endif
