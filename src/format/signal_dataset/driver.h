// SPDX-License-Identifier: Apache-2.0
//
// The driver of signal-dataset 0.1 (docs/formats/signal-dataset.md), for format/drivers.c.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_DRIVER_H
#define SDSFS_FORMAT_SIGNAL_DATASET_DRIVER_H

#include "format/driver.h"

extern const struct sds_driver_ops sds_signal_dataset_driver;

#endif
