// SPDX-License-Identifier: Apache-2.0
// The index of a segment of the disk cache: whatever lies in the file is entries or an end, and
// what a table tells is what the entries said, piece by piece.
#include <stdlib.h>

#include "remote/disk/disk_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

#define GRAIN 4096 // extents of the second half begin and end at multiples
#define GRAINS (SDS_DISK_SEGMENT / GRAIN)

static const struct sds_disk_key key = {.id = "an object's name", .number = 3};

static void check_table(const struct sds_disk_index *index) {
    CHECK(index->position >= SDS_DISK_HEADER && index->position <= SDS_DISK_FRONT);
    for (size_t i = 0; i < index->count; i++) {
        const struct sds_disk_piece *piece = &index->pieces[i];
        CHECK(piece->start < piece->end && piece->end <= SDS_DISK_SEGMENT);
        CHECK(piece->start / SDS_DISK_PIECE == (piece->end - 1) / SDS_DISK_PIECE);
        CHECK(i == 0 || (piece[-1].start < piece->start && piece[-1].end < piece->end));
    }
}

static void any_bytes(struct sds_span bytes) {
    struct sds_disk_index index;
    sds_disk_index_init(&index, &key);
    CHECK(sds_disk_index_take(&index, bytes) == SDS_OK);
    check_table(&index);
    CHECK(index.position - SDS_DISK_HEADER <= bytes.len);
    sds_disk_index_fini(&index);
}

// Two bytes an extent: where, and how long.
static void true_entries(struct sds_span bytes) {
    static uint8_t content[SDS_DISK_SEGMENT], entry[SDS_DISK_ENTRY_MAX];
    bool there[GRAINS + 1] = {false};
    struct sds_disk_index index;
    sds_disk_index_init(&index, &key);
    for (size_t i = 0; i + 1 < bytes.len && i < 64; i += 2) {
        uint32_t first = bytes.at[i] * (GRAINS / 256), count = 1 + bytes.at[i + 1] % 40;
        count = count < GRAINS - first ? count : GRAINS - first;
        struct sds_span extent = sds_span(content + first * GRAIN, count * GRAIN);
        uint32_t len = sds_disk_entry_write(&index, first * GRAIN, extent, entry);
        CHECK(len == sds_disk_entry_size(first * GRAIN, count * GRAIN));
        CHECK(sds_disk_index_take(&index, sds_span(entry, len - 1)) == SDS_OK);
        uint32_t before = index.position;
        CHECK(sds_disk_index_take(&index, sds_span(entry, len)) == SDS_OK);
        CHECK(index.position == before + len);
        memset(there + first, 1, count);
    }
    check_table(&index);
    for (uint32_t i = 0; i < GRAINS; i++) {
        const struct sds_disk_piece *piece = sds_disk_index_find(&index, i * GRAIN);
        CHECK((piece != NULL) == there[i]);
        uint32_t start, stop, expected = i;
        while (expected < GRAINS && there[expected]) {
            expected++;
        }
        CHECK(!there[i] ||
              (sds_disk_index_run(&index, i * GRAIN, SDS_DISK_SEGMENT, &start, &stop) &&
               start == i * GRAIN && stop == expected * GRAIN));
    }
    sds_disk_index_fini(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    any_bytes(sds_span(data, size));
    true_entries(sds_span(data, size));
    return 0;
}
