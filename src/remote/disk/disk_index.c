// SPDX-License-Identifier: Apache-2.0
#include "remote/disk/disk_index.h"

#include <stdlib.h>

#include "base/hash.h"

#define ENTRY_HEAD 16 // checksum of the rest, offset, length

static const char magic[8] = {'s', 'd', 's', 'b', 'l', 'k', '1', '\n'};

static void put_le32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(value >> (8 * i));
    }
}

// --- the header

void sds_disk_header_write(const struct sds_disk_key *key, uint8_t out[SDS_DISK_HEADER]) {
    memset(out, 0, SDS_DISK_HEADER);
    memcpy(out, magic, sizeof magic);
    memcpy(out + 8, key->id, sizeof key->id);
    sds_put_le64(out + 24, key->number);
    sds_put_le64(out + 32, sds_hash_fast(sds_span(out, 32), 0));
}

bool sds_disk_header_is(const struct sds_disk_key *key, const uint8_t header[SDS_DISK_HEADER]) {
    uint8_t expected[SDS_DISK_HEADER];
    sds_disk_header_write(key, expected);
    return memcmp(expected, header, SDS_DISK_HEADER) == 0;
}

// --- the table

void sds_disk_index_init(struct sds_disk_index *index, const struct sds_disk_key *key) {
    *index = (struct sds_disk_index){.position = SDS_DISK_HEADER};
    index->salt = sds_le64(key->id) ^ sds_mix64(sds_le64(key->id + 8) + key->number);
}

void sds_disk_index_fini(struct sds_disk_index *index) {
    free(index->pieces);
}

static int in_order(const void *left, const void *right) {
    const struct sds_disk_piece *a = left, *b = right;
    return a->start != b->start ? (a->start > b->start) - (a->start < b->start)
                                : (a->end < b->end) - (a->end > b->end);
}

// Puts what was added behind `sorted` where it belongs, and drops pieces that are parts of others.
static void settle(struct sds_disk_index *index, size_t sorted) {
    struct sds_disk_piece *pieces = index->pieces;
    bool right = true;
    for (size_t i = sorted > 0 ? sorted : 1; i < index->count && right; i++) {
        right = pieces[i].start >= pieces[i - 1].end;
    }
    if (right) { // as a sequential reader leaves them
        return;
    }
    qsort(pieces, index->count, sizeof *pieces, in_order);
    size_t kept = 0;
    for (size_t i = 0; i < index->count; i++) {
        if (kept == 0 || pieces[i].end > pieces[kept - 1].end) {
            pieces[kept++] = pieces[i];
        }
    }
    index->count = kept;
}

static bool reserve(struct sds_disk_index *index, size_t more) {
    if (index->cap - index->count >= more) {
        return true;
    }
    size_t cap = index->cap > 0 ? index->cap : 64;
    while (cap - index->count < more) {
        cap *= 2;
    }
    struct sds_disk_piece *pieces = realloc(index->pieces, cap * sizeof *pieces);
    if (pieces == NULL) {
        return false;
    }
    index->pieces = pieces;
    index->cap = cap;
    return true;
}

// The first piece that ends behind off.
static size_t first_behind(const struct sds_disk_index *index, uint32_t off) {
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->pieces[middle].end > off) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

const struct sds_disk_piece *sds_disk_index_find(const struct sds_disk_index *index, uint32_t off) {
    size_t i = first_behind(index, off);
    // Starts and ends both grow: the last one that begins in time reaches furthest.
    while (i + 1 < index->count && index->pieces[i + 1].start <= off) {
        i++;
    }
    return i < index->count && index->pieces[i].start <= off ? &index->pieces[i] : NULL;
}

bool sds_disk_index_run(const struct sds_disk_index *index, uint32_t off, uint32_t end,
                        uint32_t *start, uint32_t *stop) {
    size_t i = first_behind(index, off);
    if (i == index->count || index->pieces[i].start >= end) {
        return false;
    }
    *start = index->pieces[i].start > off ? index->pieces[i].start : off;
    *stop = index->pieces[i].end;
    while (++i < index->count && index->pieces[i].start <= *stop && *stop < end) {
        *stop = index->pieces[i].end;
    }
    *stop = *stop < end ? *stop : end;
    return true;
}

// --- entries

uint64_t sds_disk_piece_sum(const struct sds_disk_index *index, uint32_t start,
                            struct sds_span bytes) {
    return sds_hash_fast(bytes, index->salt ^ sds_mix64((uint64_t)start + 1));
}

static uint64_t entry_sum(const struct sds_disk_index *index, struct sds_span entry) {
    return sds_hash_fast(sds_span(entry.at + 8, entry.len - 8), ~index->salt ^ index->position);
}

static uint32_t piece_end(uint32_t at, uint32_t end) {
    uint32_t next = (at / SDS_DISK_PIECE + 1) * SDS_DISK_PIECE;
    return next < end ? next : end;
}

uint32_t sds_disk_entry_size(uint32_t off, uint32_t len) {
    uint32_t pieces = (off + len - 1) / SDS_DISK_PIECE - off / SDS_DISK_PIECE + 1;
    return ENTRY_HEAD + 8 * pieces;
}

uint32_t sds_disk_entry_write(const struct sds_disk_index *index, uint32_t off,
                              struct sds_span bytes, uint8_t *out) {
    uint32_t size = ENTRY_HEAD, end = off + (uint32_t)bytes.len;
    for (uint32_t at = off, next; at < end; at = next, size += 8) {
        next = piece_end(at, end);
        struct sds_span piece = sds_span(bytes.at + (at - off), next - at);
        sds_put_le64(out + size, sds_disk_piece_sum(index, at, piece));
    }
    put_le32(out + 8, off);
    put_le32(out + 12, (uint32_t)bytes.len);
    sds_put_le64(out, entry_sum(index, sds_span(out, size)));
    return size;
}

// The size of the entry that bytes begin with; 0: none.
static uint32_t entry_at(const struct sds_disk_index *index, struct sds_span bytes) {
    if (bytes.len < ENTRY_HEAD) {
        return 0;
    }
    uint32_t off = sds_le32(bytes.at + 8), len = sds_le32(bytes.at + 12);
    if (len == 0 || off >= SDS_DISK_SEGMENT || len > SDS_DISK_SEGMENT - off) {
        return 0;
    }
    uint32_t size = sds_disk_entry_size(off, len);
    bool right = size <= bytes.len && index->position + size <= SDS_DISK_FRONT &&
                 sds_le64(bytes.at) == entry_sum(index, sds_span(bytes.at, size));
    return right ? size : 0;
}

static void add(struct sds_disk_index *index, const uint8_t *entry) {
    uint32_t off = sds_le32(entry + 8), end = off + sds_le32(entry + 12);
    const uint8_t *sum = entry + ENTRY_HEAD;
    for (uint32_t at = off, next; at < end; at = next, sum += 8) {
        next = piece_end(at, end);
        index->pieces[index->count++] = (struct sds_disk_piece){at, next, sds_le64(sum)};
    }
}

enum sds_kind sds_disk_index_take(struct sds_disk_index *index, struct sds_span bytes) {
    size_t sorted = index->count;
    if (!reserve(index, bytes.len / 8)) { // at most so many checksums
        return SDS_ERR_NO_MEMORY;
    }
    for (uint32_t size; (size = entry_at(index, bytes)) > 0;) {
        add(index, bytes.at);
        index->position += size;
        bytes = sds_span(bytes.at + size, bytes.len - size);
    }
    settle(index, sorted);
    return SDS_OK;
}
