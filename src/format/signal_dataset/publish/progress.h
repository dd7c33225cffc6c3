// SPDX-License-Identifier: Apache-2.0
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_PROGRESS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_PROGRESS_H

#include "format/driver.h"

#define PROGRESS_STEP 256 // rows between two words

// Tells how far a stage is, every PROGRESS_STEP steps and at its end.
static inline void tell_progress(const struct sds_annotate_request *request, const char *stage,
                                 uint64_t done, uint64_t total, uint64_t step) {
    if (request->progress != NULL && (step % PROGRESS_STEP == 0 || done == total)) {
        request->progress(request->ctx, stage, done, total);
    }
}

#endif
