// SPDX-License-Identifier: Apache-2.0
//
// Sees readers that go through an object from front to back, and tells what they will want next.
// What was read lately is kept as a few regions; a read that touches one makes it longer. So
// readers are told apart by where they are, not by their handles, and reads that come a little out
// of order are one region in the end. One that several reads have made longer at its end, and
// that is not short, is a sequential reader, for whom never more is fetched ahead than it has read
// already. Readers with a stride and random ones make regions that do not grow, and get nothing.
//
// Numbers only; whoever owns the value protects it.
#ifndef SDSFS_REMOTE_READAHEAD_H
#define SDSFS_REMOTE_READAHEAD_H

#include <stdbool.h>
#include <stdint.h>

#define SDS_READAHEAD_REGIONS 8
#define SDS_READAHEAD_READS 3 // that make a reader sequential
#define SDS_READAHEAD_PIECE_MIN (128U << 10)
#define SDS_READAHEAD_PIECE_MAX (4U << 20)

struct sds_region {
    uint64_t start, end;
    uint64_t ahead; // up to where bytes have been asked for
    unsigned reads; // that made it; 0: unused
    uint64_t used;  // when, by the count of reads
};

// Zeroed before use.
struct sds_readahead {
    struct sds_region regions[SDS_READAHEAD_REGIONS];
    uint64_t reads;
};

// What should be fetched ahead now: pieces of at most `piece` bytes from start up to end.
struct sds_ahead {
    uint64_t start, end, piece;
};

// Bytes [off, off + len), len > 0, of an object of that size are going to be read, and at most
// `window` bytes ahead of a reader may be held. True when something should be fetched: these bytes,
// too, so that a sequential reader does not take a request for each of its reads.
bool sds_readahead_note(struct sds_readahead *readahead, uint64_t off, uint64_t len, uint64_t size,
                        uint64_t window, struct sds_ahead *out);
// The reader whose bytes begin at `start` of an sds_ahead has had them asked for up to `end`.
void sds_readahead_reached(struct sds_readahead *readahead, uint64_t start, uint64_t end);

#endif
