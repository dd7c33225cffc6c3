// SPDX-License-Identifier: Apache-2.0
//
// Record payloads and metadata entries written, byte for byte as the reference writes them
// (docs/formats/signal-dataset.md, section 6). The parts that are JSON come as compact text, as
// sds_json_write and the functions here make it, so that whoever writes many records can keep what
// they have in common. Pure functions without I/O.
//
// What is written passes the decoder: whatever rule the source breaks is found by
// decoding the result, and refused under the decoder's name for the check. Kinds: INVALID where a
// reader would say CORRUPT, and where the reference's encoder refuses; LIMIT; NO_MEMORY.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_ENCODE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_ENCODE_H

#include "base/blob.h"
#include "base/json.h"
#include "format/tensor/dtype.h"

struct sds_field_source {
    struct sds_span name; // not escaped
    enum sds_dtype dtype;
    uint32_t rank;
    const uint64_t *shape;    // rank entries
    struct sds_span axes;     // of sds_axes_write
    struct sds_span metadata; // of sds_metadata_write
};

struct sds_record_source {
    struct sds_span id;       // compact JSON: a string
    struct sds_span scene_id; // compact JSON: a string or null
    struct sds_span metadata; // of sds_metadata_write
    const struct sds_field_source *fields;
    size_t field_count; // in any order
};

// Appends metadata: an object, or {} for what Python calls false, an absent value included.
// Anything else: check "metadata". Strings and numbers as sds_json_write.
SDS_MUST_CHECK enum sds_kind sds_metadata_write(struct sds_value metadata, struct sds_buf *out,
                                                struct sds_err *err);

// Appends the axes of an array: all six keys an axis, all six a coordinate, nulls written out. axes
// is an array with one object a dimension, or absent for rank 0. An absent length is the dimension;
// any other but the dimension itself is refused, check "axis_length". Coordinate values that hold
// an object cannot be written, check "coordinate_values" (the reference reads them, and fails to
// write them). Keys that an axis does not have are left out. What only records have to obey is not
// checked here.
SDS_MUST_CHECK enum sds_kind sds_axes_write(struct sds_value axes, const uint64_t *shape,
                                            uint32_t rank, struct sds_buf *out,
                                            struct sds_err *err);

// Lays out a record. *payload is a blob of its exact size with everything in place except the data
// of the fields, which are zero: the caller fills in that of fields[i] (little-endian, C order) at
// (*payload)->at + data_offsets[i]. A record of more than max_bytes: LIMIT, check "record_size",
// before anything of that size is allocated.
SDS_MUST_CHECK enum sds_kind sds_record_encode(const struct sds_record_source *source,
                                               uint64_t max_bytes, struct sds_blob **payload,
                                               uint64_t *data_offsets, struct sds_err *err);

// Appends a record's metadata entry. On failure out is unchanged.
SDS_MUST_CHECK enum sds_kind sds_metadata_encode(const struct sds_record_source *source,
                                                 struct sds_buf *out, struct sds_err *err);

#endif
