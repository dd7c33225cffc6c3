// SPDX-License-Identifier: Apache-2.0
//
// ArrayRecord files in memory, for tests: fixtures unpacked, and files written chunk by chunk,
// valid or not. Whatever fails here ends the test.
#ifndef SDSFS_TEST_ARRAY_RECORD_FILE_H
#define SDSFS_TEST_ARRAY_RECORD_FILE_H

#include "format/array_record/array_record.h"
#include "format/array_record/write.h"

struct ar_file {
    uint8_t *at;
    size_t len, cap;
    // As a source: what was asked of it, and the read that is to fail (from 1; 0: none).
    unsigned reads, failing_read;
    uint64_t bytes_read;
    // As a sink: the same for its writes.
    unsigned writes, failing_write;
    // As a file being written chunk by chunk.
    struct ar_entry {
        uint64_t begin, decoded_size, num_records;
    } entries[64];
    unsigned count;
    uint64_t num_records;
};

void ar_file_fini(struct ar_file *file);

// tests/data/array-record/NAME.zst
void ar_file_unpack(struct ar_file *file, const char *name);

// Reads that reach beyond the end fail the test. The source stays valid as long as the file does
// not grow.
struct sds_ar_source ar_file_source(struct ar_file *file);

// Appends to the file; all but whole blocks fail the test.
struct sds_ar_sink ar_file_sink(struct ar_file *file);

// A file of the signature alone.
void ar_file_begin(struct ar_file *file);
// Writes any chunk, with the hashes and block headers it needs. Returns where it begins.
uint64_t ar_file_chunk(struct ar_file *file, uint8_t type, struct sds_span data,
                       uint64_t num_records, uint64_t decoded_size);
void ar_file_pad(struct ar_file *file); // up to the next block
// A chunk, and its entry in the index.
void ar_file_records(struct ar_file *file, uint8_t type, struct sds_span data, uint64_t num_records,
                     uint64_t decoded_size);
// An uncompressed chunk of one record.
void ar_file_record(struct ar_file *file, struct sds_span record);
// A postscript in a block of its own.
void ar_file_postscript(struct ar_file *file, uint64_t footer_offset);
// Footer and postscript.
void ar_file_end(struct ar_file *file);
// The same with a footer of our choice: messages run together, and their sizes.
void ar_file_end_with(struct ar_file *file, struct sds_span messages, const size_t *sizes,
                      unsigned count);

// put_varint and put_field append to buf at *len, which has room.
void put_le64(uint8_t *to, uint64_t value);
void put_varint(uint8_t *buf, size_t *len, uint64_t value);
void put_field(uint8_t *buf, size_t *len, unsigned number, uint64_t value); // of a protobuf message

#endif
