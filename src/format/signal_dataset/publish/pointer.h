// SPDX-License-Identifier: Apache-2.0
//
// Worker pointers: which shard holds the annotations of a range
// (docs/formats/signal-dataset.md, section 8, "Worker").
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_POINTER_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_POINTER_H

#include "format/signal_dataset/publish/carrier_shard.h"

struct object_path pointer_path(const struct publication *pub, const char *shard_id);

// What a pointer tells of each row, as the elements of its arrays.
struct pointer_rows {
    struct sds_buf record_ids, statuses, terminal_statuses;
};
struct pointer_rows pointer_rows_begin(void);
void pointer_rows_fini(struct pointer_rows *rows);
// A publication_row_fn over struct pointer_rows.
enum sds_kind pointer_rows_add(void *rows, const struct input_row *row, struct sds_span record_id,
                               struct sds_err *err);

// Writes the pointer and parses it again: one that is too large is INVALID. out is empty;
// it is to be freed also after a failure.
SDS_MUST_CHECK enum sds_kind pointer_write(const struct publication *pub,
                                           const struct carrier_shard *shard,
                                           const struct pointer_rows *rows, struct sds_buf *out,
                                           struct sds_err *err);

// Reads and checks the pointer that stands in the store. *text is the caller's, and pointer is to
// be freed before it. NOT_FOUND; CORRUPT.
SDS_MUST_CHECK enum sds_kind pointer_read(const struct publication *pub, const char *shard_id,
                                          struct sds_blob **text, struct sds_pointer_doc *pointer,
                                          struct sds_err *err);

#endif
