// SPDX-License-Identifier: Apache-2.0
//
// <field>.bin: the field's elements alone, little-endian, C order.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_BIN_H
#define SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_BIN_H

#include "format/signal_dataset/views/views.h"

extern const struct view view_bin;

#endif
