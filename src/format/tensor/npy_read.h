// SPDX-License-Identifier: Apache-2.0
//
// The header of a .npy file (NEP 1, versions 1.0, 2.0 and 3.0) that holds an array as records can:
// one of the thirteen element types, little-endian, C order, rank at least 1, and nothing behind
// its data. The header is a Python dictionary; it is read as writers of .npy files write it, with
// any white space, quotes and order of keys, but without the rest of Python. Never a file that
// numpy refuses, and never another array than numpy's.
#ifndef SDSFS_FORMAT_TENSOR_NPY_READ_H
#define SDSFS_FORMAT_TENSOR_NPY_READ_H

#include "base/err.h"
#include "format/tensor/dtype.h"

#define SDS_NPY_PREFIX 12             // bytes that tell how long the header is
#define SDS_NPY_MAX_HEAD (12 + 10000) // numpy reads no longer ones

struct sds_npy {
    enum sds_dtype dtype;
    uint32_t rank; // 1 to SDS_MAX_RANK
    uint64_t shape[SDS_MAX_RANK];
    uint64_t data_off; // in the file; the data end with it
    uint64_t data_len;
};

// How many bytes the header takes from the start of the file, told by the first SDS_NPY_PREFIX
// bytes, or all of a shorter file: at most SDS_NPY_MAX_HEAD. Kind: INVALID, checks "npy_magic",
// "npy_version", "npy_header".
SDS_MUST_CHECK enum sds_kind sds_npy_head_len(struct sds_span prefix, size_t *len,
                                              struct sds_err *err);

// Reads the header of a file of file_size bytes. head is what sds_npy_head_len asks for, or more,
// or the whole of a shorter file. Kind: INVALID, checks those of sds_npy_head_len, "npy_dtype",
// "npy_byte_order" (big-endian), "npy_order" (Fortran order, unless the rank is 1 and it means
// nothing), "npy_shape", "npy_size" (data cut off, or something behind them).
SDS_MUST_CHECK enum sds_kind sds_npy_read(struct sds_span head, uint64_t file_size,
                                          struct sds_npy *out, struct sds_err *err);

#endif
