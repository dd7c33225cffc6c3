// SPDX-License-Identifier: Apache-2.0
//
// Facts about a dataset, for `info` and control/status.json.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_DESCRIBE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_DESCRIBE_H

#include "format/driver.h"

struct signal_dataset;

SDS_MUST_CHECK enum sds_kind describe(struct signal_dataset *ds, struct json_object **out,
                                      struct sds_err *err);

#endif
