// SPDX-License-Identifier: Apache-2.0
//
// Quantities as people read them. Pure; any thread.
#ifndef SDSFS_CLI_SHOWN_H
#define SDSFS_CLI_SHOWN_H

#include <stdint.h>

#define SDS_SHOWN_MAX 32

// Bytes, as "1.5 MiB". Returns out.
const char *sds_bytes_shown(uint64_t count, char out[SDS_SHOWN_MAX]);

// How long ago something was, in the two largest units: "2 h 10 min", "3 s", "just now".
const char *sds_age_shown(uint64_t seconds, char out[SDS_SHOWN_MAX]);

#endif
