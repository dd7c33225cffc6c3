// SPDX-License-Identifier: Apache-2.0
//
// One row of rows.jsonl, taken apart (docs/formats/signal-dataset.md, section 8, "Row input
// format"). A pure function of the line; what needs the dataset or the .npy files is checked where
// those are at hand.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ROW_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ROW_H

#include "base/json.h"

// At least one of ordinal and source_record_id is there.
struct input_row {
    struct sds_json *doc;
    bool has_ordinal;
    uint64_t ordinal;
    struct sds_value source_record_id; // a string, or absent
    struct sds_value status;           // "success", "skipped" or "failed"
    struct sds_value values;           // an object, or absent ({}), as it is for null
    struct sds_value provenance;       // the same
    struct sds_value detail_status;    // a nonempty string, null or absent
    struct sds_value fields;           // an object, or absent; each value as check_field wants it
};

// The line must outlive the row. Kinds: INVALID, with the name of the key (or "json", "row",
// "keys", "encoding") as the check; NO_MEMORY.
SDS_MUST_CHECK enum sds_kind input_row_parse(struct sds_span line, struct input_row *out,
                                             struct sds_err *err);
void input_row_fini(struct input_row *row);

// What is wrong with a row is the caller's input, whatever the codec that found it calls it. Other
// kinds (no memory, storage) stay.
enum sds_kind as_input_error(enum sds_kind kind, struct sds_err *err);

#endif
