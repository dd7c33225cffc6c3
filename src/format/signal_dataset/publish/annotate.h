// SPDX-License-Identifier: Apache-2.0
//
// The driver's operation `annotate`.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ANNOTATE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ANNOTATE_H

#include "format/driver.h"

struct signal_dataset;
struct publication;

SDS_MUST_CHECK enum sds_kind annotate(struct signal_dataset *ds,
                                      const struct sds_annotate_request *request,
                                      struct json_object **receipt, struct sds_err *err);

// The three ways, each with what was written in pub->receipt.
SDS_MUST_CHECK enum sds_kind publish_set(struct publication *pub, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind publish_shard(struct publication *pub, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind publish_coordinate(struct publication *pub, struct sds_err *err);

#endif
