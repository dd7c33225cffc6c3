// SPDX-License-Identifier: Apache-2.0
//
// Writer of ArrayRecord files as the reference makes them under "group_size:1", its default: one
// record a chunk, zstd level 3, window log 20. The same records give the same bytes
// (docs/formats/array-record.md, section 13). Memory: a few times the largest record, and some 30
// bytes a record for the index. One thread a writer.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_WRITE_H
#define SDSFS_FORMAT_ARRAY_RECORD_WRITE_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

// Where the file goes: from its first byte to its last, in whole blocks of 64 KiB.
struct sds_ar_sink {
    // Takes all bytes, or fails.
    enum sds_kind (*write)(void *ctx, const void *bytes, size_t len, struct sds_err *err);
    void *ctx;
};

struct sds_ar_writer;

// After any failure but that of opening, the writer can only be closed. Kinds: NO_MEMORY; LIMIT,
// check "limit", for a record that cannot be held; and whatever the sink says.
SDS_MUST_CHECK enum sds_kind sds_ar_writer_open(const struct sds_ar_sink *sink,
                                                struct sds_ar_writer **out, struct sds_err *err);

// Appends a record, which may be empty.
SDS_MUST_CHECK enum sds_kind sds_ar_writer_add(struct sds_ar_writer *writer, struct sds_span record,
                                               struct sds_err *err);

// Footer and postscript: the sink has the whole file then, *size bytes. Nothing follows but close.
SDS_MUST_CHECK enum sds_kind sds_ar_writer_finish(struct sds_ar_writer *writer, uint64_t *size,
                                                  struct sds_err *err);

// Frees. What was not finished before is no file. NULL is fine.
void sds_ar_writer_close(struct sds_ar_writer *writer);

#endif
