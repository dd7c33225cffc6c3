// SPDX-License-Identifier: Apache-2.0
//
// All metadata entries in the order of their ordinals, for who makes an index of them: metadata
// shards are read in large pieces from first to last and not by way of the cache, since each entry
// is looked at once.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_SCAN_H
#define SDSFS_FORMAT_SIGNAL_DATASET_SCAN_H

#include "format/driver.h"

struct signal_dataset;

// driver.h, scan and scan_end.
SDS_MUST_CHECK enum sds_kind scan(struct signal_dataset *ds, uint64_t first, uint64_t end,
                                  sds_scan_fn emit, void *ctx, struct sds_err *err);
uint64_t scan_end(struct signal_dataset *ds, uint64_t first);

#endif
