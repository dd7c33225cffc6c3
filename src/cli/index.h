// SPDX-License-Identifier: Apache-2.0
//
// The index for commands: built first where it is not there, with a progress bar.
#ifndef SDSFS_CLI_INDEX_H
#define SDSFS_CLI_INDEX_H

#include "cli/dataset.h"
#include "index/index.h"

// *out is the caller's.
SDS_MUST_CHECK enum sds_kind sds_index_get(struct sds_reader *reader, struct sds_index **out,
                                           struct sds_err *err);

#endif
