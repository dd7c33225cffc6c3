// SPDX-License-Identifier: Apache-2.0
//
// Whole files that the tests write themselves: what the fixtures do not show.
#include "format/array_record/array_record.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ar_file.h"
#include "format/array_record/decode.h"

#define LIMIT (1 << 20)

static const struct sds_ar_limits limits = {.chunk_bytes = LIMIT};

static struct sds_ar_index *must_open(const struct sds_ar_source *source) {
    struct sds_ar_index *index;
    struct sds_err err;
    if (sds_ar_open(source, &limits, &index, &err) != SDS_OK) {
        fail_msg("%s: %s", err.check, err.message);
    }
    return index;
}

static void must_not_open(struct ar_file *file, enum sds_kind kind, const char *check) {
    struct sds_ar_source source = ar_file_source(file);
    struct sds_ar_index *index;
    struct sds_err err;
    assert_int_equal(sds_ar_open(&source, &limits, &index, &err), kind);
    assert_string_equal(err.check, check);
    ar_file_fini(file);
}

// A file whose records have these sizes, and bytes that differ by record.
static void write_records(struct ar_file *file, const size_t *sizes, unsigned count) {
    ar_file_begin(file);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *record = malloc(sizes[i] + 1);
        assert_non_null(record);
        for (size_t k = 0; k < sizes[i]; k++) {
            record[k] = (uint8_t)(k * 7 + i);
        }
        ar_file_record(file, sds_span(record, sizes[i]));
        free(record);
    }
    ar_file_end(file);
}

static void check_record(const struct sds_ar_chunk *chunk, unsigned number, size_t size) {
    assert_int_equal(chunk->count, 1);
    assert_int_equal(chunk->bytes, size);
    struct sds_span record = sds_ar_chunk_record(chunk, 0);
    assert_int_equal(record.len, size);
    for (size_t k = 0; k < size; k++) {
        assert_int_equal(record.at[k], (uint8_t)(k * 7 + number));
    }
}

// The first records end a given number of bytes before the end of a block: in and around the places
// where a chunk header is cut in two, or cannot begin.
static void test_a_record_costs_one_read(void **state) {
    (void)state;
    for (size_t left = 0; left < 80; left++) {
        // 40 + 1 + 1 + 3 bytes stand in front of a record of this size.
        const size_t sizes[] = {65536 - 64 - 45 - left, 0, 1, 70000, 200000, 5};
        struct ar_file file;
        write_records(&file, sizes, 6);
        struct sds_ar_source source = ar_file_source(&file);
        struct sds_ar_index *index = must_open(&source);
        for (unsigned i = 0; i < 6; i++) {
            struct sds_ar_chunk chunk;
            file.reads = 0;
            file.bytes_read = 0;
            assert_int_equal(sds_ar_read_chunk(index, &source, i, &chunk, NULL), SDS_OK);
            assert_int_equal(file.reads, 1);
            assert_true(file.bytes_read <= sizes[i] + sizes[i] / 32 + 512);
            check_record(&chunk, i, sizes[i]);
            sds_ar_chunk_fini(&chunk);
        }
        struct sds_err err;
        assert_int_equal(sds_ar_walk(index, &source, &err), SDS_OK);
        sds_ar_close(index);
        ar_file_fini(&file);
    }
}

static void test_padding_is_not_read(void **state) {
    (void)state;
    struct ar_file file;
    ar_file_begin(&file);
    ar_file_record(&file, sds_span("abc", 3));
    ar_file_pad(&file);
    ar_file_record(&file, sds_span("defg", 4));
    ar_file_pad(&file);
    ar_file_end(&file);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = must_open(&source);
    for (unsigned i = 0; i < 2; i++) {
        struct sds_ar_chunk chunk;
        file.reads = 0;
        file.bytes_read = 0;
        assert_int_equal(sds_ar_read_chunk(index, &source, i, &chunk, NULL), SDS_OK);
        assert_int_equal(file.reads, 1);
        assert_true(file.bytes_read < 512);
        assert_int_equal(chunk.bytes, 3 + i);
        sds_ar_chunk_fini(&chunk);
    }
    assert_int_equal(sds_ar_walk(index, &source, NULL), SDS_OK);
    sds_ar_close(index);
    ar_file_fini(&file);
}

// Data that are larger than the size of the records lets expect: three empty records whose sizes
// are written as long as varints get.
static void test_a_second_read_when_needed(void **state) {
    (void)state;
    struct ar_file file;
    ar_file_begin(&file);
    uint8_t data[1024] = {0};
    size_t len = 1;
    put_varint(data, &len, 30);
    for (unsigned i = 0; i < 3; i++) {
        memset(data + len, 0x80, 9);
        len += 10;
    }
    // Zstd knows how to waste space, plain bytes do not: a raw block of nothing, many times.
    uint8_t stored[2048] = {'z', 0};
    size_t stored_len = 1;
    static const uint8_t frame_head[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50};
    put_varint(stored, &stored_len, 1 + sizeof frame_head + 3 + 30);
    put_varint(stored, &stored_len, 30);
    memcpy(stored + stored_len, frame_head, sizeof frame_head);
    stored_len += sizeof frame_head;
    memcpy(stored + stored_len, "\361\0\0", 3); // the last block, 30 bytes
    stored_len += 3;
    memcpy(stored + stored_len, data + 2, 30);
    stored_len += 30;
    put_varint(stored, &stored_len, 0);
    memcpy(stored + stored_len, frame_head, sizeof frame_head);
    stored_len += sizeof frame_head;
    for (unsigned i = 0; i < 400; i++) {
        memcpy(stored + stored_len, i < 399 ? "\0\0\0" : "\1\0\0", 3);
        stored_len += 3;
    }
    ar_file_records(&file, 'r', sds_span(stored, stored_len), 3, 0);
    ar_file_end(&file);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = must_open(&source);
    struct sds_ar_chunk chunk;
    file.reads = 0;
    struct sds_err err;
    if (sds_ar_read_chunk(index, &source, 0, &chunk, &err) != SDS_OK) {
        fail_msg("%s: %s", err.check, err.message);
    }
    assert_int_equal(file.reads, 2);
    assert_int_equal(chunk.count, 3);
    assert_int_equal(sds_ar_chunk_record(&chunk, 2).len, 0);
    sds_ar_chunk_fini(&chunk);
    sds_ar_close(index);
    ar_file_fini(&file);
}

static void test_uncompressed_values_are_not_copied(void **state) {
    (void)state;
    struct ar_file file;
    write_records(&file, (const size_t[]){1000}, 1);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = must_open(&source);
    struct sds_ar_chunk chunk;
    assert_int_equal(sds_ar_read_chunk(index, &source, 0, &chunk, NULL), SDS_OK);
    assert_true(chunk.start > 0);
    check_record(&chunk, 0, 1000);
    sds_ar_chunk_fini(&chunk);
    sds_ar_close(index);
    ar_file_fini(&file);
}

static void test_any_other_size(void **state) {
    (void)state;
    struct ar_file file;
    write_records(&file, (const size_t[]){3}, 1);
    size_t whole = file.len;
    for (size_t len = 0; len < whole; len++) {
        struct sds_ar_source source = ar_file_source(&file);
        source.size = len;
        struct sds_ar_index *index;
        struct sds_err err;
        assert_int_equal(sds_ar_open(&source, &limits, &index, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "size");
    }
    struct sds_ar_source huge = ar_file_source(&file);
    huge.size = UINT64_MAX - 65535; // a multiple of a block
    struct sds_ar_index *index;
    assert_int_equal(sds_ar_open(&huge, &limits, &index, NULL), SDS_ERR_CORRUPT);
    ar_file_fini(&file);
}

// Each bit of a small file: either something notices, or the records are what they were. In the
// first 64 bytes, the chunks, the footer and the postscript, something always does.
static void test_each_bit(void **state) {
    (void)state;
    struct ar_file file;
    write_records(&file, (const size_t[]){3, 5}, 2);
    size_t covered = 64 + 45 + 47 + 40 + 64;
    for (size_t at = 0; at < file.len; at += at < covered || at >= 65536 ? 1 : 997) {
        if (at >= 65536 + 200) {
            break; // zeros from here on
        }
        for (unsigned bit = 0; bit < 8; bit++) {
            file.at[at] ^= (uint8_t)(1 << bit);
            struct sds_ar_source source = ar_file_source(&file);
            struct sds_ar_index *index;
            enum sds_kind kind = sds_ar_open(&source, &limits, &index, NULL);
            if (kind == SDS_OK) {
                struct sds_ar_chunk chunk;
                for (unsigned i = 0; i < 2 && kind == SDS_OK; i++) {
                    kind = sds_ar_read_chunk(index, &source, i, &chunk, NULL);
                    if (kind == SDS_OK) {
                        check_record(&chunk, i, 3 + 2 * i);
                        sds_ar_chunk_fini(&chunk);
                    }
                }
                assert_int_equal(sds_ar_walk(index, &source, NULL), SDS_ERR_CORRUPT);
                sds_ar_close(index);
            }
            file.at[at] ^= (uint8_t)(1 << bit);
        }
    }
    ar_file_fini(&file);
}

static void test_a_failing_source(void **state) {
    (void)state;
    struct ar_file file;
    write_records(&file, (const size_t[]){3, 100000}, 2);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index;
    struct sds_err err;
    unsigned open_reads;
    for (unsigned n = 1;; n++) {
        file.reads = 0;
        file.failing_read = n;
        if (sds_ar_open(&source, &limits, &index, &err) == SDS_OK) {
            open_reads = file.reads;
            break;
        }
        assert_int_equal(err.kind, SDS_ERR_STORAGE);
        assert_string_equal(err.check, "io");
    }
    assert_true(open_reads <= 3);
    struct sds_ar_chunk chunk;
    uint64_t size;
    file.reads = 0;
    file.failing_read = 1;
    assert_int_equal(sds_ar_read_chunk(index, &source, 0, &chunk, &err), SDS_ERR_STORAGE);
    file.reads = 0;
    assert_int_equal(sds_ar_record_sizes(index, &source, 0, &size, &err), SDS_ERR_STORAGE);
    unsigned failed = 0;
    for (unsigned n = 1;; n++, failed++) {
        file.reads = 0;
        file.failing_read = n;
        if (sds_ar_walk(index, &source, &err) == SDS_OK) {
            break;
        }
        assert_int_equal(err.kind, SDS_ERR_STORAGE);
    }
    assert_true(failed >= 5);
    sds_ar_close(index);
    ar_file_fini(&file);
}

static void test_chunk_limit(void **state) {
    (void)state;
    struct ar_file file;
    write_records(&file, (const size_t[]){LIMIT, LIMIT + 1, 2}, 3);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = must_open(&source);
    struct sds_ar_chunk chunk;
    struct sds_err err;
    uint64_t size;
    assert_int_equal(sds_ar_read_chunk(index, &source, 0, &chunk, &err), SDS_OK);
    check_record(&chunk, 0, LIMIT);
    sds_ar_chunk_fini(&chunk);
    file.reads = 0;
    assert_int_equal(sds_ar_read_chunk(index, &source, 1, &chunk, &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "limit");
    assert_int_equal(sds_ar_record_sizes(index, &source, 1, &size, &err), SDS_ERR_LIMIT);
    assert_int_equal(file.reads, 0);
    assert_int_equal(sds_ar_read_chunk(index, &source, 2, &chunk, &err), SDS_OK);
    check_record(&chunk, 2, 2);
    sds_ar_chunk_fini(&chunk);
    sds_ar_close(index);
    ar_file_fini(&file);
}

static void test_caps(void **state) {
    (void)state;
    const struct sds_ar_caps caps = {.decoded_size = 1000, .num_records = 10};
    struct sds_err err;
    struct sds_ar_header header = {.type = 'r', .num_records = 10, .decoded_size = 1000};
    header.data_size = 2 * (1000 + 10 * 10) + (16 << 20) + 1;
    assert_int_equal(sds_ar_check_caps(&header, &caps, &err), SDS_OK);
    header.data_size++;
    assert_int_equal(sds_ar_check_caps(&header, &caps, &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "limit");
    header.data_size = 5;
    header.num_records = 11;
    assert_int_equal(sds_ar_check_caps(&header, &caps, &err), SDS_ERR_LIMIT);
    header.num_records = 10;
    header.decoded_size = 1001;
    assert_int_equal(sds_ar_check_caps(&header, &caps, &err), SDS_ERR_LIMIT);
    header.decoded_size = 1000;
    static const char types[] = "smpqx\0";
    for (size_t i = 0; i < sizeof types; i++) {
        header.type = (uint8_t)types[i];
        assert_int_equal(sds_ar_check_caps(&header, &caps, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "chunk_type");
    }
}

// An entry of the index that is not what the chunk is.
static void end_with_entry(struct ar_file *file, unsigned number, struct ar_entry entry) {
    file->num_records += entry.num_records - file->entries[number].num_records;
    file->entries[number] = entry;
    ar_file_end(file);
}

static void begin_with_two(struct ar_file *file) {
    ar_file_begin(file);
    ar_file_record(file, sds_span("abc", 3));
    ar_file_record(file, sds_span("abc", 3));
}

static void test_index_entries(void **state) {
    (void)state;
    static const struct {
        unsigned number;
        struct ar_entry entry;
        enum sds_kind kind;
        const char *check;
    } cases[] = {
        {0, {0, 3, 1}, SDS_ERR_CORRUPT, "index"},       // before the end of the signature
        {0, {63, 3, 1}, SDS_ERR_CORRUPT, "index"},      //
        {1, {103, 3, 1}, SDS_ERR_CORRUPT, "index"},     // 39 bytes behind the one before
        {1, {65536, 3, 1}, SDS_ERR_CORRUPT, "index"},   // behind the footer
        {1, {1 << 30, 3, 1}, SDS_ERR_CORRUPT, "index"}, // behind the file
        {1, {UINT64_MAX, 3, 1}, SDS_ERR_CORRUPT, "index"},
        {1, {110, 3, 0}, SDS_ERR_CORRUPT, "index"},          // no records
        {1, {110, 3, 2}, SDS_ERR_CORRUPT, "index"},          // more than the group size
        {0, {64, 3, 2}, SDS_OK, NULL},                       // the last group is short
        {0, {64, 3, 100}, SDS_ERR_CORRUPT, "index"},         // more than bytes
        {0, {64, 3, (1 << 24) + 1}, SDS_ERR_LIMIT, "limit"}, // more than any chunk may have
        {0, {64, 3, UINT64_MAX}, SDS_ERR_LIMIT, "limit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ar_file file;
        begin_with_two(&file);
        end_with_entry(&file, cases[i].number, cases[i].entry);
        if (cases[i].kind != SDS_OK) {
            must_not_open(&file, cases[i].kind, cases[i].check);
            continue;
        }
        struct sds_ar_source source = ar_file_source(&file);
        struct sds_ar_index *index = must_open(&source);
        struct sds_ar_chunk chunk;
        struct sds_err err;
        assert_int_equal(sds_ar_read_chunk(index, &source, 0, &chunk, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "index");
        sds_ar_close(index);
        ar_file_fini(&file);
    }
}

static void test_an_entry_in_a_block_header(void **state) {
    (void)state;
    for (uint64_t at = 65536; at <= 65536 + 25; at++) {
        struct ar_file file;
        ar_file_begin(&file);
        ar_file_record(&file, sds_span("abc", 3));
        ar_file_pad(&file);
        ar_file_record(&file, sds_span("abc", 3));
        bool possible = at == 65536 || at == 65536 + 25;
        end_with_entry(&file, 1, (struct ar_entry){at, 3, 1});
        if (!possible) {
            must_not_open(&file, SDS_ERR_CORRUPT, "index");
            continue;
        }
        struct sds_ar_source source = ar_file_source(&file);
        sds_ar_close(must_open(&source));
        ar_file_fini(&file);
    }
}

// Footers that are wrong in one way each.
static void test_footers(void **state) {
    (void)state;
    static const struct {
        const char *messages;
        size_t sizes[3];
        unsigned count;
        const char *check;
    } cases[] = {
        {"\x0a\x06\x08\x01\x10\x00\x18\x00", {8}, 1, NULL}, // no chunks: fine
        {"", {0}, 0, "footer"},                             // no record
        {"", {0}, 1, "footer"},                             // no metadata
        {"\x0a\x04\x10\x00\x18\x00", {6}, 1, "footer"},     // no version
        {"\x0a\x06\x08\x02\x10\x00\x18\x00", {8}, 1, "footer"},
        {"\x0a\x06\x08\x01\x10\x01\x18\x00", {8}, 1, "footer"}, // a chunk too many
        {"\x0a\x06\x08\x01\x10\x00\x18\x01", {8}, 1, "index"},  // a record too many
        {"\x0a\x06\x08\x01\x10\x00\x18\x01\x08\x40\x10\x03\x18\x01", {8, 6}, 2, "footer"},
        {"\x0a\x06\x08\x01\x10\x01\x18\x02\x08\x40\x10\x03\x18\x01", {8, 6}, 2, "index"},
        {"\x0a\x06\x08\x01\x10\x01\x18\x01\x08\x40\x10\x03", {8, 4}, 2, "footer"}, // a field short
        {"\x0a\x06\x08\x01\x10\x01\x18\x01\x08\x40\x10\x03\x18\x01", {8, 6}, 2, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = 0;
        for (unsigned k = 0; k < cases[i].count; k++) {
            len += cases[i].sizes[k];
        }
        struct ar_file file;
        ar_file_begin(&file);
        ar_file_record(&file, sds_span("abc", 3));
        ar_file_end_with(&file, sds_span(cases[i].messages, len), cases[i].sizes, cases[i].count);
        if (cases[i].check != NULL) {
            must_not_open(&file, SDS_ERR_CORRUPT, cases[i].check);
            continue;
        }
        struct sds_ar_source source = ar_file_source(&file);
        sds_ar_close(must_open(&source));
        ar_file_fini(&file);
    }
}

static void test_footer_offsets(void **state) {
    (void)state;
    static const uint64_t impossible[] = {
        0, 25, 63, 65537, 65536 + 24, 2 * 65536, (uint64_t)1 << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        struct ar_file file;
        ar_file_begin(&file);
        ar_file_pad(&file);
        ar_file_record(&file, sds_span("abc", 3));
        ar_file_pad(&file);
        ar_file_postscript(&file, impossible[i]);
        must_not_open(&file, SDS_ERR_CORRUPT, "postscript");
    }
}

// A footer may not be of any size.
static void test_footer_limit(void **state) {
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        size_t len = (1 << 20) + 64 + extra;
        uint8_t *message = calloc(1, len);
        assert_non_null(message);
        size_t at = 0;
        memcpy(message, "\x0a\x06\x08\x01\x10\x00\x18\x00\x7a", 9);
        at = 9;
        put_varint(message, &at, len - 9 - 3); // a field that we do not know takes the rest
        assert_int_equal(at, 12);
        struct ar_file file;
        ar_file_begin(&file);
        ar_file_end_with(&file, sds_span(message, len), &len, 1);
        free(message);
        if (extra > 0) {
            must_not_open(&file, SDS_ERR_LIMIT, "limit");
            continue;
        }
        struct sds_ar_source source = ar_file_source(&file);
        sds_ar_close(must_open(&source));
        ar_file_fini(&file);
    }
}

// Chunks that simple decoding refuses, in data that have the right hash.
static void test_simple_chunks(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t len;
        uint64_t records, decoded;
        const char *check;
    } cases[] = {
        {"\0\2\1\2abc", 7, 2, 3, NULL},
        {"", 0, 2, 3, "sizes"},                 // no compression type
        {"q\2\1\2abc", 7, 2, 3, "compression"}, //
        {"\0", 1, 2, 3, "sizes"},               // no sizes block
        {"\0\200", 2, 2, 3, "sizes"},           //
        {"\0\11\1\2abc", 7, 2, 3, "sizes"},     // larger than the chunk
        {"\0\1\1\2abc", 7, 2, 3, "sizes"},      // one size for two records
        {"\0\3\1\2\0abc", 8, 2, 3, "sizes"},    // three
        {"\0\13\377\377\377\377\377\377\377\377\377\1\4abc", 16, 2, 3, "sizes"}, // sum wraps
        {"\0\2\1\3abc", 7, 2, 3, "sizes"},                  // too large together
        {"\0\2\1\1abc", 7, 2, 3, "sizes"},                  // too small
        {"\0\2\1\2abcd", 8, 2, 3, "sizes"},                 // too many values
        {"\0\2\1\2ab", 6, 2, 3, "sizes"},                   // too few
        {"\0\2\1\202abc", 7, 2, 3, "sizes"},                // no varint
        {"s\2\377\377\3\3\10abc", 10, 2, 3, "compression"}, // a block that declares no size
        {"s\5\2\2\4\1\2\3\3\10abc", 13, 2, 3, NULL},        // under snappy
        {"s\5\25\2\4\1\2\3\3\10abc", 13, 2, 3, "sizes"},    // sizes beyond ten bytes each
        {"s\5\2\2\4\1\2\4\4\14abcd", 14, 2, 3, "sizes"},    // values beyond the chunk
        {"s\5\2\2\4\1\2\2\2\4ab", 12, 2, 3, "sizes"},       // fewer of them
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ar_file file;
        ar_file_begin(&file);
        ar_file_records(&file, 'r', sds_span(cases[i].data, cases[i].len), cases[i].records,
                        cases[i].decoded);
        ar_file_end(&file);
        struct sds_ar_source source = ar_file_source(&file);
        struct sds_ar_index *index = must_open(&source);
        struct sds_ar_chunk chunk;
        struct sds_err err;
        uint64_t sizes[2];
        enum sds_kind kind = sds_ar_read_chunk(index, &source, 0, &chunk, &err);
        if (cases[i].check == NULL) {
            assert_int_equal(kind, SDS_OK);
            struct sds_span second = sds_ar_chunk_record(&chunk, 1);
            assert_true(sds_span_eq(second, sds_span("bc", 2)));
            sds_ar_chunk_fini(&chunk);
            assert_int_equal(sds_ar_record_sizes(index, &source, 0, sizes, &err), SDS_OK);
            assert_true(sizes[0] == 1 && sizes[1] == 2);
        } else {
            assert_int_equal(kind, SDS_ERR_CORRUPT);
            assert_string_equal(err.check, cases[i].check);
            assert_int_equal(sds_ar_walk(index, &source, &err), SDS_ERR_CORRUPT);
            assert_string_equal(err.check, cases[i].check);
        }
        sds_ar_close(index);
        ar_file_fini(&file);
    }
}

static void test_locate(void **state) {
    (void)state;
    struct ar_file file;
    ar_file_begin(&file);
    for (unsigned i = 0; i < 3; i++) {
        // Three records in a group, two in the last one.
        ar_file_records(&file, 'r',
                        i < 2 ? sds_span("\0\3\1\1\1abc", 8) : sds_span("\0\2\1\1ab", 6),
                        i < 2 ? 3 : 2, i < 2 ? 3 : 2);
    }
    ar_file_end(&file);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = must_open(&source);
    assert_int_equal(sds_ar_record_count(index), 8);
    assert_int_equal(sds_ar_group_size(index), 3);
    for (uint64_t record = 0; record < 8; record++) {
        uint64_t chunk;
        uint32_t place;
        sds_ar_locate(index, record, &chunk, &place);
        assert_int_equal(chunk, record / 3);
        assert_int_equal(place, record % 3);
        struct sds_ar_chunk c;
        assert_int_equal(sds_ar_read_chunk(index, &source, chunk, &c, NULL), SDS_OK);
        assert_int_equal(sds_ar_chunk_record(&c, place).at[0], 'a' + place);
        sds_ar_chunk_fini(&c);
    }
    sds_ar_close(index);
    ar_file_fini(&file);
}

// What only the walk sees.
static void test_walk(void **state) {
    (void)state;
    static const struct {
        const char *why;
        uint8_t type; // of a chunk between the two
        struct sds_span data;
        uint64_t records, decoded;
        const char *check;
    } cases[] = {
        {"padding", 'p', {(const uint8_t *)"\0\0\0", 3}, 0, 0, NULL},
        {"padding that is not zero", 'p', {(const uint8_t *)"\0\1\0", 3}, 0, 0, "walk"},
        {"padding with records", 'p', {(const uint8_t *)"\0", 1}, 0, 1, "chunk_type"},
        {"another signature", 's', {(const uint8_t *)"", 0}, 0, 0, NULL},
        {"a signature with data", 's', {(const uint8_t *)"\0", 1}, 0, 0, "chunk_type"},
        {"a type of the future", 'x', {(const uint8_t *)"abc", 3}, 0, 7, NULL},
        {"a stray record", 'r', {(const uint8_t *)"\0\1\1a", 4}, 1, 1, "walk"},
        {"stray records of the future", 'x', {(const uint8_t *)"", 0}, 1, 1, "walk"},
        {"metadata", 'm', {(const uint8_t *)"\0\10\0\0\1\13\0\0\0", 9}, 0, 1, "transposed"},
        {"metadata without a record", 'm', {(const uint8_t *)"\0\6\0\0\1\3\0\0", 8}, 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ar_file file;
        ar_file_begin(&file);
        ar_file_record(&file, sds_span("abc", 3));
        ar_file_chunk(&file, cases[i].type, cases[i].data, cases[i].records, cases[i].decoded);
        ar_file_record(&file, sds_span("def", 3));
        ar_file_end(&file);
        struct sds_ar_source source = ar_file_source(&file);
        struct sds_ar_index *index = must_open(&source);
        struct sds_ar_chunk chunk;
        assert_int_equal(sds_ar_read_chunk(index, &source, 0, &chunk, NULL), SDS_OK);
        sds_ar_chunk_fini(&chunk);
        struct sds_err err;
        enum sds_kind kind = sds_ar_walk(index, &source, &err);
        if (kind != (cases[i].check == NULL ? SDS_OK : SDS_ERR_CORRUPT)) {
            fail_msg("%s", cases[i].why);
        }
        if (kind != SDS_OK) {
            assert_string_equal(err.check, cases[i].check);
        }
        sds_ar_close(index);
        ar_file_fini(&file);
    }
}

// Chunks that nothing else reads are hashed too.
static void test_walk_hashes_unknown_chunks(void **state) {
    (void)state;
    struct ar_file file;
    ar_file_begin(&file);
    uint64_t begin = ar_file_chunk(&file, 'x', sds_span("abc", 3), 0, 0);
    ar_file_end(&file);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = must_open(&source);
    assert_int_equal(sds_ar_walk(index, &source, NULL), SDS_OK);
    file.at[begin + 41] ^= 1;
    struct sds_err err;
    assert_int_equal(sds_ar_walk(index, &source, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "chunk_hash");
    sds_ar_close(index);
    ar_file_fini(&file);
}

// Padding inside a chunk, of many empty records, over several blocks: no hash covers it.
static void test_walk_sees_damaged_padding(void **state) {
    (void)state;
    enum { RECORDS = 400000 };
    uint8_t *data = calloc(1, RECORDS + 8);
    assert_non_null(data);
    size_t len = 0;
    data[len++] = 's'; // snappy: sizes of RECORDS zeros in few bytes
    uint8_t sizes[64 + 3 * RECORDS / 64];
    size_t sizes_len = 0;
    put_varint(sizes, &sizes_len, RECORDS);
    put_varint(sizes, &sizes_len, RECORDS);
    sizes[sizes_len++] = 0; // one zero, then copies of 64 at most
    sizes[sizes_len++] = 0;
    for (size_t left = RECORDS - 1; left > 0;) {
        size_t n = left < 64 ? left : 64;
        sizes[sizes_len++] = (uint8_t)((n - 1) << 2 | 2);
        sizes[sizes_len++] = 1;
        sizes[sizes_len++] = 0;
        left -= n;
    }
    put_varint(data, &len, sizes_len);
    memcpy(data + len, sizes, sizes_len);
    len += sizes_len;
    memcpy(data + len, "\0\0", 2);
    len += 2;
    struct ar_file file;
    ar_file_begin(&file);
    ar_file_records(&file, 'r', sds_span(data, len), RECORDS, 0);
    free(data);
    size_t end = file.len;
    ar_file_end(&file);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = must_open(&source);
    struct sds_err err;
    assert_int_equal(sds_ar_walk(index, &source, &err), SDS_OK);
    static const struct {
        size_t at;
        const char *check;
    } places[] = {{100000, "walk"},      {131072, "block_header"}, {131072 + 23, "block_header"},
                  {131072 + 24, "walk"}, {393215, "walk"},         {0, "walk"}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        size_t at = places[i].at > 0 ? places[i].at : end - 1;
        file.at[at] ^= 1;
        struct sds_ar_chunk chunk;
        assert_int_equal(sds_ar_read_chunk(index, &source, 0, &chunk, NULL), SDS_OK);
        sds_ar_chunk_fini(&chunk);
        assert_int_equal(sds_ar_walk(index, &source, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, places[i].check);
        file.at[at] ^= 1;
    }
    sds_ar_close(index);
    ar_file_fini(&file);
}

static void test_an_index_that_skips_nothing(void **state) {
    (void)state;
    // The entry names a place inside a chunk without records, where by chance a chunk could be
    // read.
    struct ar_file inner, file;
    ar_file_begin(&inner);
    uint64_t begin = ar_file_chunk(&inner, 'r', sds_span("\0\1\3abc", 6), 1, 3);
    ar_file_begin(&file);
    uint64_t outer = ar_file_chunk(&file, 'x', sds_span(inner.at + begin, inner.len - begin), 0, 0);
    file.entries[file.count++] = (struct ar_entry){outer + 40, 3, 1};
    file.num_records = 1;
    ar_file_end(&file);
    struct sds_ar_source source = ar_file_source(&file);
    struct sds_ar_index *index = must_open(&source);
    struct sds_ar_chunk chunk;
    assert_int_equal(sds_ar_read_chunk(index, &source, 0, &chunk, NULL), SDS_OK);
    sds_ar_chunk_fini(&chunk);
    struct sds_err err;
    assert_int_equal(sds_ar_walk(index, &source, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "walk");
    sds_ar_close(index);
    ar_file_fini(&inner);
    ar_file_fini(&file);
}

struct shared {
    struct sds_ar_index *index;
    struct ar_file *file;
    uint64_t expected; // of the sums over all records
};

static enum sds_kind read_shared(void *ctx, uint64_t off, void *buf, size_t len,
                                 struct sds_err *err) {
    (void)err;
    memcpy(buf, ((const struct ar_file *)ctx)->at + off, len);
    return SDS_OK;
}

static uint64_t sum_of_records(const struct shared *shared) {
    const struct sds_ar_source source = {
        .read_at = read_shared, .ctx = shared->file, .size = shared->file->len};
    uint64_t sum = 0;
    for (uint64_t i = 0; i < sds_ar_chunk_count(shared->index); i++) {
        struct sds_ar_chunk chunk;
        if (sds_ar_read_chunk(shared->index, &source, i, &chunk, NULL) != SDS_OK) {
            return 0;
        }
        for (uint64_t k = 0; k < chunk.bytes; k++) {
            sum = sum * 31 + chunk.blob->at[chunk.start + k];
        }
        sds_ar_chunk_fini(&chunk);
    }
    return sum;
}

static void *read_often(void *arg) {
    const struct shared *shared = arg;
    for (int i = 0; i < 50; i++) {
        if (sum_of_records(shared) != shared->expected) {
            return arg;
        }
    }
    return NULL;
}

static void test_many_threads(void **state) {
    struct ar_file file;
    ar_file_unpack(&file, *state);
    struct sds_ar_source source = ar_file_source(&file);
    struct shared shared = {.index = must_open(&source), .file = &file};
    shared.expected = sum_of_records(&shared);
    assert_true(shared.expected != 0);
    pthread_t threads[20]; // more than zstd decoders are kept
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, &shared), 0);
    }
    for (size_t i = 0; i < 20; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    sds_ar_close(shared.index);
    ar_file_fini(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_costs_one_read),
        cmocka_unit_test(test_padding_is_not_read),
        cmocka_unit_test(test_a_second_read_when_needed),
        cmocka_unit_test(test_uncompressed_values_are_not_copied),
        cmocka_unit_test(test_any_other_size),
        cmocka_unit_test(test_each_bit),
        cmocka_unit_test(test_a_failing_source),
        cmocka_unit_test(test_chunk_limit),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_index_entries),
        cmocka_unit_test(test_an_entry_in_a_block_header),
        cmocka_unit_test(test_footers),
        cmocka_unit_test(test_footer_offsets),
        cmocka_unit_test(test_footer_limit),
        cmocka_unit_test(test_simple_chunks),
        cmocka_unit_test(test_locate),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_walk_hashes_unknown_chunks),
        cmocka_unit_test(test_walk_sees_damaged_padding),
        cmocka_unit_test_prestate(test_many_threads, "gs2-default-7.array_record"),
        cmocka_unit_test(test_an_index_that_skips_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
