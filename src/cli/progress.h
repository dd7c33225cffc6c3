// SPDX-License-Identifier: Apache-2.0
//
// A progress bar on stderr, drawn only if that is a terminal.
#ifndef SDSFS_CLI_PROGRESS_H
#define SDSFS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct sds_progress {
    bool visible; // stderr is a terminal
    bool drawn;
    struct timespec last;
};

void sds_progress_init(struct sds_progress *progress);
// total 0: not known.
void sds_progress_update(struct sds_progress *progress, uint64_t done, uint64_t total,
                         const char *unit);
// Takes the bar off the screen, before other output and at the end.
void sds_progress_clear(struct sds_progress *progress);

#endif
