// SPDX-License-Identifier: Apache-2.0
//
// The safetensors library reads headers with serde_json, which is stricter than the strict JSON of
// docs/formats/signal-dataset.md, section 2, in four things: the bytes are UTF-8 without a byte
// order mark, no string holds a lone surrogate, no number overflows a double (in serde's own
// arithmetic, which gives up a little before the largest double), and containers nest 127 deep at
// most.
#ifndef SDSFS_FORMAT_TENSOR_SERDE_H
#define SDSFS_FORMAT_TENSOR_SERDE_H

#include "base/json.h"

// Kind: CORRUPT, check "header".
SDS_MUST_CHECK enum sds_kind sds_serde_check(const struct sds_json *document, struct sds_err *err);

// A usize as serde reads it: an integer of 64 bits, and "-0" is not one (serde makes it a float).
bool sds_serde_usize(struct sds_value v, uint64_t *out);

#endif
