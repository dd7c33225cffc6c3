// SPDX-License-Identifier: Apache-2.0
//
// The offline check: every hop of the chain, and, if asked, every record and row.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_VERIFY_H
#define SDSFS_FORMAT_SIGNAL_DATASET_VERIFY_H

#include "format/driver.h"

struct signal_dataset;

SDS_MUST_CHECK enum sds_kind verify(struct signal_dataset *ds,
                                    const struct sds_verify_options *options, struct sds_err *err);

#endif
