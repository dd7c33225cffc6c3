// SPDX-License-Identifier: Apache-2.0
//
// What the decoders and encoders of record payloads and metadata entries share.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_RECORD_INTERNAL_H
#define SDSFS_FORMAT_SIGNAL_DATASET_RECORD_INTERNAL_H

#include "format/signal_dataset/record.h"

#define SDS_DESCRIPTOR_TENSOR "__sds_descriptor__"
#define SDS_RECORD_FORMAT "signal-dataset.record"
#define SDS_RECORD_VERSION "0.1"

// Makes record->fields from the "fields" object of record->doc: names and their index; the decoder
// fills in the rest. Kinds: CORRUPT (check "fields"), LIMIT (check "field_count"), NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_record_make_fields(struct sds_record *record,
                                                    struct sds_value fields, struct sds_err *err);

// The rules of section 6 for a record whose fields are bound to tensors. Kinds: CORRUPT, LIMIT,
// NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_record_validate(const struct sds_record *record,
                                                 struct sds_err *err);

// Puts 'field "name": ' in front of the message.
void sds_field_context(const struct sds_field *field, struct sds_err *err);

SDS_MUST_CHECK enum sds_kind sds_record_no_memory(struct sds_err *err);

#endif
