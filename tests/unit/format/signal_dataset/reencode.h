// SPDX-License-Identifier: Apache-2.0
//
// What was decoded, encoded again: for the unit test and the fuzz target.
#ifndef SDSFS_TESTS_REENCODE_H
#define SDSFS_TESTS_REENCODE_H

#include "format/signal_dataset/record.h"

// Appends the payload that a record makes, with the data that it has in the payload it was decoded
// from.
SDS_MUST_CHECK enum sds_kind reencode_record(const struct sds_record *record,
                                             struct sds_span payload, struct sds_buf *out,
                                             struct sds_err *err);
// Appends the metadata entry that an entry makes.
SDS_MUST_CHECK enum sds_kind reencode_entry(const struct sds_record *entry, struct sds_buf *out,
                                            struct sds_err *err);

#endif
