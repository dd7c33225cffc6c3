// SPDX-License-Identifier: Apache-2.0
//
// What is in one file of the disk cache, a segment: the part [number * SDS_DISK_SEGMENT, + that) of
// one version of an object, as far as it is there. The file:
//
//          0  header: who it belongs to
//         64  entries, one behind the other: an extent that was written, and a checksum for every
//             piece of it; each has a checksum of its own, and the first that is not right is the
//             end
//    256 KiB  the bytes of the segment, at their places; sparse
//
// A piece is what lies between multiples of SDS_DISK_PIECE: the smallest thing that is checked. All
// checksums depend on the object and on the place, so that bytes in a wrong place are wrong. This
// module is the format and the table of pieces in memory; it does no I/O. Owned by one thread at a
// time.
#ifndef SDSFS_REMOTE_DISK_INDEX_H
#define SDSFS_REMOTE_DISK_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define SDS_DISK_SEGMENT ((uint32_t)8 << 20)
#define SDS_DISK_PIECE ((uint32_t)16 << 10)
#define SDS_DISK_HEADER 64
#define SDS_DISK_FRONT ((uint32_t)256 << 10) // where the bytes begin

// One segment.
struct sds_disk_key {
    uint8_t id[16]; // of the object's version
    uint64_t number;
};

void sds_disk_header_write(const struct sds_disk_key *key, uint8_t out[SDS_DISK_HEADER]);
bool sds_disk_header_is(const struct sds_disk_key *key, const uint8_t header[SDS_DISK_HEADER]);

// Bytes [start, end) of the segment and their checksum.
struct sds_disk_piece {
    uint32_t start, end;
    uint64_t sum;
};

// Pieces in order; none begins or ends within another one of which it is a part.
struct sds_disk_index {
    uint64_t salt; // of the segment, in all checksums
    struct sds_disk_piece *pieces;
    size_t count, cap;
    uint32_t position; // in the file, of the first entry that was not taken in yet
};

void sds_disk_index_init(struct sds_disk_index *index, const struct sds_disk_key *key);
void sds_disk_index_fini(struct sds_disk_index *index);

uint64_t sds_disk_piece_sum(const struct sds_disk_index *index, uint32_t start,
                            struct sds_span bytes);

#define SDS_DISK_ENTRY_MAX (16 + 8 * (SDS_DISK_SEGMENT / SDS_DISK_PIECE + 1))
uint32_t sds_disk_entry_size(uint32_t off, uint32_t len);
// The entry for bytes at off, to be written at index->position. They have to lie in the segment.
// out has SDS_DISK_ENTRY_MAX bytes; returns how many are used.
uint32_t sds_disk_entry_write(const struct sds_disk_index *index, uint32_t off,
                              struct sds_span bytes, uint8_t *out);

// Takes in the entries that bytes, which lie at index->position in the file, begin with, and moves
// the position behind them. Stops at what is no whole entry. NO_MEMORY changes nothing.
SDS_MUST_CHECK enum sds_kind sds_disk_index_take(struct sds_disk_index *index,
                                                 struct sds_span bytes);

// The piece that has the byte at off and reaches furthest; NULL: none has it.
const struct sds_disk_piece *sds_disk_index_find(const struct sds_disk_index *index, uint32_t off);
// The first run of bytes in [off, end) that is there without a gap.
bool sds_disk_index_run(const struct sds_disk_index *index, uint32_t off, uint32_t end,
                        uint32_t *start, uint32_t *stop);

#endif
