// SPDX-License-Identifier: Apache-2.0
//
// control/metrics: the counters of the file system and of the driver as OpenMetrics text.
#ifndef SDSFS_FS_METRICS_H
#define SDSFS_FS_METRICS_H

#include "base/buf.h"
#include "fs/control.h"

// Kinds: LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_metrics_render(const struct sds_control_sources *sources,
                                                struct sds_buf *out);

#endif
