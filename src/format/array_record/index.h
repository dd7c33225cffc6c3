// SPDX-License-Identifier: Apache-2.0
//
// The index of an open file, as index.c checked it: chunks lie in order, apart, and between
// signature and footer; every chunk but the last has group_size records, the last has 1 to
// group_size.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_INDEX_H
#define SDSFS_FORMAT_ARRAY_RECORD_INDEX_H

#include "format/array_record/decode.h"

struct sds_ar_place {
    uint64_t begin;        // a possible chunk boundary
    uint64_t decoded_size; // as declared; any value
};

struct sds_ar_index {
    uint64_t file_size; // whole blocks, at least two
    uint64_t footer_offset;
    uint64_t num_records;
    uint64_t group_size;  // at most SDS_AR_MAX_CHUNK_RECORDS
    uint64_t chunk_bytes; // the caller's limit
    uint64_t num_chunks;
    struct sds_ar_place chunks[];
};

static inline uint64_t sds_ar_chunk_limit(const struct sds_ar_index *index, uint64_t chunk) {
    return chunk + 1 < index->num_chunks ? index->chunks[chunk + 1].begin : index->footer_offset;
}

static inline uint64_t sds_ar_chunk_records(const struct sds_ar_index *index, uint64_t chunk) {
    return chunk + 1 < index->num_chunks ? index->group_size
                                         : index->num_records - chunk * index->group_size;
}

static inline uint64_t sds_ar_postscript_offset(const struct sds_ar_index *index) {
    return index->file_size - 65536;
}

// Reads the header of a chunk, and as a rule its data with it, and holds it against the index. load
// has to be finished after success and failure alike. Kinds: CORRUPT, check "index" besides those
// of sds_ar_load_header; LIMIT; NO_MEMORY; the source's.
SDS_MUST_CHECK enum sds_kind sds_ar_load_chunk(const struct sds_ar_index *index,
                                               const struct sds_ar_source *source, uint64_t chunk,
                                               struct sds_ar_load *load, struct sds_err *err);

// What a chunk of the index may declare.
static inline struct sds_ar_caps sds_ar_chunk_caps(const struct sds_ar_index *index) {
    return (struct sds_ar_caps){.decoded_size = index->chunk_bytes,
                                .num_records = SDS_AR_MAX_CHUNK_RECORDS};
}

#endif
