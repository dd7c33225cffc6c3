// SPDX-License-Identifier: Apache-2.0
#ifndef SDSFS_CLI_CONTENT_H
#define SDSFS_CLI_CONTENT_H

#include "format/driver.h"

// Writes a file's whole content to a descriptor. Kinds: those of the driver; STORAGE, check
// "write", when the descriptor does not take it.
SDS_MUST_CHECK enum sds_kind sds_write_content(struct sds_dataset *ds, struct sds_node file,
                                               uint64_t size, int fd, struct sds_err *err);
// Writes bytes; the same check.
SDS_MUST_CHECK enum sds_kind sds_write_all(int fd, struct sds_span bytes, struct sds_err *err);

#endif
