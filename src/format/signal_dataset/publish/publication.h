// SPDX-License-Identifier: Apache-2.0
//
// One publication of annotations (docs/formats/signal-dataset.md, section 8), from the request to
// the receipt:
//   rows_file.c, row.c, row_index.c  the rows, line by line, and where that of each ordinal is
//   id_table.c                       ordinals of rows that give the record's id alone
//   file_state.c                     whether a file was written to meanwhile
//   tensor_file.c, carrier.c         a row and its .npy files as a carrier
//   publication.c                    the request checked, the rows checked
//   carrier_shard.c, spool.c         carriers as shard objects
//   set_root.c, pointer.c            the documents
//   catalog_update.c                 the one object that is replaced
//   annotate.c                       the operation: publish_set.c, publish_shard.c,
//                                    publish_coordinate.c
// Everything is checked before anything is written to the store, every write is create-only but
// that of the catalog, and each step can be repeated: a publication that was cut short is finished
// by the same call.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_PUBLICATION_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_PUBLICATION_H

#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/publish/carrier.h"
#include "format/signal_dataset/publish/problems.h"
#include "format/signal_dataset/publish/row_index.h"
#include "format/signal_dataset/publish/rows_file.h"

struct publication {
    struct signal_dataset *ds;
    const struct sds_annotate_request *request;
    char id[129];              // publication id
    char prefix[300];          // annotations/sets/<set>/<publication id>
    struct sds_json *metadata; // of the set; NULL for {}
    struct problems problems;
    struct rows_file file;
    struct row_index rows;
    struct carrier_maker maker;
    struct sds_buf record_id; // of the row at hand
    struct json_object *receipt;
};

// A path below the root; the longest is that of a shard: 367 bytes.
struct object_path {
    char text[400];
};

// Checks the request. What is opened has to be closed, also after a failure. Kinds: INVALID, checks
// "name", "publication_id", "shard_id", "metadata", "snapshot_id"; NO_MEMORY.
SDS_MUST_CHECK enum sds_kind publication_open(struct signal_dataset *ds,
                                              const struct sds_annotate_request *request,
                                              struct publication *out, struct sds_err *err);
void publication_close(struct publication *pub);

// Told of every sound row, in order of the ordinals.
typedef enum sds_kind (*publication_row_fn)(void *ctx, const struct input_row *row,
                                            struct sds_span record_id, struct sds_err *err);

// Reads all rows and makes sure that each becomes a carrier that readers take. dense: there is one
// for every record; else for those of a range. seen may be NULL.
SDS_MUST_CHECK enum sds_kind publication_check_rows(struct publication *pub, bool dense,
                                                    publication_row_fn seen, void *ctx,
                                                    struct sds_err *err);

// The carrier of pub->rows.rows[i], made anew.
SDS_MUST_CHECK enum sds_kind publication_carrier(struct publication *pub, size_t i,
                                                 struct sds_blob **payload, struct sds_err *err);

// INVALID when the rows are not what they were when they were checked.
SDS_MUST_CHECK enum sds_kind publication_unchanged(struct publication *pub, struct sds_err *err);

// Whether the control document that has a name is these bytes. NOT_FOUND when there is none.
SDS_MUST_CHECK enum sds_kind publication_compare(const struct publication *pub, const char *path,
                                                 struct sds_span bytes, bool *same,
                                                 struct sds_err *err);

// Creates a control document. When its name is taken by the same bytes that is success; by others:
// *same is false, and the call succeeds nevertheless.
SDS_MUST_CHECK enum sds_kind publication_create(struct publication *pub, const char *path,
                                                struct sds_span bytes, bool *same,
                                                struct sds_err *err);

// CONFLICT, check "exists": what the reference says of a set whose name is taken.
enum sds_kind publication_name_taken(const struct publication *pub, struct sds_err *err);

#endif
