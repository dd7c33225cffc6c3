// SPDX-License-Identifier: Apache-2.0
//
// When a credential that ends is to be replaced. Pure.
#ifndef SDSFS_REMOTE_CREDENTIALS_EXPIRY_H
#define SDSFS_REMOTE_CREDENTIALS_EXPIRY_H

#include <stdint.h>

enum sds_freshness {
    SDS_FRESH,  // used as it is
    SDS_AGEING, // used, while another one is looked for: the last 10 minutes
    SDS_STALE,  // not used any more: the last minute, as a request takes its time
};
// For one that was found at `found` and ends at `expires` (0: never), in seconds since the epoch.
// Of a short life the margins are a quarter and an eighth.
enum sds_freshness sds_freshness_of(int64_t found, int64_t expires, int64_t now);

#endif
