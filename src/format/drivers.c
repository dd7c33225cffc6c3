// SPDX-License-Identifier: Apache-2.0
#include "format/drivers.h"

#include "format/signal_dataset/driver.h"

const struct sds_driver_ops *const sds_drivers[] = {
    &sds_signal_dataset_driver,
    NULL,
};
