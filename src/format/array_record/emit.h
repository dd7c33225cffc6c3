// SPDX-License-Identifier: Apache-2.0
//
// Chunks on their way into a file (docs/formats/array-record.md, sections 3 and 4): hashes, block
// headers and the zeros that belong to them.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_EMIT_H
#define SDSFS_FORMAT_ARRAY_RECORD_EMIT_H

#include "format/array_record/chunk.h"
#include "format/array_record/write.h"

struct sds_ar_emitter {
    struct sds_ar_sink sink;
    uint64_t pos;                // where the next chunk begins
    uint8_t block[SDS_AR_BLOCK]; // what the sink has not had: the block that pos is in, up to pos
};

// Writes a chunk: its header, the data, and zeros up to its end, of which the header may count some
// as data. Kinds: the sink's, after which the file is lost.
SDS_MUST_CHECK enum sds_kind sds_ar_emit(struct sds_ar_emitter *out,
                                         const struct sds_ar_header *header, struct sds_span data,
                                         struct sds_err *err);

// The chunk that every file begins with.
SDS_MUST_CHECK enum sds_kind sds_ar_emit_signature(struct sds_ar_emitter *out, struct sds_err *err);

// A padding chunk up to the end of the block, or of the next one when its header does not fit; none
// where a block is full.
SDS_MUST_CHECK enum sds_kind sds_ar_emit_padding(struct sds_ar_emitter *out, struct sds_err *err);

#endif
