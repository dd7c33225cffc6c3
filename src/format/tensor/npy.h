// SPDX-License-Identifier: Apache-2.0
//
// The header of a NumPy .npy file (NEP 1): version 1.0, or 2.0 where the header passes 65535 bytes;
// C order; padded with spaces so that the data begins at a multiple of 64. The data itself follows
// without change, so a file is this header and a slice of a record.
#ifndef SDSFS_FORMAT_TENSOR_NPY_H
#define SDSFS_FORMAT_TENSOR_NPY_H

#include "base/buf.h"
#include "format/tensor/dtype.h"

// Appends the header, byte for byte as numpy.save writes it.
SDS_MUST_CHECK enum sds_kind sds_npy_header(enum sds_dtype dtype, const uint64_t *shape,
                                            uint32_t rank, struct sds_buf *out);
// Its length alone.
size_t sds_npy_header_len(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank);

#endif
