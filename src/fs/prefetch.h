// SPDX-License-Identifier: Apache-2.0
//
// What is written to control/prefetch: the ordinals of records that will be read, in that order.
#ifndef SDSFS_FS_PREFETCH_H
#define SDSFS_FS_PREFETCH_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define SDS_PREFETCH_MAX (1U << 20) // ordinals in one write

// A write(2) is to consist of whole lines, but the kernel may hand it on in pieces, which it cuts
// where a page ends, one after the other and no other write between. So the line that was cut is
// kept for the next piece.
struct sds_prefetch {
    pthread_mutex_t lock; // everything below
    uint64_t end;         // where the piece ended that was cut
    size_t len;
    char cut[64]; // the first part of its last line
};

void sds_prefetch_init(struct sds_prefetch *prefetch);
void sds_prefetch_fini(struct sds_prefetch *prefetch);
// What a piece at an offset announces, as sds_prefetch_parse has it.
SDS_MUST_CHECK int sds_prefetch_write(struct sds_prefetch *prefetch, uint64_t off,
                                      struct sds_span piece, uint64_t records, uint64_t **out,
                                      size_t *count, struct sds_err *err);

// Parses a text of whole lines: decimal ordinals and ranges "A-B" (both ends included, A not above
// B), separated by white space, each below records. *out is the caller's to free, NULL when the
// text names none. Returns 0, EINVAL (anything else in the text, or no newline at its end: then it
// may have been cut in the middle of a number), E2BIG (more than SDS_PREFETCH_MAX), ENOMEM; err has
// the reason (check "prefetch").
SDS_MUST_CHECK int sds_prefetch_parse(struct sds_span text, uint64_t records, uint64_t **out,
                                      size_t *count, struct sds_err *err);

#endif
