// SPDX-License-Identifier: Apache-2.0
//
// The drivers of this program. A new layout adds its folder and one line in drivers.c.
#ifndef SDSFS_FORMAT_DRIVERS_H
#define SDSFS_FORMAT_DRIVERS_H

#include "format/driver.h"

extern const struct sds_driver_ops *const sds_drivers[]; // by name, then NULL

#endif
