// SPDX-License-Identifier: Apache-2.0
#include "remote/online/readahead.h"

#include <stddef.h>

#include "base/ckd.h"

// Between two chunks there may be a header that nobody reads.
#define SLACK 4096

static bool touches(const struct sds_region *region, uint64_t start, uint64_t end) {
    return region->reads > 0 && start <= region->end + SLACK && region->start <= end + SLACK;
}

// The region that the read makes longer, any other that it reaches joined to it; NULL: none.
static struct sds_region *join(struct sds_readahead *readahead, uint64_t start, uint64_t end) {
    struct sds_region *into = NULL;
    for (size_t i = 0; i < SDS_READAHEAD_REGIONS; i++) {
        struct sds_region *region = &readahead->regions[i];
        if (!touches(region, start, end)) {
            continue;
        }
        if (into == NULL) {
            into = region;
        } else {
            into->start = sds_min(into->start, region->start);
            into->end = sds_max(into->end, region->end);
            into->ahead = sds_max(into->ahead, region->ahead);
            into->reads += region->reads - 1; // the first read of each says nothing
            region->reads = 0;
        }
    }
    return into;
}

static bool was_read(const struct sds_readahead *readahead, uint64_t start, uint64_t end) {
    bool was = false;
    for (size_t i = 0; i < SDS_READAHEAD_REGIONS; i++) {
        const struct sds_region *region = &readahead->regions[i];
        was = was || (region->reads > 0 && start >= region->start && end <= region->end);
    }
    return was;
}

// An unused region, or the one that was longest not read in.
static struct sds_region *spare(struct sds_readahead *readahead) {
    struct sds_region *oldest = &readahead->regions[0];
    for (size_t i = 0; i < SDS_READAHEAD_REGIONS; i++) {
        struct sds_region *region = &readahead->regions[i];
        if (region->reads == 0) {
            return region;
        }
        oldest = region->used < oldest->used ? region : oldest;
    }
    return oldest;
}

// A window that opens with what was read, in whole pieces of half of it, so that there are few of
// them and always one on its way. The first has the bytes from off on that are being read, unless
// they were asked for. A short rest goes with the last one.
static bool plan(const struct sds_region *region, uint64_t off, uint64_t size, uint64_t window,
                 struct sds_ahead *out) {
    uint64_t open = sds_min(region->end - region->start, window);
    uint64_t piece = sds_min(sds_max(open / 2, SDS_READAHEAD_PIECE_MIN), SDS_READAHEAD_PIECE_MAX);
    uint64_t start = sds_max(region->ahead, off);
    uint64_t end = open < size - region->end ? region->end + open : size;
    if (start < end && size - end >= piece / 2) {
        end = start + (end - start) / piece * piece;
    } else if (start < end) {
        end = size;
    }
    *out = (struct sds_ahead){.start = start, .end = end, .piece = piece};
    return start < end;
}

bool sds_readahead_note(struct sds_readahead *readahead, uint64_t off, uint64_t len, uint64_t size,
                        uint64_t window, struct sds_ahead *out) {
    uint64_t end = off + len;
    bool repeated = was_read(readahead, off, end);
    struct sds_region *region = join(readahead, off, end);
    if (region == NULL) {
        region = spare(readahead);
        *region = (struct sds_region){.start = off, .end = off};
    }
    region->used = ++readahead->reads;
    if (!repeated) {
        region->reads += region->reads == 0 || off > region->start; // not one that goes backwards
        region->start = sds_min(region->start, off);
        region->end = sds_max(region->end, end);
    }
    return region->reads >= SDS_READAHEAD_READS && region->end <= size &&
           region->end - region->start >= SDS_READAHEAD_PIECE_MIN &&
           plan(region, off, size, window, out);
}

void sds_readahead_reached(struct sds_readahead *readahead, uint64_t start, uint64_t end) {
    for (size_t i = 0; i < SDS_READAHEAD_REGIONS; i++) {
        struct sds_region *region = &readahead->regions[i];
        uint64_t reach = sds_max(region->ahead, region->end);
        if (region->reads > 0 && start >= region->start && start <= reach) {
            region->ahead = sds_max(region->ahead, end);
            return;
        }
    }
}
