// SPDX-License-Identifier: Apache-2.0
//
// The one writer of JSON that others have to read byte for byte as the reference would have written
// it (docs/formats/signal-dataset.md, section 6): keys sorted by code point, integers in decimal,
// doubles as Python's repr, strings in UTF-8 with no more escapes than JSON needs.
#ifndef SDSFS_BASE_JSON_WRITE_H
#define SDSFS_BASE_JSON_WRITE_H

#include "base/json.h"

enum sds_json_style {
    SDS_JSON_COMPACT,  // no white space
    SDS_JSON_INDENTED, // two spaces a level, one member a line, ": ", "[]" and "{}" when empty
};

// Appends a value, without a final LF in either style. An absent value is null. Kinds: INVALID
// where the reference refuses, checks "surrogate" (a lone one in some string or key) and "infinite"
// (a number beyond the range of double), with nothing appended; LIMIT of out and NO_MEMORY, checks
// "limit" and "memory", with a part of the text appended.
SDS_MUST_CHECK enum sds_kind sds_json_write(struct sds_value v, enum sds_json_style style,
                                            struct sds_buf *out, struct sds_err *err);

// Appends text as a JSON string. Kinds: INVALID when it is not UTF-8 or holds a lone surrogate;
// LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_json_write_string(struct sds_span text, struct sds_buf *out);

#endif
