// SPDX-License-Identifier: Apache-2.0
//
// From a row to its carrier: the record that holds an annotation
// (docs/formats/signal-dataset.md, section 7, "Carrier record").
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_CARRIER_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_CARRIER_H

#include "base/blob.h"
#include "format/signal_dataset/encode.h"
#include "format/signal_dataset/encode_text.h"
#include "format/signal_dataset/publish/row.h"
#include "format/signal_dataset/publish/tensor_file.h"

// Memory that is used again from row to row. One thread a maker.
struct carrier_maker {
    struct tensor_directory directory;
    uint64_t max_bytes;      // of a carrier
    struct sds_buf metadata; // {"annotation":{...}}
    struct sds_buf texts;    // axes and metadata of all fields
    struct sds_buf names;    // of fields that their rows escape
    struct carrier_field *parts;
    struct sds_field_source *fields;
    uint64_t *offsets;
    size_t room; // in the three of them
};

void carrier_maker_init(struct carrier_maker *maker, struct tensor_directory directory,
                        uint64_t max_bytes);
void carrier_maker_fini(struct carrier_maker *maker);

// Makes sure that a row can be a carrier which every reader takes, without reading its tensors'
// data. id is the record's, as compact JSON. Kinds: INVALID for what is wrong with the
// row or the files it names; STORAGE; NO_MEMORY.
SDS_MUST_CHECK enum sds_kind carrier_check(struct carrier_maker *maker, const struct input_row *row,
                                           uint64_t ordinal, struct sds_span id,
                                           struct sds_err *err);
// The whole carrier of a row that was checked. *payload is the caller's.
SDS_MUST_CHECK enum sds_kind carrier_make(struct carrier_maker *maker, const struct input_row *row,
                                          uint64_t ordinal, struct sds_span id,
                                          struct sds_blob **payload, struct sds_err *err);

#endif
