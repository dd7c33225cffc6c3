// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 40, MAX_SHOWN = 3, MIN_BEGINNING = 3 };

static unsigned smaller(unsigned a, unsigned b) {
    return a < b ? a : b;
}

// How many letters were left out, added, replaced or taken for their neighbour's place: the usual
// table, of which the two rows above are kept.
static unsigned distance(const char *a, const char *b) {
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > MAX_NAME || b_len > MAX_NAME) {
        return MAX_NAME;
    }
    unsigned rows[3][MAX_NAME + 1];
    for (size_t i = 0; i <= a_len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            if (i == 0) {
                row[j] = (unsigned)j;
                continue;
            }
            row[j] =
                smaller(above[j - 1] + (a[i - 1] != b[j - 1]), smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = smaller(row[j], before[j - 2] + 1);
            }
        }
    }
    return rows[a_len % 3][b_len];
}

// How far a name is from what was typed, 0 for one that was not typed to its end.
static unsigned away(const char *typed, const char *name) {
    size_t len = strlen(typed);
    return len >= MIN_BEGINNING && strncmp(typed, name, len) == 0 ? 0 : distance(typed, name);
}

void sds_nearest(const char *typed, const char *const names[], size_t count, char *out,
                 size_t size) {
    // A mistake in three letters, two in six: what is further away is another word.
    unsigned best = (unsigned)strlen(typed) / 3;
    for (size_t i = 0; i < count; i++) {
        best = smaller(best, away(typed, names[i]));
    }
    size_t used = 0;
    unsigned shown = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && shown < MAX_SHOWN && used < size; i++) {
        if (away(typed, names[i]) <= best) {
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     shown++ == 0 ? " (did you mean " : ", ", names[i]);
        }
    }
    if (shown > 0 && used < size) {
        snprintf(out + used, size - used, "?)");
    }
}
