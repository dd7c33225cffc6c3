// SPDX-License-Identifier: Apache-2.0
//
// What `annotate` is given besides a root: rows in a file or from a pipe, metadata, logical shard
// ids. All of it is opened and read before the store is touched.
#ifndef SDSFS_CLI_ANNOTATE_INPUT_H
#define SDSFS_CLI_ANNOTATE_INPUT_H

#include <stdbool.h>

#include "base/buf.h"

struct sds_annotate_input {
    int rows;                // a regular file; -1 without rows
    int directory;           // that names in rows are relative to
    int spool;               // the state directory; -1 when nothing needs one
    struct sds_buf metadata; // empty for none
    struct sds_buf id_text;  // which the ids point into
    const char **ids;
    size_t id_count;
};

void sds_annotate_input_init(struct sds_annotate_input *input);
void sds_annotate_input_fini(struct sds_annotate_input *input);

// Opens the state directory, which it makes if it is not there. option: state_dir=, or NULL.
SDS_MUST_CHECK enum sds_kind sds_annotate_spool(struct sds_annotate_input *input,
                                                const char *option, struct sds_err *err);
// Rows in a file: names in them are relative to its directory. *piped: it is no regular file, and
// has to be copied.
SDS_MUST_CHECK enum sds_kind sds_annotate_rows(struct sds_annotate_input *input, const char *path,
                                               bool *piped, struct sds_err *err);
// Copies rows that come from a pipe ("-" is standard input) into the state directory. Names in
// them are relative to the current directory. LIMIT, check "row_size", as soon as a line is longer
// than SDS_ANNOTATE_MAX_ROW, since the pipe may be endless.
SDS_MUST_CHECK enum sds_kind sds_annotate_copy_rows(struct sds_annotate_input *input,
                                                    struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_annotate_metadata(struct sds_annotate_input *input,
                                                   const char *path, struct sds_err *err);
// Logical shard ids, one a line; empty lines do not count.
SDS_MUST_CHECK enum sds_kind sds_annotate_ids(struct sds_annotate_input *input, const char *path,
                                              struct sds_err *err);

#endif
