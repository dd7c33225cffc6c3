// SPDX-License-Identifier: Apache-2.0
//
// The thirteen element types that records may have, under their NumPy and SafeTensors names
// (docs/formats/signal-dataset.md, section 6).
#ifndef SDSFS_FORMAT_TENSOR_DTYPE_H
#define SDSFS_FORMAT_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define SDS_MAX_RANK 64 // of a NumPy array

enum sds_dtype {
    SDS_BOOL,
    SDS_I8,
    SDS_U8,
    SDS_I16,
    SDS_U16,
    SDS_F16,
    SDS_I32,
    SDS_U32,
    SDS_F32,
    SDS_I64,
    SDS_U64,
    SDS_F64,
    SDS_C64,
    SDS_DTYPES,
};

const char *sds_dtype_numpy(enum sds_dtype dtype);       // "<f4"
const char *sds_dtype_safetensors(enum sds_dtype dtype); // "F32"
uint32_t sds_dtype_bytes(enum sds_dtype dtype);
// Bytes of an array; 2^64 - 1 stands for that or more.
uint64_t sds_array_bytes(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank);
// Whether NumPy can hold such an array: the bytes of an element times the dimensions, those left
// out that are zero, have to stay below 2^63.
bool sds_array_possible(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank);

bool sds_dtype_from_numpy(struct sds_span name, enum sds_dtype *out);
bool sds_dtype_from_safetensors(struct sds_span name, enum sds_dtype *out);

#endif
