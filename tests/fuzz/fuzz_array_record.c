// SPDX-License-Identifier: Apache-2.0
// The ArrayRecord reader: any bytes are a file or a refusal, no read leaves the file, and what can
// be said about a chunk holds together.
//
// The first byte of the input says what the rest is. REPAIR: hashes and block headers are made
// right before the file is opened, so that what stands behind them is reached. SHORT: four bytes
// say where the footer is, the rest is the file without its zeros at the end and its last block,
// since nearly all of a small file are those. Otherwise the rest is the file.
#include <stdlib.h>
#include <string.h>

#include "format/array_record/array_record.h"
#include "format/array_record/block.h"
#include "format/array_record/highway_hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

enum { REPAIR = 1, SHORT = 2 };

static const struct sds_ar_limits limits = {.chunk_bytes = 256 << 10};

struct image {
    uint8_t *at;
    size_t len;
};

static void put_le64(uint8_t *to, uint64_t value) {
    for (int i = 0; i < 8; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static void put_block_header(uint8_t *to, uint64_t previous, uint64_t next) {
    put_le64(to + 8, previous);
    put_le64(to + 16, next);
    put_le64(to, sds_highway_hash(to + 8, SDS_AR_BLOCK_HEADER - 8));
}

// The place of a payload byte of the chunk at begin.
static uint8_t *payload(const struct image *image, uint64_t begin, uint64_t n) {
    return image->at + sds_ar_payload_end(begin, n + 1) - 1;
}

static void copy_payload(const struct image *image, uint64_t begin, uint8_t *header, bool back) {
    for (unsigned i = 0; i < SDS_AR_CHUNK_HEADER; i++) {
        uint8_t *byte = payload(image, begin, i);
        back ? (void)(*byte = header[i]) : (void)(header[i] = *byte);
    }
}

static uint64_t hash_data(const struct image *image, uint64_t begin, uint64_t data_size) {
    struct sds_highway hash;
    sds_highway_init(&hash);
    for (uint64_t done = 0; done < data_size;) {
        const uint8_t *at = payload(image, begin, SDS_AR_CHUNK_HEADER + done);
        uint64_t n = SDS_AR_BLOCK - (uint64_t)(at - image->at) % SDS_AR_BLOCK;
        n = n < data_size - done ? n : data_size - done;
        sds_highway_update(&hash, at, n);
        done += n;
    }
    return sds_highway_final(&hash);
}

// Makes one chunk right and returns where it ends; 0 when there is none.
static uint64_t repair_chunk(const struct image *image, uint64_t begin) {
    if (begin >= image->len || !sds_ar_is_boundary(begin) ||
        sds_ar_payload_end(begin, SDS_AR_CHUNK_HEADER) > image->len) {
        return 0;
    }
    uint8_t header[SDS_AR_CHUNK_HEADER];
    copy_payload(image, begin, header, false);
    uint64_t data_size = sds_le64(header + 8), num_records = sds_le64(header + 24) >> 8;
    uint64_t end = image->len + 1;
    if (data_size <= image->len && num_records <= image->len) {
        end = sds_ar_chunk_end(begin, data_size, num_records);
    }
    if (end <= image->len) {
        put_le64(header + 16, hash_data(image, begin, data_size));
        uint64_t block = (begin + SDS_AR_BLOCK - 1) / SDS_AR_BLOCK * SDS_AR_BLOCK;
        for (; block < end; block += SDS_AR_BLOCK) {
            put_block_header(image->at + block, block - begin, end - block);
        }
    }
    put_le64(header, sds_highway_hash(header + 8, SDS_AR_CHUNK_HEADER - 8));
    copy_payload(image, begin, header, true);
    return end <= image->len ? end : 0;
}

static void repair(const struct image *image, uint64_t footer) {
    for (uint64_t pos = 0; (pos = repair_chunk(image, pos)) > 0;) {
    }
    repair_chunk(image, footer);
    if (image->len >= SDS_AR_BLOCK) {
        repair_chunk(image, image->len - SDS_AR_BLOCK);
    }
}

static size_t put_varint(uint8_t *to, uint64_t value) {
    size_t n = 0;
    for (; value > 0x7f; value >>= 7) {
        to[n++] = (uint8_t)(value | 0x80);
    }
    to[n++] = (uint8_t)value;
    return n;
}

// The last block of a file, except for its hashes.
static void put_postscript(uint8_t *block, uint32_t footer) {
    static const uint8_t magic[] = {0x10, 0xde, 0xc0, 0xeb, 0xfe, 0x84, 0xce, 0xc3, 0xc9, 0x71};
    uint8_t *header = block + SDS_AR_BLOCK_HEADER, *data = header + SDS_AR_CHUNK_HEADER, copy[32];
    size_t len = 1 + put_varint(copy + 1, footer);
    copy[0] = 0x08;
    memcpy(copy + len, magic, sizeof magic);
    len += sizeof magic;
    memcpy(data, (const uint8_t[]){0, 3, (uint8_t)len, (uint8_t)len, (uint8_t)len}, 5);
    for (int i = 0; i < 3; i++) {
        memcpy(data + 5 + (size_t)i * len, copy, len);
    }
    put_le64(header + 8, 5 + 3 * len);
    put_le64(header + 24, 'r' | 3 << 8);
    put_le64(header + 32, 3 * len);
    uint8_t *padding = data + 5 + 3 * len;
    put_le64(padding + 8, (uint64_t)(block + SDS_AR_BLOCK - padding) - SDS_AR_CHUNK_HEADER);
    put_le64(padding + 24, 'p');
}

static struct image make_image(const uint8_t *data, size_t size) {
    bool is_short = size > 5 && (data[0] & SHORT) != 0;
    size_t skip = is_short ? 5 : 1;
    size_t blocks = (size - skip + SDS_AR_BLOCK - 1) / SDS_AR_BLOCK;
    struct image image = {.len = is_short ? (blocks + 1) * SDS_AR_BLOCK : size - skip};
    image.at = calloc(1, image.len + 1);
    CHECK(image.at != NULL);
    memcpy(image.at, data + skip, size - skip);
    uint32_t footer = is_short ? sds_le32(data + 1) : 0;
    if (is_short) {
        put_postscript(image.at + image.len - SDS_AR_BLOCK, footer);
        repair_chunk(&image, repair_chunk(&image, image.len - SDS_AR_BLOCK));
    }
    if (data[0] & REPAIR) {
        repair(&image, footer);
    }
    return image;
}

static enum sds_kind read_at(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    (void)err;
    const struct image *image = ctx;
    CHECK(off <= image->len && len <= image->len - off);
    memcpy(buf, image->at + off, len);
    return SDS_OK;
}

static volatile uint8_t sink;

// Looks at every byte of a chunk, which makes a sanitizer look too.
static void check_chunk(const struct sds_ar_chunk *chunk, const uint64_t *sizes, uint64_t count) {
    uint64_t total = 0;
    CHECK(chunk->count == count);
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct sds_span record = sds_ar_chunk_record(chunk, i);
        CHECK(record.len == sizes[i]);
        for (size_t k = 0; k < record.len; k++) {
            sink ^= record.at[k];
        }
        total += record.len;
    }
    CHECK(total == chunk->bytes);
}

static void check_error(enum sds_kind kind, const struct sds_err *err) {
    CHECK(kind == SDS_OK ||
          ((kind == SDS_ERR_CORRUPT || kind == SDS_ERR_LIMIT) && err->kind == kind &&
           err->check[0] != '\0' && err->message[0] != '\0'));
}

// True when every chunk reads.
static bool check_chunks(const struct sds_ar_index *index, const struct sds_ar_source *source) {
    uint64_t chunks = sds_ar_chunk_count(index), group = sds_ar_group_size(index);
    bool all = true;
    for (uint64_t i = 0; i < chunks; i++) {
        uint64_t rest = sds_ar_record_count(index) - i * group;
        uint64_t count = rest < group ? rest : group;
        CHECK(count > 0 && count <= source->size);
        uint64_t *sizes = malloc(count * sizeof *sizes);
        CHECK(sizes != NULL);
        struct sds_err err;
        enum sds_kind sizes_kind = sds_ar_record_sizes(index, source, i, sizes, &err);
        check_error(sizes_kind, &err);
        struct sds_ar_chunk chunk;
        enum sds_kind kind = sds_ar_read_chunk(index, source, i, &chunk, &err);
        check_error(kind, &err);
        if (kind == SDS_OK) {
            CHECK(sizes_kind == SDS_OK);
            CHECK(chunk.bytes == sds_ar_chunk_decoded_size(index, i));
            check_chunk(&chunk, sizes, count);
            sds_ar_chunk_fini(&chunk);
        }
        all = all && kind == SDS_OK;
        free(sizes);
    }
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    struct image image = make_image(data, size);
    struct sds_ar_source source = {.read_at = read_at, .ctx = &image, .size = image.len};
    struct sds_ar_index *index;
    struct sds_err err;
    enum sds_kind kind = sds_ar_open(&source, &limits, &index, &err);
    check_error(kind, &err);
    if (kind == SDS_OK) {
        bool all = check_chunks(index, &source);
        kind = sds_ar_walk(index, &source, &err);
        check_error(kind, &err);
        CHECK(kind != SDS_OK || all); // a file without fault has no record that cannot be read
        sds_ar_close(index);
    }
    free(image.at);
    return 0;
}
