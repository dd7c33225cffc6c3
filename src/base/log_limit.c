// SPDX-License-Identifier: Apache-2.0
#include "base/log_limit.h"

#include <stdio.h>
#include <string.h>

static bool is_over(const struct sds_log_kind *kind, uint64_t now_ms) {
    return now_ms - kind->since_ms >= SDS_LOG_LIMIT_MS;
}

// The kind's own place, else one that nobody counts in, else the last one, which all others share.
static struct sds_log_kind *find(struct sds_log_limit *limit, const char *name, uint64_t now_ms) {
    struct sds_log_kind *unused = NULL;
    for (size_t i = 0; i < SDS_LOG_LIMIT_KINDS; i++) {
        struct sds_log_kind *kind = &limit->kinds[i];
        if (kind->name[0] != '\0' && strncmp(kind->name, name, SDS_LOG_LIMIT_NAME - 1) == 0) {
            return kind;
        }
        bool idle = kind->name[0] == '\0' || (kind->left_out == 0 && is_over(kind, now_ms));
        unused = unused == NULL && idle ? kind : unused;
    }
    if (unused != NULL) {
        *unused = (struct sds_log_kind){.since_ms = now_ms};
        snprintf(unused->name, sizeof unused->name, "%s", name);
    }
    return unused != NULL ? unused : &limit->kinds[SDS_LOG_LIMIT_KINDS - 1];
}

bool sds_log_limit_take(struct sds_log_limit *limit, const char *name, uint64_t now_ms) {
    struct sds_log_kind *kind = find(limit, name, now_ms);
    if (is_over(kind, now_ms)) {
        kind->since_ms = now_ms;
        kind->lines = 0;
    }
    if (kind->lines == SDS_LOG_LIMIT_LINES) {
        kind->left_out++;
        return false;
    }
    kind->lines++;
    return true;
}

unsigned sds_log_limit_over(struct sds_log_limit *limit, uint64_t now_ms,
                            char name[SDS_LOG_LIMIT_NAME]) {
    for (size_t i = 0; i < SDS_LOG_LIMIT_KINDS; i++) {
        struct sds_log_kind *kind = &limit->kinds[i];
        unsigned left_out = kind->left_out;
        if (left_out > 0 && is_over(kind, now_ms)) {
            memcpy(name, kind->name, SDS_LOG_LIMIT_NAME);
            *kind = (struct sds_log_kind){0};
            return left_out;
        }
    }
    return 0;
}
