// SPDX-License-Identifier: Apache-2.0
//
// JSON put together piece by piece, for the encoders. The first failure sticks and what comes
// behind it is left out, so that it is looked at once, in the end.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_ENCODE_TEXT_H
#define SDSFS_FORMAT_SIGNAL_DATASET_ENCODE_TEXT_H

#include "base/json_write.h"

struct text {
    struct sds_buf *out;
    enum sds_kind kind; // of the first failure
    struct sds_err *err;
};

void text_add(struct text *text, const char *literal);
void text_add_span(struct text *text, struct sds_span span);
void text_add_number(struct text *text, uint64_t n);
void text_add_string(struct text *text, struct sds_span string); // not escaped
void text_add_value(struct text *text, struct sds_value v);
// An object, or what stands for {}.
void text_add_metadata(struct text *text, struct sds_value metadata);

// Makes the failure that a reader would call corrupt one of whoever wants it written.
enum sds_kind text_fail_as_invalid(enum sds_kind kind, struct sds_err *err);

#endif
