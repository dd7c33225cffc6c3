// SPDX-License-Identifier: Apache-2.0
#include "format/tensor/dtype.h"

#include "base/ckd.h"

static const struct {
    const char *numpy, *safetensors;
    uint32_t bytes;
} dtypes[SDS_DTYPES] = {
    [SDS_BOOL] = {"|b1", "BOOL", 1}, [SDS_I8] = {"|i1", "I8", 1},   [SDS_U8] = {"|u1", "U8", 1},
    [SDS_I16] = {"<i2", "I16", 2},   [SDS_U16] = {"<u2", "U16", 2}, [SDS_F16] = {"<f2", "F16", 2},
    [SDS_I32] = {"<i4", "I32", 4},   [SDS_U32] = {"<u4", "U32", 4}, [SDS_F32] = {"<f4", "F32", 4},
    [SDS_I64] = {"<i8", "I64", 8},   [SDS_U64] = {"<u8", "U64", 8}, [SDS_F64] = {"<f8", "F64", 8},
    [SDS_C64] = {"<c8", "C64", 8},
};

const char *sds_dtype_numpy(enum sds_dtype dtype) {
    return dtypes[dtype].numpy;
}

const char *sds_dtype_safetensors(enum sds_dtype dtype) {
    return dtypes[dtype].safetensors;
}

uint32_t sds_dtype_bytes(enum sds_dtype dtype) {
    return dtypes[dtype].bytes;
}

// The bytes that there would be if no dimension were zero. 2^64 - 1 stands for that or more.
static uint64_t extent(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank) {
    uint64_t bytes = sds_dtype_bytes(dtype);
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] != 0 && sds_ckd_mul(&bytes, bytes, shape[i])) {
            bytes = UINT64_MAX;
        }
    }
    return bytes;
}

uint64_t sds_array_bytes(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 0) {
            return 0;
        }
    }
    return extent(dtype, shape, rank);
}

bool sds_array_possible(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank) {
    return extent(dtype, shape, rank) <= INT64_MAX;
}

bool sds_dtype_from_numpy(struct sds_span name, enum sds_dtype *out) {
    for (unsigned i = 0; i < SDS_DTYPES; i++) {
        if (sds_span_eq(name, sds_span_str(dtypes[i].numpy))) {
            *out = (enum sds_dtype)i;
            return true;
        }
    }
    return false;
}

bool sds_dtype_from_safetensors(struct sds_span name, enum sds_dtype *out) {
    for (unsigned i = 0; i < SDS_DTYPES; i++) {
        if (sds_span_eq(name, sds_span_str(dtypes[i].safetensors))) {
            *out = (enum sds_dtype)i;
            return true;
        }
    }
    return false;
}
