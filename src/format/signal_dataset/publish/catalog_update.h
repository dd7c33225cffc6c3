// SPDX-License-Identifier: Apache-2.0
//
// The catalog, the one object that is replaced in place: by compare-and-swap, so that none of
// several publishers at once loses its set (docs/formats/signal-dataset.md, section 8).
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_CATALOG_UPDATE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_CATALOG_UPDATE_H

#include "format/signal_dataset/publish/publication.h"

// Whether the catalog, as it is now, leaves the name of the set to this publication, whose set root
// has this path: else CONFLICT, check "exists". LIMIT, check "sets", when it has no room for
// another one; CORRUPT when it is broken. *listed: the set is in it already.
SDS_MUST_CHECK enum sds_kind catalog_look(const struct publication *pub, const char *path,
                                          bool *listed, struct sds_err *err);
// The same of a set root whose size is known, too: what an update would say now.
SDS_MUST_CHECK enum sds_kind catalog_check(const struct publication *pub, const char *path,
                                           uint64_t stored_bytes, struct sds_err *err);

// Has the catalog name the set. CONFLICT, check "exists" when its name is taken, "catalog" when
// other publishers were faster too many times.
SDS_MUST_CHECK enum sds_kind catalog_update(struct publication *pub, const char *path,
                                            uint64_t stored_bytes, struct sds_err *err);

#endif
