// SPDX-License-Identifier: Apache-2.0
//
// A dataset with index/ in its tree: everything that takes a scan over metadata. It is a dataset
// like any other to the file system; what is not below index/ is asked of the one inside.
#ifndef SDSFS_INDEX_OVERLAY_H
#define SDSFS_INDEX_OVERLAY_H

#include "format/driver.h"

// inner has scan. It and cache_dir (the option, or NULL) outlive the overlay, which is closed like
// any dataset and leaves inner alone. What it is building then is given up.
SDS_MUST_CHECK enum sds_kind sds_index_overlay(struct sds_dataset *inner, const char *cache_dir,
                                               struct sds_dataset **out, struct sds_err *err);

#endif
