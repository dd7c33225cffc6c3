// SPDX-License-Identifier: Apache-2.0
//
// Times as documents about credentials write them: "2026-01-02T03:04:05Z", also with a fraction,
// with an offset ("+00:00") or with "UTC" instead of "Z". Pure.
#ifndef SDSFS_REMOTE_CREDENTIALS_WHEN_H
#define SDSFS_REMOTE_CREDENTIALS_WHEN_H

#include <stdbool.h>
#include <stdint.h>

// Seconds since the epoch; false for anything else.
bool sds_when_parse(const char *text, int64_t *out);

#endif
