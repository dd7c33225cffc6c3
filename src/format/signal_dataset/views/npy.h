// SPDX-License-Identifier: Apache-2.0
//
// <field>.npy: the field as a NumPy file.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_NPY_H
#define SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_NPY_H

#include "format/signal_dataset/views/views.h"

extern const struct view view_npy;

#endif
