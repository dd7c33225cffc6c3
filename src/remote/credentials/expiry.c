// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/expiry.h"

#define AGEING_S 600
#define STALE_S 60

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

enum sds_freshness sds_freshness_of(int64_t found, int64_t expires, int64_t now) {
    if (expires == 0) {
        return SDS_FRESH;
    }
    int64_t life = expires > found ? expires - found : 0;
    int64_t left = expires - now;
    if (left <= least(STALE_S, life / 8)) {
        return SDS_STALE;
    }
    return left <= least(AGEING_S, life / 4) ? SDS_AGEING : SDS_FRESH;
}
