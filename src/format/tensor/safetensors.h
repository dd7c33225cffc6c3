// SPDX-License-Identifier: Apache-2.0
//
// The SafeTensors container as the reference reads it: its own preflight over the header, then the
// rules of the safetensors library and what a NumPy array can be (docs/formats/signal-dataset.md,
// section 6). Nothing is copied: a tensor is a byte range of the payload.
#ifndef SDSFS_FORMAT_TENSOR_SAFETENSORS_H
#define SDSFS_FORMAT_TENSOR_SAFETENSORS_H

#include "base/json.h"
#include "format/tensor/dtype.h"
#include "format/tensor/named.h"

#define SDS_MAX_HEADER_BYTES 100000000

struct sds_tensor {
    struct sds_span name; // unescaped
    enum sds_dtype dtype;
    uint32_t rank;         // 0 to SDS_MAX_RANK
    const uint64_t *shape; // rank entries, owned by the table
    uint64_t off;          // of the first byte, from the start of the payload
    uint64_t len;
};

struct sds_tensors {
    struct sds_json *header;
    struct sds_tensor *items; // in header order
    size_t count;
    uint64_t *shapes; // backing store
    size_t shape_count;
    struct sds_buf names;      // backing store of the names that the header escapes
    struct sds_named *by_name; // count entries
};

// Parses and checks a payload's header; the payload must outlive the table. max_tensors counts all
// tensors. Kinds: CORRUPT (with the check's name), LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_safetensors_parse(struct sds_span payload, size_t max_tensors,
                                                   struct sds_tensors *out, struct sds_err *err);
void sds_tensors_fini(struct sds_tensors *tensors);

// The tensor with this name, or NULL.
const struct sds_tensor *sds_tensors_find(const struct sds_tensors *tensors, struct sds_span name);

#endif
