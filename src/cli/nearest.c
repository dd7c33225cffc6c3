// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 40, MAX_SHOWN = 3 };

static unsigned smaller(unsigned a, unsigned b) {
    return a < b ? a : b;
}

// Edit distance (insertions, deletions, replacements) by the usual table, one row at a time.
static unsigned distance(const char *a, const char *b) {
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > MAX_NAME || b_len > MAX_NAME) {
        return MAX_NAME;
    }
    unsigned row[MAX_NAME + 1];
    for (unsigned j = 0; j <= b_len; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smaller(replaced, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_len];
}

void sds_nearest(const char *typed, const char *const names[], size_t count, char *out,
                 size_t size) {
    unsigned best = (unsigned)strlen(typed) / 2 + 1; // further away is another word
    for (size_t i = 0; i < count; i++) {
        best = smaller(best, distance(typed, names[i]));
    }
    size_t used = 0;
    unsigned shown = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && shown < MAX_SHOWN && used < size; i++) {
        unsigned away = distance(typed, names[i]);
        if (away <= best + 1 && away <= strlen(typed) / 2 + 1) {
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     shown++ == 0 ? " (did you mean " : ", ", names[i]);
        }
    }
    if (shown > 0 && used < size) {
        snprintf(out + used, size - used, "?)");
    }
}
