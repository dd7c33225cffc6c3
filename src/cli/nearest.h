// SPDX-License-Identifier: Apache-2.0
#ifndef SDSFS_CLI_NEAREST_H
#define SDSFS_CLI_NEAREST_H

#include <stddef.h>

// Writes the names that look most like what was typed, " (did you mean a, b?)", or "" when none
// does.
void sds_nearest(const char *typed, const char *const names[], size_t count, char *out,
                 size_t size);

#endif
