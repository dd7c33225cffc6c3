// SPDX-License-Identifier: Apache-2.0
//
// Record payloads, metadata entries and annotation carriers of signal-dataset 0.1
// (docs/formats/signal-dataset.md, sections 6 and 7): bytes in, checked values out. Pure functions
// without I/O. What a decode returns passed every check of the reference; nothing behind it checks
// again. The kinds are CORRUPT (with the check's name and what was found), LIMIT and NO_MEMORY.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_RECORD_H
#define SDSFS_FORMAT_SIGNAL_DATASET_RECORD_H

#include "base/json.h"
#include "format/tensor/dtype.h"
#include "format/tensor/named.h"

#define SDS_MAX_RECORD_BYTES (64ULL << 30)
#define SDS_MAX_DESCRIPTOR_BYTES (16ULL << 20)
#define SDS_MAX_METADATA_BYTES (16ULL << 20)
#define SDS_MAX_FIELDS 10000
#define SDS_MAX_AXES 128
#define SDS_MAX_TENSOR_BYTES (16ULL << 30)
#define SDS_MAX_TOTAL_TENSOR_BYTES (64ULL << 30)
#define SDS_MAX_COORDINATE_VALUES 10000000
#define SDS_JSON_DEPTH 128
#define SDS_JSON_NODES 1000000

struct sds_field {
    struct sds_span name; // unescaped bytes, lone surrogates as three bytes; owned by the record
    enum sds_dtype dtype;
    uint32_t rank;
    const uint64_t *shape;     // owned by the record; in an entry 2^64 - 1 stands for that or more
    uint64_t off;              // of the data in the payload; 0 in a metadata entry
    uint64_t len;              // bytes of data: product of the shape times the element size; in an
                               // entry 2^64 - 1 stands for that or more
    struct sds_value axes;     // an array, or absent (no axes)
    struct sds_value metadata; // as written, possibly falsy or absent (both mean {})
};

// A record payload's descriptor, or a metadata entry: what both have in common.
struct sds_record {
    struct sds_json *doc;      // the descriptor or entry that the values below point into
    struct sds_value id;       // record: a nonempty string. entry: any JSON value
    struct sds_value scene_id; // record: a string, null or absent. entry: anything
    struct sds_value metadata; // as written, possibly falsy or absent
    struct sds_field *fields;  // in document order
    uint32_t field_count;
    struct sds_named *by_name; // field_count entries
    struct sds_buf names;      // backing store of the names that the document escapes
    uint64_t *shapes;          // backing store
    size_t shape_count;
};

// Decodes and validates a record payload, which must outlive the result.
SDS_MUST_CHECK enum sds_kind sds_record_decode(struct sds_span payload, struct sds_record *out,
                                               struct sds_err *err);

// Decodes a metadata entry, which must outlive the result. Besides the reference's checks it
// insists on what a file system needs: an id that is a nonempty string is NOT required, but every
// dtype must be one of the thirteen written as the table writes them (others: UNSUPPORTED, check
// "dtype").
SDS_MUST_CHECK enum sds_kind sds_metadata_decode(struct sds_span entry, struct sds_record *out,
                                                 struct sds_err *err);

void sds_record_fini(struct sds_record *record);
size_t sds_record_memory(const struct sds_record *record); // bytes held beside the payload

// Index of the field with this name, or -1.
int32_t sds_record_find(const struct sds_record *record, struct sds_span name);

// An annotation row: the carrier record of section 7, its "annotation" object taken apart.
struct sds_annotation {
    struct sds_record carrier; // fields are dropped (field_count 0) where empty_fields is true
    uint64_t source_index;
    struct sds_value source_record_id; // the carrier's id
    struct sds_value status;           // "success", "skipped" or "failed"
    struct sds_value values;           // an object, or absent ({})
    struct sds_value provenance;       // an object, or absent ({})
    struct sds_value detail_status;    // a nonempty string, null or absent
};

SDS_MUST_CHECK enum sds_kind sds_annotation_decode(struct sds_span payload,
                                                   struct sds_annotation *out, struct sds_err *err);
void sds_annotation_fini(struct sds_annotation *annotation);

// Appends annotation.json: the six keys source_record_id, source_index, status, values, provenance,
// detail_status, tokens as the carrier writes them, re-indented, final LF. ({} and null where
// absent.)
SDS_MUST_CHECK enum sds_kind sds_annotation_render(const struct sds_annotation *annotation,
                                                   struct sds_buf *out);

#endif
