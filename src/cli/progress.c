// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, REDRAW_MS = 100 };

void sds_progress_init(struct sds_progress *progress) {
    *progress = (struct sds_progress){.visible = isatty(STDERR_FILENO) == 1};
}

static bool is_due(struct sds_progress *progress) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long ms = (now.tv_sec - progress->last.tv_sec) * 1000LL +
                   (now.tv_nsec - progress->last.tv_nsec) / 1000000;
    if (progress->drawn && ms < REDRAW_MS) {
        return false;
    }
    progress->last = now;
    return true;
}

void sds_progress_update(struct sds_progress *progress, uint64_t done, uint64_t total,
                         const char *unit) {
    if (!progress->visible || !is_due(progress)) {
        return;
    }
    if (total > 0) {
        double part = done < total ? (double)done / (double)total : 1;
        int filled = (int)(part * BAR_WIDTH);
        fprintf(stderr, "\r[%.*s%*s] %3.0f%% %" PRIu64 "/%" PRIu64 " %s\033[K", filled,
                "##############################", BAR_WIDTH - filled, "", part * 100, done, total,
                unit);
    } else {
        fprintf(stderr, "\r%" PRIu64 " %s\033[K", done, unit);
    }
    progress->drawn = true;
}

void sds_progress_clear(struct sds_progress *progress) {
    if (progress->drawn) {
        fputs("\r\033[K", stderr);
        progress->drawn = false;
    }
}
