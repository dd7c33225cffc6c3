// SPDX-License-Identifier: Apache-2.0
//
// The SafeTensors container as the reference reads it: its own preflight over the header, then the
// rules of the safetensors library (docs/formats/signal-dataset.md, section 6). Nothing is copied:
// a tensor is a byte range of the payload.
#ifndef SDSFS_FORMAT_TENSOR_SAFETENSORS_H
#define SDSFS_FORMAT_TENSOR_SAFETENSORS_H

#include "base/json.h"
#include "format/tensor/dtype.h"

struct sds_tensor {
    struct sds_value name; // a string in the header document
    enum sds_dtype dtype;
    uint32_t rank;         // >= 1: a tensor of rank 0 is read as shape [1]
    const uint64_t *shape; // rank entries, owned by the table
    uint64_t off;          // of the first byte, from the start of the payload
    uint64_t len;
};

struct sds_tensors {
    struct sds_json *header;
    struct sds_tensor *items; // in header order
    size_t count;
    uint64_t *shapes; // backing store
};

// Parses and checks a payload's header; the payload must outlive the table. max_tensors counts all
// tensors. Kinds: CORRUPT (with the check's name), LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_safetensors_parse(struct sds_span payload, size_t max_tensors,
                                                   struct sds_tensors *out, struct sds_err *err);
void sds_tensors_fini(struct sds_tensors *tensors);

#endif
