// SPDX-License-Identifier: Apache-2.0
//
// A payload around a descriptor, so that a fuzzer need not get the header right.
#ifndef SDSFS_FUZZ_AROUND_DESCRIPTOR_H
#define SDSFS_FUZZ_AROUND_DESCRIPTOR_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

// Two tensors, "t" of shape [2,2] and "u" of shape [3], and the descriptor.
static inline void around_descriptor(struct sds_span descriptor, struct sds_buf *payload) {
    char header[400];
    int len = snprintf(header, sizeof header,
                       "{\"t\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[0,4]},"
                       "\"u\":{\"dtype\":\"I16\",\"shape\":[3],\"data_offsets\":[4,10]},"
                       "\"__sds_descriptor__\":{\"dtype\":\"U8\",\"shape\":[%zu],"
                       "\"data_offsets\":[10,%zu]}}",
                       descriptor.len, 10 + descriptor.len);
    uint8_t frame[8] = {(uint8_t)len, (uint8_t)(len >> 8)};
    if (sds_buf_add(payload, frame, sizeof frame) != SDS_OK ||
        sds_buf_add(payload, header, (size_t)len) != SDS_OK ||
        sds_buf_add(payload, "0123456789", 10) != SDS_OK ||
        sds_buf_add_span(payload, descriptor) != SDS_OK) {
        abort();
    }
}

#endif
