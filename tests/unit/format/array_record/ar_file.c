// SPDX-License-Identifier: Apache-2.0
#include "ar_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "format/array_record/block.h"
#include "format/array_record/footer.h"
#include "format/array_record/highway_hash.h"

static void *must(void *memory) {
    assert_non_null(memory);
    return memory;
}

static void reserve(struct ar_file *file, size_t len) {
    if (file->len + len > file->cap) {
        file->cap = 2 * (file->len + len);
        file->at = must(realloc(file->at, file->cap));
    }
}

void ar_file_fini(struct ar_file *file) {
    free(file->at);
    *file = (struct ar_file){0};
}

void ar_file_unpack(struct ar_file *file, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/array-record/%s.zst", SDSFS_TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fail_msg("cannot open %s", path);
    }
    fseek(f, 0, SEEK_END);
    size_t packed_len = (size_t)ftell(f);
    rewind(f);
    uint8_t *packed = must(malloc(packed_len));
    assert_int_equal(fread(packed, 1, packed_len, f), packed_len);
    fclose(f);
    unsigned long long len = ZSTD_getFrameContentSize(packed, packed_len);
    assert_true(len < 1U << 30);
    *file = (struct ar_file){.at = must(malloc(len + 1)), .len = len, .cap = len + 1};
    assert_int_equal(ZSTD_decompress(file->at, len, packed, packed_len), len);
    free(packed);
}

static enum sds_kind read_at(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    struct ar_file *file = ctx;
    assert_true(off <= file->len && len <= file->len - off);
    file->reads++;
    if (file->reads == file->failing_read) {
        return sds_fail(err, SDS_ERR_STORAGE, "io", "read %u fails", file->reads);
    }
    file->bytes_read += len;
    memcpy(buf, file->at + off, len);
    return SDS_OK;
}

struct sds_ar_source ar_file_source(struct ar_file *file) {
    return (struct sds_ar_source){.read_at = read_at, .ctx = file, .size = file->len};
}

static enum sds_kind write_block(void *ctx, const void *bytes, size_t len, struct sds_err *err) {
    struct ar_file *file = ctx;
    assert_true(len > 0 && len % SDS_AR_BLOCK == 0);
    file->writes++;
    if (file->writes == file->failing_write) {
        return sds_fail(err, SDS_ERR_STORAGE, "io", "write %u fails", file->writes);
    }
    reserve(file, len);
    memcpy(file->at + file->len, bytes, len);
    file->len += len;
    return SDS_OK;
}

struct sds_ar_sink ar_file_sink(struct ar_file *file) {
    return (struct sds_ar_sink){.write = write_block, .ctx = file};
}

void put_varint(uint8_t *buf, size_t *len, uint64_t value) {
    for (; value > 0x7f; value >>= 7) {
        buf[(*len)++] = (uint8_t)(value | 0x80);
    }
    buf[(*len)++] = (uint8_t)value;
}

void put_field(uint8_t *buf, size_t *len, unsigned number, uint64_t value) {
    put_varint(buf, len, number << 3);
    put_varint(buf, len, value);
}

void put_le64(uint8_t *to, uint64_t value) {
    for (int i = 0; i < 8; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

// Appends bytes of a chunk, stepping over block headers.
static void append(struct ar_file *file, struct sds_span bytes, uint64_t begin, uint64_t end) {
    while (bytes.len > 0) {
        reserve(file, SDS_AR_BLOCK);
        if (file->len % SDS_AR_BLOCK == 0) {
            uint8_t *header = file->at + file->len;
            put_le64(header + 8, file->len - begin);
            put_le64(header + 16, end - file->len);
            put_le64(header, sds_highway_hash(header + 8, 16));
            file->len += SDS_AR_BLOCK_HEADER;
        }
        size_t n = SDS_AR_BLOCK - file->len % SDS_AR_BLOCK;
        n = n < bytes.len ? n : bytes.len;
        memcpy(file->at + file->len, bytes.at, n);
        file->len += n;
        bytes = sds_span(bytes.at + n, bytes.len - n);
    }
}

uint64_t ar_file_chunk(struct ar_file *file, uint8_t type, struct sds_span data,
                       uint64_t num_records, uint64_t decoded_size) {
    static const uint8_t zeros[SDS_AR_BLOCK];
    uint64_t begin = file->len;
    uint64_t end = sds_ar_chunk_end(begin, data.len, num_records);
    uint8_t header[SDS_AR_CHUNK_HEADER];
    put_le64(header + 8, data.len);
    put_le64(header + 16, sds_highway_hash(data.at, data.len));
    put_le64(header + 24, type | num_records << 8);
    put_le64(header + 32, decoded_size);
    put_le64(header, sds_highway_hash(header + 8, sizeof header - 8));
    append(file, sds_span(header, sizeof header), begin, end);
    append(file, data, begin, end);
    while (file->len < end) {
        size_t n = SDS_AR_BLOCK - file->len % SDS_AR_BLOCK;
        n = n < end - file->len ? n : end - file->len;
        n -= file->len % SDS_AR_BLOCK == 0 ? SDS_AR_BLOCK_HEADER : 0;
        append(file, sds_span(zeros, n), begin, end);
    }
    return begin;
}

void ar_file_pad(struct ar_file *file) {
    uint64_t at = file->len % SDS_AR_BLOCK;
    if (at == 0) {
        return;
    }
    // A header that does not fit the rest of the block takes the next one too.
    uint64_t len = SDS_AR_BLOCK - at - SDS_AR_CHUNK_HEADER;
    if (SDS_AR_BLOCK - at < SDS_AR_CHUNK_HEADER) {
        len += SDS_AR_BLOCK - SDS_AR_BLOCK_HEADER;
    }
    uint8_t *zeros = must(calloc(1, len + 1));
    ar_file_chunk(file, 'p', sds_span(zeros, len), 0, 0);
    free(zeros);
}

void ar_file_begin(struct ar_file *file) {
    *file = (struct ar_file){0};
    ar_file_chunk(file, 's', sds_span("", 0), 0, 0);
}

void ar_file_records(struct ar_file *file, uint8_t type, struct sds_span data, uint64_t num_records,
                     uint64_t decoded_size) {
    assert_true(file->count < sizeof file->entries / sizeof file->entries[0]);
    uint64_t begin = ar_file_chunk(file, type, data, num_records, decoded_size);
    file->entries[file->count++] = (struct ar_entry){begin, decoded_size, num_records};
    file->num_records += num_records;
}

// The data of an uncompressed chunk.
static struct sds_span plain_data(struct sds_span values, const size_t *sizes, unsigned count) {
    uint8_t *data = must(malloc(values.len + 11 * count + 16));
    uint8_t *varints = must(malloc(10 * count + 1));
    size_t varints_len = 0, len = 0;
    for (unsigned i = 0; i < count; i++) {
        put_varint(varints, &varints_len, sizes[i]);
    }
    data[len++] = 0;
    put_varint(data, &len, varints_len);
    memcpy(data + len, varints, varints_len);
    len += varints_len;
    memcpy(data + len, values.at, values.len);
    free(varints);
    return sds_span(data, len + values.len);
}

void ar_file_record(struct ar_file *file, struct sds_span record) {
    struct sds_span data = plain_data(record, &record.len, 1);
    ar_file_records(file, 'r', data, 1, record.len);
    free((void *)(uintptr_t)data.at);
}

void ar_file_postscript(struct ar_file *file, uint64_t footer_offset) {
    uint8_t copy[32], copies[96];
    size_t len = 0;
    put_field(copy, &len, 1, footer_offset);
    put_field(copy, &len, 2, SDS_AR_MAGIC);
    for (unsigned i = 0; i < 3; i++) {
        memcpy(copies + i * len, copy, len);
    }
    struct sds_span data = plain_data(sds_span(copies, 3 * len), (size_t[]){len, len, len}, 3);
    ar_file_chunk(file, 'r', data, 3, 3 * len);
    free((void *)(uintptr_t)data.at);
    ar_file_pad(file);
}

void ar_file_end_with(struct ar_file *file, struct sds_span messages, const size_t *sizes,
                      unsigned count) {
    struct sds_span data = plain_data(messages, sizes, count);
    uint64_t footer = ar_file_chunk(file, 'r', data, count, messages.len);
    free((void *)(uintptr_t)data.at);
    ar_file_pad(file);
    ar_file_postscript(file, footer);
}

void ar_file_end(struct ar_file *file) {
    uint8_t inner[64], messages[64 * 65];
    size_t inner_len = 0, len = 0, sizes[65];
    put_field(inner, &inner_len, 1, SDS_AR_VERSION);
    put_field(inner, &inner_len, 2, file->count);
    put_field(inner, &inner_len, 3, file->num_records);
    put_varint(messages, &len, 1 << 3 | 2);
    put_varint(messages, &len, inner_len);
    memcpy(messages + len, inner, inner_len);
    sizes[0] = len += inner_len;
    for (unsigned i = 0; i < file->count; i++) {
        size_t before = len;
        put_field(messages, &len, 1, file->entries[i].begin);
        put_field(messages, &len, 2, file->entries[i].decoded_size);
        put_field(messages, &len, 3, file->entries[i].num_records);
        sizes[i + 1] = len - before;
    }
    ar_file_end_with(file, sds_span(messages, len), sizes, file->count + 1);
}
