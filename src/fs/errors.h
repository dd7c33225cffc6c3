// SPDX-License-Identifier: Apache-2.0
//
// The error journal: what went wrong with parts of the dataset while the rest kept working. It
// backs control/errors.jsonl, the counters by check in control/metrics, the attribute
// user.sds.error, and writes the log line. Bounded in every direction; safe from any thread.
#ifndef SDSFS_FS_ERRORS_H
#define SDSFS_FS_ERRORS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct sds_errors;

struct sds_errors *sds_errors_new(void); // NULL when there is no memory
void sds_errors_free(struct sds_errors *errors);

// Notes a failure that concerns a place in the tree ("records/000042/samples.npy", any bytes).
void sds_errors_add(struct sds_errors *errors, struct sds_span path, const struct sds_err *what);

uint64_t sds_errors_total(struct sds_errors *errors);

// Appends the newest failures, oldest first, as JSON lines
// {"time","path","object","check","message"}; consecutive repeats are one line with a "count".
// Kinds: LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_errors_render(struct sds_errors *errors, struct sds_buf *out);

// Appends the first failure noted for a place or for anything below it, "name: check: message" with
// the name relative to the place. False when there is none. Places in the top directory are not
// kept: what failed below "records" is of interest for each record.
bool sds_errors_first(struct sds_errors *errors, struct sds_span path, struct sds_buf *out);

// Failures by check, in the order in which the checks first failed.
void sds_errors_each_check(struct sds_errors *errors,
                           void (*emit)(void *ctx, const char *check, uint64_t count), void *ctx);

#endif
