// SPDX-License-Identifier: Apache-2.0
//
// Reader of ArrayRecord files (docs/formats/array-record.md): random access to records through the
// footer index, with every hash on the way checked. Pure: bytes come through a "read at" callback,
// and everything is hostile until checked, sizes before they are allocated.
// An index is immutable once open and may be read from any thread, as far as its source may.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_H
#define SDSFS_FORMAT_ARRAY_RECORD_H

#include <stdint.h>

#include "base/blob.h"
#include "base/bytes.h"
#include "base/err.h"

struct sds_ar_source {
    // Reads exactly len bytes at off (never beyond size) into buf, or fails.
    enum sds_kind (*read_at)(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err);
    void *ctx;
    uint64_t size;
};

struct sds_ar_limits {
    uint64_t chunk_bytes; // decoded_data_size of a chunk; more is SDS_ERR_LIMIT, check "limit"
};

struct sds_ar_index;

// Reads postscript and footer and makes the index. Kinds: CORRUPT with the check's name ("size",
// "signature", "postscript", "block_header", "chunk_header", "chunk_hash", "footer", "index", ...),
// LIMIT, NO_MEMORY, and whatever the source says.
SDS_MUST_CHECK enum sds_kind sds_ar_open(const struct sds_ar_source *source,
                                         const struct sds_ar_limits *limits,
                                         struct sds_ar_index **out, struct sds_err *err);
void sds_ar_close(struct sds_ar_index *index); // NULL is fine

uint64_t sds_ar_record_count(const struct sds_ar_index *index);
uint64_t sds_ar_chunk_count(const struct sds_ar_index *index);
uint64_t sds_ar_group_size(const struct sds_ar_index *index); // records a chunk; 0 in an empty file
size_t sds_ar_memory(const struct sds_ar_index *index);       // bytes held, for a cache's ledger

// Where a record is: chunk number and place in it. record < sds_ar_record_count.
void sds_ar_locate(const struct sds_ar_index *index, uint64_t record, uint64_t *chunk,
                   uint32_t *place);

// Decoded bytes of a chunk as the index declares them: the size of the record itself where the
// group size is 1.
uint64_t sds_ar_chunk_decoded_size(const struct sds_ar_index *index, uint64_t chunk);
// The place that a chunk has in the file: at least its stored bytes.
uint64_t sds_ar_chunk_stored_size(const struct sds_ar_index *index, uint64_t chunk);

// A decoded chunk: its records run together inside one blob.
struct sds_ar_chunk {
    struct sds_blob *blob;
    size_t start;   // of the first record in the blob
    uint32_t count; // records
    uint64_t *ends; // end of each record, relative to start; NULL when count is 1
    uint64_t bytes; // of all records
};

// Reads and decodes one chunk. *out is filled only on success; sds_ar_chunk_fini frees it.
SDS_MUST_CHECK enum sds_kind sds_ar_read_chunk(const struct sds_ar_index *index,
                                               const struct sds_ar_source *source, uint64_t chunk,
                                               struct sds_ar_chunk *out, struct sds_err *err);
// The same in two halves, for whoever keeps waiting and decoding apart: all reads of the source,
// and then all the work. The source has to be there until the second half, which frees what the
// first one made.
struct sds_ar_load;
SDS_MUST_CHECK enum sds_kind sds_ar_fetch_chunk(const struct sds_ar_index *index,
                                                const struct sds_ar_source *source, uint64_t chunk,
                                                struct sds_ar_load **out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_ar_decode_chunk(const struct sds_ar_index *index, uint64_t chunk,
                                                 struct sds_ar_load *fetched,
                                                 struct sds_ar_chunk *out, struct sds_err *err);
void sds_ar_chunk_fini(struct sds_ar_chunk *chunk);

// The bytes of one record; place < chunk->count. Points into chunk->blob.
struct sds_span sds_ar_chunk_record(const struct sds_ar_chunk *chunk, uint32_t place);

// Sizes of a chunk's records without decoding their values (only the sizes block is decompressed;
// a transposed chunk has to be decoded whole). sizes has room for the chunk's record count.
SDS_MUST_CHECK enum sds_kind sds_ar_record_sizes(const struct sds_ar_index *index,
                                                 const struct sds_ar_source *source, uint64_t chunk,
                                                 uint64_t *sizes, struct sds_err *err);

// Walks the whole file, chunk after chunk, padding and block headers included: what an offline
// check sees beyond the records.
SDS_MUST_CHECK enum sds_kind sds_ar_walk(const struct sds_ar_index *index,
                                         const struct sds_ar_source *source, struct sds_err *err);

#endif
