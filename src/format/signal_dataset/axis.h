// SPDX-License-Identifier: Apache-2.0
//
// Axes, coordinates and metadata as descriptors and metadata entries write them. Reading one makes
// the checks that the reference makes in the constructors both of its codecs share; what only
// records have to obey stands in validate.c.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_AXIS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_AXIS_H

#include "base/json.h"

// A member that is null counts as absent, except for the axis' name and length.
struct sds_coordinate {
    struct sds_value values; // an array, a string (its characters) or an object (its keys)
    uint64_t value_count;    // of elements, characters or keys
    struct sds_value start, step, reference, unit;
    struct sds_value metadata;
};

struct sds_axis {
    struct sds_value name, length;
    struct sds_value role, id;
    struct sds_value metadata;
    bool has_coordinate;
    struct sds_coordinate coordinate;
};

// Kinds: CORRUPT, checks "axis", "coordinate", "coordinate_values", "metadata"; NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_axis_read(struct sds_value v, struct sds_axis *out,
                                           struct sds_err *err);
// The same where the length may be absent, as in the rows that an annotation set is made of.
SDS_MUST_CHECK enum sds_kind sds_axis_read_row(struct sds_value v, struct sds_axis *out,
                                               struct sds_err *err);

// Metadata is an object without infinite numbers, or anything that Python calls false, which stands
// for {}. Kind: CORRUPT, check "metadata".
SDS_MUST_CHECK enum sds_kind sds_metadata_check(struct sds_value metadata, struct sds_err *err);

// Equality as the reference's: Python's == on each part, falsy metadata being {}. Kind: NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_metadata_equal(struct sds_value a, struct sds_value b,
                                                bool *equal);
SDS_MUST_CHECK enum sds_kind sds_coordinate_equal(const struct sds_coordinate *a,
                                                  const struct sds_coordinate *b, bool *equal);

// Bytes of json.dumps of metadata, and of a coordinate as an object of its first five members,
// where measure tells (or bounds) those of a value.
typedef uint64_t (*sds_measure)(struct sds_value v);
uint64_t sds_metadata_size(struct sds_value metadata, sds_measure measure);
uint64_t sds_coordinate_size(const struct sds_coordinate *coordinate, sds_measure measure);

#endif
