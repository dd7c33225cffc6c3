// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the rows: told to whoever asked as it is found, and remembered as far as the
// failure of the whole needs it.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_PROBLEMS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_PROBLEMS_H

#include "format/driver.h"

struct problems {
    const struct sds_annotate_request *request;
    unsigned count;
    uint64_t first_line;
    struct sds_err first;
};

// Takes note of a wrong row (line 0: of the rows as a whole) and returns OK. Errors of another kind
// than INVALID are no problem of the rows: they are passed on.
SDS_MUST_CHECK enum sds_kind problems_add(struct problems *problems, uint64_t line,
                                          const struct sds_err *what, struct sds_err *err);
// Whether so many were told that it is no use to look for more.
bool problems_full(const struct problems *problems);
// OK without problems; else the first one, with its line.
SDS_MUST_CHECK enum sds_kind problems_verdict(const struct problems *problems, struct sds_err *err);

#endif
