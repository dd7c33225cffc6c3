// SPDX-License-Identifier: Apache-2.0
//
// Finds a path in a dataset's tree without a kernel: what `sdsfs ls`, `cat` and `cp` begin with,
// and how ".." is answered for file handles.
#ifndef SDSFS_FS_WALK_H
#define SDSFS_FS_WALK_H

#include "format/driver.h"

struct sds_place {
    struct sds_node node;
    struct sds_attr attr;
};

// Walks from the root along path ("" is the root; "." and ".." and doubled slashes mean what they
// do elsewhere). Links on the way are followed as long as they stay in the tree, the last component
// only if follow is set. Kinds: NOT_FOUND (check "path"), LIMIT (too deep, too many links), and
// those of the driver.
SDS_MUST_CHECK enum sds_kind sds_walk(struct sds_dataset *ds, struct sds_span path, bool follow,
                                      struct sds_place *out, struct sds_err *err);

#endif
