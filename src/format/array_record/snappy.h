// SPDX-License-Identifier: Apache-2.0
//
// Decoder of raw (unframed) snappy.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_SNAPPY_H
#define SDSFS_FORMAT_ARRAY_RECORD_SNAPPY_H

#include "base/bytes.h"

// Unpacks a stream into exactly len bytes. NULL when all is well, else what is wrong with the
// stream. out may be written in any case.
const char *sds_snappy_decode(struct sds_span stream, uint8_t *out, size_t len);

#endif
